"""The paper's normalised score r / (g + r) of a score r by a reference g, with both uncertainties."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from needlework.results.stats import Z


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


class Weighed(NamedTuple):
    """A score of a task and its reference, with the weight of their normalised score in a sum."""

    task: str
    score: Score
    reference: Score
    covariance: float
    weight: float


def combined(cells: Sequence[Weighed]) -> Normalised:
    """The weighed sum of normalised scores, such as a mean over tasks or a slope over lengths.

    The error is the delta method's. Scores of different cells are independent, but the cells of a task
    share its reference. The interval is normal; NaN without any cell.
    """
    if not cells:
        return NOTHING
    value, variance = 0.0, 0.0
    by_reference: dict[str, float] = {}
    for cell in cells:
        r, g = cell.score.value, cell.reference.value
        value += cell.weight * r / (g + r)
        by_reference.setdefault(cell.task, 0.0)
        by_reference[cell.task] -= cell.weight * r / (g + r) ** 2
    for cell in cells:
        r, g = cell.score.value, cell.reference.value
        slope_of_score = cell.weight * g / (g + r) ** 2
        variance += (slope_of_score * cell.score.se) ** 2
        variance += 2 * slope_of_score * by_reference[cell.task] * cell.covariance
    errors = {cell.task: cell.reference.se for cell in cells}
    variance += sum((by_reference[task] * se) ** 2 for task, se in errors.items())
    se = math.sqrt(max(0.0, variance))
    return Normalised(value, se, value - Z * se, value + Z * se)


def slope_weights(places: Sequence[int]) -> list[float]:
    """What each value counts in the least-squares slope over the places 0, 1, ... of its bucket.

    The places, not the lengths: so the printed slopes follow from Table 3 (Figure 3, right). Without two
    values there is no slope: an empty list.
    """
    if len(places) < 2:
        return []
    middle = sum(places) / len(places)
    spread = sum((place - middle) ** 2 for place in places)
    return [(place - middle) / spread for place in places]
