"""The contents of an example: cities, numbers and places, the same for every language and question."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from needlework.benchmarks.mlongrr.plan import NAME
from needlework.scoring.metrics import numbers
from needlework.seeding import rank_key, rng


@dataclass(frozen=True)
class Needle:
    """A needle's city, by its name in English and in the haystack's language, and its number."""

    english: str
    city: str
    number: str

    @property
    def names(self) -> list[str]:
        """The city's distinct names: in the haystack's language, then in English."""
        return list(dict.fromkeys([self.city, self.english]))


def draw(
    where: tuple[object, ...], n: int, cities: Sequence[tuple[str, str]], taken: Set[str]
) -> list[Needle]:
    """n needles with different cities and numbers; `taken` are numbers that the text has already.

    `where` names the draw (seed, length, depth, example). A draw of fewer needles is the beginning of a draw
    of more, so that tasks with different numbers of needles can be compared in pairs. A row of cities means
    the same in every language.
    """
    ranked = sorted(range(len(cities)), key=lambda row: rank_key(NAME, *where, "city", row))
    drawn: dict[str, str] = {}
    for row in ranked:
        if len(drawn) < n:
            drawn.setdefault(*cities[row])
    values: list[str] = []
    generator = rng(NAME, *where, "numbers")
    while len(values) < n:
        number = str(generator.integers(10**6, 10**7))
        if number not in values and number not in taken:
            values.append(number)
    return [
        Needle(english, city, number)
        for (english, city), number in zip(drawn.items(), values, strict=True)
    ]


def places(where: tuple[object, ...], n: int, first: int, last: int) -> list[int]:
    """Sentences before each of n needles: `first` for the first needle, `first` to `last` for the others.

    Every boundary from `first` on is equally likely for the others, `first` too. No two of them share a
    boundary, unless there are too few (released code).
    """
    found, free = [first], list(range(first, last + 1))
    for share in rng(NAME, *where, "places").random(n - 1):
        found.append(free.pop(int(share * len(free))) if free else last)
    return sorted(found)


def long_numbers(text: str) -> list[str]:
    """The numbers of seven digits or more in a text, as the metric reads them."""
    return [str(number) for number in sorted(numbers(text)) if number >= 10**6]
