"""A folder of answers stands for the logs below it, without what lies beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.errors import UserError
from needlework.models.logs.files import answer_files


def made(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def found(given: str | list[str]) -> list[str]:
    return [Path(path).name for path in answer_files(given, "models.a.answers")]


def test_logs_below_a_folder_are_found(tmp_path) -> None:
    inspect = made(tmp_path / "one", "b.eval", "a.eval", "logs.txt", "deep/c.json")
    assert found(str(inspect)) == ["a.eval", "b.eval", "c.json"]
    other = made(tmp_path / "two", "m/results_d.json", "m/samples_a_d.jsonl")
    assert found([str(other), "mine.parquet"]) == ["samples_a_d.jsonl", "mine.parquet"]


@pytest.mark.parametrize("given", [None, "absent.jsonl", ["a.eval", "b.eval"]])
def test_what_is_no_folder_stays_as_it_is(given) -> None:
    assert answer_files(given, "models.a.answers") == given


def test_a_folder_without_logs_is_refused(tmp_path) -> None:
    with pytest.raises(UserError, match=r"models\.a\.answers names the folder .*correct the path"):
        answer_files(str(made(tmp_path, "notes.txt")), "models.a.answers")
