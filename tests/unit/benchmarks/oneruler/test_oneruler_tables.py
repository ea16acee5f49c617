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


@pytest.mark.parametrize("metric", ["strict", "released"])
def test_accuracy_has_both_metrics_and_both_denominators(scores, made, metric):
    mine = of(scores, model="o3", metric=metric, task=NIAH, length=64000, none_option=True)
    mine = of(mine, instruction_lang="en", context_lang="en")
    counted = mine[~no_text(mine)]
    assert 0 < len(counted) < len(mine)
    row = of(made["accuracy"], model="o3", metric=metric, task="niah", length=64000)
    row = of(row, instruction_lang="en", context_lang="en")
    assert row["value"].item() == pytest.approx(counted["value"].mean())
    assert row["value_all"].item() == pytest.approx(mine["value"].mean())
    assert (row["n"].item(), row["n_all"].item()) == (len(counted), len(mine))
    assert row["n_dropped"].item() == len(mine) - len(counted)
    assert row["published"].item() == 0.84
    obstacle = row["comparison"].item().startswith("cannot tell: metric is strict")
    assert obstacle == (metric == "strict")


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


def test_accuracy_marks_cells_whose_vocabulary_ran_out(made):
    row = of(made["accuracy"], model="qwen7b", metric="strict", task="cwe_hard", context_lang="zh")
    assert dict(zip(row["length"], row["n_exhausted"], strict=True)) == {
        8000: 0,
        64000: 0,
        128000: 4,
    }
    every = of(made["accuracy"], model="qwen7b", metric="strict", task="cwe_hard")
    assert of(every, context_lang="all", length=128000)["n_exhausted"].item() == 8


def test_accuracy_keeps_variants_apart(scores, made):
    single = of(made["accuracy"], model="qwen7b", metric="strict", task="niah_single", length=8000)
    own = of(single, instruction_lang="en", context_lang="en")
    assert list(own["none_option"]) == [True, False]
    assert list(own["n"]) == [4, 4]
    crossed = of(single, instruction_lang="ko", context_lang="en")
    assert crossed["n"].item() == 4
    every = of(single, context_lang="all", none_option=True)
    assert every["n"].item() == 4 * len(LANGS)
    # All five tasks together are of prompts that offer "none".
    assert set(of(made["accuracy"], task="niah")["none_option"]) == {True}


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


def test_languages_are_ranked_beside_the_paper_s(scores, made):
    rows = of(made["languages"], model="all", metric="released")
    assert list(rows["rank"]) == sorted(rows["rank"])
    mine = of(scores, model=["o3", "qwen7b"], metric="released", task=NIAH, length=[64000, 128000])
    mine = mine[(mine["instruction_lang"] == mine["context_lang"]) & mine["none_option"]]
    mine = mine[~no_text(mine)]
    means = mine.groupby("context_lang")["value"].mean().sort_values(ascending=False)
    assert rows["context_lang"].iloc[0] == means.index[0]
    row = of(rows, context_lang="pl")
    assert row["value"].item() == pytest.approx(means["pl"])
    assert (row["published"].item(), row["published_rank"].item()) == (0.88, 1)
    assert row["comparison"].item() == "cannot tell: other models"
    assert row["resources"].item() == "high" and row["n_articles"].item() == 1_649_832
    assert set(made["languages"]["model"]) == {"all", "o3", "qwen7b"}


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


def test_tau_is_of_each_length_and_of_all_together(made):
    table = made["lengths_tau"]
    assert list(dict.fromkeys(table["length"])) == ["all", "8000", "64000", "128000"]
    assert list(dict.fromkeys(table["metric"])) == ["strict", "released"]
    table = of(table, metric="strict")
    whole = of(table, model="all", length="all")
    assert whole["n"].item() == 3 * len(LANGS)
    assert whole["published"].item() == 0.82
    assert of(table, model="qwen7b", other="qwen7b-equal", length="8000")["n"].item() == len(LANGS)
    assert of(table, model="qwen7b", length="all")["published"].isna().all()


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


def test_errors_are_those_of_the_strict_rules(scores, made):
    mine = of(scores, model="qwen7b", metric="strict", task="niah_multivalue", context_lang="hi")
    mine = of(mine, instruction_lang="hi", length=[64000, 128000])
    rows = of(
        made["errors"], model="qwen7b", task="niah_multivalue", context_lang="hi", length="long"
    )
    rows = rows.set_index("error")
    for error, verdict in (("none_error", "none_error"), ("partial", "partial:1/2")):
        number = (mine["verdict"] == verdict).sum()
        assert rows["n_errors"][error] == number
        assert rows["value"][error] == pytest.approx(number / len(mine))
    assert "niah_none" not in set(made["errors"]["task"])
    every = of(made["errors"], model="o3", task="all", context_lang="all", length="8000")
    mine = of(scores, model="o3", metric="strict", task=list(factors.PRESENT), length=8000)
    mine = mine[(mine["instruction_lang"] == mine["context_lang"]) & mine["none_option"]]
    assert every["n_errors"].sum() == (mine["value"] == 0).sum()


@pytest.mark.parametrize("name", TABLES)
def test_every_cell_has_n_and_an_interval(name, made):
    table = made[name]
    assert (table["n"] > 0).all()
    known = table["value"].notna() & (table["n"] > 4)
    some = table[known]
    kind = "_independent" if name == "lengths_tau" else ""
    low, high = some[f"ci_low{kind}"], some[f"ci_high{kind}"]
    assert low.notna().all() or name == "lengths_tau"
    inside = (low <= some["value"] + 1e-9) & (some["value"] <= high + 1e-9)
    assert (inside | low.isna()).all()


@pytest.mark.parametrize("name", TABLES)
def test_tables_do_not_depend_on_the_order_of_rows(name, scores, made):
    shuffled = scores.sample(frac=1, random_state=3)
    again = numbers(TABLES[name], shuffled, NUMBERS, SETTINGS)
    pd.testing.assert_frame_equal(again, made[name])


@pytest.mark.parametrize("name", TABLES)
def test_a_run_without_scores_makes_an_empty_table(name, scores):
    table = numbers(TABLES[name], scores.iloc[:0], NUMBERS, {})
    assert table.empty or table["n"].eq(0).all()
