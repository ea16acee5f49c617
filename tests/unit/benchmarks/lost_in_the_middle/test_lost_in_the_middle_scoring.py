"""Lost in the Middle's scores: each task's metric, and answers that are none."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from factories import answers
from factories.answers import generations
from needlework.benchmarks.lost_in_the_middle.factors import COLUMNS
from needlework.benchmarks.lost_in_the_middle.scores import score
from needlework.given import given as block
from needlework.records import scores_schema

VALUE = "6bc5d8e4-0000-4000-8000-c0ffee000000"


def scored(*asked: tuple[str, str, list[str]], given: pa.Table, **own: Any) -> list[tuple]:
    """(instance, metric, value, verdict) of each answer to rows of (instance_id, task, references)."""
    names = ("instance_id", "task", "references")
    rows = answers.instances(COLUMNS, *(dict(zip(names, row, strict=True)) for row in asked))
    settings = block({"metric": "best_subspan_em"} | own)
    made = score(rows, given, None, model="m", settings=settings)
    assert made.schema.equals(scores_schema(COLUMNS))
    found = [(r["instance_id"], r["metric"], r["value"], r["verdict"]) for r in made.to_pylist()]
    return found if own else [row for row in found if row[1] != "careful"]


def test_careful_verdicts_stand_beside_or_alone():
    asked = ("a", "oracle", ["Paris"]), ("b", "key_value", [VALUE])
    given = generations(("a", "Not Paris, but Lyon."), ("b", f"It is {VALUE}."))
    found = scored(*asked, given=given, metric="best_subspan_em")
    values = [(metric, value) for _, metric, value, _ in found]
    papers = [("best_subspan_em", 1.0), ("key_value_accuracy", 1.0)]
    assert values == [papers[0], ("careful", 0.0), papers[1], ("careful", 1.0)]
    alone = scored(*asked, given=given, metric="careful")
    assert [metric for _, metric, _, _ in alone] == ["careful"] * 2


@pytest.mark.parametrize("task", ["multi_document_qa", "closed_book", "oracle", "open_domain"])
def test_questions_have_best_subspan_em(task):
    asked = ("a", task, ["Röntgen", "Wilhelm"]), ("b", task, ["Röntgen"])
    given = generations(("b", "Curie\nRöntgen"), ("a", "It is Wilhelm."))
    assert scored(*asked, given=given) == [
        ("b", "best_subspan_em", 0.0, "no_match"),
        ("a", "best_subspan_em", 1.0, "match:1"),
    ]


def test_key_value_counts_all_lines_and_punctuation():
    asked = ("a", "key_value", [VALUE]), ("b", "key_value", [VALUE])
    given = generations(("a", f"Sure:\n{VALUE.upper()}"), ("b", VALUE[:-1], "length"))
    assert scored(*asked, given=given) == [
        ("a", "key_value_accuracy", 1.0, "match"),
        ("b", "key_value_accuracy", 0.0, "no_match"),
    ]


def test_answers_that_are_none_score_zero():
    asked = (
        *(("a", "multi_document_qa", ["*"]), ("b", "key_value", [VALUE])),
        ("c", "oracle", ["yes"]),
    )
    given = generations(("a", "", "skipped"), ("b", VALUE, "error"), ("c", ""))
    found = [(value, verdict) for *_, value, verdict in scored(*asked, given=given)]
    assert found == [(0.0, "skipped"), (0.0, "error"), (0.0, "empty")]
