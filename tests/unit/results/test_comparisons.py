"""Comparisons of models: which is better where, and what is said if n could show nothing."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.parts import names
from needlework.errors import UserError
from needlework.results.comparisons import (
    ComparedPair,
    as_latex,
    as_text,
    compare,
    figure,
    in_a_line,
    indistinguishable,
    nothing_to_show,
    prompts_differ,
    sets_of,
    small_print,
)

FACTORS = ["task", "tongue"]


def scores(values: list[float], model: str = "m", tongues=("en", "hi"), **columns) -> pd.DataFrame:
    """Scores of questions, each asked in two languages."""
    told = {"sample": 0, "model": model, "metric": "exact", "verdict": "", "finish_reason": "stop"}
    told |= {"completion_tokens": 1, "reasoning_tokens": None, "task": "find"}
    return pd.DataFrame(
        told | {"instance_id": f"{i}-{tongue}", "example_id": f"q{i}", "tongue": tongue}
        | {"value": value, **columns}
        for i, value in enumerate(values)
        for tongue in tongues
    )  # fmt: skip


def alike(names: str, seed: int) -> dict[str, pd.DataFrame]:
    """Models whose answers to thirty questions are drawn alike."""
    rng = np.random.default_rng(seed)
    return {name: scores(rng.integers(2, size=30).tolist(), name) for name in names}


def test_what_prompts_turned_out_to_be_is_not_asked() -> None:
    for name in names():
        asked = load_benchmark(name).asked
        assert asked[0] == "task" and "length" in asked
        assert not {"real_depth", "numbers", "units", "exhausted", "fertility"} & set(asked)


def test_sets_overlap_where_a_middle_model_is_like_both() -> None:
    every = [("a", "b"), ("c", "b"), ("c", "a")]
    assert indistinguishable(["a", "b", "c"], every[:2]) == [("a", "b"), ("b", "c")]
    assert indistinguishable(["a", "b", "c"], every) == [("a", "b", "c")]
    assert indistinguishable(["a", "b"], []) == []
    # Models that were not compared share no set.
    for pairs, found in (
        ([ComparedPair("a", "b"), ComparedPair("b", "c")], [("a", "b"), ("b", "c")]),
        ([ComparedPair(*two) for two in combinations("abc", 2)], [("a", "b", "c")]),
    ):
        table = compare(alike("abc", 5), pairs, FACTORS)
        assert sets_of(table, list("abc")) == {"exact": found}
    assert "not told apart: {a, b, c}" in as_text(table, sets_of(table, list("abc")))


def test_compare_says_which_is_better_where() -> None:
    one = scores([0.0] * 30, "one")
    two = scores([1.0] * 15 + [0.0] * 15, "two")
    two.loc[two["tongue"] == "hi", "value"] = 0.0
    table = compare({"one": one, "two": two}, [ComparedPair("one", "two")], FACTORS)
    overall = table[table["by"] == "all"].iloc[0]
    assert (overall["n"], overall["n_questions"]) == (60, 30)
    assert overall["difference"] == 0.25
    assert (overall["n_first_only"], overall["n_second_only"]) == (0, 15)
    assert 0 < overall["ci_low"] < 0.25 < overall["ci_high"]
    levels = table[table["by"] == "tongue"].set_index("level")
    assert levels["difference"].to_dict() == {"en": 0.5, "hi": 0.0}
    assert levels.loc["en", "p_holm"] == 2 * levels.loc["en", "p"]
    assert sets_of(table, ["one", "two"]) == {"exact": []}
    assert "two - one = +25.0 points" in as_text(table, {})
    assert in_a_line(table, "Bench") == "Bench: 1 of 1 pairs of models differ (exact)."
    both = pd.concat([table.assign(metric="careful"), table])
    assert in_a_line(both, "Bench") == "Bench: 1 of 1 pairs of models differ (exact)."


def test_mcnemars_p_is_of_answers_that_are_right_or_wrong() -> None:
    one, two = scores([0.0] * 8, "one", ("en",)), scores([1.0] * 7 + [0.0], "two", ("en",))
    asked, both = [ComparedPair("one", "two")], {"one": one, "two": two}
    assert compare(both, asked, FACTORS)["p_mcnemar"].iloc[0] == scipy_stats.binomtest(0, 7).pvalue
    two["value"] /= 2
    table = compare(both, asked, FACTORS)
    assert math.isnan(table["p_mcnemar"].iloc[0]) and table["p"].iloc[0] == 2 / 2**7
    # Failed requests are left out of pairs.
    two.loc[two["example_id"] == "q0", "finish_reason"] = "error"
    found = compare(both, asked, FACTORS).iloc[0]
    assert (found["n"], found["difference"]) == (7, pytest.approx(0.5 * 6 / 7))


def test_prompts_in_another_tokenizer_pair_by_question_and_factors() -> None:
    one, two = scores([1.0, 0.0], "one"), scores([1.0, 1.0], "two")
    two["instance_id"] = "other-" + two["instance_id"]
    table = compare({"one": one, "two": two}, [ComparedPair("one", "two", False)], FACTORS)
    assert table.iloc[0][["n", "difference"]].tolist() == [4, 0.5]
    with pytest.raises(UserError, match="4 of 4 prompts have another text"):
        compare({"one": one, "two": two}, [ComparedPair("one", "two")], FACTORS)


def test_how_prompts_differ_is_said() -> None:
    one = scores([1.0, 0.0])
    assert prompts_differ(one, scores([0.0, 0.0]), FACTORS) is None
    other = scores([1.0, 0.0, 1.0], tongues=("en", "sw"))
    said = prompts_differ(one, other, FACTORS)
    assert "only the first has tongue hi" in said
    assert "only the second has tongue sw" in said
    assert "0 questions are only in the first and 1 only in the second" in said


@pytest.mark.parametrize(("n", "shown"), [(5, "a, b, c, d, e;"), (6, "a, b, c, d, e, ...;")])
def test_at_most_five_levels_that_differ_are_named(n: int, shown: str) -> None:
    said = prompts_differ(scores([1.0], tongues="abcdef"[:n]), scores([1.0], tongues="z"), FACTORS)
    assert f"only the first has tongue {shown}" in said


@pytest.fixture
def several() -> tuple[pd.DataFrame, dict]:
    """Three models under two metrics; c is worse than both others."""
    rng = np.random.default_rng(7)
    sides = {}
    for name in "abc":
        values = (rng.random(40) < (0.1 if name == "c" else 0.7)).astype(float).tolist()
        parts = [scores(values, name).assign(metric=metric) for metric in ("lax", "exact_match")]
        sides[name] = pd.concat(parts)
    table = compare(sides, [ComparedPair(*two) for two in combinations("abc", 2)], FACTORS)
    return table, sets_of(table, list("abc"))


def test_a_table_shows_what_the_comparison_found(several) -> None:
    text = as_latex(*several, "made-up", "Made up")
    pair = "by == 'all' and metric == 'lax' and second == 'c' and first == 'a'"
    row = several[0].query(pair).iloc[0]
    line = next(line for line in text.split("\n\\midrule")[1].split("\n") if r"c $-$ a" in line)
    assert f"${100 * row['difference']:.1f}$ & $<$0.001" in line
    assert " 80 & 40 & " in line
    assert text.count(r"\{a, b\}") == 2
    assert f"[${100 * row['ci_low']:.1f}$, ${100 * row['ci_high']:.1f}$]" in text
    # Differences alone have one.
    assert text.count("[$") == len(several[0].query("by == 'all'"))


def test_five_questions_can_show_nothing() -> None:
    assert nothing_to_show(5) and not nothing_to_show(6)


def test_three_questions_are_said_to_show_nothing() -> None:
    """In words, in the table and below the figure; forty questions could show something."""
    for n, said in ((3, True), (40, False)):
        sides = {name: scores([1.0] * n, name) for name in "ab"}
        table = compare(sides, [ComparedPair("a", "b")], FACTORS)
        texts = as_text(table, {}), as_latex(table, {}, "x", "X"), " ".join(small_print(table, {}))
        for text in texts:
            assert (f"{n} questions, too few to show a difference" in text) is said


def test_a_figure_marks_what_the_correction_leaves(several) -> None:
    table, sets = several
    drawn = figure(table, sets, "Made up")
    assert [ax.get_title() for ax in drawn.axes] == ["exact match", "lax"]
    panel, own = drawn.axes[0], table.query("by == 'all' and metric == 'exact_match'")
    # From below, the largest difference last.
    names = [f"{row.second} − {row.first}" for row in own.sort_values("difference").itertuples()]
    assert [text.get_text() for text in panel.get_yticklabels()] == names
    marks = [line for line in panel.lines if line.get_marker() == "o"]
    assert [mark.get_xdata()[0] for mark in marks] == pytest.approx(100 * own["difference"])
    filled = [mark.get_markerfacecolor() != "white" for mark in marks]
    assert filled == (own["p_holm"] < 0.05).tolist()
    assert "{a, b}" in drawn.get_supxlabel()
