"""The second scorer's verdicts on mLongRR's answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from needlework.benchmarks.mlongrr.strict import says
from needlework.scoring.careful.tables import RESOURCES, rows, split
from needlework.scoring.careful.verdicts import (
    Verdict,
    bare_list,
    given_numbers,
    of_names,
    of_numbers,
    tagged,
)

CITY_NAMES = RESOURCES / "mlongrr/city_names.tsv"


def number(text: str, gold: str, lang: str) -> Verdict:
    """1.0 if an answer chooses the number `gold`, after any comparison, and why."""
    value, why = of_numbers(text, [int(gold)], [lang], compared=True)
    # The question asks for one number.
    return (0.0 if value is None and why == "several" and bare_list(text) else value), why


def city(
    text: str,
    gold: Sequence[str],
    cities: Iterable[Sequence[str]],
    lang: str,
    further: Mapping[str, Sequence[str]],
) -> Verdict:
    """1.0 if an answer chooses the gold city by any of its names, and why.

    `cities` are the names of all needles' cities, `further` those in other languages (`city_names`).
    """

    def named(names: Sequence[str]) -> list[str]:
        return list(dict.fromkeys([*names, *(more for n in names for more in further.get(n, ()))]))

    others = [named(names) for names in cities if not set(names) & set(gold)]
    return of_names(text, named(gold), others, [lang])


def absent(text: str, words: Iterable[str], lang: str) -> Verdict:
    """1.0 if an answer to a question without a needle says so and gives no number, and why."""
    said = tagged(text)
    if given_numbers(said, set(), [lang]):
        return 0.0, "other"
    return (1.0, "right") if says(said, words) else (0.0, "no refusal")


@cache
def city_names(path: str | Path = CITY_NAMES) -> dict[str, list[str]]:
    """The names of cities in further languages, by the English one."""
    return {name: split(names) for name, names in rows(Path(path).absolute())}
