"""Whether a passage holds an answer is the same with the screen as without."""

from __future__ import annotations

import random
import sys
import unicodedata

import pytest

from needlework.data.comparison.subspan_screen import (
    SoughtAnswer,
    Text,
    _letters,
    _silent,
    contains,
    normalise,
)

PIECES = [
    *("the", "a", "an", "S", "U.S.", "café", "cafe", "cafe\u0301", "e\u0301", "ß", "ss", "ﬁn"),
    *("½", "İ"),
    *("co-op", "coop", "O'Neill", "3", "٣", "1,000", "1.000", "19-42", "–", "*", "×", "\u200d"),
    *("\u064b", "كتاب", "東京", "서울", "K", "Å", "²", "１２", "and/or", "$5", "\u0301", "\xa0"),
    *("-", "'", "."),
]


@pytest.mark.parametrize("seed", range(4))
def test_an_answer_is_found_where_the_normal_forms_hold_it(seed: int) -> None:
    draw = random.Random(seed)

    def words(most: int) -> str:
        n = draw.randint(0, most)
        return "".join(draw.choice(PIECES) + draw.choice(["", " ", "  ", "-"]) for _ in range(n))

    found = 0
    for _ in range(3000):
        text, answer = words(9), words(2)
        if text and draw.random() < 0.6:
            start = draw.randrange(len(text))
            answer = text[start : start + draw.randint(1, 9)]
        held = contains(normalise(answer), normalise(text))
        assert SoughtAnswer(answer).held_by(Text(text)) == held, (answer, text)
        found += held
    assert 300 < found < 2900


def test_ascii_texts_are_normalised_as_all_others() -> None:
    draw = random.Random(5)
    characters = [*map(chr, range(128)), *" .,'-" * 8, *("the ", " a", "an ")]
    for _ in range(3000):
        text = "".join(draw.choices(characters, k=draw.randrange(12)))
        other = tuple(f"{form} é".strip() for form in normalise(text))
        assert normalise(f"{text} é") == other, repr(text)


def test_characters_called_silent_make_no_letters() -> None:
    characters = map(chr, range(128, sys.maxunicode + 1))
    assigned = (c for c in characters if unicodedata.category(c) not in {"Cn", "Co", "Cs"})
    silent = [character for character in assigned if _silent(character)]
    assert len(silent) > 100_000
    for start in range(0, len(silent), 100):
        text = " ".join(f"e{c}i 3{c} {c}e" for c in silent[start : start + 100])
        letters = _letters(text)
        for form in normalise(text):
            words = [_letters(word) for word in form.split()]
            assert b"".join(words) == letters.replace(b" ", b""), repr(text)
            assert all(word in letters for word in words), repr(text)
    for character in "\u0301٣１²ßﬁKİ½":
        assert not _silent(character), character


def test_a_letter_before_a_mark_is_not_found_at_once() -> None:
    assert Text("a cafe in Paris").shows("cafe")
    assert not Text("a cafe\u0301 in Paris").shows("cafe")
    assert not Text("a caf\u00e9 in Paris").shows("cafe")
    assert not SoughtAnswer("cafe").held_by(Text("caf\u00e9s"))
