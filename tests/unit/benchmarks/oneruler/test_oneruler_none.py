"""What says that there is no such number, in each of ONERULER's languages, and what only sounds like it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import factories.oneruler
from growth import assert_linear
from needlework.benchmarks.oneruler import strict
from needlework.benchmarks.oneruler.strict import says_none
from needlework.benchmarks.oneruler.wording import ANSWER_TAGS, Wording, phrases
from needlework.data import sentences

NONE_WORDS = phrases()
FILE = Path(__file__).parents[3] / "data/none_sentences.csv"


def sentences_of(lang: str, verdict: str) -> list[str]:
    """The sentences of a language that have a verdict."""
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    return [r["answer"] for r in rows if (r["language"], r["verdict"]) == (lang, verdict)]


# Of each language, the word for "none" of the released prompts first, then what says "none" by a phrase, or a
# sign in one, that no other answer needs; and what says that the answer is not known, or doubts a number.
NONE, OTHER = ({x: sentences_of(x, verdict) for x in NONE_WORDS} for verdict in ("none", "other"))


def rated(lang: str, text: str, expected: str | None = None) -> tuple[float, str]:
    """As the None-NIAH task rates it, where the prompt's own word for none is `expected`."""
    own = NONE[lang][0] if expected is None else expected
    return strict.score_none(strict.answer(text, ANSWER_TAGS), (*NONE_WORDS[lang], own))


def test_every_language_is_here():
    assert all([*NONE.values(), *OTHER.values()]) and len(NONE) == 26


@pytest.mark.parametrize("lang", NONE)
def test_it_says_that_there_is_no_such_number(lang):
    for text in NONE[lang]:
        tagged = (f"<answer>{text}</answer>", f"<Answer>\n{text}")
        for said in (text, text.upper(), f"**{text}**", *tagged):
            assert rated(lang, said) == (1.0, "correct"), said
            read = strict.answer(said, ANSWER_TAGS)
            numbers = strict.score_numbers(read, ["1234567"], NONE_WORDS[lang])
            assert numbers == (0.0, "none_error"), said


@pytest.mark.parametrize("lang", OTHER)
def test_it_says_nothing_of_the_kind(lang):
    for text in OTHER[lang]:
        for said in (text, text.upper(), f"<answer>{text}</answer>"):
            assert rated(lang, said) == (0.0, "no_number"), said
            read = strict.answer(said, ANSWER_TAGS)
            numbers = strict.score_numbers(read, ["1234567"], NONE_WORDS[lang])
            assert numbers == (0.0, "no_number"), said


@pytest.mark.parametrize("lang", NONE_WORDS)
def test_a_word_that_stands_by_itself(lang):
    for wording in NONE_WORDS[lang]:
        for word in wording.alone.split("; "):
            for text in (word, f'"{word.upper()}".', f"({word})", f"?\n- {word}", f"? – {word}"):
                assert rated(lang, text) == (1.0, "correct"), text


def test_a_prompts_own_word_counts_as_worded():
    assert rated("nl", "Ik heb geen idee.", "geen") == (0.0, "no_number")
    assert rated("nl", "Ik heb nul idee.", "nul") == (1.0, "correct")


def test_a_plain_phrase_is_no_pattern():
    assert says_none("It is (nil?).", ["nil?)*|"])
    assert not says_none("nilx", ["nil*"]) and not says_none("other", ["."])


def test_a_few_words_end_with_a_comma():
    wording = Wording("number", "such", "none", "lacks ~#; no #")
    for text in ("It lacks a fine such number", "lacks number", "It lacks a b c d e f number"):
        assert says_none(text, [wording]), text
    for text in ("It lacks wit, a number", "lacks a b c d e f g number", "no fine number"):
        assert not says_none(text, [wording]), text


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "None of the others, but for apple it is 12345."),
        ("en", "There is no doubt that the number is 12345."),
        ("de", "Keine anderen Zahlen als 12345."),
        ("ru", "Нет других чисел, кроме 12345."),
        ("zh", "没有其他数字，只有12345。"),
        ("hi", "कोई और संख्या नहीं है, केवल १२३४५।"),
    ],
)
def test_an_answer_that_names_a_number_is_not_none(lang, text):
    assert rated(lang, text) == (0.0, "wrong_number")
    assert strict.score_numbers(text, ["12345"], NONE_WORDS[lang]) == (1.0, "correct")


def test_a_phrase_ends_with_its_sentence():
    wording = Wording("number", "such", "none", "no #; number… missing.; ^nil.")
    for text in ("No such such number", "The number is, alas, missing, sorry.", "“None!” Nil, so"):
        assert says_none(text, [wording]), text
    for text in (
        "No. Number it.",
        "The number is missing two digits.",
        "number. missing",
        "None yet",
        "It is nil, or nil",
        "Nil it is",
    ):
        assert not says_none(text, [wording]), text


@pytest.mark.parametrize("lang", NONE_WORDS)
def test_a_repeating_answer_is_read_in_linear_time(lang):
    wording = NONE_WORDS[lang][0]
    such = wording.such.replace("*", "").replace(";", "")
    number = wording.number.replace("*", "").split("; ")[0]

    def work(count: int) -> None:
        for part in (f"{such} ", such.split()[-1], f"{number} ", f"{number} {such} ,"):
            says_none(part * count, NONE_WORDS[lang])

    assert_linear(work, 30)


@pytest.mark.parametrize("lang", NONE_WORDS)
def test_sentences_of_a_book_do_not_say_it(mirror, lang):
    """A hundredth at the most: "Nothing.", "I have none."; of bare negations there are many."""
    (book,) = factories.oneruler.files(mirror, "oneruler_books", lang)
    text = Path(book).read_text(encoding="utf-8")[:60_000]
    found = sentences.split(text, sentences.rules(lang))
    assert sum(says_none(sentence, NONE_WORDS[lang]) for sentence in found) <= 0.01 * len(found)
