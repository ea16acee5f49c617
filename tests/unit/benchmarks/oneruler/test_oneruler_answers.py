"""ONERULER's strict rules on answers that were read by hand, and on those that were once read wrong."""

from __future__ import annotations

import pytest

import oneruler_answers
from needlework.benchmarks.oneruler import strict
from needlework.benchmarks.oneruler.strict import says_none
from needlework.benchmarks.oneruler.wording import ANSWER_TAGS, PHRASES, languages, phrases
from needlework.errors import UserError
from needlework.scoring.metrics import numbers


def test_the_tables_are_large_and_share_no_row() -> None:
    tuning, held_out = (oneruler_answers.rows(half) for half in oneruler_answers.HALVES)
    assert len(tuning) + len(held_out) >= 600
    assert not set(tuning) & set(held_out)
    assert {row.language for row in tuning} == {row.language for row in held_out} == set(phrases())


def test_every_answer_of_the_tuning_half_is_read_right() -> None:
    assert list(oneruler_answers.wrong("tuning")) == []


def test_the_page_counts_the_wrong_verdicts() -> None:
    assert oneruler_answers.PAGE.read_text(encoding="utf-8") == oneruler_answers.page()


@pytest.mark.parametrize("half", oneruler_answers.HALVES)
def test_empty_answers_are_neither_none_nor_numbers(half: str) -> None:
    wrong = oneruler_answers.wrong(half)
    assert [row for row, said in wrong if row.verdict != "none" or said != "other"] == []


@pytest.mark.parametrize(
    ("lang", "text", "none"),
    [
        ("en", "There aren't any.", True),
        ("en", "No, there isn't one.", True),
        ("en", "Apple isn't associated with any magic number", True),
        ("it", "Il testo non associa alcun numero", True),
        ("hu", "nincs megadva szám", True),
        ("sw", "Sikuona nambari yoyote", True),
        ("en", "I don't see any text", False),
        ("en", "None of the context is visible", False),
        ("de", "die Lösung ist nicht vorhanden auf dieser Seite", False),
        ("sw", "Hakuna hata moja ya vitabu hivi", False),
    ],
)
def test_verdicts_that_a_review_found_wrong(lang: str, text: str, none: bool) -> None:
    assert says_none(text, phrases()[lang]) == none


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"apple": <Answer>4821937</Answer>\n"pear": <Answer>7309264</Answer>', {4821937, 7309264}),
        ("1. <Answer>4821937</Answer>\n2. <Answer>7309264</Answer>", {4821937, 7309264}),
        ("<Answer>4821937</Answer> No, wait: <Answer>7309264</Answer>", {7309264}),
        ("99 <Reponse>4821937</Reponse>", {4821937}),
        ("99 <Odpowiedz>4821937</Odpowiedz>", {4821937}),
        ("99 <Odpoved>4821937</Odpoved>", {4821937}),
        ("99 <Valasz>4821937</Valasz>", {4821937}),
        ("99 <Solución>4821937</Solución>", {4821937}),
        ("99 <Trả lời>4821937</Trả lời>", {4821937}),
        ("99 <回答>4821937</回答>", {4821937}),
        ("99 <정답>4821937</정답>", {4821937}),
        ("99 <جواب>4821937</جواب>", {4821937}),
        ("<Answer>4821937</Answer> as <Answer>[List all numbers]</Answer>", {4821937}),
        ("4{,}821{,}937", {4821937}),
        ("4\\,821\\,937", {4821937}),
        ("$4 821\n937$", {4821937}),
        ("482만 1937", {4821937}),
        ("1억 2345만 6789", {123456789}),
        ("482萬1937", {4821937}),
        ("四百八十二万一千九百三十七", {4821937}),
        ("四八二一九三七", {4821937}),
        ("二百万零五十", {2000050}),
        # Parts of words are no numbers; nor are groups that stand apart.
        ("一百个万一和三千", set()),
        ("821\n937", {821, 937}),
    ],
)
def test_numbers_are_read_however_they_are_written(text: str, found: set[int]) -> None:
    assert numbers(strict.answer(text, ANSWER_TAGS)) == found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("사과가, 바다를 그리고 하늘입니다", ["사과", "바다", "하늘"]),
        ("ежик и елка", ["ёжик", "ёлка"]),
        ("كتاب، گلي", ["کتاب", "گلی"]),
        ("любовʼю сімʼя", ["любов'ю", "сім’я"]),
        ("coeur, œuf", ["cœur", "oeuf"]),
    ],
)
def test_common_words_are_read_however_they_are_written(text: str, expected: list[str]) -> None:
    assert strict.score_words(text, expected) == (1.0, "correct")


@pytest.mark.parametrize("text", ["사과나무, 바다", "사, 바다"])
def test_another_korean_word_is_none_of_the_expected(text: str) -> None:
    assert strict.score_words(text, ["사과", "바다"]) == (0.0, "partial:1/2")


def test_a_sentence_of_the_book_is_a_quotation() -> None:
    """Unless all of it is the prompt's own word, or a phrase that stands alone."""
    russian = phrases()["ru"]
    for text, none in (("Нет.", True), ("Никакого числа он не назвал, нет.", False)):
        assert says_none(text, russian)
        assert says_none(text, russian, lambda said: True) == none
    assert says_none("nil", ["nil"], lambda said: True)


def test_planning_knows_the_languages_without_reading_the_phrases() -> None:
    assert languages() == sorted(phrases())


def test_a_broken_file_of_phrases_is_named(tmp_path) -> None:
    broken = tmp_path / "none_phrases.yaml"
    for content in (b'"en":\n  - number: x\n', b"- a\n", "é".encode("latin-1")):
        broken.write_bytes(content)
        phrases.cache_clear()
        with pytest.raises(UserError, match=r"none_phrases\.yaml is not a valid file of phrases"):
            phrases(broken)
    phrases.cache_clear()
    assert phrases(PHRASES)
