"""MLNeedle's scores: the join of instances, answers and translations, and each task's metric."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from growth import assert_linear
from needlework.benchmarks.mlneedle import scores as released_mlneedle
from needlework.benchmarks.mlneedle.scores import Semantic
from needlework.benchmarks.mlneedle.scores import score as all_scores
from needlework.errors import UserError
from needlework.records import GENERATIONS, TRANSLATIONS, scores_schema, write_table
from needlework.results.rows import result_rows


def score(*tables: pa.Table | None, **how: Any) -> pa.Table:
    """The scores without those by the metric that stands beside."""
    return all_scores(*tables, **how).filter(pc.field("metric") != "careful")


EXACT = {"metric": "containment"}
FACTORS = {"needle_lang": "string", "depth": "double", "length": "int32"}


def instances(*rows: tuple[str, str, list[str]]) -> pa.Table:
    """Rows of (instance_id, task, references), with factors that differ from row to row."""
    schema = pa.schema(
        [
            ("instance_id", pa.string()),
            ("task", pa.string()),
            *((name, pa.type_for_alias(kind)) for name, kind in FACTORS.items()),
            ("example_id", pa.string()),
            ("references", pa.list_(pa.string())),
        ]
    )
    return pa.Table.from_pylist(
        [
            {
                "instance_id": name,
                "task": task,
                "references": references,
                "example_id": f"example of {name}",
                "needle_lang": f"lang of {name}",
                "depth": None if task == "closed_book" else 0.5,
                "length": 100 + place,
            }
            for place, (name, task, references) in enumerate(rows)
        ],
        schema=schema,
    )


def generations(*rows: tuple[str, int, str | None, str]) -> pa.Table:
    """Rows of (instance_id, sample, text, finish_reason)."""
    names = ("instance_id", "sample", "text", "finish_reason")
    return pa.Table.from_pylist(
        [dict(zip(names, row, strict=True)) for row in rows], schema=GENERATIONS
    )


def translations(*rows: tuple[str, int, str]) -> pa.Table:
    """Rows of (instance_id, sample, text)."""
    return pa.Table.from_pylist(
        [{"instance_id": i, "sample": s, "lang": "de", "text": t} for i, s, t in rows],
        schema=TRANSLATIONS,
    )


def same(answers: pa.Table) -> pa.Table:
    """The answers as their own translations."""
    rows = answers.to_pylist()
    return translations(*((r["instance_id"], r["sample"], r["text"] or "") for r in rows))


THREE = instances(
    ("a", "exact", ["Gustave Eiffel"]),
    ("b", "existence", ["No"]),
    ("c", "closed_book", ["Roma", "Rome"]),
)


def test_scores_keep_the_order_and_factors_of_answers():
    answers = generations(
        ("c", 1, "In Rome", "length"),
        ("a", 0, "By Gustave Eiffel", "stop"),
        ("b", 0, "Yes", "stop"),
        ("c", 0, "In Paris", "stop"),
    )
    scores = score(THREE, answers, same(answers), model="m", settings=EXACT)
    assert scores.schema == scores_schema(FACTORS)
    rows = scores.to_pylist()
    assert [(r["instance_id"], r["sample"], r["value"], r["verdict"]) for r in rows] == [
        ("c", 1, 1.0, "match:raw:1"),
        ("a", 0, 1.0, "match:raw:0"),
        ("b", 0, 0.0, "yes:raw"),
        ("c", 0, 0.0, "no_match"),
    ]
    assert [r["metric"] for r in rows] == ["containment", "containment", "existence", "containment"]
    assert rows[0] == {
        "instance_id": "c",
        "sample": 1,
        "model": "m",
        "metric": "containment",
        "value": 1.0,
        "verdict": "match:raw:1",
        "finish_reason": "length",
        "completion_tokens": None,
        "reasoning_tokens": None,
        "outcome": None,
        "answered_in": None,
        "example_id": "example of c",
        "task": "closed_book",
        "needle_lang": "lang of c",
        "depth": None,
        "length": 102,
    }


def test_the_translation_of_that_very_sample_counts():
    answers = generations(
        ("a", 0, "x", "stop"),
        ("a", 1, "x", "stop"),
        ("b", 0, "x", "stop"),
        ("c", 0, "x", "stop"),
    )
    english = translations(
        ("c", 0, "Rome"), ("a", 1, "Gustave Eiffel"), ("b", 0, "No."), ("a", 0, "nobody")
    )
    scores = score(THREE, answers, english, model="m", settings=EXACT)
    assert scores["value"].to_pylist() == [0.0, 1.0, 1.0, 1.0]
    assert scores["verdict"].to_pylist() == [
        "no_match",
        "match:translated:0",
        "no:translated",
        "match:translated:1",
    ]


def test_the_metric_decides_for_exact_answers_alone():
    answers = generations(
        ("a", 0, "Eiffel, Gustave", "stop"),
        ("b", 0, "No", "stop"),
        ("c", 0, "Oslo", "stop"),
    )
    by_metric = {
        metric: score(THREE, answers, same(answers), model="m", settings={"metric": metric})
        for metric in ("containment", "released")
    }
    assert by_metric["containment"]["value"].to_pylist() == [0.0, 1.0, 0.0]
    assert by_metric["released"]["value"].to_pylist() == [1.0, 1.0, 0.0]
    assert by_metric["released"]["metric"].to_pylist() == ["released", "existence", "released"]


def test_failed_requests_score_zero_without_a_translation():
    answers = generations(
        ("a", 0, None, "skipped"), ("b", 0, "No", "error"), ("c", 0, "Rome", "stop")
    )
    scores = score(THREE, answers, translations(("c", 0, "Rome")), model="m", settings=EXACT)
    assert scores["value"].to_pylist() == [0.0, 0.0, 1.0]
    assert scores["verdict"].to_pylist() == ["skipped", "error", "match:raw:1"]
    assert scores["finish_reason"].to_pylist() == ["skipped", "error", "stop"]


ONE = instances(("a", "exact", ["Rome"]))
ANSWER = generations(("a", 0, "Rome", "stop"))


@pytest.mark.parametrize(
    ("given", "answers", "english", "message"),
    [
        (pa.concat_tables([ONE, ONE]), ANSWER, same(ANSWER), "instances hold a twice"),
        (
            ONE,
            pa.concat_tables([ANSWER, ANSWER]),
            same(ANSWER),
            "generations hold a sample 0 twice",
        ),
        (
            ONE,
            ANSWER,
            pa.concat_tables([same(ANSWER), same(ANSWER)]),
            "translations hold a sample 0 twice",
        ),
        (
            ONE,
            generations(("a", 0, "Rome", "stop"), ("z", 3, "Rome", "stop")),
            same(ANSWER),
            "answer z sample 3, which no instance",
        ),
        (THREE, ANSWER, same(ANSWER), "2 instance.s. have no answer, such as b"),
        (ONE, ANSWER, translations(("a", 1, "Rome")), "a sample 0 has no translation"),
    ],
)
def test_tables_that_do_not_belong_together_are_refused(given, answers, english, message):
    with pytest.raises(UserError, match=message):
        score(given, answers, english, model="m", settings=EXACT)


def test_no_answers_give_no_rows():
    scores = score(instances(), generations(), translations(), model="m", settings=EXACT)
    assert scores.num_rows == 0
    assert scores.schema == scores_schema(FACTORS)


@pytest.mark.slow
def test_the_time_of_scoring_is_linear_in_answers():
    text = "The passages say that the town lies on the river {}, which flows to the sea. " * 4

    def work(count: int) -> None:
        given = instances(*((str(i), "exact", [f"river {i % 997}"] * 7) for i in range(count)))
        answers = generations(*((str(i), 0, text.format(i, *"abc"), "stop") for i in range(count)))
        scores = score(given, answers, same(answers), model="m", settings=EXACT)
        assert scores.num_rows == count

    assert_linear(work, 500)


@pytest.mark.parametrize("metric", ["containment", "released"])
def test_careful_verdicts_stand_beside_in_the_scores(metric):
    answers = generations(
        ("a", 0, "Gustave Eiffels", "stop"), ("b", 0, "No", "stop"), ("c", 0, "Rome", "stop")
    )
    found = all_scores(THREE, answers, None, model="m", settings={"metric": metric})
    metrics = found["metric"].to_pylist()
    assert metrics == [metric, "careful", "existence", "careful", metric, "careful"]
    alone = all_scores(THREE, answers, None, model="m", settings={"metric": "careful"})
    assert alone["metric"].to_pylist() == ["careful"] * 3


def test_results_are_made_of_the_chosen_metric_alone(tmp_path):
    answers = generations(*((name, 0, "Rome", "stop") for name in "abc"))
    table = all_scores(THREE, answers, None, model="m", settings=EXACT)
    write_table(table, tmp_path / "scores.parquet", notes={"beside": ["careful"]})
    rows = result_rows("scores", [str(tmp_path / "scores.parquet")], {})
    assert sorted(rows["metric"]) == ["containment", "containment", "existence"]


def test_an_answer_that_is_near_in_meaning_counts() -> None:
    """Here in n-grams, whose nearness is one of letters."""
    wanted = "the lighthouses of the old harbour towns of Orveld and Quillmouth in the northern provinces"
    said = wanted.replace("provinces", "province,").replace("lighthouses", "lighthouse")
    far = "a bakery in the south"
    semantic = Semantic({"kind": "ngram"})
    assert released_mlneedle.released_accuracy(said, None, [wanted])[0] == 0.0
    assert semantic.score(said, None, [far, wanted]) == (1.0, "semantic:raw:1")
    assert semantic.score("?", said, [wanted]) == (1.0, "semantic:translated:0")
    assert semantic.score(far, None, [wanted]) == (0.0, "no_match")
    assert semantic.score("", None, [wanted]) == (0.0, "empty")
    assert semantic.score(wanted, None, [wanted]) == (1.0, "match:raw:0")
