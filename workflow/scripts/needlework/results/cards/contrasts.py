"""Whether answers are worse at one end of a curve than at the other: differences that hold together.

What is compared is fixed before the answers are seen: the longest with the shortest length, the middle with
the ends, most with fewest needles, each language with all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from needlework.results import stats
from needlework.results.cards.crossing import Mask

# All intervals of a card together hold with this probability at least (Bonferroni).
ALPHA = 0.05
# Fewer questions than these never show a drop: no sign test of five reaches 5%.
LEAST_QUESTIONS = 6


class Sides(NamedTuple):
    """A comparison: the name of the level, and the rows of both sides."""

    level: Any
    first: Mask
    second: Mask


class Difference(NamedTuple):
    """The second side's mean less the first's, its interval, and of how many questions it is."""

    value: float
    low: float
    high: float
    n_questions: int

    @property
    def shows_drop(self) -> bool:
        """Whether no interval without a drop fits."""
        return self.high < 0 and self.n_questions >= LEAST_QUESTIONS


def sides(axis: str, levels: Sequence[Any], rows: npt.NDArray[np.intp]) -> Iterator[Sides]:
    """The comparisons of an axis; `rows` has each row's place in the sorted `levels`."""
    last = len(levels) - 1
    if axis == "language":
        for place, level in enumerate(levels):
            yield Sides(level, rows != place, rows == place)
    elif axis == "depth" and last >= 2:
        middle = min(range(1, last), key=lambda place: (abs(float(levels[place]) - 0.5), place))
        yield Sides(levels[middle], (rows == 0) | (rows == last), rows == middle)
    else:
        yield Sides(levels[last], rows == 0, rows == last)


def difference(
    values: npt.NDArray[np.float64], questions: npt.NDArray[np.intp], both: Sides, alpha: float
) -> Difference:
    """The difference of the sides' means of values in [0, 1], with its `stats.limits` at 1 - alpha.

    A question that both sides ask counts as a pair.
    """
    found = stats.difference_of_sides(values, questions, both.first, both.second, alpha)
    return Difference(*found)
