"""A model's answers to a benchmark as the lines of an instance file: one for each answer and metric."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from needlework.models.logs.logged import NAMED
from needlework.records import NO_FACTORS, read_table
from needlework.results.exchange.models import as_text

VERSION = "0.3.0"
_KEY = ("instance_id", "sample")
_USAGE = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
_MORE_USAGE = {"cached_tokens": "input_tokens_cache_read", "reasoning_tokens": "reasoning_tokens"}
_METADATA = ("task", "verdict", "finish_reason", "outcome", "answered_in", "example_id")


def references_of(instances: Sequence[str]) -> dict[str, list[str]]:
    """The references by prompt."""
    found: dict[str, list[str]] = {}
    for file in instances:
        table = read_table(file, ["instance_id", "references"])
        found.update(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
    return found


def lines(
    generations: str,
    scores: str,
    references: Mapping[str, list[str]] | None,
    labels: Mapping[str, str],
) -> Iterator[str]:
    """The lines of an instance file, without their line breaks, in the order of the scores.

    `references` are None where licences hold texts back. `labels` are evaluation_id, model_id and the
    benchmark as evaluation_name.
    """
    answers = _rows(read_table(generations))
    table = read_table(scores)
    factors = [name for name in table.column_names if name not in NO_FACTORS]
    answer: Mapping[str, Any] = dict.fromkeys(_KEY)
    for row in _rows(table):
        # Scores are in the order of the answers, several for one answer.
        while any(answer[name] != row[name] for name in _KEY):
            answer = next(answers)
        own = None if references is None else references[row["instance_id"]]
        yield json.dumps(line(row, answer, own, factors, labels), ensure_ascii=False)


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of a table, a few at a time."""
    return (row for batch in table.to_batches(max_chunksize=1024) for row in batch.to_pylist())


def line(
    row: Mapping[str, Any],
    answer: Mapping[str, Any],
    references: list[str] | None,
    factors: Sequence[str],
    labels: Mapping[str, str],
) -> dict[str, Any]:
    """One score of an answer."""
    text = answer["text"] or ""
    metadata = {name: row[name] for name in (*_METADATA, *factors)}
    metadata |= {"metric": row["metric"], "sample": row["sample"]}
    made = {
        "schema_version": VERSION,
        **labels,
        "evaluation_name": f"{labels['evaluation_name']}/{row['metric']}",
        "sample_id": row["instance_id"],
        "interaction_type": "single_turn",
        "input": {"raw": NAMED + row["instance_id"], "reference": references or []},
        "output": {"raw": [text if answer["raw_text"] is None else answer["raw_text"]]},
        "answer_attribution": [
            {
                **{"turn_idx": 0, "source": "output.raw", "extracted_value": text},
                **{"extraction_method": row["metric"], "is_terminal": True},
            }
        ],
        "evaluation": {"score": row["value"], "is_correct": row["value"] == 1},
        "metadata": {k: as_text(v) for k, v in metadata.items() if v is not None},
    }
    if usage := _usage(answer):
        made["token_usage"] = usage
    if answer["error"]:
        made["error"] = answer["error"]
    return made


def _usage(answer: Mapping[str, Any]) -> dict[str, int] | None:
    """The counts of tokens, if the backend has both of those that the schema wants."""
    counts = {name: answer[own] for own, name in _USAGE.items()}
    if None in counts.values():
        return None
    counts["total_tokens"] = sum(counts.values())
    return counts | {n: answer[own] for own, n in _MORE_USAGE.items() if answer[own] is not None}
