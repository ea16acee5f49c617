"""Answers as public bug reports about other programs have them: numbers, writings, reasoning, sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from growth import assert_linear
from needlework.models.shards import merge
from needlework.records import GENERATIONS, instances_schema, write_table
from needlework.scoring.scores import ANSWER_COLUMNS, read_answers, score_rows
from verdict_cases import Case, cases, verdict

CASES = list(cases(Path(__file__).parents[2] / "data/reported_answers.jsonl"))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_reported_answer_is_read_as_it_is_meant(case: Case) -> None:
    value, said = verdict(case)
    assert value == case["right"], f"{said}: {case['why']}"


@pytest.mark.parametrize(
    "benchmark, task",
    [
        *[("oneruler", "needles"), ("oneruler", "cwe"), ("mlongrr", "number")],
        ("lost_in_the_middle", "key_value"),
    ],
)
def test_repeated_groups_of_digits_are_read_in_linear_time(benchmark: str, task: str) -> None:
    case = {"benchmark": benchmark, "task": task, "lang": "en", "references": ["4820137"]}

    def work(count: int) -> None:
        assert verdict({**case, "answer": "123 " * count})[0] == 0

    assert_linear(work, 2_000)


@pytest.mark.parametrize("limit", [1 << 30, 1000])
def test_answers_of_any_size_are_merged_and_scored(tmp_path, monkeypatch, limit) -> None:
    """Arrow's own operations make one array of a column, which fails above 2 GB of text."""
    monkeypatch.setattr("needlework.records.LARGE_BYTES", limit)
    ids = [f"{n:04d}" for n in range(200)]
    files = [tmp_path / f"{shard}.parquet" for shard in (0, 1)]
    for shard, file in enumerate(files):
        rows = [
            {
                **{"request_key": name, "instance_id": name, "sample": 0, "text": "42"},
                **{"finish_reason": "stop", "raw_text": f"<think>{'x' * 500}{name}"},
            }
            for name in ids[shard::2]
        ]
        write_table(pa.Table.from_pylist(rows, GENERATIONS), file)
    merged = merge(files)
    assert merged["instance_id"].to_pylist() == ids
    write_table(merged, tmp_path / "all.parquet")
    about = [{"instance_id": n, "task": "t", "example_id": n, "references": ["42"]} for n in ids]
    kept = ["instance_id", "task", "example_id", "references", "lang"]
    schema = instances_schema({"lang": "string"})
    instances = pa.Table.from_pylist(
        [row | {"lang": "en"} for row in about], pa.schema([schema.field(name) for name in kept])
    )
    answers = read_answers(tmp_path / "all.parquet", ANSWER_COLUMNS, instances)

    def rate(row: Any, text: str, translated: str | None) -> list[tuple[float, str, str]]:
        return [(float(row["raw_text"].endswith(row["instance_id"])), "x", "m")]

    scores = score_rows(instances, answers, rate, model="m")
    assert scores["value"].to_pylist() == [1.0] * len(ids)
