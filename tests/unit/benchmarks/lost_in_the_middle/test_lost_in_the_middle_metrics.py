"""The two metrics of Lost in the Middle, on their edge cases and on the released answers."""

from __future__ import annotations

import gzip
import json
import string
import unicodedata

import pytest

from needlework.benchmarks.lost_in_the_middle import scores


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("", ""),
        ("  Wilhelm   Conrad\tRöntgen\u00a0", "wilhelm conrad röntgen"),
        ("The U.S. Army", "us army"),
        ("14 December 1972 UTC.", "14 december 1972 utc"),
        ("and/or", "andor"),
        ("Spider-Man", "spiderman"),
        ("$1,000,000", "1000000"),
        ("3.5", "35"),
        # Articles go after punctuation, and whole words only.
        ("A. A. Milne", "milne"),
        ("a.m.", "am"),
        ("A-Team", "ateam"),
        ("the an a", ""),
        ("theatre and anthem", "theatre and anthem"),
        ("vitamin a", "vitamin"),
        # They go in every language, and other scripts' punctuation stays.
        ("ela foi a Lisboa", "ela foi lisboa"),
        ("“the” – a", "“ ” –"),
        ("北京。", "北京。"),
        ("İstanbul", "i̇stanbul"),
        ("_the_", ""),
        # An accent belongs to its letter, composed or not.
        ("a\u0300 la", "a\u0300 la"),
        ("pie\u0301 an", "pie\u0301"),
        ("e\u0301a", "e\u0301a"),
        ("*", ""),
        ("the symbol ×", "symbol ×"),
    ],
)
def test_normalise(text, normalised):
    assert scores.normalise(text) == normalised


def test_normalisation_agrees_with_the_library_that_the_released_code_uses():
    regex = pytest.importorskip("regex")
    article, drop = regex.compile(r"\b(a|an|the)\b"), set(string.punctuation)

    def released(text):
        kept = "".join(c for c in text.lower() if c not in drop)
        return " ".join(article.sub(" ", kept).split())

    # Letters, digits, accents and punctuation beside articles. Left out is what no text puts there and
    # Python's `re` sees otherwise: other scripts' marks, superscripts, fractions, ties between letters.
    kinds = {"Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Zs"}
    characters = [
        chr(code)
        for code in [*range(0x2100), *range(0x3000, 0x3100), *range(0xAC00, 0xAC20)]
        if unicodedata.category(chr(code)) in kinds or 0x300 <= code < 0x370
    ]
    assert len(characters) > 4000
    for character in characters:
        for text in (f"x the{character} y", f"x {character}An y", f"a{character}a"):
            assert scores.normalise(text) == released(text), ascii(text)


@pytest.mark.parametrize(
    ("prediction", "references", "value", "verdict"),
    [
        ("Wilhelm Conrad Röntgen.", ["Wilhelm Conrad Röntgen"], 1.0, "match:0"),
        ("It was the Beatles", ["Stones", "The Beatles"], 1.0, "match:1"),
        ("1972 or 1973", ["1973", "1972"], 1.0, "match:0"),
        ("no idea", ["yes", "maybe"], 0.0, "no_match"),
        ("", ["yes"], 0.0, "empty"),
        (" \t", ["yes"], 0.0, "empty"),
        ("the.", ["yes"], 0.0, "empty"),
        # The first line only, and "\n" alone ends it.
        ("I do not know\nyes", ["yes"], 0.0, "no_match"),
        ("\nyes", ["yes"], 0.0, "empty"),
        ("  yes  \nno", ["yes"], 1.0, "match:0"),
        ("one\r\ntwo", ["two"], 0.0, "no_match"),
        ("one\rtwo", ["two"], 1.0, "match:0"),
        ("one\u2028two", ["one two"], 1.0, "match:0"),
        # Inside words, and across what punctuation had parted.
        ("a party", ["art"], 1.0, "match:0"),
        ("1,9,7,2", ["1972"], 1.0, "match:0"),
        ("spider man", ["Spider-Man"], 0.0, "no_match"),
        # The answer must hold the reference, not the other way round.
        ("Beatles", ["The Beatles of Liverpool"], 0.0, "no_match"),
        # A reference of which nothing is left is part of everything.
        ("a cross", ["the symbol ×", "*"], 1.0, "match_all:1"),
        ("", ["*"], 1.0, "match_all:0"),
        ("symbol ×", ["the symbol ×", "*"], 1.0, "match:0"),
        ("anything", [], 0.0, "no_match"),
    ],
)
def test_best_subspan_em(prediction, references, value, verdict):
    assert scores.best_subspan_em(prediction, references) == (value, verdict)


@pytest.mark.parametrize(
    ("prediction", "value", "verdict"),
    [
        ("9f4a92b9-5f69-4725-ba1e-403f08dea695", 1.0, "match"),
        ('"9F4A92B9-5F69-4725-BA1E-403F08DEA695"}', 1.0, "match"),
        ("It is:\n\n9f4a92b9-5f69-4725-ba1e-403f08dea695.", 1.0, "match"),
        ("9f4a92b9-5f69-4725-ba1e-403f08dea69", 0.0, "no_match"),
        ("9f4a92b95f694725ba1e403f08dea695", 0.0, "no_match"),
        ("", 0.0, "empty"),
        ("\n", 0.0, "empty"),
    ],
)
def test_key_value(prediction, value, verdict):
    references = ["9f4a92b9-5f69-4725-ba1e-403f08dea695"]
    assert scores.key_value_accuracy(prediction, references) == (value, verdict)


def test_key_value_of_another_language():
    assert scores.key_value_accuracy("Die Antwort: ÄPFEL", ["Äpfel"]) == (1.0, "match")


def test_released_answers_accept_themselves_and_one_accepts_everything(mirror):
    path = mirror / "lost-in-the-middle" / "qa_data" / "nq-open-oracle.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        answers = [json.loads(line)["answers"] for line in lines]
    assert len(answers) == 2655
    assert all(scores.best_subspan_em(a[0], a)[0] == 1.0 for a in answers)
    empty = [a for a in answers if scores.best_subspan_em("", a)[0]]
    assert empty == [["a rotationally symmetric saltire", "the symbol ×", "*"]]
