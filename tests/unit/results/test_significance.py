"""Exact tests agree with enumeration, with scipy and with textbooks, and hold their level."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from needlework.results.significance import (
    ALPHA,
    exchange_test,
    holm,
    label_test,
    paired_test,
    shown,
)

VALUES = st.sampled_from([-1.0, -0.25, 0.0, 0.5, 1.0])


@given(st.lists(st.tuples(VALUES, st.integers(0, 5)), max_size=12))
def test_all_signs_of_clusters_are_counted(pairs) -> None:
    """All values of a cluster keep one sign."""
    sums = {cluster: 0.0 for _, cluster in pairs}
    for value, cluster in pairs:
        sums[cluster] += value
    found, least = paired_test([value for value, _ in pairs], [cluster for _, cluster in pairs])
    if not pairs:
        assert math.isnan(found)
        return
    signed = [abs(np.dot(signs, [*sums.values()])) for signs in product((-1, 1), repeat=len(sums))]
    assert found == pytest.approx(np.mean(np.array(signed) >= abs(sum(sums.values())) - 1e-9))
    assert least <= found


@pytest.mark.parametrize("loss", [False, True])
@pytest.mark.parametrize("whole", [True, False])
def test_all_places_of_the_middle_are_counted(loss: bool, whole: bool) -> None:
    """Each question's middle could have been any of its three depths."""
    rng = np.random.default_rng(4)
    for _ in range(8):
        sums = rng.integers(0, 4, (7, 3)).astype(float) if whole else rng.random((7, 3))
        moves = sums - (sums.sum(axis=1, keepdims=True) - sums) / 2
        every = np.array([sum(choice) for choice in product(*moves)])
        observed = moves[:, 0].sum()
        beyond = every <= observed + 1e-9 if loss else np.abs(every) >= abs(observed) - 1e-9
        p, least = exchange_test(moves, loss=loss)
        # Values that are no multiples of a unit are rounded, to the safe side.
        assert p == pytest.approx(beyond.mean(), abs=1e-9 if whole else 0.02)
        assert p >= beyond.mean() - 1e-9 and p >= least > 0


def test_one_prompt_per_question_is_mcnemars_test() -> None:
    d = np.array([1.0] * 12 + [-1.0] * 3 + [0.0] * 9)
    two_sided = scipy_stats.binomtest(3, 15).pvalue
    assert paired_test(d, np.arange(24))[0] == pytest.approx(two_sided, rel=1e-9)
    loss = exchange_test(np.column_stack([-d, d]), loss=True)[0]
    assert loss == pytest.approx(scipy_stats.binomtest(12, 15, alternative="greater").pvalue)


@pytest.mark.parametrize("n", [400, 3000])
def test_many_questions_agree_with_the_normal_law(n: int) -> None:
    """Also values without a common unit."""
    rng = np.random.default_rng(n)
    for d in (rng.choice([-1.0, 0.0, 1.0], n), rng.random(n) - 0.48):
        z = abs(d.sum()) / math.sqrt((d**2).sum())
        assert paired_test(d, np.arange(n))[0] == pytest.approx(
            math.erfc(z / math.sqrt(2)), abs=0.03
        )


def test_sides_of_other_questions_agree_with_fishers_test() -> None:
    counts = np.repeat([[1.0, 0.0], [0.0, 1.0]], 15, axis=0)
    sums = counts * np.r_[np.arange(15) < 12, np.arange(15) < 4][:, None]
    for loss, alternative in ((False, "two-sided"), (True, "greater")):
        fisher = scipy_stats.fisher_exact([[12, 3], [4, 11]], alternative)
        found, least = label_test(sums, counts, loss=loss)
        assert found == pytest.approx(fisher.pvalue, abs=0.003) and least <= found
    # At worst, the second side has all 14 wrong answers and one of the 16 right ones, or 15 right ones.
    assert label_test(sums, counts, loss=True)[1] == pytest.approx(16 / math.comb(30, 15))
    assert label_test(sums, counts)[1] == pytest.approx(16 / math.comb(30, 15))
    assert math.isnan(label_test(sums[:15], counts[:15])[0])


def test_questions_on_no_side_take_no_part() -> None:
    counts = np.repeat([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], 12, axis=0)
    sums = counts * (np.arange(36) < 5)[:, None]
    assert label_test(sums, counts, loss=True) == label_test(sums[:24], counts[:24], loss=True)


def test_the_least_p_is_never_above_p() -> None:
    """Sides of very unequal size, the single question of one being the best."""
    counts = np.column_stack([np.arange(10) > 0, np.arange(10) == 0]).astype(float)
    p, least = label_test(counts * np.r_[1.0, np.zeros(9)][:, None], counts)
    assert least <= p == pytest.approx(0.1, abs=0.01)


def test_a_p_beyond_the_precision_is_its_bound() -> None:
    d = np.r_[np.ones(250), -np.ones(35)]
    assert paired_test(d, np.arange(285))[0] == pytest.approx(1e-12)


def test_questions_of_both_sides_change_places() -> None:
    d = np.array([1.0] * 9 + [0.0] * 3 + [-1.0] * 2)
    sums, counts = np.column_stack([d < 0, d > 0]).astype(float), np.ones((14, 2))
    assert label_test(sums, counts)[0] == pytest.approx(paired_test(d, range(14))[0], abs=0.01)


def test_the_level_holds_where_prompts_share_questions() -> None:
    """Nothing is different, but a question's prompts all agree: McNemar's test would be fooled."""
    rng = np.random.default_rng(2)
    p = [
        paired_test(np.repeat(rng.choice([-1.0, 0.0, 1.0], size=20), 10), np.repeat(range(20), 10))
        for _ in range(200)
    ]
    assert sum(found < ALPHA for found, _ in p) <= 20


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


@given(st.lists(st.floats(0, 1) | st.just(math.nan), max_size=8))
def test_a_family_of_possible_tests_is_corrected_as_by_holm(p) -> None:
    found = shown(p, [0.0] * len(p))
    assert found.tolist() == [bool(value <= ALPHA) for value in holm(p)]


def test_tests_that_could_show_nothing_take_no_part() -> None:
    """Three questions reach 0.125 at best."""
    p, least = [0.02, 0.125, 0.125, 0.125], [0.001, 0.125, 0.125, 0.125]
    assert shown(p, least).tolist() == [True, False, False, False]
    assert not shown(p, [0.001] * 4).any()


def test_a_family_seldom_has_a_false_difference() -> None:
    rng, false = np.random.default_rng(5), 0
    for _ in range(300):
        p = [
            exchange_test(np.column_stack([d, -d]), loss=True)
            for d in rng.choice([-1.0, 0.0, 1.0], (12, int(rng.integers(5, 30))))
        ]
        false += bool(shown(*zip(*p, strict=True)).any())
    assert false <= 24


@pytest.mark.parametrize("n", [1, 3, 5])
def test_five_questions_can_show_no_difference(n: int) -> None:
    assert paired_test(np.ones(n), np.arange(n))[0] >= ALPHA


def test_labels_are_permuted_within_settings() -> None:
    """One setting is hard on both sides: pooled with the other, it would hide the loss."""
    hard, lost = np.repeat([0, 1], 20), np.tile([0, 1], 20)
    values = np.where(hard == 1, 0.1, 0.9) - 0.05 * lost
    counts = np.column_stack([lost == 0, lost == 1]).astype(float)
    pooled, _ = label_test(counts * values[:, None], counts, loss=True)
    apart, least = label_test(counts * values[:, None], counts, hard, loss=True)
    assert apart < 0.001 < 0.2 < pooled
    assert least == pytest.approx(1 / math.comb(20, 10) ** 2)
