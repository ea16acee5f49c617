"""The second scorer: ordinary sentences, numbers in words, undecided answers, the language of an answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from num2words import num2words

from needlework.scoring.answer_language import identified_languages
from needlework.scoring.careful.spelled import is_spelled
from needlework.scoring.careful.verdicts import of_numbers, of_words
from needlework.scoring.scores import second

ROOT = Path(__file__).resolve().parents[3]
MEASURED = json.loads((ROOT / "perf/second_scorer.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("lang", MEASURED["xquad"])
def test_ordinary_sentences_are_rarely_misread(lang):
    counts = MEASURED["xquad"][lang]
    assert counts["sentences wrong"] <= 0.03 * counts["sentences"]
    assert counts["sentences undecided"] <= 0.08 * counts["sentences"]
    assert counts["others right"] <= 0.011 * counts["others"]


@pytest.mark.parametrize("lang", "ar cs da de en es fi fr hu id it ko nl no pl pt sv vi".split())
def test_large_numbers_in_words_are_read(lang):
    for number in (4821937, 7305518):
        said = num2words(number, lang=lang)
        assert of_numbers(said, [number], [lang])[0] == 1.0, said


def test_numbers_without_a_speller_are_undecided():
    assert not is_spelled("sw")
    assert of_numbers("milioni nne na kadhaa", [4821937], ["sw"]) == (None, "unspelled")
    assert of_numbers("седам милиона", [7305518], ["sr"]) == (None, "unspelled")
    assert of_numbers("7305518", [4821937], ["sw"])[0] == 0.0


def test_an_ordinal_is_no_cardinal():
    assert of_words("the second largest city", ["two"], ["en"])[0] == 0.0
    assert of_words("Henry the Eighth", ["Henry VIII"], ["en"])[0] == 1.0


def test_an_undecided_answer_keeps_the_papers_value():
    assert second((None, "several"), 1.0) == (1.0, "undecided:several", "careful")
    assert second((None, "several"), 0.0) == (0.0, "undecided:several", "careful")
    assert second((0.0, "denied"), 1.0) == (0.0, "denied", "careful")


def test_another_persons_initials_are_another_name():
    assert of_words("George H. W. Bush", ["George W. Bush"], ["en"])[0] != 1.0


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("Răspunsul se află în al doilea document, care descrie orașul.", "ro"),
        ("Ответ находится во втором документе.", "ru"),
        *[("The answer is in the second document.", "en"), ("Paris", None), ("1887", None)],
    ],
)
def test_language_of_an_answer_is_identified(text, lang):
    assert identified_languages([text]) == [lang]
