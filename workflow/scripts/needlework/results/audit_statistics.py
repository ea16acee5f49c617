"""Intervals that hold however often an audit is looked at, and what they say in words.

The values are differences of whole questions, each the mean over its prompts, in the order of a seeded
draw. The intervals are asymptotic confidence sequences (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas,
2024, "Time-uniform central limit theory and asymptotic confidence sequences", Annals of Statistics 52): all
of them together hold the mean with probability 1 - alpha, so an audit may be continued until it is settled.
That is proved for many questions; perf/audit_statistics.py simulates how often it holds for few.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# The number of questions for which intervals are made narrowest, if there are so many.
PLANNED = 500

Numbers = npt.NDArray[np.float64]


class Interval(NamedTuple):
    """A mean of `n` questions and its interval."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def half(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2


NOTHING = Interval(math.nan, -1.0, 1.0, 0)


def half_width(
    n: npt.ArrayLike, variance: npt.ArrayLike, alpha: float, planned: npt.ArrayLike
) -> Numbers:
    """Half widths of the intervals of means of `n` values with this variance.

    `planned` is the n for which they are narrowest, chosen before the first look. The variance gets a share
    for what is so rare that it was hardly seen: log(1 / alpha) / 2 squares among n. So if no answer of n
    questions changed, the interval is about that of a Poisson count of 0.
    """
    n = np.asarray(n, dtype=np.float64)
    least = -2 * math.log(alpha)
    mixed = n * (least + math.log(least + 1)) / np.asarray(planned, dtype=np.float64)
    deviation = np.sqrt(np.asarray(variance) + math.log(1 / alpha) / 2 / n)
    return deviation * np.sqrt(2 * (mixed + 1) / (n * mixed) * np.log(np.sqrt(mixed + 1) / alpha))


def interval(values: npt.ArrayLike, alpha: float, available: int) -> Interval:
    """The interval of the mean of questions' values in [-1, 1].

    `available` is how many questions there are in all: known before the first look.
    """
    x = np.asarray(values, dtype=np.float64)
    if not len(x):
        return NOTHING
    mean, variance = float(x.mean()), float(x.var())
    half = float(half_width(len(x), variance, alpha, min(PLANNED, max(available, 1))))
    return Interval(mean, max(-1.0, mean - half), min(1.0, mean + half), len(x))


def settled(found: Interval, margin: float) -> bool:
    """Whether the interval excludes 0 or lies within the margin."""
    return found.low > 0 or found.high < 0 or -margin <= found.low <= found.high <= margin


def sentence(found: Interval, margin: float) -> str:
    """What an interval of a difference of scores says, in percent points."""
    if not found.n:
        return "cannot tell: no question was answered by both"
    if found.high < 0:
        return f"worse by {_points(-found.high)} to {_points(-found.low)} points"
    if found.low > 0:
        return f"better by {_points(found.low)} to {_points(found.high)} points"
    if settled(found, margin):
        return f"no difference above {_points(margin)} points"
    return f"cannot tell: plus or minus {_points(found.half)} points"


def _points(share: float) -> str:
    """A share as percent points; a tenth of one is enough."""
    return f"{100 * share:.1f}".removesuffix(".0")
