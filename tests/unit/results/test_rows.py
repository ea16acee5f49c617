"""The frame that results are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from needlework.benchmarks.oneruler.rows import with_errors
from needlework.records import scores_schema, write_table
from needlework.results.cells import Table
from needlework.results.rows import result_rows

FACTORS = {"instruction_lang": "string", "context_lang": "string"}


def written(folder: Path, model: str, **columns: list[Any]) -> str:
    """A file with one score for each value of `columns`."""
    schema, n = scores_schema(FACTORS), len(next(iter(columns.values())))
    defaults = {"model": model, "finish_reason": "stop", "value": 1.0, "sample": 0}
    values = {name: [defaults.get(name)] * n for name in schema.names} | columns
    path = folder / f"{model}.parquet"
    write_table(pa.table(values, schema=schema), path)
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return [
        written(tmp_path, "b", context_lang=["zh", "en"], instruction_lang=["en", "en"]),
        written(tmp_path, "a", context_lang=["ar", None], instruction_lang=["ar", "ar"]),
    ]


def test_text_columns_of_several_files_compare_with_each_other(files: list[str]) -> None:
    """Their parts are sorted Python values."""
    rows = result_rows("scores", files, FACTORS)
    alike = rows["context_lang"] == rows["instruction_lang"]
    assert alike.tolist() == [False, True, True, False]
    assert rows["model"].tolist() == ["b", "b", "a", "a"]
    part = Table(rows).all()
    assert part.values("context_lang") == ["ar", "en", "zh"]
    assert {type(value) for value in part.values("model")} == {str}
    places = {value: own.places.tolist() for value, own in part.split("context_lang").items()}
    assert places == {None: [3], "ar": [2], "en": [1], "zh": [0]}


def test_lost_answers_have_an_error_of_their_own(tmp_path: Path) -> None:
    columns = {"verdict": ["wrong:1", "skipped", "length"]}
    columns["finish_reason"] = ["stop", "skipped", "length"]
    rows = with_errors(result_rows("scores", [written(tmp_path, "a", **columns)], FACTORS))
    assert rows["error"].tolist() == ["wrong", "lost", "no_answer"]
