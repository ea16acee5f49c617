"""Comparisons of models: tests agree with others' and with hand counts, and say what n could show."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.parts import names
from needlework.errors import UserError
from needlework.results.comparisons import (
    ALPHA,
    DISAGREE,
    DRAWS,
    POWER,
    Pair,
    as_latex,
    as_text,
    compare,
    figure,
    holm,
    in_a_line,
    indistinguishable,
    nothing_to_show,
    permutation_test,
    planned_difference,
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


@given(st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), st.integers(0, 5)), max_size=12))
def test_permutation_tries_all_signs_of_few_clusters(pairs) -> None:
    """All values of a cluster keep one sign."""
    sums = {cluster: 0.0 for _, cluster in pairs}
    for value, cluster in pairs:
        sums[cluster] += value
    found = permutation_test([value for value, _ in pairs], [cluster for _, cluster in pairs])
    if not pairs:
        assert math.isnan(found)
        return
    signed = [abs(np.dot(signs, [*sums.values()])) for signs in product((-1, 1), repeat=len(sums))]
    assert found == pytest.approx(np.mean(np.array(signed) >= abs(sum(sums.values())) - 1e-9))


def test_permutation_of_single_values_agrees_with_scipy() -> None:
    rng = np.random.default_rng(0)
    d = rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.6, 0.3], size=60)
    found = permutation_test(d, np.arange(60))
    theirs = scipy_stats.permutation_test(
        (d,), np.sum, permutation_type="samples", n_resamples=9999, rng=np.random.default_rng(1)
    )
    assert found == pytest.approx(theirs.pvalue, abs=0.01)
    assert found == permutation_test(d, np.arange(60))


def test_the_least_p_is_one_of_all_signs_drawn() -> None:
    drawn = 1 / permutation_test(np.ones(40), np.arange(40)) - 1
    assert drawn == pytest.approx(999 * (DRAWS // 999 + 1)) and drawn >= DRAWS


def test_permutation_holds_its_level_where_prompts_share_questions() -> None:
    """Nothing is different, but a question's prompts all agree: McNemar's test would be fooled."""
    rng = np.random.default_rng(2)
    rejected = 0
    for i in range(200):
        d = np.repeat(rng.choice([-1.0, 0.0, 1.0], size=20), 10)
        rejected += permutation_test(d, np.repeat(np.arange(20), 10), seed=(i,)) < 0.05
    assert rejected <= 20


@given(st.lists(st.floats(0, 1) | st.just(math.nan), max_size=8))
def test_holm_corrects_as_in_his_paper(values) -> None:
    """The k-th smallest of m is multiplied by m - k + 1, no result is below that of a smaller one."""
    known = sorted(value for value in values if not math.isnan(value))
    steps = [(len(known) - k) * value for k, value in enumerate(known)]
    for value, corrected in zip(values, holm(values), strict=True):
        if math.isnan(value):
            assert math.isnan(corrected)
        else:
            least = max(step for step, own in zip(steps, known, strict=True) if own <= value)
            assert corrected == pytest.approx(min(1.0, least))


def test_a_planned_difference_is_found_four_times_in_five() -> None:
    """Twenty-five questions, half of which a difference of 30 points takes or more."""
    rng, n = np.random.default_rng(3), 25
    least = planned_difference(n)
    lost, won = max(0.0, (DISAGREE - least) / 2), max(least, (DISAGREE + least) / 2)
    draws = rng.choice([-1.0, 0.0, 1.0], p=[lost, 1 - lost - won, won], size=(600, n))
    found = [permutation_test(d, np.arange(n), seed=(i,)) < ALPHA for i, d in enumerate(draws)]
    assert np.mean(found) == pytest.approx(POWER, abs=0.04)


def test_planned_difference_shrinks_with_questions() -> None:
    assert planned_difference(400) == pytest.approx(0.07, abs=0.002)
    assert planned_difference(100) == pytest.approx(2 * planned_difference(400), rel=0.02)
    # All six questions must fall to one side: 0.963 ** 6 = 0.8.
    assert planned_difference(6) == pytest.approx(0.8 ** (1 / 6), abs=1e-4)


@pytest.mark.parametrize("n", [1, 3, 5])
def test_five_questions_can_show_no_difference(n) -> None:
    assert math.isnan(planned_difference(n))
    assert permutation_test(np.ones(n), np.arange(n)) >= ALPHA
    assert nothing_to_show(n) and not nothing_to_show(6)


def test_sets_overlap_where_a_middle_model_is_like_both() -> None:
    every = [("a", "b"), ("c", "b"), ("c", "a")]
    assert indistinguishable(["a", "b", "c"], every[:2]) == [("a", "b"), ("b", "c")]
    assert indistinguishable(["a", "b", "c"], every) == [("a", "b", "c")]
    assert indistinguishable(["a", "b"], []) == []
    # Models that were not compared share no set.
    for pairs, found in (
        ([Pair("a", "b"), Pair("b", "c")], [("a", "b"), ("b", "c")]),
        ([Pair(*two) for two in combinations("abc", 2)], [("a", "b", "c")]),
    ):
        table = compare(alike("abc", 5), pairs, FACTORS)
        assert sets_of(table, list("abc")) == {"exact": found}
    assert "not told apart: {a, b, c}" in as_text(table, sets_of(table, list("abc")))


def test_compare_says_which_is_better_where() -> None:
    one = scores([0.0] * 30, "one")
    two = scores([1.0] * 15 + [0.0] * 15, "two")
    two.loc[two["tongue"] == "hi", "value"] = 0.0
    table = compare({"one": one, "two": two}, [Pair("one", "two")], FACTORS)
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
    asked, both = [Pair("one", "two")], {"one": one, "two": two}
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
    table = compare({"one": one, "two": two}, [Pair("one", "two", False)], FACTORS)
    assert table.iloc[0][["n", "difference"]].tolist() == [4, 0.5]
    with pytest.raises(UserError, match="asked in other words in 4 of 4"):
        compare({"one": one, "two": two}, [Pair("one", "two")], FACTORS)


def test_how_prompts_differ_is_said() -> None:
    one = scores([1.0, 0.0])
    assert prompts_differ(one, scores([0.0, 0.0]), FACTORS) is None
    other = scores([1.0, 0.0, 1.0], tongues=("en", "sw"))
    said = prompts_differ(one, other, FACTORS)
    assert "only the first has tongue hi" in said
    assert "only the second has tongue sw" in said
    assert "0 questions are in the first alone and 1 in the second" in said


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
    table = compare(sides, [Pair(*two) for two in combinations("abc", 2)], FACTORS)
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


def test_three_questions_are_said_to_show_nothing() -> None:
    """In words, in the table and below the figure; forty questions could show something."""
    for n, said in ((3, True), (40, False)):
        sides = {name: scores([1.0] * n, name) for name in "ab"}
        table = compare(sides, [Pair("a", "b")], FACTORS)
        texts = as_text(table, {}), as_latex(table, {}, "x", "X"), " ".join(small_print(table, {}))
        for text in texts:
            assert (f"{n} questions, which can show no difference" in text) is said


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
