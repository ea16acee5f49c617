"""Folders: what is absent is no error, what cannot be read is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.errors import UserError
from needlework.folders import content, entries, files_below, matching


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b/en.csv", "a/en.csv", "a/de.csv", "a/deep/x.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


def test_what_is_there_is_listed_in_order(folder: Path) -> None:
    assert [path.name for path in entries(folder / "a", ".csv")] == ["de.csv", "en.csv"]
    found = matching(folder, "?/*.csv")
    assert found == sorted(folder.glob("?/*.csv")) and len(found) == 3
    assert matching(folder, "a/en.csv") == [folder / "a/en.csv"]
    assert [path.name for path in files_below(folder / "a")] == ["de.csv", "x.txt", "en.csv"]
    assert content(folder / "a/en.csv") == b"a/en.csv"


def test_hidden_files_and_folders_are_left_out(folder: Path) -> None:
    for name in ("a/._en.csv", "a/.ipynb_checkpoints/en-checkpoint.csv", ".b/en.csv"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    assert [path.name for path in entries(folder / "a", ".csv")] == ["de.csv", "en.csv"]
    assert matching(folder, "[!l]*/*.csv") == sorted(folder.glob("[ab]/[de]*.csv"))
    assert [path.name for path in files_below(folder)] == ["de.csv", "x.txt", "en.csv", "en.csv"]
    # Unless they are meant: a folder or a pattern with its dot.
    assert files_below(folder / ".b") == matching(folder, ".*/*.csv") == [folder / ".b/en.csv"]


def test_what_is_absent_is_empty(folder: Path) -> None:
    absent = folder / "none"
    assert entries(absent) == matching(absent, "*") == files_below(absent) == []
    assert matching(folder, "none/*.csv") == matching(folder, "a/none.csv") == []
    assert content(absent) is content(absent / "deeper") is None


def test_what_cannot_be_read_is_named(folder: Path) -> None:
    loop = folder / "loop"
    for read in (entries, files_below, content, lambda path: matching(path, "*")):
        with pytest.raises(UserError, match=r"loop cannot be read .*: remove the link"):
            read(loop)
    with pytest.raises(UserError, match=r"en\.csv cannot be read .*it is not a folder"):
        entries(folder / "a/en.csv")
