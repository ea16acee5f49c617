"""The paper's normalised score r / (g + r) of a score r by a reference g, with both uncertainties."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from needlework.stats import Z


class Score(NamedTuple):
    """A score in [0, 1], and its standard error (0 where none is known, as of a printed number)."""

    value: float
    se: float = 0.0


class Normalised(NamedTuple):
    """A normalised score with its standard error and 95% interval."""

    value: float
    se: float
    ci_low: float
    ci_high: float


NOTHING = Normalised(math.nan, math.nan, math.nan, math.nan)


def normalised(score: Score, reference: Score, covariance: float = 0.0) -> Normalised:
    """r / (g + r): 0.5 where the score equals its reference (paper, section 3.5).

    The error is the delta method's: the derivatives are g / (g + r)^2 by r and -r / (g + r)^2 by g.
    `covariance` is that of the two scores, where both are of the same prompts. The interval is normal on
    the scale of log(r / g), whose ends stay within [0, 1]; at 0 or 1 it is cut there. NaN where both
    scores are 0, or one is missing.
    """
    r, g = score.value, reference.value
    if math.isnan(r) or math.isnan(g) or r + g == 0:
        return NOTHING
    value = r / (g + r)
    variance = (g * score.se) ** 2 + (r * reference.se) ** 2 - 2 * r * g * covariance
    se = math.sqrt(max(0.0, variance)) / (g + r) ** 2
    if value in (0.0, 1.0):
        return Normalised(value, se, max(0.0, value - Z * se), min(1.0, value + Z * se))
    half = Z * se / (value * (1 - value))
    centre = math.log(r / g)
    low, high = (1 / (1 + math.exp(-(centre + side * half))) for side in (-1, 1))
    return Normalised(value, se, low, high)


def mean(scores: list[Normalised]) -> Normalised:
    """The mean of the normalised scores of different tasks; those that are missing are left out."""
    there = [score for score in scores if not math.isnan(score.value)]
    if not there:
        return NOTHING
    value = sum(score.value for score in there) / len(there)
    se = math.sqrt(sum(score.se**2 for score in there)) / len(there)
    return Normalised(value, se, max(0.0, value - Z * se), min(1.0, value + Z * se))


def slope(values: Sequence[float]) -> float:
    """The least-squares slope of values over the places of their buckets, 0, 1, ... (Figure 3, right).

    The places, not the lengths: so the printed slopes follow from Table 3. NaN of fewer than two.
    """
    n = len(values)
    if n < 2:
        return math.nan
    middle = (n - 1) / 2
    spread = sum((place - middle) ** 2 for place in range(n))
    return sum((place - middle) * value for place, value in enumerate(values)) / spread
