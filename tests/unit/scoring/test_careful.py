"""The second scorer: answers with a human's verdict, numbers in words, undecided answers, time, languages."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from num2words import num2words

from growth import assert_linear
from needlework.benchmarks.oneruler import scores as oneruler
from needlework.scoring.answer_language import identified_languages
from needlework.scoring.careful import verdicts, words
from needlework.scoring.careful.phrases import of_text
from needlework.scoring.careful.spelled import is_spelled
from needlework.scoring.careful.verdicts import of_numbers, of_words
from needlework.scoring.scores import second
from verdict_cases import FOLDER, cases, verdict

FILES = sorted(FOLDER.glob("*.jsonl"))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_verdicts_agree_with_the_human(file):
    """A line that is known to be misread or left undecided says so: mended, it loses the mark."""
    wrong = []
    for number, case in enumerate(cases(file), start=1):
        value, why = verdict(case)
        undecided, missed = case.get("undecided", False), case.get("missed", False)
        agrees = value is None or (bool(value) == case["right"]) is not missed
        if (value is None) != undecided or not agrees:
            wrong.append(f"{file.name}, line {number}: {value} ({why}), {case['answer']!r}")
    assert not wrong, "\n".join(wrong)


def test_few_cases_are_known_to_be_missed():
    every = [case for file in FILES for case in cases(file)]
    missed = Counter(case["benchmark"] for case in every if case.get("missed"))
    undecided = sum(case.get("undecided", False) for case in every)
    assert undecided <= 0.15 * len(every)
    for benchmark, n in Counter(case["benchmark"] for case in every).items():
        assert missed[benchmark] <= 0.08 * n


@pytest.mark.parametrize(
    "piece",
    ["123 ", "<think> ", "not paris or ", "Paris, ", "a", "1,", "是不是", "**", "J. ", "&amp;"],
)
def test_long_answers_are_read_in_linear_time(piece):
    def work(size: int) -> None:
        text = piece * (size // len(piece))
        verdicts.of_words(text, ["Paris", "Marie Curie"])
        verdicts.of_numbers(text, [7305518], ["en"], compared=True)
        verdicts.of_names(text, ["Paris"], [["Lima"]], ["en"])
        verdicts.of_list(text, ["paris", "lima"], ["en"])
        verdicts.of_yes_or_no(text)

    assert_linear(work, 4_000)


@pytest.mark.parametrize(
    "piece", ["1", "억1", "1억", "1.", "一二三", "일이삼사오", "천만억", "1만", "1e+"]
)
def test_runs_of_digits_are_read_in_linear_time(piece):
    assert_linear(lambda size: words.in_digits("억 5 " + piece * (size // len(piece))), 2_000)


@pytest.mark.parametrize(
    "text", ["1" * 400 + "억", "1" * 400 + ".5만", "5 " + "일이삼사오" * 1599, "1e400"]
)
def test_numbers_without_end_are_wrong_numbers(text):
    assert verdicts.of_numbers(text, [7305518], ["ko"])[0] == 0.0


@pytest.mark.parametrize(
    "text", ["台\u0301北", "\u0301", "\ud800 9", "①፩½", "</answer>", "**", "\x00"]
)
def test_odd_characters_raise_nothing(text):
    verdicts.of_words(text, ["臺北", "9"])
    verdicts.of_numbers(text, [7305518], ["zh"])
    verdicts.of_list(text, ["臺北"], ["zh"])
    verdicts.of_yes_or_no(text)


@pytest.mark.parametrize(
    ("written", "read"),
    [("12 am", "0:00"), ("12:30 pm", "12:30"), ("1 p.m.", "13:00"), ("11.59 PM", "23:59")],
)
def test_a_time_with_am_or_pm_has_24_hours(written, read):
    assert words.in_digits(written) == read


def test_a_reference_is_read_without_its_brackets():
    assert words.reference("Paris (France)").words == words.reference("Paris").words == ["paris"]
    assert words.reference("(France)").words == ["france"]


def test_an_answer_without_number_may_deny_that_any_exists():
    assert verdicts.of_words(" \n", ["Paris"]) == (0.0, "empty")
    for text, why in (("I read nothing.", "no number"), ("None", "none")):
        assert oneruler.needles_verdict(text, ["1234567"], ["none"], "en") == (0.0, why)


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


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("Das steht nicht in den Texten, die ich habe", "de"),
        # Serbian has words in both alphabets.
        ("To nije u tekstovima koji su ovde, i ne znam da li je", "sr"),
    ],
)
def test_phrases_are_also_of_the_language_of_common_words(text, lang):
    assert lang in of_text(text, [], words.read(text))
