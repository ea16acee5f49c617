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


WRITERS: dict[str, Callable[[Path, str], object]] = {
    "jsonl": lambda file, text: file.write_text(f'{{"t": "{text}"}}\n', encoding="utf-8"),
    "csv": lambda file, text: file.write_text(f"t\n{text}\n", encoding="utf-8"),
    "parquet": lambda file, text: pq.write_table(pa.table({"t": [text]}), file),
}


@pytest.mark.parametrize("ending", WRITERS)
def test_brackets_and_marks_in_names_are_no_patterns(ending: str, tmp_path: Path) -> None:
    for number, name in enumerate(("q1", "q[1]", "q?", "qx", "[a-z]x")):
        WRITERS[ending](tmp_path / f"{name}.{ending}", f"Text {number}.")

    def texts(pattern: str) -> list[str]:
        files = local_files([f"{tmp_path}/{pattern}.{ending}"])
        return table("mine", "en", files, SETTINGS)["text"].to_pylist()

    assert texts("q*") == ["Text 0.", "Text 2.", "Text 1.", "Text 3."]
    assert texts("q[1]") == ["Text 1."] and texts("q?") == ["Text 2."]
    assert texts("[a-z]x") == ["Text 4."]
