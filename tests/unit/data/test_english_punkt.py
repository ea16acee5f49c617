"""Sentences and words are NLTK 3.8.1's: on the authors' own log, and where a rule decides."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from factories.mlongrr import LANGUAGES, PUNKT, ROOT, table
from needlework.data import english_punkt
from needlework.errors import UserError

MODEL = english_punkt.load(PUNKT)


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in english_punkt.sentences(text, MODEL)]


# What NLTK 3.8.1 says of each (sent_tokenize, word_tokenize).
@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        # Nothing between stop and word: no end.
        ("in height.They are", ["in height.They are"]),
        ("Dr. Smith met Mr. Brown. They left.", ["Dr. Smith met Mr. Brown.", "They left."]),
        # An abbreviation before a word that begins sentences, and before one that does not.
        ("He lives in the U.S. Most do.", ["He lives in the U.S.", "Most do."]),
        ("the U.S. economy", ["the U.S. economy"]),
        ("by J. R. Tolkien. Then", ["by J. R. Tolkien.", "Then"]),
        ("No. 5. international trade", ["No.", "5. international trade"]),
        ("Wait... what? Yes.", ["Wait... what?", "Yes."]),
        ('He said "Go." Then he left.', ['He said "Go."', "Then he left."]),
        # A stop before a curly mark ends nothing; in later versions it does.
        ("He said “Go.” Then he left.", ["He said “Go.” Then he left."]),
        ("(A first one.) A second.", ["(A first one.)", "A second."]),
        *[("What?! No.", ["What?!", "No."]), ("", []), ("no stop", ["no stop"])],
        ("它在这里。它在那里。", ["它在这里。它在那里。"]),
    ],
)
def test_sentences_end_where_nltk_ends_them(text: str, sentences: list[str]) -> None:
    assert cut(text) == sentences


def test_released_haystacks_have_the_sentences_of_the_authors_log(mirror: Path) -> None:
    """240 numbers: the sentences of 30 haystacks at five positions, and those before 90 needles."""
    with open(ROOT / "resources/published/mlongrr.csv", encoding="utf-8", newline="") as file:
        log = {
            (row["row"], row["column"]): int(row["value"])
            for row in csv.DictReader(file)
            if row["table"] == "construction/GPT4o"
        }
    compared = 0
    for lang, name in LANGUAGES.items():
        for row in table("mlongrr_released_one", lang, mirror).to_pylist():
            length = f"{row['length'] // 1000}k"
            assert row["sentences"] == log[name, f"{length}/sentences"]
            compared += 1
            if row["depth"] in (25, 50, 75):
                before = log[name, f"{length}/sentences_before_{row['depth']}"]
                assert row["sentences_before"] == [before]
                compared += 1
    assert compared == 240


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *[("A word, and another.", 6), ("It's we'll don't cannot 'tis", 10)],
        *[('He said "Go!" (twice)...', 10), ("3,000 people: 5.5%; e-mail -- a@b", 11)],
        ("“Quoted” «words»", 6),
    ],
)
def test_words_are_counted_as_nltk_counts_them(text: str, words: int) -> None:
    assert english_punkt.count_words(text, MODEL) == words


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    damaged = tmp_path / "english_punkt.txt"
    damaged.write_text("# abbreviations\nmr\n", encoding="utf-8")
    with pytest.raises(UserError, match="has the parts abbreviations instead of"):
        english_punkt.load(damaged)
    with pytest.raises(UserError, match="cannot be read"):
        english_punkt.load(tmp_path / "none.txt")
