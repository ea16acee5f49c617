"""MLNeedle's scores: the join of instances, answers and translations, and each task's metric."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from factories import answers
from factories.answers import generations, translations
from growth import assert_linear
from needlework.benchmarks.mlneedle.scores import Semantic, released_accuracy
from needlework.benchmarks.mlneedle.scores import score as all_scores
from needlework.errors import UserError
from needlework.given import given as blocks
from needlework.records import scores_schema, write_table
from needlework.results.numbers.misreads import misreads
from needlework.results.rows import result_rows


def choosing(metric: str) -> Any:
    return blocks({"metric": metric})


FACTORS = {"needle_lang": "string", "depth": "double", "length": "int32"}


def instances(*rows: tuple[str, str, list[str]]) -> pa.Table:
    """Rows of (instance_id, task, references), with factors that differ from row to row."""
    made = [
        {"instance_id": name, "task": task, "references": references, "length": 100 + place}
        | {"needle_lang": f"lang of {name}", "depth": None if task == "closed_book" else 0.5}
        for place, (name, task, references) in enumerate(rows)
    ]
    return answers.instances(FACTORS, *made)


def score(*tables: pa.Table | None, metric: str = "containment") -> list[dict[str, Any]]:
    """The scores without those by the metric that stands beside."""
    made = all_scores(*tables, model="m", settings=choosing(metric))
    assert made.schema == scores_schema(FACTORS)
    return made.filter(pc.field("metric") != "careful").to_pylist()


def values(rows: list[dict[str, Any]]) -> list[tuple[float, str]]:
    return [(row["value"], row["verdict"]) for row in rows]


def same(given: pa.Table) -> pa.Table:
    return translations(*((r["instance_id"], r["text"], r["sample"]) for r in given.to_pylist()))


THREE = instances(
    ("a", "exact", ["Gustave Eiffel"]),
    ("b", "existence", ["No"]),
    ("c", "closed_book", ["Roma", "Rome"]),
)


@pytest.mark.parametrize("metric", ["containment", "released", "careful"])
def test_an_undecided_answer_has_the_papers_value(metric: str) -> None:
    """Whatever the metric of tables. All words stand in it, so the released scorer calls it right."""
    given = generations(("a", "It was either Gustave or Alexandre Eiffel."))
    made = all_scores(THREE.slice(0, 1), given, None, model="m", settings=choosing(metric))
    (second,) = made.filter(pc.field("metric") == "careful").to_pylist()
    assert (second["value"], second["verdict"]) == (0.0, "undecided:partly")
    # It is misread by no metric.
    for found in misreads(made.to_pandas(), ()):
        assert found[2:] == (0, 0, 1, 0)


def test_scores_join_answers_with_their_own_translations() -> None:
    given = generations(
        ("c", "In Rome", "length", 1), ("a", "By Gustave Eiffel"), ("b", "Yes"), ("c", "In Paris")
    )
    rows = score(THREE, given, same(given))
    assert [f"{r['instance_id']}{r['sample']}" for r in rows] == ["c1", "a0", "b0", "c0"]
    verdicts = ["match:raw:1", "match:raw:0", "yes:raw", "no_match"]
    assert values(rows) == [*zip((1.0, 1.0, 0.0, 0.0), verdicts, strict=True)]
    assert [r["metric"] for r in rows] == ["containment", "containment", "existence", "containment"]
    assert rows[0] == {
        **{"instance_id": "c", "sample": 1, "model": "m", "metric": "containment", "value": 1.0},
        **{"verdict": "match:raw:1", "finish_reason": "length", "completion_tokens": None},
        **{"reasoning_tokens": None, "outcome": None, "answered_in": None, "depth": None},
        **{"example_id": "example of c", "task": "closed_book", "needle_lang": "lang of c"},
        **{"length": 102},
    }
    assert score(instances(), generations(), translations()) == []
    given = generations(("a", "x"), ("a", "x", "stop", 1), ("b", "x"), ("c", "x"))
    english = translations(("c", "Rome"), ("a", "Gustave Eiffel", 1), ("b", "No."), ("a", "nobody"))
    assert values(score(THREE, given, english)) == [
        *((0.0, "no_match"), (1.0, "match:translated:0"), (1.0, "no:translated")),
        (1.0, "match:translated:1"),
    ]
    given = generations(("a", None, "skipped"), ("b", "No", "error"), ("c", "Rome"))
    rows = score(THREE, given, translations(("c", "Rome")))
    assert values(rows) == [(0.0, "skipped"), (0.0, "error"), (1.0, "match:raw:1")]
    assert [row["finish_reason"] for row in rows] == ["skipped", "error", "stop"]


@pytest.mark.parametrize("metric", ["containment", "released"])
def test_the_metric_decides_for_exact_answers_alone(metric):
    given = generations(("a", "Eiffel, Gustave"), ("b", "No"), ("c", "Oslo"))
    rows = score(THREE, given, same(given), metric=metric)
    assert [row["value"] for row in rows] == [float(metric == "released"), 1.0, 0.0]
    assert [row["metric"] for row in rows] == [metric, "existence", metric]
    # The second scorer's verdicts stand beside, or alone.
    for chosen, wanted in (
        (metric, [metric, "careful", "existence", "careful", metric, "careful"]),
        ("careful", ["careful"] * 3),
    ):
        found = all_scores(THREE, given, None, model="m", settings=choosing(chosen))
        assert found["metric"].to_pylist() == wanted


ONE = instances(("a", "exact", ["Rome"]))
ANSWER = generations(("a", "Rome"))
ENGLISH = same(ANSWER)


@pytest.mark.parametrize(
    ("given", "said", "english", "message"),
    [
        (pa.concat_tables([ONE, ONE]), ANSWER, ENGLISH, "instances hold a twice"),
        (ONE, pa.concat_tables([ANSWER] * 2), ENGLISH, "generations hold a sample 0 twice"),
        (ONE, ANSWER, pa.concat_tables([ENGLISH] * 2), "translations hold a sample 0 twice"),
        (
            *(ONE, generations(("a", "Rome"), ("z", "Rome", "stop", 3)), ENGLISH),
            "answer z sample 3, which no instance",
        ),
        (THREE, ANSWER, ENGLISH, "2 instance.s. have no answer, such as b"),
        (ONE, ANSWER, translations(("a", "Rome", 1)), "a sample 0 has no translation"),
    ],
)
def test_tables_that_do_not_belong_together_are_refused(given, said, english, message):
    with pytest.raises(UserError, match=message):
        score(given, said, english)


def test_the_time_of_scoring_is_linear_in_answers():
    text = "The passages say that the town lies on the river {}, which flows to the sea. " * 4

    def work(count: int) -> None:
        given = instances(*((str(i), "exact", [f"river {i % 997}"] * 7) for i in range(count)))
        said = generations(*((str(i), text.format(i, *"abc")) for i in range(count)))
        assert len(score(given, said, same(said))) == count

    assert_linear(work, 60)


def test_results_are_made_of_the_chosen_metric_alone(tmp_path):
    given = generations(*((name, "Rome") for name in "abc"))
    table = all_scores(THREE, given, None, model="m", settings=choosing("containment"))
    write_table(table, tmp_path / "scores.parquet", notes={"beside": ["careful"]})
    rows = result_rows("scores", [str(tmp_path / "scores.parquet")], {})
    assert sorted(rows["metric"]) == ["containment", "containment", "existence"]


def test_an_answer_that_is_near_in_meaning_counts() -> None:
    """Here in n-grams, whose nearness is one of letters."""
    wanted = "the lighthouses of the old harbour towns of Orveld and Quillmouth in the northern provinces"
    said = wanted.replace("provinces", "province,").replace("lighthouses", "lighthouse")
    far = "a bakery in the south"
    semantic = Semantic({"kind": "ngram"})
    assert released_accuracy(said, None, [wanted])[0] == 0.0
    assert semantic.score(said, None, [far, wanted]) == (1.0, "semantic:raw:1")
    assert semantic.score("?", said, [wanted]) == (1.0, "semantic:translated:0")
    assert semantic.score(far, None, [wanted]) == (0.0, "no_match")
    assert semantic.score("", None, [wanted]) == (0.0, "empty")
    assert semantic.score(wanted, None, [wanted]) == (1.0, "match:raw:0")
