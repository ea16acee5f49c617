"""ONERULER's figures: of which answers each point is the mean, and what is compared with the paper."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import factories.oneruler
from described import is_mean_of, numbers, results
from factories.oneruler import SETTINGS
from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.oneruler import factors, paper
from needlework.benchmarks.oneruler import rows as measures
from needlework.benchmarks.oneruler import rows as oneruler_rows
from needlework.results import published
from needlework.results.cells import Table, contrast
from needlework.results.result import Context
from needlework.results.tabulate import Cell

FIGURES = results("oneruler", "figures")

NUMBERS = published.load(Path(__file__).parents[4] / "resources" / "published" / "oneruler.csv")
MODELS = ("gemini", "o3", "qwen7b", "qwen7b-equal")
LANGS = ("en", "ko", "zh", "hi", "pl", "st")
NIAH = list(factors.NIAH)
# The texts of Figure 24 are measured in the first, as in the paper; entries bear names of their own.
COUNTED = {
    **SETTINGS,
    "text_tokenizer": "common",
    "encodings": {"common": "cl100k_base", "of o3": "o200k_base"},
}


@pytest.fixture(scope="module")
def scores():
    return factories.oneruler.make(MODELS, LANGS, (8000, 64000, 128000), examples=4)


@pytest.fixture(scope="module")
def data(scores):
    return {name: made(name, scores) for name in FIGURES}


def made(name, scores, settings=SETTINGS, metric=None):
    """A figure's numbers; of those by both metrics the drawn one's, or those of `metric`."""
    if name == "figure24":
        scores, settings = token_counts(), COUNTED
    found = numbers(FIGURES[name], scores, NUMBERS, settings)
    if "metric" not in found:
        return found
    return of(found, metric=metric or settings["metric"]).reset_index(drop=True)


def token_counts():
    """The same texts in several tokenizers, named as in COUNTED."""
    names = {"cl100k_base": "common", "o200k_base": "of o3"}
    return factories.oneruler.token_counts().replace({"tokenizer": names})


def of(rows, **wanted):
    for column, value in wanted.items():
        rows = rows[rows[column].isin(value) if isinstance(value, list) else rows[column] == value]
    return rows


def main(scores, metric="strict", **wanted):
    """The answers that most figures are of."""
    rows = of(scores, metric=metric, model=["gemini", "o3", "qwen7b"])
    rows = rows[rows["instruction_lang"] == rows["context_lang"]]
    return of(rows[rows["none_option"] | rows["task"].str.startswith("cwe")], **wanted)


def kept(rows):
    """Without the answers that the paper drops."""
    return rows[rows["verdict"] != "length"]


def obstacle(rows, settings, **over):
    """Why the paper's mean is of something else than these rows."""
    cell = Cell({}, Table(rows.reset_index(drop=True)).all(), {}, Context(NUMBERS, settings))
    return "; ".join(paper.other_prompts(cell, none=False, **over)) or None


OWN = "metric == 'strict' and instruction_lang == context_lang and verdict != 'length'"
NIAH_WITH_NONE = f"{OWN} and task.str.startswith('niah') and none_option"


@pytest.mark.parametrize(
    ("name", "labels", "answers"),
    [
        (
            "figure1b",
            {"model": "o3", "context_lang": "en", "length": 128000, "prompt": "without"},
            f"{OWN} and model == 'o3' and context_lang == 'en' and length == 128000 "
            "and task == 'niah_single' and not none_option",
        ),
        (
            "figure3",
            {"model": "gemini", "context_lang": "all", "length": 8000},
            f"{NIAH_WITH_NONE} and model == 'gemini' and length == 8000",
        ),
        (
            "figure4a",
            {"model": "gemini", "group": "low"},
            f"{NIAH_WITH_NONE} and model == 'gemini' and length > 8000 "
            "and context_lang in ('hi', 'st')",
        ),
        (
            "figure6a",
            {"instruction_lang": "ko", "context_lang": "en", "length": 64000},
            "metric == 'strict' and instruction_lang == 'ko' and context_lang == 'en' "
            "and length == 64000 and verdict != 'length' and model != 'qwen7b-equal'",
        ),
        (
            "figure25",
            {"model": "qwen7b-equal", "context_lang": "ko", "length": 64000},
            f"{NIAH_WITH_NONE} and model == 'qwen7b-equal' and context_lang == 'ko' "
            "and length == 64000",
        ),
    ],
)
def test_a_point_is_the_mean_of_its_answers(name, labels, answers, scores, data):
    is_mean_of(data[name], labels, scores, answers)


def test_figure3_drops_answers_without_text(scores, data):
    mine = main(scores, model="o3", context_lang="st", length=64000, task=NIAH)
    row = of(data["figure3"], model="o3", context_lang="st", length=64000)
    assert row["value"].item() == pytest.approx(kept(mine)["value"].mean())
    assert row["n"].item() == len(kept(mine))
    assert row["n_dropped"].item() == len(mine) - len(kept(mine)) > 0
    assert row["value_all"].item() == pytest.approx(mine["value"].mean())
    assert row["n_all"].item() == len(mine) == 5 * 4
    assert row["published"].item() == 0.67
    assert row["comparison"].item() == "cannot tell: metric is strict, in the paper released"


@pytest.fixture(scope="module")
def of_the_paper():
    """Scores of all that the paper asked, by both metrics."""
    return factories.oneruler.make(examples=1)


@pytest.mark.parametrize("name", ["figure1a", "figure3", "figure5"])
def test_the_paper_is_compared_by_the_released_metric(of_the_paper, name):
    found = numbers(FIGURES[name], of_the_paper, NUMBERS, SETTINGS)
    assert list(dict.fromkeys(found["metric"])) == ["strict", "released"]
    for metric, answers in (("strict", {"cannot tell: metric is strict, in the paper released"}),
                            ("released", {"covers", "below", "above"})):  # fmt: skip
        rows = of(found, metric=metric)
        beside = rows[rows["published"].notna()]
        assert len(beside) and set(beside["comparison"]) <= answers
    released = numbers(FIGURES[name], of_the_paper, NUMBERS, {**SETTINGS, "metric": "released"})
    pd.testing.assert_frame_equal(of(found, metric="released").reset_index(drop=True), released)


def test_a_bound_is_compared_as_a_bound(of_the_paper):
    easy = of_the_paper["task"].eq("cwe_easy") & of_the_paper["length"].eq(8000)
    hard = of_the_paper["task"].eq("cwe_hard")
    for value, above, within in ((1.0, "covers", "above"), (0.0, "below", "covers")):
        scores = of_the_paper.assign(value=of_the_paper["value"].mask(easy | hard, value))
        figure = made("figure22", scores, metric="released")
        row = of(figure, model="qwen72b", task="cwe_easy", length=8000)
        assert (row["published"].item(), row["bound"].item()) == (0.8, "at_least")
        assert row["comparison"].item() == above
        row = of(made("figure5", scores, metric="released"), task="cwe_hard", group="all")
        assert (row["published"].item(), row["bound"].item()) == (0.01, "at_most")
        assert row["comparison"].item() == within
    figure = made("figure5", of_the_paper, metric="released")
    row = of(figure, task="niah", group="high")
    assert (row["published"].item(), row["bound"].item()) == (0.8, "at_least")
    mine = of(of_the_paper, metric="released", task=NIAH, none_option=True)
    mine = kept(mine[mine["instruction_lang"] == mine["context_lang"]])
    high = mine[~mine["context_lang"].isin(["en", "hi", "ta", "sw", "st"])]
    assert row["value"].item() == pytest.approx(high["value"].mean())
    assert of(figure, task="cwe_easy", group="english")["bound"].isna().all()


def test_common_words_of_other_frequencies_are_not_compared(of_the_paper):
    own = {**SETTINGS, "setup": {**SETTINGS["setup"], "cwe_frequencies": "paper"}}
    why = "cwe_frequencies is paper, in the paper released"
    figure = made("figure22", of_the_paper, own, metric="released")
    short = of(figure, model="qwen72b", task="cwe_easy", length=8000)
    assert short["comparison"].item() == f"cannot tell: {why}"
    # At other lengths, and where there are no lists, both are the same.
    rows = of(of_the_paper, metric="released", task="cwe_easy", length=32000)
    assert obstacle(rows, own) is None
    both = of(of_the_paper, metric="released", task="cwe_easy")
    assert obstacle(both, own) == why
    figure = made("figure3", of_the_paper, own, metric="released")
    assert set(of(figure, context_lang="en")["comparison"]) <= {"covers", "below", "above"}


def test_a_users_folder_of_a_language_is_not_compared(of_the_paper):
    rows = of(of_the_paper, metric="released", task="niah_single", context_lang="en")
    assert obstacle(rows, SETTINGS | {"instructions": ["eo"]}) is None
    assert obstacle(rows, SETTINGS | {"instructions": ["en"]}) == "instructions of the user's own"


def test_figure1a_is_the_two_ends_and_their_gap(scores, data):
    ends = {"top": ["en", "pl", "zh"], "bottom": ["ko", "hi", "st"]}
    means = {}
    for group, langs in ends.items():
        mine = kept(main(scores, context_lang=langs, length=128000, task="niah_single"))
        row = of(data["figure1a"], group=group, length=128000)
        means[group] = mine["value"].mean()
        assert set(row["languages"].item().split()) == set(langs)
        assert row["value"].item() == pytest.approx(means[group])
    gap = of(data["figure1a"], group="gap", length=128000)
    assert gap["value"].item() == pytest.approx(means["top"] - means["bottom"])
    assert gap["published"].item() == 0.34
    assert "other languages" in gap["comparison"].item()
    assert gap["ci_low"].item() < gap["value"].item() < gap["ci_high"].item()


def test_newcombe_s_interval():
    # Newcombe (1998), table II, method 10, case (a): 56/70 - 48/80, [0.0524, 0.3339].
    from needlework.results.stats import estimate

    cells = []
    for right, n in ((48, 80), (56, 70)):
        found = estimate([1.0] * right + [0.0] * (n - right), range(n))
        cells.append({**vars(found), **dict.fromkeys(measures.ACCURACY.columns[8:], 0)})
    gap = contrast(*cells)
    assert gap["value"] == pytest.approx(0.2)
    assert (gap["ci_low_independent"], gap["ci_high_independent"]) == pytest.approx(
        (0.0524, 0.3339), abs=5e-5
    )


def test_differences_are_of_all_prompts_too(scores):
    some = of(scores, context_lang=["en", "st"], length=128000, metric="strict").copy()
    cut = (some["model"] == "o3") & (some["task"] == "niah_single")
    some.loc[cut, ["value", "verdict", "finish_reason"]] = [0.0, "length", "length"]
    mine = main(some, task="niah_single")
    every, counted = (rows.groupby("context_lang")["value"].mean() for rows in (mine, kept(mine)))
    gap = of(made("figure1a", some), group="gap")
    assert gap["value"].item() == pytest.approx(counted["en"] - counted["st"])
    assert gap["value_all"].item() == pytest.approx(every["en"] - every["st"])
    assert gap["value_all"].item() != pytest.approx(gap["value"].item())


def also_without(scores, *langs):
    """The scores, and in these languages S-NIAH without the sentence."""
    own = scores["instruction_lang"] == scores["context_lang"]
    more = of(scores[own & scores["none_option"]], context_lang=list(langs), task="niah_single")
    return pd.concat([scores, more.assign(none_option=False)])


def test_figure1b_is_english_beside_other_languages(scores):
    more = also_without(scores, "ko", "pl")
    figure = made("figure1b", more, {**SETTINGS, "metric": "released"})
    assert list(dict.fromkeys(figure["context_lang"])) == ["all", "en", "pl", "ko"]
    drop = of(figure, model="o3", length=128000, prompt="drop").set_index("context_lang")
    assert drop["published"]["en"] == 0.32
    assert drop["comparison"]["en"] in ("covers", "below", "above")
    assert drop["published"][["all", "ko", "pl"]].isna().all()
    every = of(more, metric="released", model="o3", length=128000, task="niah_single")
    every = of(every[every["instruction_lang"] == every["context_lang"]], none_option=False)
    row = of(figure, model="o3", length=128000, prompt="without", context_lang="all")
    assert row["n"].item() == len(kept(every)) > 4
    assert row["value"].item() == pytest.approx(kept(every)["value"].mean())


def test_figure5_counts_no_answer_to_common_words_as_wrong(scores, data):
    mine = main(scores, context_lang="en", task="cwe_easy")
    assert set(mine["verdict"]) & {"length", "no_answer"}
    row = of(data["figure5"], task="cwe_easy", group="english")
    assert row["value"].item() == pytest.approx(mine["value"].mean())
    assert row["n_dropped"].item() == 0
    assert row["published"].item() == 0.315
    row = of(data["figure5"], task="cwe_easy", group="low")
    assert row["n_exhausted"].item() == 3 * 4


def test_figure21_counts_what_the_limit_cut(scores, data):
    mine = main(scores, model="o3", task="cwe_hard", length=64000)
    row = of(data["figure21"], task="cwe_hard", length=64000)
    assert row["n_cut"].item() == (mine["finish_reason"] == "length").sum() > 0
    assert row["value"].item() == pytest.approx((mine["finish_reason"] == "length").mean())
    assert set(data["figure21"]["model"]) == {"o3"}
    for reasoning in ([], ["a model of the preset that was not run"]):
        every = made("figure21", scores, {**SETTINGS, "reasoning": reasoning})
        assert set(every["model"]) == {"gemini", "o3", "qwen7b"}


def test_figure23_is_the_words_of_wrong_answers(scores, data):
    mine = main(scores, model="qwen7b", task="cwe_hard", length=128000, context_lang=["hi", "st"])
    found = mine["verdict"].str.extract(r"partial:(\d+)/10")[0]
    expected = [float(k) if isinstance(k, str) else 0.0 for k in found[mine["value"] == 0]]
    row = of(data["figure23"], model="qwen7b", task="cwe_hard", group="low", length=128000)
    assert row["value"].item() == pytest.approx(sum(expected) / len(expected))
    assert row["n"].item() == len(expected)
    # Sesotho's vocabulary ran out.
    assert 0 < row["n_exhausted"].item() < len(expected)


@pytest.mark.parametrize(
    "own, reason",
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
@pytest.mark.slow
def test_other_texts_have_no_paper_beside_them(own, reason):
    counts = token_counts()
    counts = counts if own else counts[counts["length"] == 8000]
    data = numbers(FIGURES["figure24"], counts, NUMBERS, {**COUNTED, **own})
    assert data["published"].isna().all()
    row = of(data, context_lang="ta", tokenizer="common")
    assert row["comparison"].item() == f"cannot tell: {reason}"


def test_resources_of_languages_that_the_paper_lacks():
    own = {"wikipedia_articles": {"eu": 450_000, "zu": 11_000}}
    context = Context(NUMBERS, own)
    assert [oneruler_rows.resources(lang, context) for lang in ("en", "eu", "zu", "xx")] == [
        *("english", "high", "low", "unknown")
    ]
    assert oneruler_rows.by_articles(["zu", "xx", "de", "eu"], context) == ["de", "eu", "zu", "xx"]


@pytest.mark.parametrize(
    "length, label", [(8000, "8K"), (128000, "128K"), (512, "512"), (1500, "1,500")]
)
def test_lengths_are_labelled_as_in_the_paper(length, label):
    assert load_benchmark("oneruler").shown.called["length"].called(length) == label


def test_means_over_models_have_no_paper_beside_other_models(scores):
    mine = scores.replace({"model": {"gemini": "mine"}})
    for name in ("figure1a", "figure4b", "figure5", "figure6a"):
        figure = made(name, mine, {"models": ["mine"], "metric": "strict"})
        assert figure["published"].isna().all()


def test_numbers_of_other_decoding_are_not_compared(scores):
    own = {**SETTINGS, "metric": "released"}
    sampled, endpoint = "temperature 0.7, top-k 50, top-p 1", "the endpoint's own"
    papers = {"gemini": "greedy", "o3": endpoint, "qwen7b": "greedy"}
    figure = made("figure3", scores, {**own, "decoding": papers})
    compared = figure["comparison"].isin(["covers", "below", "above"])
    assert set(figure.loc[compared, "model"]) == {"gemini", "o3", "qwen7b"}
    others = {**papers, "o3": "greedy", "qwen7b": sampled}
    figure = made("figure3", scores, {**own, "decoding": others})
    why = of(figure, context_lang="en", length=8000).set_index("model")["comparison"]
    assert why["gemini"] in ("covers", "below", "above")
    assert why["o3"] == f"cannot tell: decoding is greedy, in the paper {endpoint}"
    assert why["qwen7b"] == f"cannot tell: decoding is {sampled}, in the paper greedy"
    # A mean over models is of all of theirs, each reason once.
    gap = of(made("figure1a", scores, {**own, "decoding": others}), group="gap", length=8000)
    assert gap["comparison"].item().count("decoding is") == 2
    # A model without a name in the paper has nothing to differ from.
    named = {**own, "decoding": others, "published": {"gemini": "Gemini 1.5 Flash"}}
    gap = of(made("figure1a", scores, named), group="gap", length=8000)
    assert "decoding" not in gap["comparison"].item()


def test_each_model_must_have_what_the_mean_is_over(scores):
    mine = main(scores, "released", task=NIAH, context_lang="en")
    lengths = (8000, 64000, 128000)
    assert obstacle(mine, SETTINGS, lengths=lengths) is None
    one = mine[(mine["model"] != "o3") | (mine["length"] == 8000)]
    assert obstacle(one, SETTINGS, lengths=lengths) == "other lengths"
    assert obstacle(mine, SETTINGS, languages=("en", "ko")) == "other languages"


def test_skipped_answers_are_counted_in_the_small_print(scores):
    some = scores.copy()
    lost = (some["model"] == "gemini") & (some["length"] == 128000)
    some.loc[lost, ["value", "verdict", "finish_reason"]] = [0.0, "skipped", "skipped"]
    figure = made("figure3", some)
    row = of(figure, model="gemini", context_lang="en", length=128000)
    assert (row["n"].item(), row["n_all"].item(), row["n_skipped"].item()) == (0, 20, 20)
    assert row["value_all"].item() == 0.0
