"""What a report card shows of a benchmark, as data.

Planning imports it with the benchmark's results, so it needs the standard library alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from needlework.factor import Factor

if TYPE_CHECKING:
    import pandas as pd

    from needlework.results.result import Context

AXES = ("length", "depth", "needles", "language")

OfRows: TypeAlias = Callable[["pd.DataFrame", "Context"], "pd.DataFrame"]
OfEach: TypeAlias = Callable[["pd.DataFrame", "Context"], "pd.Series"]
Lengths: TypeAlias = Callable[
    ["pd.DataFrame", "Context"], Mapping[str, tuple[int | None, int | None]]
]


@dataclass(frozen=True)
class Part:
    """One line of the card: prompts of a benchmark that one metric scores.

    rows: chooses them, may add columns. held: columns that are the same at every level of an axis, beside
    the question. name: what tells it from the benchmark's other parts. length, depth, needles, language:
    what its curves go across, with the order and the words of the levels; the label of a length is its unit,
    depths are shares of the prompt.
    """

    rows: OfRows
    held: tuple[str, ...]
    name: str = ""
    length: Factor | None = None
    depth: Factor | None = None
    needles: Factor | None = None
    language: Factor | None = None

    def axes(self) -> Iterator[tuple[str, Factor]]:
        """The axes that it has, by name."""
        for name in AXES:
            if axis := getattr(self, name):
                yield name, axis


@dataclass(frozen=True)
class Card:
    """A benchmark on report cards.

    asked_in: the language that each row's answer should be in, or no value. said_none: of rows that have a
    needle, whether the answer says that there is none; other rows have no value. lengths: claimed and
    effective length of models, if the benchmark defines these.
    """

    parts: tuple[Part, ...]
    asked_in: OfEach
    said_none: OfEach | None = None
    lengths: Lengths | None = None
