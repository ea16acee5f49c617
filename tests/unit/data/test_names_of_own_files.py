"""A file of a user's own data is read by its own name, though `datasets` takes names for patterns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from needlework.data.corpora.registry import local_files
from needlework.data.corpora.tabular import table
from needlework.given import given

SETTINGS = given({"kind": "passages", "columns": {"text": "t"}, "rows": None, "separator": None})


def write_jsonl(file: Path, text: str) -> None:
    file.write_text(f'{{"t": "{text}"}}\n', encoding="utf-8")


def write_csv(file: Path, text: str) -> None:
    file.write_text(f"t\n{text}\n", encoding="utf-8")


def write_parquet(file: Path, text: str) -> None:
    pq.write_table(pa.table({"t": [text]}), file)


@pytest.mark.parametrize("write", [write_jsonl, write_csv, write_parquet])
def test_brackets_and_marks_in_names_are_no_patterns(
    write: Callable[[Path, str], None], tmp_path: Path
) -> None:
    ending = write.__name__.removeprefix("write_")
    for number, name in enumerate(("q1", "q[1]", "q?", "qx", "[a-z]x")):
        write(tmp_path / f"{name}.{ending}", f"Text {number}.")

    def texts(pattern: str) -> list[str]:
        files = local_files([f"{tmp_path}/{pattern}.{ending}"])
        return table("mine", "en", files, SETTINGS)["text"].to_pylist()

    assert texts("q*") == ["Text 0.", "Text 2.", "Text 1.", "Text 3."]
    assert texts("q[1]") == ["Text 1."] and texts("q?") == ["Text 2."]
    assert texts("[a-z]x") == ["Text 4."]
