"""ONERULER's results: of which answers each number is, and what is compared with the paper."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest
from scipy.stats import binomtest

import factories.oneruler
from described import cell, is_mean_of, of
from factories import ROOT
from factories.oneruler import SETTINGS
from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.oneruler import factors, paper
from needlework.benchmarks.oneruler import rows as oneruler_rows
from needlework.results import published
from needlework.results.cells import Table, contrast
from needlework.results.result import Context
from needlework.results.stats import estimate
from needlework.results.tabulate import Cell

NUMBERS = published.load(ROOT / "resources/published/oneruler.csv")
NIAH = list(factors.NIAH)
RELEASED = {**SETTINGS, "metric": "released"}
COMPARED = {"covers", "below", "above"}


def made(name: str, rows: pd.DataFrame, settings: dict = SETTINGS) -> pd.DataFrame:
    """A result's numbers; of those by both metrics, those of the figures' metric."""
    found = load_benchmark("oneruler").by_name[name](rows, Context(NUMBERS, settings))
    if name == "accuracy" or "metric" not in found:
        return found
    return of(found, metric=settings["metric"]).reset_index(drop=True)


def main(scores: pd.DataFrame, metric: str = "strict", **wanted: Any) -> pd.DataFrame:
    """The answers that most figures are of."""
    rows = of(scores, metric=metric, model=["gemini", "o3", "qwen7b"])
    rows = rows[rows["instruction_lang"] == rows["context_lang"]]
    return of(rows[rows["none_option"] | rows["task"].str.startswith("cwe")], **wanted)


def kept(rows: pd.DataFrame) -> pd.DataFrame:
    """Without the answers that the paper drops."""
    return rows[rows["verdict"] != "length"]


def obstacle(rows: pd.DataFrame, settings: dict, **over: Any) -> str | None:
    """Why the paper's mean is of something else than these rows."""
    found = Cell({}, Table(rows.reset_index(drop=True)).all(), {}, Context(NUMBERS, settings))
    return "; ".join(paper.other_prompts(found, none=False, **over)) or None


@pytest.fixture(scope="module")
def scores() -> pd.DataFrame:
    """Four models, one of equal text, in six languages of every group."""
    models, langs = ("gemini", "o3", "qwen7b", "qwen7b-equal"), ("en", "ko", "zh", "hi", "pl", "st")
    return factories.oneruler.make(models, langs, (8000, 64000, 128000), examples=4)


@pytest.fixture(scope="module")
def of_the_paper() -> pd.DataFrame:
    """Scores of all that the paper asked, by the released metric."""
    return factories.oneruler.make(examples=1, metrics=("released",))


ALONE = "instruction_lang == context_lang and task.str.startswith('niah') and none_option"


@pytest.mark.parametrize(
    ("name", "labels", "answers"),
    [
        (
            "figure3",
            {"model": "gemini", "context_lang": "all", "length": 8000},
            f"{ALONE} and model == 'gemini' and length == 8000",
        ),
        (
            "figure4a",
            {"model": "gemini", "group": "low"},
            f"{ALONE} and model == 'gemini' and length > 8000 and context_lang in ('hi', 'st')",
        ),
        (
            "figure6a",
            {"instruction_lang": "ko", "context_lang": "en", "length": 64000},
            "instruction_lang == 'ko' and context_lang == 'en' and length == 64000 "
            "and model != 'qwen7b-equal'",
        ),
        (
            "figure25",
            {"model": "qwen7b-equal", "context_lang": "ko", "length": 64000},
            f"{ALONE} and model == 'qwen7b-equal' and context_lang == 'ko' and length == 64000",
        ),
    ],
)
def test_a_point_is_the_mean_of_its_answers(name, labels, answers, scores) -> None:
    mine = kept(of(scores, metric="strict"))
    is_mean_of(made(name, scores), labels, mine, answers)


def test_answers_cut_before_text_are_dropped_from_needle_tasks_alone(scores) -> None:
    mine = main(scores, model="o3", context_lang="st", length=64000, task=NIAH)
    row = cell(made("figure3", scores), model="o3", context_lang="st", length=64000)
    assert row["value"] == pytest.approx(kept(mine)["value"].mean())
    assert row["value_all"] == pytest.approx(mine["value"].mean())
    counts = [len(kept(mine)), len(mine) - len(kept(mine)), len(mine)]
    assert row[["n", "n_dropped", "n_all"]].tolist() == counts and min(counts) > 0
    assert row["published"] == 0.67
    assert row["comparison"] == "cannot tell: metric is strict, in the paper released"
    words = main(scores, context_lang="en", task="cwe_easy")
    assert "length" in set(words["verdict"])
    row = cell(made("figure5", scores), task="cwe_easy", group="english")
    assert row["value"] == row["value_all"] == pytest.approx(words["value"].mean())
    assert (row["n_dropped"], row["published"]) == (0, 0.315)
    assert cell(made("figure5", scores), task="cwe_easy", group="low")["n_exhausted"] == 3 * 4


def test_empty_answers_are_wrong_and_skipped_ones_left_out(scores) -> None:
    some = scores[scores["model"] == "qwen7b"].copy()
    lost = some["example_id"].str.endswith("-0")
    some.loc[lost, ["value", "verdict", "finish_reason"]] = [0.0, "skipped", "skipped"]
    same = {"model": "qwen7b", "metric": "released", "context_lang": "pl", "length": 8000}
    row = cell(made("accuracy", some), **same, task="niah", instruction_lang="pl")
    rest = of(some[~lost], **same, task=NIAH, instruction_lang="pl")
    assert row[["n", "n_all", "n_skipped"]].tolist() == [15, 20, 5]
    assert row["value"] == pytest.approx(rest["value"].mean())
    assert row["value_all"] == pytest.approx(rest["value"].sum() / 20)
    assert row["comparison"] == "cannot tell: 5 answers are missing"
    some[["value", "verdict", "finish_reason"]] = [0.0, "no_answer", "stop"]
    table = made("accuracy", some)
    assert (table["value"] == 0).all() and (table["n"] == table["n_all"]).all()
    assert (table["n_dropped"] == 0).all()


def test_figure1a_is_the_two_ends_and_their_gap(scores) -> None:
    some = scores.copy()
    cut = (some["model"] == "o3") & (some["task"] == "niah_single") & (some["context_lang"] != "zh")
    some.loc[cut, ["value", "verdict", "finish_reason"]] = [0.0, "length", "length"]
    figure = of(made("figure1a", some), length=128000)
    means = {}
    for group, langs in {"top": ["en", "pl", "zh"], "bottom": ["ko", "hi", "st"]}.items():
        mine = main(some, context_lang=langs, length=128000, task="niah_single")
        means[group] = [rows["value"].mean() for rows in (kept(mine), mine)]
        row = cell(figure, group=group)
        assert set(row["languages"].split()) == set(langs)
        assert row[["value", "value_all"]].tolist() == pytest.approx(means[group])
    gap = cell(figure, group="gap")
    differences = [top - bottom for top, bottom in zip(*means.values(), strict=True)]
    assert gap[["value", "value_all"]].tolist() == pytest.approx(differences)
    assert gap["published"] == 0.34 and "other languages" in gap["comparison"]
    assert gap["ci_low"] < gap["value"] < gap["ci_high"]


def test_newcombe_s_interval() -> None:
    """Newcombe (1998), table II, method 10, case (a), of Wilson's: 56/70 - 48/80, [0.0524, 0.3339]."""
    found = []
    for right, n in ((48, 80), (56, 70)):
        own = vars(estimate([1.0] * right + [0.0] * (n - right), range(n)))
        wilson = binomtest(right, n).proportion_ci(method="wilson")
        own |= {"ci_low_independent": wilson.low, "ci_high_independent": wilson.high}
        found.append({**own, **dict.fromkeys(oneruler_rows.ACCURACY.columns[8:], 0)})
    gap = contrast(*found)
    assert gap["value"] == pytest.approx(0.2)
    interval = gap["ci_low_independent"], gap["ci_high_independent"]
    assert interval == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_figure1b_is_english_beside_other_languages(scores) -> None:
    own = scores["instruction_lang"] == scores["context_lang"]
    single = of(scores[own & scores["none_option"]], context_lang=["ko", "pl"], task="niah_single")
    more = pd.concat([scores, single.assign(none_option=False)])
    figure = made("figure1b", more, RELEASED)
    assert list(dict.fromkeys(figure["context_lang"])) == ["all", "en", "pl", "ko"]
    drop = of(figure, model="o3", length=128000, prompt="drop").set_index("context_lang")
    assert drop["published"]["en"] == 0.32 and drop["comparison"]["en"] in COMPARED
    assert drop["published"][["all", "ko", "pl"]].isna().all()
    every = of(more, metric="released", model="o3", length=128000, task="niah_single")
    every = of(every[every["instruction_lang"] == every["context_lang"]], none_option=False)
    row = cell(figure, model="o3", length=128000, prompt="without", context_lang="all")
    assert row["n"] == len(kept(every)) > 4
    assert row["value"] == pytest.approx(kept(every)["value"].mean())


def test_figures_21_and_23_count_cut_answers_and_words(scores) -> None:
    mine = main(scores, model="o3", task="cwe_hard", length=64000)["finish_reason"] == "length"
    figure = made("figure21", scores)
    row = cell(figure, task="cwe_hard", length=64000)
    assert row["n_cut"] == mine.sum() > 0 and row["value"] == pytest.approx(mine.mean())
    assert set(figure["model"]) == {"o3"}
    every = made("figure21", scores, {**SETTINGS, "reasoning": ["a model that was not run"]})
    assert set(every["model"]) == {"gemini", "o3", "qwen7b"}
    mine = main(scores, model="qwen7b", task="cwe_hard", length=128000, context_lang=["hi", "st"])
    found = mine["verdict"].str.extract(r"partial:(\d+)/10")[0]
    expected = [float(k) if isinstance(k, str) else 0.0 for k in found[mine["value"] == 0]]
    labels = {"model": "qwen7b", "task": "cwe_hard", "group": "low", "length": 128000}
    row = cell(made("figure23", scores), **labels)
    assert row["value"] == pytest.approx(sum(expected) / len(expected))
    # Sesotho's vocabulary ran out.
    assert 0 < row["n_exhausted"] < row["n"] == len(expected)


def test_resources_and_lengths_are_named_as_in_the_paper() -> None:
    context = Context(NUMBERS, {"wikipedia_articles": {"eu": 450_000, "zu": 11_000}})
    groups = [oneruler_rows.resources(lang, context.run) for lang in ("en", "eu", "zu", "xx")]
    assert groups == ["english", "high", "low", "unknown"]
    assert oneruler_rows.by_articles(["zu", "xx", "de", "eu"], context) == ["de", "eu", "zu", "xx"]
    called = load_benchmark("oneruler").called["length"].called
    labels = ["8K", "128K", "512", "1,500"]
    assert [called(length) for length in (8000, 128000, 512, 1500)] == labels


@pytest.mark.parametrize("name", ["figure1a", "figure5"])
def test_the_paper_is_compared_by_the_released_metric(name: str, of_the_paper) -> None:
    both = pd.concat([of_the_paper.assign(metric="strict"), of_the_paper])
    found = load_benchmark("oneruler").by_name[name](both, Context(NUMBERS, SETTINGS))
    assert list(dict.fromkeys(found["metric"])) == ["strict", "released"]
    unlike = {"cannot tell: metric is strict, in the paper released"}
    for metric, answers in (("strict", unlike), ("released", COMPARED)):
        beside = of(found, metric=metric)[lambda rows: rows["published"].notna()]
        assert len(beside) and set(beside["comparison"]) <= answers
    alone = made(name, of_the_paper, RELEASED)
    pd.testing.assert_frame_equal(of(found, metric="released").reset_index(drop=True), alone)


def test_a_bound_is_compared_as_a_bound(of_the_paper) -> None:
    # So many questions that an interval of 0% lies below 80%.
    of_the_paper = pd.concat(
        of_the_paper.assign(
            **{
                name: of_the_paper[name].astype(str) + part
                for name in ("example_id", "instance_id")
            }
        )
        for part in "abc"
    )
    easy = of_the_paper["task"].eq("cwe_easy") & of_the_paper["length"].eq(8000)
    hard = of_the_paper["task"].eq("cwe_hard")
    labels = {"model": "qwen72b", "task": "cwe_easy", "length": 8000}
    for value, least, most in ((1.0, "covers", "above"), (0.0, "below", "covers")):
        scores = of_the_paper.assign(value=of_the_paper["value"].mask(easy | hard, value))
        row = cell(made("figure22", scores, RELEASED), **labels)
        assert row[["published", "bound", "comparison"]].tolist() == [0.8, "at_least", least]
        row = cell(made("figure5", scores, RELEASED), task="cwe_hard", group="all")
        assert row[["published", "bound", "comparison"]].tolist() == [0.01, "at_most", most]
    figure = made("figure5", of_the_paper, RELEASED)
    row = cell(figure, task="niah", group="high")
    assert row[["published", "bound"]].tolist() == [0.8, "at_least"]
    mine = of(of_the_paper, task=NIAH, none_option=True)
    mine = kept(mine[mine["instruction_lang"] == mine["context_lang"]])
    high = mine[~mine["context_lang"].isin(["en", "hi", "ta", "sw", "st"])]
    assert row["value"] == pytest.approx(high["value"].mean())
    assert pd.isna(cell(figure, task="cwe_easy", group="english")["bound"])


def test_other_frequencies_and_rows_are_not_compared(of_the_paper) -> None:
    own = {**RELEASED, "setup": {**SETTINGS["setup"], "cwe_frequencies": "paper"}}
    why = "cwe_frequencies is paper, in the paper released"
    figure = made("figure22", of_the_paper, own)
    short = cell(figure, model="qwen72b", task="cwe_easy", length=8000)
    assert short["comparison"] == f"cannot tell: {why}"
    # At other lengths, and where there are no lists, both are the same.
    words = of(of_the_paper, task="cwe_easy")
    assert obstacle(words, own) == why and obstacle(of(words, length=32000), own) is None
    assert obstacle(of(of_the_paper, task="niah_single"), own) is None
    mine = of(of_the_paper, model=["gemini", "o3"], task="niah_single", context_lang="en")
    assert obstacle(mine, SETTINGS | {"instructions": ["eo"]}) is None
    assert obstacle(mine, SETTINGS | {"instructions": ["en"]}) == "instructions of the user's own"
    assert obstacle(mine, SETTINGS, lengths=paper.LENGTHS) is None
    one = mine[(mine["model"] != "o3") | (mine["length"] == 8000)]
    assert obstacle(one, SETTINGS, lengths=paper.LENGTHS) == "other lengths"
    assert obstacle(mine, SETTINGS, languages=("en", "ko")) == "other languages"


COUNTED = {**SETTINGS, "encodings": {"common": "cl100k_base", "of o3": "o200k_base"}}


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        (
            {"text_tokenizer": "of o3"},
            "measuring tokenizer is o200k_base, in the paper cl100k_base",
        ),
        ({"text_tokenizer": "llama3"}, "measuring tokenizer is llama3, in the paper cl100k_base"),
        ({"setup": {"data": "sample"}}, "data is sample, in the paper oneruler"),
        ({}, "length is 8000, in the paper 128000"),
    ],
)
def test_other_texts_have_no_paper_beside_them(own: dict, reason: str) -> None:
    names = {"cl100k_base": "common", "o200k_base": "of o3"}
    counts = factories.oneruler.token_counts().replace({"tokenizer": names})
    counts = counts if own else counts[counts["length"] == 8000]
    data = made("figure24", counts, {**COUNTED, "text_tokenizer": "common", **own})
    assert data["published"].isna().all()
    row = cell(data, context_lang="ta", tokenizer="common")
    assert row["comparison"] == f"cannot tell: {reason}"


def test_other_models_and_decoding_are_not_compared(scores) -> None:
    mine = scores.replace({"model": {"gemini": "mine"}})
    for name in ("figure1a", "figure4b", "figure5", "figure6a"):
        figure = made(name, mine, {"models": ["mine"], "metric": "strict"})
        assert figure["published"].isna().all()
    sampled, endpoint = "temperature 0.7, top-k 50, top-p 1", "the endpoint's own"
    # The paper's of o3 is the endpoint's.
    others = {**RELEASED, "decoding": {"gemini": "greedy", "o3": "greedy", "qwen7b": sampled}}
    figure = made("figure3", scores, others)
    why = of(figure, context_lang="en", length=8000).set_index("model")["comparison"]
    assert why["gemini"] in COMPARED
    assert why["o3"] == f"cannot tell: decoding is greedy, in the paper {endpoint}"
    assert why["qwen7b"] == f"cannot tell: decoding is {sampled}, in the paper greedy"
    # A mean over models is of all of theirs; one without a name in the paper has nothing to differ from.
    for named, n in ((SETTINGS["published"], 2), ({"gemini": "Gemini 1.5 Flash"}, 0)):
        figure = made("figure1a", scores, {**others, "published": named})
        assert cell(figure, group="gap", length=8000)["comparison"].count("decoding is") == n


def pair(first: tuple[int, ...], second: tuple[int, ...]) -> pd.DataFrame:
    """Scores of two models, one with equal text, whose accuracies in six languages are these of 10."""
    rows = [
        {"model": model, "context_lang": lang, "value": float(i < right), "example_id": str(i)}
        for model, accuracies in (("a", first), ("b", second))
        for lang, right in zip(("en", "de", "fr", "sv", "nl", "ru"), accuracies, strict=True)
        for i in range(10)
    ]
    frame = pd.DataFrame(rows)
    return frame.assign(
        instruction_lang=frame["context_lang"],
        **{"metric": "strict", "task": "niah_single", "none_option": True, "length": 8000},
        **{"verdict": "correct", "finish_reason": "stop", "exhausted": False},
    )


def test_tau_of_hand_made_ranks() -> None:
    settings = {"models": ["a", "b"], "metric": "strict", "equal_text": [["a", "b"]]}
    ranks = (9, 8, 7, 6, 5, 4)
    row = made("lengths_tau", pair(ranks, ranks), settings).iloc[0]
    assert (row["value"], row["n"], row["p"]) == (pytest.approx(1.0), 6, pytest.approx(2 / 720))
    # One of 15 pairs is turned around: (14 - 1) / 15.
    row = made("lengths_tau", pair(ranks, (8, 9, 7, 6, 5, 4)), settings).iloc[0]
    assert row["value"] == pytest.approx(13 / 15)
    z, half = math.atanh(13 / 15), 1.959964 * math.sqrt(0.437 / 2)
    assert row["ci_low_independent"] == pytest.approx(math.tanh(z - half))
    assert row["ci_high_independent"] == pytest.approx(math.tanh(z + half))
    row = made("lengths_tau", pair((5,) * 6, ranks), settings).iloc[0]
    assert math.isnan(row["value"])
    # A pair that was not run has none.
    alone = {**SETTINGS, "models": ["a"], "equal_text": [["a", "absent"]]}
    assert set(made("lengths_tau", pair(ranks, ranks)[:0], alone)["model"]) == {"all"}


def equal_texts() -> tuple[pd.DataFrame, dict[str, Any]]:
    """Scores of pairs of the paper's models, the second of each with equal text, and their settings."""
    models = tuple(factories.oneruler.MODELS)
    shape = {"examples": 1, "tasks": tuple(NIAH), "crossed": False, "ablated": False}
    scores = factories.oneruler.make(models, **shape, metrics=("released",))
    # As in the preset, where entries with equal text bear no name of the paper's.
    worse = scores["value"].where(scores.index % 7 != 0, 0.0)
    both = pd.concat([scores, scores.assign(model=scores["model"] + "-same", value=worse)])
    pairs = [[model, f"{model}-same"] for model in models]
    names = {model: SETTINGS["published"][model] for model in models}
    own = {"models": [m for pair in pairs for m in pair], "published": names, "equal_text": pairs}
    return both.reset_index(drop=True), {**RELEASED, **own}


def whole_tau(scores: pd.DataFrame, settings: dict) -> pd.Series:
    return cell(made("lengths_tau", scores, settings), model="all", length="all")


def test_tau_is_compared_over_the_papers_models_lengths_and_languages() -> None:
    scores, own = equal_texts()
    row = whole_tau(scores, own)
    assert row["comparison"] in COMPARED
    assert row[["published", "published_p", "comparison_p"]].tolist() == [0.82, 0.001, "covers"]
    same, lang, length = (scores[name] for name in ("model", "context_lang", "length"))
    lost = scores["finish_reason"].mask(scores.index == 0, "error")
    for others, settings, why in (
        (scores[length != 128000], own, "other lengths"),
        (scores[(same != "o3-same") | (lang != "st")], own, "other languages"),
        (scores[same != "gemini-same"], own, "other models"),
        (scores.assign(finish_reason=lost), own, "1 answers are missing"),
        (
            scores,
            {**own, "decoding": {"qwen7b-same": "temperature 1"}},
            "decoding is temperature 1, in the paper greedy",
        ),
    ):
        assert whole_tau(others, settings)["comparison"] == f"cannot tell: {why}"
    # All answers right but those of one language: few ranks, and p above the bound.
    few = lang.isin(["st", "sw", "zh"]) & (length == 8000) & same.isin(["o3", "o3-same"])
    row = whole_tau(scores[few].assign(value=(lang != "st").astype(float)), own)
    assert row["comparison_p"].startswith("cannot tell: other") and row["p"] > 0.001
    assert whole_tau(scores[few], {**own, "published": {}})["published"] is None
