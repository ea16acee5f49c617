"""M4LE's scores: the paper's metric, and the released scorer's with its faults."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from factories import ROOT
from factories.m4le import configured, mirrored, sample
from made_slices import Made
from needlework.benchmarks.m4le import measures, plan
from needlework.benchmarks.m4le.data.tasks import TASKS
from needlework.benchmarks.m4le.scores import METRICS, paper, released, score
from needlework.given import given
from needlework.records import GENERATIONS

SCORED = [name for name, task in TASKS.items() if task.metric != "bleu"]


def built(rows: pa.Table, **own: Any) -> pa.Table:
    block = configured(source="sample", lengths=[500, 1000], **own)["benchmarks"]["m4le"]
    settings = plan.settings(given(block | {"seed": 0}), "sample", block["lengths"])
    return Made("m4le", settings, {"rows": {"sample": rows}}).built.instances


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return sample()


@pytest.fixture(scope="module")
def instances(rows: pa.Table) -> pa.Table:
    return built(rows)


@pytest.fixture(scope="module")
def golds(instances: pa.Table) -> list[str]:
    return [references[0] for references in instances["references"].to_pylist()]


def scored(
    instances: pa.Table, texts: list[str], reason: str = "stop", raw: list[str] | None = None
) -> list[dict[str, Any]]:
    ids, raw_texts = instances["instance_id"].to_pylist(), raw or [None] * len(texts)
    answers = [
        {"instance_id": id_, "sample": 0, "text": text, "raw_text": own, "finish_reason": reason}
        for id_, text, own in zip(ids, texts, raw_texts, strict=True)
    ]
    given = pa.Table.from_pylist(answers, schema=GENERATIONS)
    return score(instances, given, model="m", settings={}).to_pylist()


@pytest.fixture(scope="module")
def oracle(instances: pa.Table, golds: list[str]) -> list[dict[str, Any]]:
    return scored(instances, golds)


def test_the_oracle_scores_one_and_the_empty_answer_zero(instances, golds, oracle) -> None:
    for table, value in ((oracle, 1.0), (scored(instances, [""] * len(golds)), 0.0)):
        assert {row["metric"] for row in table} == set(METRICS)
        for row in table:
            if row["metric"] != "released":
                assert row["value"] == pytest.approx(value), (row["task"], row["metric"])
    failed = scored(instances, ["x"] * len(instances), "skipped")
    assert {(row["value"], row["verdict"]) for row in failed} == {(0.0, "skipped")}
    translated = [row for row in oracle if row["task_type"].startswith("TRAN")]
    own = [row["bleu_statistics"] for row in translated if row["metric"] == "paper"]
    assert measures.corpus(own) == pytest.approx(1.0)
    others = [row["bleu_statistics"] for row in oracle if row not in translated]
    assert set(others) == {None}


def test_the_released_scorer_sees_thoughts(instances, golds, oracle) -> None:
    """As evaluation.py does: what a model thinks before its answer is scored, and BLEU counts it."""
    thought = scored(instances, golds, raw=[f"<think> no \n: . 。，, </think>{x}" for x in golds])
    changed = {
        (row["task_type"].split("+")[0], row["metric"])
        for row, own in zip(oracle, thought, strict=True)
        if (row["value"], row["bleu_statistics"]) != (own["value"], own["bleu_statistics"])
    }
    kinds, metrics = map(set, zip(*changed, strict=True))
    assert metrics == {"released"} and kinds >= {"CLS", "QA", "SUM", "TRAN"}


# Means of the released scorer over the mirror's rows, answered with their first gold answers.
BELOW_ONE = {
    **{"online-shopping": (0.85, 0.98), "news2016": (0.3, 0.8), "cnewsum": (0.0, 1.0)},
    **dict.fromkeys(("dureader", "triviaqa", "clts"), (0.0, 0.99)),
}


@pytest.mark.parametrize("name", SCORED)
def test_gold_answers_of_real_rows_score_one_but_when_released(name: str, mirror: Path) -> None:
    """Other rows' answers, and pieces of the right one, have a score too."""
    task, rows, rng, values = TASKS[name], list(mirrored(mirror, TASKS[name])), random.Random(7), []
    for row in rows:
        accepted = row["answers"]
        for gold in filter(str.strip, accepted):
            assert paper(task, gold, accepted) == pytest.approx(1.0), gold
        assert paper(task, "", accepted) == 0.0
        values.append(released(task, accepted[0], accepted))
        half = accepted[0][: len(accepted[0]) // 2]
        for text in (half, rng.choice(rows)["answers"][0], "...", "。", '"'):
            assert all(0.0 <= metric(task, text, accepted) <= 1.0 for metric in (paper, released))
    low, high = BELOW_ONE.get(name, (1.0, 1.0))
    assert low - 1e-9 <= sum(values) / len(values) <= high + 1e-9


DUREADER, NEWS = "先做一件事。再做另一件事。", '最相关的新闻是2。"天气很好"'
SUMMARY, SPORT, IDS = "据新闻报道，天气很好。", "体育", "A1B2C3，D4E5F6。"


@pytest.mark.parametrize(
    ("task", "answer", "gold", "by_released", "by_paper"),
    [
        # The last id is never found.
        ("online-shopping", IDS, IDS, 0.5, 1.0),
        # A long gold cannot be in a cut answer.
        ("dureader", DUREADER, DUREADER, 0.0, 1.0),
        ("dureader", "先做一件事。", DUREADER, 0.0, None),
        # A right class with more text is wrong.
        ("thucnews_explicit-single", "体育。", SPORT, 0.0, 1.0),
        ("thucnews_explicit-single", "体育\n新闻", SPORT, 0.0, 1.0),
        ("thucnews_explicit-single", "\n\n体育", SPORT, 1.0, 1.0),
        ("thucnews_explicit-single", "体育和财经", SPORT, 0.0, 0.0),
        # What stands before the title is lost, and a summary that names news is cut.
        ("news2016", NEWS, NEWS, None, 1.0),
        ("news2016", "天气很好", NEWS, None, 1.0),
        ("clts", SUMMARY, SUMMARY, None, 1.0),
        # A gold with a full stop is cut.
        ("triviaqa", "St. Louis", "St. Louis", 0.0, 1.0),
        ("triviaqa", "Rome. St. Louis is another.", "Louis", 0.0, 0.0),
        # Any digit of a patent's class counts.
        ("bigpatent_global_cls", "Class 12: physics", "1", 1.0, 1.0),
        ("bigpatent_global_cls", "Class 12: physics", "2", 1.0, 1.0),
        # Commas of the other width fail.
        ("thucnews_explicit-multiple", "A1,B2", "A1，B2", 0.0, 0.0),
        ("mnds-news_explicit-multiple", "A1，B2", "A1, B2", 0.0, 0.0),
        # Counts need the number alone.
        ("mnds-news_semantic-multiple", "2. Article", "2.", 1.0, 1.0),
        ("mnds-news_semantic-multiple", "12.", "2.", 0.0, 0.0),
        ("mnds-news_semantic-multiple", "two", "2.", 0.0, 0.0),
    ],
)
def test_where_the_released_scorer_differs_from_the_paper(
    task: str, answer: str, gold: str, by_released: float | None, by_paper: float | None
) -> None:
    """None is a share of an overlap."""
    for metric, value in ((released, by_released), (paper, by_paper)):
        found = metric(TASKS[task], answer, [gold])
        assert 0 < found < 1 if value is None else found == pytest.approx(value)


def test_questions_are_asked_once_without_their_texts(rows: pa.Table, instances) -> None:
    both, plain = built(rows, closed_book=True).to_pylist(), instances.to_pylist()
    texts = {row["passage_id"]: row["text"] for row in rows.to_pylist()}
    alone = [row for row in both if not row["length"]]
    assert [row for row in both if row["length"]] == plain
    questions = {name for name, task in TASKS.items() if task.task_type == "QA"}
    assert {row["task"] for row in alone} == questions & {row["task"] for row in plain}
    asked = set()
    for row in alone:
        (span,) = row["prompt"]
        text = texts[row["example_id"]][span["start"] : span["end"]]
        question, end = text.rsplit("\n", 1)
        assert question.startswith(("Question: ", "问题: ")) and "\n" not in question
        assert end in ("Answer:", "答案:")
        assert texts[row["example_id"]].endswith(text)
        assert row["candidates"] == 0 and row["position"] is None and row["n_tokens"] < 60
        asked.add((row["task"], text))
    assert len(asked) == len(alone)


def test_positions_and_candidates_are_factors(instances: pa.Table) -> None:
    for row in instances.to_pylist():
        roles = [span["role"] for span in row["prompt"]]
        shown = [role for role in roles if role in ("needle", "distractor")]
        if row["position"] is not None:
            assert shown.count("needle") == 1 and len(shown) == row["candidates"]
            place = shown.index("needle")
            assert row["position"] == pytest.approx(place / (row["candidates"] - 1))
        assert row["accepted"][:1] == row["references"] and row["source"] == "sample"


# What evaluation.py of KwanWaiChung/M4LE at 47c2af9 gave for answers to the sample's rows: the gold one,
# none, its characters in another order, its first half, another row's, and with text around it. Of
# translations, the corpus BLEU of all of a task's answers.
OFFICIAL = json.loads((ROOT / "tests/data/m4le_released_scorer.json").read_text("utf-8"))


@pytest.mark.parametrize("name", TASKS)
def test_released_scores_are_the_official_scorers(name: str) -> None:
    task = TASKS[name]
    cases = [case for case in OFFICIAL if case["task"] == name]
    assert cases
    for case in cases:
        answers, accepted = case["answers"], case["accepted"]
        if task.metric == "bleu":
            pairs = zip(answers, accepted, strict=True)
            of = [measures.statistics(x.strip(), y[0], task.answer_lang).flat() for x, y in pairs]
            ours = measures.corpus(of)
        else:
            ours = released(task, answers[0], accepted[0])
        assert ours == pytest.approx(case["score"], abs=1e-9), answers
