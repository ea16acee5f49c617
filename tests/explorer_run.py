"""Runs of a made-up benchmark, as files that the explorer is written from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from needlework.benchmarks.mlneedle.metrics import METRICS
from needlework.prompts.spans import Span
from needlework.records import (
    GENERATIONS,
    PASSAGES,
    TRANSLATIONS,
    instances_schema,
    scores_schema,
    write_table,
)
from needlework.results.explorer.data import Explored, ShownAnswers, ShownPrompts
from needlework.results.explorer.page import write_explorer
from needlework.scoring.metric import meanings

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "resources/explorer/explorer.js"
STYLE = ROOT / "resources/explorer/explorer.css"
# Not those of any real benchmark: the explorer knows no factor's name.
FACTORS = {"tongue": "string", "place": "double", "size": "int32"}


@dataclass
class Asked:
    """An instance, and for each model what it answered."""

    spans: list[Span]
    answers: Mapping[str, str | None]
    references: list[str] = field(default_factory=lambda: ["Ada Lovelace"])
    factors: Mapping[str, Any] = field(
        default_factory=lambda: {"tongue": "en", "place": 0.5, "size": 1000}
    )
    example: str = "example-1"
    translation: str | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    finish: str = "stop"
    raw: str | None = None
    task: str = "find"
    outcome: str | None = None
    remarks: list[str] | None = None
    reasoning: str | None = None


def identifier(number: int) -> str:
    """The id of the n-th instance."""
    return hashlib.sha256(str(number).encode()).hexdigest()


def write_files(
    folder: Path, asked: Iterable[Asked], passages: Mapping[str, str] = {}
) -> tuple[dict[str, ShownPrompts], dict[str, ShownAnswers]]:
    """The files of a run; `passages` are the documents `texts/en/<name>`."""
    asked = list(asked)
    corpus = folder / "texts/en.parquet"
    write_table(
        pa.table({"passage_id": list(passages), "text": list(passages.values())}, schema=PASSAGES),
        corpus,
    )
    instances = folder / "instances.parquet"
    write_table(
        pa.Table.from_pylist(list(_instances(asked)), schema=instances_schema(FACTORS)), instances
    )
    answers = {}
    for model in dict.fromkeys(model for each in asked for model in each.answers):
        mine = [(i, each) for i, each in enumerate(asked) if model in each.answers]
        own = folder / model
        rows = [
            {
                "request_key": "",
                "instance_id": identifier(i),
                "sample": 0,
                "text": each.answers[model],
                "finish_reason": each.finish,
                "prompt_tokens": 100,
                "raw_text": each.raw,
                "outcome": each.outcome,
                "remarks": each.remarks,
                "reasoning": each.reasoning,
            }
            for i, each in mine
        ]
        write_table(pa.Table.from_pylist(rows, schema=GENERATIONS), own / "generations.parquet")
        scores = [
            {
                "instance_id": identifier(i),
                "sample": 0,
                "model": model,
                "metric": "exact",
                "value": each.values.get(model, float(each.answers[model] in each.references)),
                "verdict": "match:0" if each.answers[model] in each.references else "no_match",
                "finish_reason": each.finish,
                "example_id": each.example,
                "task": each.task,
                **each.factors,
            }
            for i, each in mine
        ]
        write_table(
            pa.Table.from_pylist(scores, schema=scores_schema(FACTORS)), own / "scores.parquet"
        )
        translated = [
            {
                "instance_id": identifier(i),
                "sample": 0,
                "lang": "hi",
                "text": each.translation or each.answers[model] or "",
            }
            for i, each in mine
        ]
        write_table(
            pa.Table.from_pylist(translated, schema=TRANSLATIONS), own / "translations.parquet"
        )
        answers[model] = ShownAnswers(
            tokenizer="words",
            **{
                kind: str(own / f"{kind}.parquet")
                for kind in ("generations", "scores", "translations")
            },
        )
    return {"words": ShownPrompts([str(instances)], [str(corpus)], [])}, answers


def _instances(asked: Iterable[Asked]) -> Iterator[dict[str, Any]]:
    for i, each in enumerate(asked):
        yield {
            "instance_id": identifier(i),
            "benchmark": "made_up",
            "task": each.task,
            **each.factors,
            "example_id": each.example,
            "prompt": [span._asdict() for span in each.spans],
            "references": each.references,
            "metric": "exact",
            "max_new_tokens": 64,
            "n_tokens": 100,
        }


def explore(
    folder: Path,
    asked: Iterable[Asked],
    passages: Mapping[str, str] = {},
    *,
    one_file: int = 1 << 22,
    designed: tuple[str, tuple[str, ...]] = ("", ()),
    without: str = "",
    held: Iterable[str] = (),
    controls: Iterable[str] = (),
    percent: Mapping[str, float] = {},
) -> Path:
    """Write a run's explorer; its page."""
    prompts, answers = write_files(folder / "run", asked, passages)
    write_explorer(
        folder / "explorer",
        {
            "made_up": Explored(
                *("Made up", ["task", *FACTORS], prompts, answers),
                *(designed, without, tuple(held), tuple(controls)),
                percent=percent,
                meanings=meanings(METRICS.values()),
            )
        },
        program=PROGRAM,
        style=STYLE,
        one_file=one_file,
    )
    return folder / "explorer/index.html"
