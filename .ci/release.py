"""Check that a tag may be released, and print the notes of its release.

    python .ci/release.py v0.2.0 > notes.md

The version is that of pyproject.toml, CITATION.cff and the library, CHANGELOG.md has a section of it, and
CITATION.cff names its authors and the day of the release.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Stands in CITATION.cff until somebody who releases it names the authors.
PLACEHOLDER = "Authors to be named before a release"


def notes(tag: str, root: Path = ROOT) -> str:
    """The section of CHANGELOG.md for a tag; exits with one sentence if the tag may not be released."""
    version = tag.removeprefix("v")
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    library = (root / "workflow/scripts/needlework/__init__.py").read_text(encoding="utf-8")
    for file, found in {
        "pyproject.toml": project["version"],
        "CITATION.cff": _line(r"^version: (\S+)$", citation),
        "workflow/scripts/needlework/__init__.py": _line(r'^__version__ = "(\S+)"$', library),
    }.items():
        if found != version:
            sys.exit(f"{tag}: {file} has the version {found}.")
    if PLACEHOLDER in citation:
        sys.exit("CITATION.cff: name the authors.")
    if not _line(r"^date-released: \"?(\d{4}-\d\d-\d\d)\"?$", citation):
        sys.exit("CITATION.cff: set `date-released` to the day of the release.")
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(version)}\n(.*?)(?=^## |\Z)", changes, re.M | re.S)
    if section is None:
        sys.exit(f"CHANGELOG.md has no section `## {version}`.")
    return section[1].strip()


def _line(pattern: str, text: str) -> str:
    """The first group of a pattern in a text; "" if there is none."""
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else ""


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(notes(sys.argv[1]))
