"""The contents of a benchmark's report card, as data.

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
    """One line of the card: prompts of a benchmark that are scored by one metric."""

    # Function that selects the rows of scores, and may add columns.
    rows: OfRows
    # Columns that, like the question, have the same value at every level of an axis.
    held: tuple[str, ...]
    # Distinguishes the part from the benchmark's other parts.
    name: str = ""
    # The axes of the part's curves, with order and labels of their levels. The label of `length` is its unit.
    # The levels of `depth` are shares of the prompt.
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
    """What report cards show of a benchmark."""

    parts: tuple[CardPart, ...]
    # For each row, the language in which it should be answered; no value if it may be any.
    asked_in: OfEach
    # For each row with a needle, whether the answer denies that there is one; no value for other rows.
    said_none: OfEach | None = None
    # Only if the benchmark defines an effective length: a function that selects the rows without distractors,
    # and the columns that, besides the question, join such a row to the rows whose baseline it is.
    baseline: tuple[OfRows, tuple[str, ...]] | None = None

    @property
    def held(self) -> tuple[str, ...]:
        """The columns that any part holds constant."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.held))
