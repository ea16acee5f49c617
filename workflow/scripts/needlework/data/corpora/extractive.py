"""Extractive question answering: SQuAD's JSON into rows whose answers stand in their contexts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from needlework.errors import UserError
from needlework.records import QUESTIONS


def read_squad(data: bytes, name: str) -> pa.Table:
    """QUESTIONS rows, sorted by id, of a SQuAD v1.1 file.

    `name` is the file's name in errors. UserError if it is not such a file, an answer is not at its
    offset in its context, or an id occurs twice.
    """
    try:
        return questions_table(_squad_rows(json.loads(data)), name)
    except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        raise UserError(
            f"{name} is not in SQuAD's JSON format ({type(error).__name__}: {error}): delete the file "
            "and run again."
        ) from None


def _squad_rows(squad: Mapping[str, Any]) -> Iterable[dict[str, object]]:
    for article in squad["data"]:
        for paragraph in article["paragraphs"]:
            for qa in paragraph["qas"]:
                yield {
                    "example_id": qa["id"],
                    "title": article["title"],
                    "context": paragraph["context"],
                    "question": qa["question"],
                    "answers": [answer["text"] for answer in qa["answers"]],
                    "answer_starts": [answer["answer_start"] for answer in qa["answers"]],
                }


def questions_table(rows: Iterable[Mapping[str, Any]], name: str) -> pa.Table:
    """`rows` as a QUESTIONS table, sorted by id. UserError if a row is not sound."""
    rows = sorted(rows, key=lambda row: row["example_id"])
    seen = set()
    for row in rows:
        if row["example_id"] in seen:
            raise _unsound(name, row, "occurs twice")
        seen.add(row["example_id"])
        if not row["answers"]:
            raise _unsound(name, row, "has no answer")
        for answer, start in zip(row["answers"], row["answer_starts"], strict=True):
            if not answer or start < 0 or not row["context"].startswith(answer, start):
                raise _unsound(
                    name, row, f"has the answer {answer!r}, which is not at {start} in its context"
                )
    return pa.Table.from_pylist(rows, schema=QUESTIONS)


def _unsound(name: str, row: Mapping[str, object], what: str) -> UserError:
    return UserError(
        f"{name}: the question {row['example_id']!r} {what}: correct the file, or delete it and run again "
        "if it was downloaded."
    )
