"""Answers that are read for scoring share the ids of their instances."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from needlework.errors import UserError
from needlework.records import GENERATIONS, TRANSLATIONS, read_table, write_table
from needlework.scoring.scores import (
    ANSWER_COLUMNS,
    TRANSLATION_COLUMNS,
    read_answers,
    score_rows,
)

INSTANCES = pa.table(
    {
        **{"instance_id": ["a", "b", "c"], "task": ["t"] * 3, "example_id": ["1", "2", "3"]},
        **{"references": [["x"], ["y"], ["z"]], "lang": ["en", "de", None]},
    }
)
# As several files give it.
CHUNKED = pa.concat_tables([INSTANCES.slice(0, 1), INSTANCES.slice(1)])


def written(folder: Path, ids: list[str]) -> tuple[Path, Path]:
    """Answers and translations with these ids."""
    n = len(ids)
    answers = {"instance_id": ids, "sample": [0] * n, "text": ids, "finish_reason": ["stop"] * n}
    translations = {"instance_id": ids[::-1], "sample": [0] * n, "text": ids[::-1]}
    paths = folder / "generations.parquet", folder / "translations.parquet"
    for path, rows, schema in zip(
        paths, (answers, translations), (GENERATIONS, TRANSLATIONS), strict=True
    ):
        columns = {name: rows.get(name, [None] * n) for name in schema.names}
        write_table(pa.table(columns, schema=schema), path)
    return paths


def rate(row, text, translated):
    return [(float(text == row["instance_id"]), "v", "m"), (0.0, f"{translated}", "other")]


@pytest.mark.parametrize("instances", [INSTANCES, CHUNKED], ids=["one file", "two files"])
def test_scores_of_shared_ids_are_those_of_texts(tmp_path, instances) -> None:
    files = written(tmp_path, ["c", "a", "b"])
    columns = ANSWER_COLUMNS, TRANSLATION_COLUMNS
    answers, translations = (
        read_answers(path, names, instances) for path, names in zip(files, columns, strict=True)
    )
    plain = [read_table(path, names) for path, names in zip(files, columns, strict=True)]
    assert pa.types.is_dictionary(answers["instance_id"].type)
    found = score_rows(instances, answers, rate, model="m", translations=translations)
    assert found.equals(score_rows(instances, plain[0], rate, model="m", translations=plain[1]))
    assert found["instance_id"].to_pylist() == ["c", "c", "a", "a", "b", "b"]


def test_answers_that_come_twice_or_to_no_instance_are_named(tmp_path) -> None:
    for ids, said in ((["a", "b", "d"], "d sample 0"), ([*"abcb"], "hold b sample 0 twice")):
        answers = read_answers(written(tmp_path, ids)[0], ANSWER_COLUMNS, INSTANCES)
        with pytest.raises(UserError, match=said):
            score_rows(INSTANCES, answers, rate, model="m")
