"""Intervals of a comparison: their formula, what they say, and that looking often does no harm."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.doctor.comparison import (
    NOTHING,
    PLANNED,
    Interval,
    half_width,
    interval,
    settled,
    verdict_in_words,
)


def test_the_half_width_is_the_papers() -> None:
    """The mixture's boundary, with the rho that makes it narrowest at 500."""
    n, variance, alpha = 200, 0.03, 0.05
    rho2 = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / 500
    rare = math.log(1 / alpha) / 2 / n
    inside = 2 * (n * rho2 + 1) / (n**2 * rho2) * math.log(math.sqrt(n * rho2 + 1) / alpha)
    assert half_width(n, variance, alpha, 500) == pytest.approx(
        math.sqrt((variance + rare) * inside)
    )


@pytest.mark.parametrize(("n", "points"), [(200, 4.46), (500, 2.6), (2000, 1.3)])
def test_half_widths_in_points_are_those_of_a_betting_interval(n, points) -> None:
    """With a floor of 10% and three prompts, betting has 4.4, 2.5 and 1.25; a mean's variance is a third."""
    assert 100 * half_width(n, 0.1 / 3, 0.05, 500) == pytest.approx(points, abs=0.06)


def test_no_change_in_few_questions_is_bounded_like_counts() -> None:
    """Of 100 questions without a change, a Poisson count of 5 is ruled out at 1% (exp(-5) = 0.7%)."""
    found = interval(np.zeros(100), 0.01, 100)
    assert found.mean == 0 and 0.045 < found.high < 0.07 and found.low == -found.high


@given(st.integers(20, 300), st.integers(1, 300), st.sampled_from([0.05, 0.05 / 20]))
def test_intervals_shrink_with_questions_and_grow_with_cells(n, more, alpha) -> None:
    """They are planned for the questions that exist, at most so many."""
    values = np.tile([0.0, 1.0, -1.0, 0.0], n + more)
    few, many = (interval(values[: 4 * k], alpha, 800) for k in (n, n + more))
    assert many.half < few.half < interval(values[: 4 * n], alpha / 2, 800).half
    assert few.low == few.mean - few.half and few.high == few.mean + few.half
    assert interval(values, alpha, 10 * PLANNED) == interval(values, alpha, PLANNED)
    assert interval(values[:40], alpha, 40).half < interval(values[:40], alpha, PLANNED).half


def test_nothing_says_nothing() -> None:
    assert interval([], 0.05, 10) == NOTHING
    assert "no question was answered by both" in verdict_in_words(NOTHING, 0.04)
    assert not settled(NOTHING, 0.04)


@pytest.mark.parametrize(
    ("low", "high", "said", "is_settled"),
    [
        (-0.06, -0.021, "worse by 2.1 to 6 points", True),
        (0.01, 0.035, "better by 1 to 3.5 points", True),
        (-0.031, 0.04, "no difference above 4 points", True),
        (-0.04, 0.06, "cannot tell: plus or minus 5 points", False),
        (-0.05, 0.0, "cannot tell: plus or minus 2.5 points", False),
    ],
)
def test_an_interval_is_a_sentence(low, high, said, is_settled) -> None:
    found = Interval((low + high) / 2, low, high, 100)
    assert verdict_in_words(found, 0.04) == said
    assert settled(found, 0.04) == is_settled


def test_looking_after_every_ten_questions_does_no_harm() -> None:
    """A fixed interval would exclude 0 in a third of such comparisons."""
    rng, looks = np.random.default_rng(5), range(20, 301, 10)
    draws = rng.choice([-1.0, 0.0, 1.0], size=(200, 300), p=[0.1, 0.8, 0.1])
    found = [[interval(d[:n], 0.05, 300) for n in looks] for d in draws]
    missed = [any(abs(one.mean) > one.half for one in own) for own in found]
    fixed = [any(abs(d[:n].mean()) > 1.96 * d[:n].std() / n**0.5 for n in looks) for d in draws]
    assert np.mean(missed) <= 0.05 < 0.2 < np.mean(fixed)
