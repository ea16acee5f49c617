"""ONERULER's tables: their numbers by hand, both metrics, both denominators."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

import factories.oneruler
from described import numbers, results
from factories.oneruler import SETTINGS
from needlework.benchmarks.oneruler import factors
from needlework.benchmarks.oneruler.paper import LENGTHS
from needlework.results import published

TABLES = {n: t for n, t in results("oneruler", "tables").items() if t.needs == "scores"}

NUMBERS = published.load(Path(__file__).parents[4] / "resources" / "published" / "oneruler.csv")
MODELS = ("o3", "qwen7b", "qwen7b-equal")
LANGS = ("en", "ko", "zh", "hi", "pl")
NIAH = list(factors.NIAH)


@pytest.fixture(scope="module")
def scores():
    return factories.oneruler.make(MODELS, LANGS, (8000, 64000, 128000), examples=4)


@pytest.fixture(scope="module")
def made(scores):
    return {name: numbers(table, scores, NUMBERS, SETTINGS) for name, table in TABLES.items()}


def of(rows, **wanted):
    for column, value in wanted.items():
        rows = rows[rows[column].isin(value) if isinstance(value, list) else rows[column] == value]
    return rows


def no_text(rows):
    return rows["verdict"].isin(["length"])


def test_accuracy_counts_no_answer_to_common_words_as_wrong(scores, made):
    mine = of(scores, model="o3", metric="strict", task="cwe_easy", length=8000, context_lang="ko")
    assert no_text(mine).any()
    row = of(made["accuracy"], model="o3", metric="strict", task="cwe_easy", length=8000)
    row = of(row, context_lang="ko")
    assert row["n"].item() == row["n_all"].item() == len(mine)
    assert row["value"].item() == row["value_all"].item() == pytest.approx(mine["value"].mean())


def test_an_answer_that_ended_without_text_is_wrong_and_counted(scores):
    some = scores[scores["model"] == "qwen7b"].copy()
    some[["value", "verdict", "finish_reason"]] = [0.0, "no_answer", "stop"]
    table = numbers(TABLES["accuracy"], some, NUMBERS, SETTINGS)
    assert (table["value"] == 0).all() and (table["n"] == table["n_all"]).all()
    assert (table["n_dropped"] == 0).all()


def test_skipped_requests_are_wrong_among_all_prompts_only(scores):
    some = scores.copy()
    lost = (some["model"] == "qwen7b") & (some["example_id"].str.endswith("-0"))
    some.loc[lost, ["value", "verdict", "finish_reason"]] = [0.0, "skipped", "skipped"]
    table = numbers(TABLES["accuracy"], some, NUMBERS, SETTINGS)
    row = of(table, model="qwen7b", metric="released", task="niah", context_lang="pl", length=8000)
    row = of(row, instruction_lang="pl")
    mine = of(scores, model="qwen7b", metric="released", task=NIAH, context_lang="pl", length=8000)
    mine = of(mine, instruction_lang="pl")
    rest = mine[~mine["example_id"].str.endswith("-0")]
    assert (row["n"].item(), row["n_all"].item(), row["n_skipped"].item()) == (15, 20, 5)
    assert row["value"].item() == pytest.approx(rest["value"].mean())
    assert row["value_all"].item() == pytest.approx(rest["value"].sum() / 20)
    assert row["comparison"].item() == "cannot tell: 5 answers are missing"


def pair(first, second):
    """Scores of two models, one with equal text, whose accuracies in six languages are these of 10."""
    rows = []
    for model, accuracies in (("a", first), ("b", second)):
        for lang, right in zip(("en", "de", "fr", "sv", "nl", "ru"), accuracies, strict=True):
            rows += [
                {
                    "model": model,
                    "context_lang": lang,
                    "value": float(i < right),
                    "example_id": str(i),
                }
                for i in range(10)
            ]
    frame = pd.DataFrame(rows)
    return frame.assign(
        instruction_lang=frame["context_lang"],
        **{"metric": "strict", "task": "niah_single", "none_option": True, "length": 8000},
        **{"verdict": "correct", "finish_reason": "stop", "exhausted": False},
    )


def test_tau_of_hand_made_ranks():
    settings = {"models": ["a", "b"], "metric": "strict", "equal_text": [["a", "b"]]}

    def tau(scores):
        return numbers(TABLES["lengths_tau"], scores, NUMBERS, settings)

    row = tau(pair((9, 8, 7, 6, 5, 4), (9, 8, 7, 6, 5, 4))).iloc[0]
    assert (row["value"], row["n"], row["p"]) == (pytest.approx(1.0), 6, pytest.approx(2 / 720))
    # One of 15 pairs is turned around: (14 - 1) / 15.
    row = tau(pair((9, 8, 7, 6, 5, 4), (8, 9, 7, 6, 5, 4))).iloc[0]
    assert row["value"] == pytest.approx(13 / 15)
    z, half = math.atanh(13 / 15), 1.959964 * math.sqrt(0.437 / 2)
    assert row["ci_low_independent"] == pytest.approx(math.tanh(z - half))
    assert row["ci_high_independent"] == pytest.approx(math.tanh(z + half))
    row = tau(pair((5, 5, 5, 5, 5, 5), (8, 9, 7, 6, 5, 4))).iloc[0]
    assert math.isnan(row["value"])


def equal_texts(models, langs=factors.ARTICLES, lengths=LENGTHS):
    """Scores of pairs of these models, the second of each with equal text, and their settings."""
    shape = {"examples": 1, "tasks": tuple(NIAH), "crossed": False, "ablated": False}
    metrics = ("released",)
    scores = factories.oneruler.make(tuple(models), tuple(langs), lengths, **shape, metrics=metrics)
    # As in the preset, where entries with equal text bear no name of the paper's.
    worse = scores["value"].where(scores.index % 7 != 0, 0.0)
    both = pd.concat([scores, scores.assign(model=scores["model"] + "-same", value=worse)])
    pairs = [[model, f"{model}-same"] for model in models]
    names = {model: SETTINGS["published"][model] for model in models}
    own = {"models": [m for pair in pairs for m in pair], "published": names, "equal_text": pairs}
    return both, {**SETTINGS, **own, "metric": "released"}


def whole_tau(scores, settings):
    tau = numbers(TABLES["lengths_tau"], scores, NUMBERS, settings)
    return of(tau, model="all", length="all").iloc[0]


def test_pairs_that_were_not_run_have_no_tau() -> None:
    settings = {**SETTINGS, "models": ["a"], "equal_text": [["a", "absent"]]}
    tau = numbers(TABLES["lengths_tau"], pair((9,) * 6, (9,) * 6)[:0], NUMBERS, settings)
    assert set(tau["model"]) == {"all"}


def test_tau_is_compared_over_the_papers_models_lengths_and_languages():
    scores, own = equal_texts(factories.oneruler.MODELS)
    assert whole_tau(scores, own)["comparison"] in ("covers", "below", "above")
    assert whole_tau(scores, own)["published_p"] == 0.001
    assert whole_tau(scores, own)["comparison_p"] == "covers"
    # All answers right but those of one language: few ranks, and p above the bound.
    flat = scores.assign(value=1.0).sort_values("context_lang")
    flat.loc[(flat["context_lang"] == "st") & (flat["length"] == 8000), "value"] = 0.0
    lone = flat[flat["context_lang"].isin(["st", "sw", "zh"]) & (flat["length"] == 8000)]
    lone = lone[lone["model"].isin(["o3", "o3-same"])]
    assert whole_tau(lone, own)["comparison_p"].startswith("cannot tell: other")
    assert whole_tau(lone, own)["p"] > 0.001
    short = scores[scores["length"] != 128000]
    assert whole_tau(short, own)["comparison"] == "cannot tell: other lengths"
    one = scores[(scores["model"] != "o3-same") | (scores["context_lang"] != "st")]
    assert whole_tau(one, own)["comparison"] == "cannot tell: other languages"
    fewer = scores[scores["model"] != "gemini-same"]
    assert whole_tau(fewer, own)["comparison"] == "cannot tell: other models"
    skipped = scores.assign(finish_reason=scores["finish_reason"].mask(scores.index == 0, "error"))
    assert whole_tau(skipped, own)["comparison"] == "cannot tell: 2 answers are missing"
    sampled = {**own, "decoding": {"qwen7b-same": "temperature 1"}}
    why = "cannot tell: decoding is temperature 1, in the paper greedy"
    assert whole_tau(scores, sampled)["comparison"] == why


def test_tau_of_other_models_stands_alone(made):
    scores, own = equal_texts(["qwen7b"], ("en", "ko", "hi"))
    assert whole_tau(scores, own)["published"] == 0.82
    assert whole_tau(scores, {**own, "published": {}})["published"] is None
    reasons = of(made["lengths_tau"], model="all", length="all", metric="released")["comparison"]
    reasons = reasons.item()
    assert "metric" not in reasons
    for reason in ("other lengths", "other languages", "other models"):
        assert reason in reasons
