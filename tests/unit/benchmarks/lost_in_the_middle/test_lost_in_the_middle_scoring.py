"""Lost in the Middle's scores: each task's metric, and answers that are none."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from needlework.benchmarks.lost_in_the_middle.factors import COLUMNS
from needlework.benchmarks.lost_in_the_middle.scores import score
from needlework.records import GENERATIONS, scores_schema

VALUE = "6bc5d8e4-0000-4000-8000-c0ffee000000"


def instances(*rows: tuple[str, str, list[str]]) -> pa.Table:
    """Rows of (instance_id, task, references), with all factors."""
    schema = pa.schema(
        [
            *(("instance_id", pa.string()), ("task", pa.string()), ("example_id", pa.string())),
            ("references", pa.list_(pa.string())),
            *((name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()),
        ]
    )
    return pa.Table.from_pylist(
        [
            {
                "instance_id": name,
                "task": task,
                "references": references,
                "example_id": f"of {name}",
            }
            | {"lang": "en", "n_documents": 20, "query_aware": False, "length": 0}
            for name, task, references in rows
        ],
        schema=schema,
    )


def answers(*rows: tuple[str, str, str]) -> pa.Table:
    """Rows of (instance_id, text, finish_reason)."""
    names = ("instance_id", "text", "finish_reason")
    return pa.Table.from_pylist(
        [dict(zip(names, row, strict=True), sample=0, completion_tokens=5) for row in rows],
        schema=GENERATIONS,
    )


def scored(asked, given):
    """The scores without those of the metric that stands beside."""
    made = score(asked, given, None, model="m", settings={})
    return made.filter(pc.field("metric") != "careful")


def test_careful_verdicts_stand_beside_or_alone():
    asked = instances(("a", "oracle", ["Paris"]), ("b", "key_value", [VALUE]))
    given = answers(("a", "Not Paris, but Lyon.", "stop"), ("b", f"It is {VALUE}.", "stop"))
    made = score(asked, given, None, model="m", settings={})
    found = list(zip(made["metric"].to_pylist(), made["value"].to_pylist(), strict=True))
    papers = [("best_subspan_em", 1.0), ("key_value_accuracy", 1.0)]
    assert found == [papers[0], ("careful", 0.0), papers[1], ("careful", 1.0)]
    alone = score(asked, given, None, model="m", settings={"metric": "careful"})
    assert alone["metric"].to_pylist() == ["careful"] * 2


@pytest.mark.parametrize("task", ["multi_document_qa", "closed_book", "oracle", "open_domain"])
def test_questions_have_best_subspan_em(task):
    asked = instances(("a", task, ["Röntgen", "Wilhelm"]), ("b", task, ["Röntgen"]))
    made = scored(asked, answers(("b", "Curie\nRöntgen", "stop"), ("a", "It is Wilhelm.", "stop")))
    assert made.schema.equals(scores_schema(COLUMNS))
    assert made["metric"].to_pylist() == ["best_subspan_em"] * 2
    assert made["value"].to_pylist() == [0.0, 1.0]
    assert made["verdict"].to_pylist() == ["no_match", "match:1"]
    assert made["example_id"].to_pylist() == ["of b", "of a"]


def test_key_value_counts_all_lines_and_punctuation():
    asked = instances(("a", "key_value", [VALUE]), ("b", "key_value", [VALUE]))
    made = scored(
        asked, answers(("a", f"Sure:\n{VALUE.upper()}", "stop"), ("b", VALUE[:-1], "length"))
    )
    assert made["metric"].to_pylist() == ["key_value_accuracy"] * 2
    assert made["value"].to_pylist() == [1.0, 0.0]
    assert made["verdict"].to_pylist() == ["match", "no_match"]


def test_skipped_and_failed_requests_are_rows_with_their_reason():
    asked = instances(
        ("a", "multi_document_qa", ["*"]), ("b", "key_value", [VALUE]), ("c", "oracle", ["yes"])
    )
    made = scored(asked, answers(("a", "", "skipped"), ("b", VALUE, "error"), ("c", "", "stop")))
    assert made["value"].to_pylist() == [0.0, 0.0, 0.0]
    assert made["verdict"].to_pylist() == ["skipped", "error", "empty"]
    assert made["finish_reason"].to_pylist() == ["skipped", "error", "stop"]
