"""The documentation's site in a real browser, opened as files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from explorer_run import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("chromium")]


def test_the_site_is_searched_without_a_server(watched, tmp_path: Path) -> None:
    mkdocs = Path(sys.executable).with_name("mkdocs")
    subprocess.run([mkdocs, "build", "-q", "--strict", "-d", tmp_path], cwd=ROOT, check=True)
    watched.open((tmp_path / "quickstart.html").as_uri(), wait="main h1")
    page = watched.page
    page.keyboard.press("/")
    page.keyboard.type("Holm")
    found = page.wait_for_selector(".md-search-result__list a", timeout=20_000)
    assert found.get_attribute("href").startswith(tmp_path.as_uri())
    assert "Holm" in page.inner_text(".md-search-result__list")
    assert all(url.startswith(tmp_path.as_uri()) for url in watched.requests)
