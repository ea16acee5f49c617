"""The documentation's site: every page, no dead link, and a search that works from files."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from explorer_run import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("chromium")]

COPIED = ("docs", "perf", "resources", "presets", "config", "LICENSE", "mkdocs.yml")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")


def build(folder: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a folder."""
    mkdocs = Path(sys.executable).with_name("mkdocs")
    command = [mkdocs, "build", "--strict", "--site-dir", site]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_commands_name_the_public_address_of_the_clone(tmp_path) -> None:
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "docs/site_pages.py")
    assert spec and spec.loader
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    assert pages.repository(tmp_path) == pages.REPOSITORY
    subprocess.run([*git, "remote", "add", "origin", "https://example.org/me/x.git"], check=True)
    assert pages.repository(tmp_path) == "https://example.org/me/x.git"
    for private in ("https://me:secret@example.org/me/x", "/srv/x", "git@example.org:me/x"):
        subprocess.run([*git, "remote", "set-url", "origin", private], check=True)
        assert pages.repository(tmp_path) == pages.REPOSITORY


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_has_every_page_and_no_dead_link(site) -> None:
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert pages | {"index", "contributing", "changelog", "measurements"} <= {
        path.stem for path in site.glob("*.html")
    }
    # What pages link to outside docs/ is part of the site.
    name = "resources/sources.yaml"
    assert (site / "files" / name).read_bytes() == (ROOT / name).read_bytes()
    text = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="quickstart.html"' in text and "docs/quickstart" not in text


def test_a_dead_link_fails_the_site(tmp_path: Path) -> None:
    for name in (*COPIED, *PAGES):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    with (tmp_path / "docs/quickstart.md").open("a", encoding="utf-8") as page:
        page.write("\nSee [there](nowhere.md) and [here](models.md#no-such-heading).\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode == 1, done.stderr
    assert "nowhere.md" in done.stderr and "no-such-heading" in done.stderr


def test_the_site_is_searched_without_a_server(watched, site) -> None:
    watched.open((site / "quickstart.html").as_uri(), wait="main h1")
    page = watched.page
    page.keyboard.press("/")
    page.keyboard.type("Holm")
    found = page.wait_for_selector(".md-search-result__list a", timeout=20_000)
    assert found.get_attribute("href").startswith(site.as_uri())
    assert "Holm" in page.inner_text(".md-search-result__list")
    assert all(url.startswith(site.as_uri()) for url in watched.requests)
