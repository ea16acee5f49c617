"""Intervals and tests against numbers worked out by hand, and against simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom, binomtest, t

from needlework import seeding
from needlework.results import stats


def test_standard_error_is_the_papers_equation():
    assert stats.standard_error(0.5, 100) == pytest.approx(0.05)
    assert stats.standard_error(0.2, 400) == pytest.approx(0.02)
    assert math.isnan(stats.standard_error(0.5, 0))


def test_clopper_and_pearson() -> None:
    """Newcombe (1998), Table I, method 5."""
    for right, n, low, high in (
        (81, 263, 0.2527, 0.3676),
        (15, 148, 0.0578, 0.1617),
        (0, 20, 0.0, 0.1684),
        (1, 29, 0.0009, 0.1776),
    ):
        assert stats.clopper_pearson(right / n, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 2000), st.floats(0, 1))
def test_each_end_of_an_exact_interval_has_its_tail(n, share) -> None:
    right = round(share * n)
    low, high = stats.clopper_pearson(right / n, n)
    assert (low == 0) == (right == 0) and (high == 1) == (right == n)
    if right:
        assert binom.sf(right - 1, n, low) == pytest.approx(0.025, rel=1e-6)
    if right < n:
        assert binom.cdf(right, n, high) == pytest.approx(0.025, rel=1e-6)


def test_nothing_measured_is_nan_not_zero():
    estimate = stats.estimate([], [])
    assert (estimate.n, estimate.n_questions) == (0, 0)
    assert math.isnan(estimate.value) and math.isnan(estimate.ci_low_independent)
    assert all(math.isnan(end) for end in stats.clopper_pearson(math.nan, 0))


@given(st.integers(1, 30), st.integers(1, 24), st.floats(0, 1))
def test_questions_whose_prompts_all_agree_count_once(questions, prompts, share) -> None:
    right = round(share * questions)
    values = np.repeat(np.arange(questions) < right, prompts)
    found = stats.estimate(values, np.repeat(np.arange(questions), prompts))
    n, p = questions * prompts, right / questions
    assert (found.n, found.n_questions) == (n, questions)
    assert found.value == pytest.approx(p)
    assert found.se_independent == pytest.approx(math.sqrt(p * (1 - p) / n))
    independent = found.ci_low_independent, found.ci_high_independent
    assert independent == pytest.approx(stats.clopper_pearson(p, n))
    assert (found.ci_low, found.ci_high) == pytest.approx(stats.clopper_pearson(p, questions))


def test_a_mean_is_worth_the_draws_that_its_questions_show() -> None:
    """Ten questions of ten prompts: five with eight right, five with two."""
    values = np.concatenate([np.arange(10) < right for right in (8, 2) * 5]) * 1.0
    found = stats.estimate(values, np.repeat(np.arange(10), 10))
    # The squares of 0.3, and what is added; 10 * 9 * 0.25 draws of 0 or 1 to one of these.
    draws = 22.5 / (10 * 0.09 + stats.ADDED)
    ends = [beta.ppf(0.025, draws / 2, draws / 2 + 1), beta.ppf(0.975, draws / 2 + 1, draws / 2)]
    assert (found.ci_low, found.ci_high) == pytest.approx(ends)
    # Fifteen questions of 45 prompts, of which one fails whole, are worth fifteen draws.
    values = np.repeat(np.arange(15) > 0, 45) * 1.0
    found = stats.estimate(values, np.repeat(np.arange(15), 45))
    assert found.ci_low == pytest.approx(beta.ppf(0.025, 14, 2))


ANSWERS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 5), st.sampled_from("xy")),
    min_size=1,
    max_size=40,
)


@given(ANSWERS, st.randoms(use_true_random=False))
def test_an_interval_holds_its_mean_in_any_order(rows, random) -> None:
    """Strata weigh the same whatever their size. Of right and wrong answers, the interval over
    questions is never the narrower one."""
    values, questions, strata = zip(*rows, strict=True)
    found = stats.estimate(values, questions, strata)
    means = [
        np.mean([v for v, s in zip(values, strata, strict=True) if s == own]) for own in {*strata}
    ]
    assert found.value == pytest.approx(np.mean(means))
    if {*values} <= {0, 1}:
        assert found.ci_low <= found.ci_low_independent + 1e-9
        assert found.ci_high_independent - 1e-9 <= found.ci_high
    assert found.ci_low >= 0 and found.ci_high <= 1
    assert found.ci_low - 1e-9 <= found.value <= found.ci_high + 1e-9
    mixed = random.sample(rows, len(rows))
    assert stats.estimate(*zip(*mixed, strict=True)) == found


def test_strata_weigh_the_same_whatever_their_size():
    values, strata = [1, 1, 1, 1, 0, 1], ["4K"] * 4 + ["8K"] * 2
    estimate = stats.estimate(values, list("abcdef"), strata)
    assert estimate.value == pytest.approx((1 + 0.5) / 2)
    # By hand: (0 / 4 + 0.25 / 2) / 2^2.
    assert estimate.se_independent == pytest.approx(math.sqrt(0.25 / 2 / 4))
    difference = stats.paired_difference([0] * 5, [1, 1, 1, 1, 0], range(5), ["4K"] * 4 + ["8K"])
    assert difference.value == 0.5


def test_clustered_interval_covers_where_the_independent_does_not():
    rng = np.random.default_rng(1)
    covered = {"independent": 0, "clustered": 0}
    for _ in range(300):
        ease = rng.beta(0.6, 0.9, size=40)  # mean 0.4
        values = (rng.random((40, 24)) < ease[:, None]).astype(float).ravel()
        estimate = stats.estimate(values, np.repeat(np.arange(40), 24))
        covered["independent"] += estimate.ci_low_independent <= 0.4 <= estimate.ci_high_independent
        covered["clustered"] += estimate.ci_low <= 0.4 <= estimate.ci_high
    assert covered["clustered"] / 300 > 0.92
    assert covered["independent"] / 300 < 0.6


def test_many_values_have_the_normal_interval() -> None:
    values = np.random.default_rng(2).random(2000)
    half = 1.96 * values.std() / math.sqrt(2000)
    found = stats.estimate(values, np.arange(2000))
    assert (found.ci_low, found.ci_high) == pytest.approx(
        (values.mean() - half, values.mean() + half), abs=0.002
    )


def test_a_pair_of_sides_has_the_interval_of_its_differences() -> None:
    first, second = np.random.default_rng(3).integers(0, 2, (2, 30)).astype(float)
    questions = np.arange(30)
    pair = stats.paired_difference(first, second, questions)
    late = np.arange(60) >= 30
    found = stats.difference_of_sides(
        np.r_[first, second], np.r_[questions, questions], ~late, late
    )
    assert found == pytest.approx((pair.value, pair.ci_low, pair.ci_high, 30))


def test_a_question_with_many_prompts_counts_as_one() -> None:
    """Nineteen questions gain one prompt each, and one with twenty prompts loses all: no gain is shown."""
    second = np.r_[np.ones(19), np.zeros(20)]
    found = stats.paired_difference(1 - second, second, np.r_[np.arange(19), np.full(20, 19)])
    assert found.value == pytest.approx(-1 / 39)
    assert found.ci_low < -0.8 and found.ci_high > 0.8
    assert found.ci_low_independent > -0.4


def test_sides_of_other_questions_are_less_sure() -> None:
    values, late = np.tile([1.0, 1.0, 0.0, 1.0], 10), np.arange(40) >= 20
    paired = stats.difference_of_sides(values, np.arange(40) % 20, ~late, late)
    apart = stats.difference_of_sides(values, np.arange(40), ~late, late)
    assert paired[2] < apart[2] / 2 and (paired[3], apart[3]) == (20, 40)
    # Both sides have 15 of 20: an adjusted interval of two independent shares (Agresti and Caffo, 2000).
    assert apart[2] == pytest.approx(1.96 * math.sqrt(2 * 16 * 6 / 22**3), rel=0.08)


def test_what_all_questions_lose_is_a_drop() -> None:
    """MLNeedle from 512 to 2K words: fifteen questions of three prompts, each of which loses one or two."""
    lost = np.concatenate([np.arange(3) < 1 + (n % 4 == 0) for n in range(15)]) * 1.0
    found = stats.paired_difference(lost, np.zeros(45), np.repeat(np.arange(15), 3))
    assert -0.7 < found.ci_low < found.value < found.ci_high < -0.2


@pytest.mark.parametrize("questions", [1, 7, 3000])
def test_bootstrap_draws_as_one_sample_after_the_other(questions):
    """Many questions are drawn in several parts. The draw depends on the seed."""
    rng = np.random.default_rng(6)
    clusters = np.concatenate([np.arange(questions), rng.integers(questions, size=questions)])
    values = rng.random(2 * questions)
    rows = [np.flatnonzero(clusters == question) for question in range(questions)]
    draw, means = seeding.rng("bootstrap", "x"), []
    for _ in range(1000):
        drawn = np.concatenate([rows[q] for q in draw.integers(questions, size=questions)])
        means.append(values[drawn].mean())
    found = stats.bootstrap_interval(values, clusters, seed=("x",))
    # Of 3000 questions nearly 2.5%, of seven 0.4%.
    tail = 0.5 * math.erfc(
        t.ppf(0.975, max(questions - 1, 1)) * (questions / max(questions - 1, 1) / 2) ** 0.5
    )
    assert found == pytest.approx(np.quantile(means, (tail, 1 - tail)), rel=1e-9)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=40))
def test_mcnemar_is_the_binomial_test_of_differing_pairs(pairs) -> None:
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    test = stats.mcnemar(first, second)
    assert (test.n, test.first_only, test.second_only) == (
        *(len(pairs), pairs.count((1, 0)), pairs.count((0, 1))),
    )
    differing = test.first_only + test.second_only
    assert test.p == (binomtest(test.first_only, differing).pvalue if differing else 1.0)


def test_paired_difference_by_hand():
    difference = stats.paired_difference([0, 0, 1, 1], [1, 1, 1, 0], list("abcd"))
    assert difference.value == 0.25
    # d = 1, 1, 0, -1; squared deviations from 0.25 add up to 2.75.
    assert difference.se_independent == pytest.approx(math.sqrt(2.75) / 4)
    # Two more, 1 and -1: of d, 5 / 6 is the mean square and 1 / 6 the mean.
    half = 1.959964 * math.sqrt((5 / 6 - 1 / 36) / 5)
    assert (difference.ci_low, difference.ci_high) == pytest.approx((1 / 6 - half, 1 / 6 + half))
    assert difference.ci_low == difference.ci_low_independent


def test_models_that_never_differ_may_still_differ():
    difference = stats.paired_difference([1, 0] * 20, [1, 0] * 20, np.repeat(np.arange(10), 4))
    assert (difference.value, difference.se_independent) == (0, 0)
    # Of 40 prompts, or ten questions, none differs, and one more gains and one loses.
    assert difference.ci_high_independent == pytest.approx(1.959964 * math.sqrt(2 / 42 / 41))
    assert difference.ci_high == pytest.approx(1.959964 * math.sqrt(2 / 12 / 11))
    assert difference.ci_low == -difference.ci_high


@pytest.mark.parametrize(
    ("means", "baseline", "expected"),
    [
        ({4096: 0.171}, 0.335, 0),  # the four models of the paper's Table 1
        ({4096: 0.479, 8192: 0.295}, 0.622, 4096),
        ({4096: 0.460, 8192: 0.449}, 0.700, 0),
        ({4096: 0.485, 8192: 0.455, 16384: 0.427, 32768: 0.397}, 0.579, 8192),
        ({4096: 0.1, 8192: 0.5}, 0.6, 8192),  # the longest, even past a shorter one that fails
        ({4096: 0.45}, 0.6, 4096),  # exactly 75%
        ({4096: math.nan, 8192: 0.5}, 0.6, 8192),
        ({}, 0.6, None),
        ({4096: 0.5}, None, None),
        ({4096: 0.5}, math.nan, None),
        ({4096: 0.0, 8192: 0.0}, 0.0, None),  # a model that knows nothing keeps nothing
    ],
)
def test_effective_length(means, baseline, expected):
    assert stats.effective_length(means, baseline) == expected


def test_bounds_take_what_failed_as_wrong_and_as_right() -> None:
    assert stats.bounds([1, 0, 1, 0.5], [False] * 4) == (0.625, 0.625)
    # The value of what failed, which tables take for 0, says nothing.
    assert stats.bounds([1, 0, 1, 0.5], [False, True, True, False]) == (0.375, 0.875)
    assert stats.bounds([0, 0], [True, True]) == (0, 1)
    # The mean of two strata's means.
    assert stats.bounds([1, 0, 0, 1], [False, True, True, False], [4, 4, 4, 8]) == (2 / 3, 1)
    assert all(map(math.isnan, stats.bounds([], [])))
