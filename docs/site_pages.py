"""For mkdocs: the repository's pages as a site's, and what they link to as the site's files.

A page outside docs/ becomes one of PAGES; any other file that is linked is copied; a linked folder is named
without a link, since a site has none. In commands, `<this repository>` becomes the address of the clone's
remote, if that is public.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
# Where a page outside docs/ stands in the site.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "perf/README.md": "measurements.md",
}
LINK = re.compile(r"(!?)\[((?:[^][]|\[[^][]*\])*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
REPOSITORY = "<this repository>"
FENCED = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)


def site_place(path: Path) -> str:
    """Where a file of the repository stands in the site."""
    name = path.relative_to(ROOT).as_posix()
    return PAGES.get(name) or (
        name.removeprefix("docs/") if name.startswith("docs/") else f"files/{name}"
    )


def repository(folder: Path) -> str:
    """The address from which a clone came, without a login; REPOSITORY if it came from no public address."""
    command = ["git", "-C", str(folder), "remote", "get-url", "origin"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return said if re.fullmatch(r"https://[\w.-]+/[\w./-]+", said) else REPOSITORY


def rewritten(source: Path, linked: set[Path]) -> str:
    """A page with links for the site; adds what they lead to to `linked`."""

    def link(match: re.Match[str]) -> str:
        image, text, target, anchor = match.groups()
        path = (source.parent / target).resolve()
        if path.is_dir():
            return text
        if not path.is_file() or not path.is_relative_to(ROOT):
            return match[0]  # mkdocs names it
        linked.add(path)
        folder = Path(site_place(source)).parent
        return f"{image}[{text}]({os.path.relpath(site_place(path), folder)}{anchor or ''})"

    text = source.read_text(encoding="utf-8").replace(REPOSITORY, repository(ROOT))
    parts = FENCED.split(text)
    return "".join(p if p.startswith("```") else LINK.sub(link, p) for p in parts)


def on_files(files: Files, config: Any) -> Files:
    """The site's files: all pages with their links, and whatever those lead to."""
    linked: set[Path] = set()
    pages = [ROOT / name for name in PAGES] + sorted((ROOT / "docs").glob("*.md"))
    for source in pages:
        place = site_place(source)
        if found := files.get_file_from_path(place):
            files.remove(found)
        files.append(File.generated(config, place, content=rewritten(source, linked)))
    for path in sorted(linked - set(pages)):
        if files.get_file_from_path(site_place(path)) is None:
            files.append(File.generated(config, site_place(path), abs_src_path=str(path)))
    return files
