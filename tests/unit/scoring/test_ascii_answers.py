"""Answers in ASCII, which have ways of their own, are read as all others."""

from __future__ import annotations

import random
from collections.abc import Iterator

from needlework.benchmarks.oneruler import strict as oneruler_strict
from needlework.benchmarks.oneruler.wording import ANSWER_TAGS
from needlework.scoring.careful.words import read
from needlework.scoring.metrics import numbers, words_of

PIECES = [
    *("the ", "a", "town", "O'Neill", "l'eau", "co-op", "U.S.", "word281", "5th", "22nd"),
    *("may", "_"),
    *("1", "12", "123", "1,234", "1.234", "1 234", "1,23,456", "1'234", "2.5", "2,5", "1{,}234"),
    *("1933-01-05", "1999-13-40", ",", ".", "-", "'", "\n", "\t", "\x1c", "(", "?", "/", "\\,"),
]


def texts() -> Iterator[str]:
    draw = random.Random(3)
    for _ in range(2000):
        pieces = draw.choices(PIECES, k=draw.randrange(10))
        yield "".join(piece + draw.choice(["", "", " "]) for piece in pieces)


def test_words_and_numbers_are_those_beside_another_script() -> None:
    for text in texts():
        beside = f"{text} é"
        assert read(text).words == read(beside).words[:-1], repr(text)
        assert words_of(text) == words_of(beside)[:-1], repr(text)
        assert numbers(text) == numbers(beside), repr(text)


def test_a_closed_tag_is_read_as_one_among_others() -> None:
    for before, inside, after in zip(texts(), [*texts()][1:], [*texts()][2:], strict=False):
        text = f"{before}<Answer >{inside}</ answer>{after}"
        for more in ("", " <", "</Answer>"):
            assert oneruler_strict.answer(text + more, ANSWER_TAGS) == inside, repr(text)
