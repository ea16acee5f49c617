"""Factors: the columns in which prompts of a benchmark differ, with order and names of their values.

Every room from prompts to results reads it, and so does planning: it needs the standard library alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

# A factor with more levels is none to compare by.
MOST_LEVELS = 40


def in_1024(tokens: Any) -> str:
    """A number of tokens in units of 1,024 ("8K"), or in full where it is no multiple."""
    return _in_units(int(tokens), 1024)


def in_1000(tokens: Any) -> str:
    """A number of tokens or words in units of 1,000 ("8K"), or in full where it is no multiple."""
    return _in_units(int(tokens), 1000)


def _in_units(number: int, unit: int) -> str:
    return f"{number // unit}K" if number % unit == 0 else f"{number:,}"


@dataclass(frozen=True)
class Factor:
    """A column of instances and scores, or of a result."""

    name: str
    # The Arrow type, by name.
    type: str = "string"
    # What an axis or a column head calls it.
    label: str = ""
    # Its values, in order. Values that are not listed follow, sorted; the values in `last` come after all
    # others.
    order: tuple[Hashable, ...] = ()
    last: tuple[Hashable, ...] = ()
    # What single values are called in tables and figures.
    words: Mapping[Any, str] = field(default_factory=dict)
    # Writes all other values, such as `in_1024` for numbers of tokens.
    format: Callable[[Any], str] | None = None
    # What a value of 1 is in percent: 100 for a share. If it is set, values are written so ("50%").
    percent: float | None = None
    # A value whose rows belong to every other value as well. For example, prompts without distractors belong
    # to every kind of retrieval.
    shared: Hashable | None = None
    # Whether prompts were made to have it. Otherwise it says how they turned out, and comparisons of models
    # neither pair nor divide prompts by it.
    asked: bool = True

    def sorted(self, present: Iterable[Any]) -> list[Any]:
        """The values in `present`, sorted and without repeats."""
        found = set(present)
        listed = [value for value in self.order if value in found]
        last = [value for value in self.last if value in found]
        return [*listed, *sorted(found.difference(listed, last)), *last]

    def called(self, value: Any) -> str:
        """The name of a value in tables and figures."""
        if value in self.words:
            return self.words[value]
        if self.format is not None:
            return self.format(value)
        if self.percent is not None:
            return f"{self.percent * value:.4g}%"
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    def renamed(self, name: str, **changes: Any) -> Factor:
        """The same factor under another name, such as a column of a result."""
        return replace(self, name=name, **changes)
