"""What a report card shows of a benchmark, as data.

Planning imports it with the benchmark's results, so it needs the standard library alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from needlework.factor import Factor

if TYPE_CHECKING:
    import pandas as pd

    from needlework.results.result import Context

AXES = ("length", "depth", "needles", "language")

OfRows: TypeAlias = Callable[["pd.DataFrame", "Context"], "pd.DataFrame"]
OfEach: TypeAlias = Callable[["pd.DataFrame", "Context"], "pd.Series"]


@dataclass(frozen=True)
class CardPart:
    """One line of the card: prompts of a benchmark that are scored by one metric.

    rows: function that selects the rows of scores, and may add columns. held: columns that, like the
    question, have the same value at every level of an axis. name: distinguishes the part from the
    benchmark's other parts. length, depth, needles, language: the axes of its curves, with order and labels
    of their levels. The label of a length is its unit; depths are shares of the prompt.
    """

    rows: OfRows
    held: tuple[str, ...]
    name: str = ""
    length: Factor | None = None
    depth: Factor | None = None
    needles: Factor | None = None
    language: Factor | None = None

    def axes(self) -> Iterator[tuple[str, Factor]]:
        """The axes of this part, by name."""
        for name in AXES:
            if axis := getattr(self, name):
                yield name, axis


@dataclass(frozen=True)
class Card:
    """What report cards show of a benchmark.

    asked_in: the language in which each row should be answered, or no value. said_none: for rows with a
    needle, whether the answer denies that there is one; no value for other rows. baseline: if the benchmark
    defines an effective length, a function that selects the rows without distractors, and the columns in
    which such a row equals, besides the question, the rows whose baseline it is.
    """

    parts: tuple[CardPart, ...]
    asked_in: OfEach
    said_none: OfEach | None = None
    baseline: tuple[OfRows, tuple[str, ...]] | None = None

    @property
    def held(self) -> tuple[str, ...]:
        """The columns that any part holds constant."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.held))
