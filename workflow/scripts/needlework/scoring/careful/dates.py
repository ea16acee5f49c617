"""Dates in words: a day, a month by its name in any language, a year, in any order (resources/numbers/)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from needlework.scoring.careful.tables import rows, split
from needlework.scoring.careful.writings import bare, fold

# Between the parts of a date.
_BETWEEN = frozenset("of de del di du den the le el der den o a i jour din ngay tanggal".split())
_CHINESE = {
    "年": "year",
    "月": "month",
    "日": "day",
    "号": "day",
    "년": "year",
    "월": "month",
    "일": "day",
}


class Date(NamedTuple):
    """A date with the parts that are given; 0 for those that are not."""

    day: int
    month: int
    year: int

    def within(self, other: Date) -> bool:
        """Whether another date has all the parts of this one, equal."""
        return all(mine in (0, theirs) for mine, theirs in zip(self, other, strict=True))


def dates_in(words: Sequence[str]) -> Iterator[tuple[int, int, Date]]:
    """(start, end, date) of each month's name with a number beside it, and of numbers with 年, 月, 日."""
    names = months()
    end_of_last = 0
    for place, word in enumerate(words):
        if place < end_of_last:
            continue
        if word in _CHINESE and place and words[place - 1].isdecimal():
            start, end, parts = _east_asian(words, place - 1)
            if parts.month:
                yield start, end, parts
                end_of_last = end
            continue
        month = names.get(word)
        if month is None and word.isdecimal() and _vietnamese(words, place):
            month = int(word)
        if month is None:
            continue
        day, year, start, end = 0, 0, place, place + 1
        if place and words[place - 1] == "thang":
            start = place - 1
        # Days and years before the month, then behind it.
        for step in (-1, 1):
            at, skipped = (start - 1 if step < 0 else end), 0
            while 0 <= at < len(words) and (not day or not year):
                token = words[at].rstrip(".")
                if token in _BETWEEN or token in ("nam", "ngay", "tahun", "عام", "سنه"):
                    skipped += 1
                    if skipped > 2:
                        break
                elif (
                    token.isdecimal() and 1 <= int(token[:5]) <= 31 and len(token) <= 2 and not day
                ):
                    day, skipped = int(token), 0
                    start, end = min(start, at), max(end, at + 1)
                elif token.isdecimal() and len(token) in (3, 4) and not year:
                    year, skipped = int(token), 0
                    start, end = min(start, at), max(end, at + 1)
                else:
                    break
                at += step
        if day or year:
            yield start, end, Date(day, month, year)
            end_of_last = end


def _vietnamese(words: Sequence[str], place: int) -> bool:
    """Whether a number is a month ("tháng 3")."""
    return place > 0 and words[place - 1] == "thang" and int(words[place][:3]) <= 12


def _east_asian(words: Sequence[str], start: int) -> tuple[int, int, Date]:
    parts = {"year": 0, "month": 0, "day": 0}
    at = start
    while at + 1 < len(words) and words[at].isdecimal() and words[at + 1] in _CHINESE:
        if len(words[at]) > 4:
            break
        parts[_CHINESE[words[at + 1]]] = int(words[at])
        at += 2
    return start, at, Date(parts["day"], parts["month"], parts["year"])


@cache
def months() -> dict[str, int]:
    """The names of months in all languages, without accents."""
    table: dict[str, int] = {}
    for _, number, listed in rows("numbers/months.tsv"):
        for name in split(listed):
            table.setdefault(bare(fold(name).lower()), int(number))
    # Words of many languages that are no month's name by themselves.
    for word in ("set", "an", "kun", "sat"):
        table.pop(word, None)
    return table
