"""Whether a passage holds an answer is the same with the screen as without."""

from __future__ import annotations

import random

import pytest

from needlework.data.comparison.subspan_screen import Answer, Text, contains, normalise

PIECES = [
    *(
        "the",
        "a",
        "an",
        "S",
        "U.S.",
        "café",
        "cafe",
        "cafe\u0301",
        "e\u0301",
        "ß",
        "ss",
        "ﬁn",
        "½",
        "İ",
    ),
    *(
        "co-op",
        "coop",
        "O'Neill",
        "3",
        "٣",
        "1,000",
        "1.000",
        "19-42",
        "–",
        "*",
        "×",
        "\u200d",
        "\u064b",
    ),
    *(
        "كتاب",
        "東京",
        "서울",
        "K",
        "Å",
        "²",
        "１２",
        "and/or",
        "$5",
        "\u0301",
        "\xa0",
        "-",
        "'",
        ".",
    ),
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
        assert Answer(answer).held_by(Text(text)) == held, (answer, text)
        found += held
    assert 300 < found < 2900


def test_ascii_texts_are_normalised_as_all_others() -> None:
    draw = random.Random(5)
    characters = [*map(chr, range(128)), *" .,'-" * 8, *("the ", " a", "an ")]
    for _ in range(3000):
        text = "".join(draw.choices(characters, k=draw.randrange(12)))
        other = tuple(f"{form} é".strip() for form in normalise(text))
        assert normalise(f"{text} é") == other, repr(text)
