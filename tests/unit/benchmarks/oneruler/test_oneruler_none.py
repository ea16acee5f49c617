"""What says that there is no such number, in each of ONERULER's languages, and what only sounds like it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import factories.oneruler
import oneruler_answers
from growth import assert_linear
from needlework.benchmarks.oneruler import strict
from needlework.benchmarks.oneruler.strict import says_none
from needlework.benchmarks.oneruler.wording import ANSWER_TAGS, PHRASES, Wording, languages, phrases
from needlework.data import sentences
from needlework.errors import UserError
from needlework.scoring.metrics import numbers

NONE_WORDS = phrases()
FILE = Path(__file__).parents[3] / "data/none_sentences.csv"


def sentences_of(lang: str, verdict: str) -> list[str]:
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


def test_every_language_has_answers_read_as_the_page_says() -> None:
    assert all([*NONE.values(), *OTHER.values()]) and len(NONE) == 26
    tuning, held_out = (oneruler_answers.rows(half) for half in oneruler_answers.HALVES)
    assert len(tuning) + len(held_out) >= 600
    assert not set(tuning) & set(held_out)
    assert {row.language for row in tuning} == {row.language for row in held_out} == set(phrases())
    assert list(oneruler_answers.wrong("tuning")) == []
    assert oneruler_answers.PAGE.read_text(encoding="utf-8") == oneruler_answers.page()
    assert languages() == sorted(phrases())


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


def test_phrases_are_words_that_end_with_their_sentence() -> None:
    assert rated("nl", "Ik heb geen idee.", "geen") == (0.0, "no_number")
    assert rated("nl", "Ik heb nul idee.", "nul") == (1.0, "correct")
    assert says_none("It is (nil?).", ["nil?)*|"])
    assert not says_none("nilx", ["nil*"]) and not says_none("other", ["."])
    wording = Wording("number", "such", "none", "lacks ~#; no #")
    for text in ("It lacks a fine such number", "lacks number", "It lacks a b c d e f number"):
        assert says_none(text, [wording]), text
    for text in ("It lacks wit, a number", "lacks a b c d e f g number", "no fine number"):
        assert not says_none(text, [wording]), text
    wording = Wording("number", "such", "none", "no #; number… missing.; ^nil.")
    for text in ("No such such number", "The number is, alas, missing, sorry.", "“None!” Nil, so"):
        assert says_none(text, [wording]), text
    for text in (
        *("No. Number it.", "The number is missing two digits.", "number. missing", "None yet"),
        *("It is nil, or nil", "Nil it is"),
    ):
        assert not says_none(text, [wording]), text


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "None of the others, but for apple it is 12345."),
        ("en", "There is no doubt that the number is 12345."),
        *(("de", "Keine anderen Zahlen als 12345."), ("ru", "Нет других чисел, кроме 12345.")),
        *(("zh", "没有其他数字，只有12345。"), ("hi", "कोई और संख्या नहीं है, केवल १२३४५।")),
    ],
)
def test_an_answer_that_names_a_number_is_not_none(lang, text):
    assert rated(lang, text) == (0.0, "wrong_number")
    assert strict.score_numbers(text, ["12345"], NONE_WORDS[lang]) == (1.0, "correct")


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


@pytest.mark.parametrize("half", oneruler_answers.HALVES)
def test_empty_answers_are_neither_none_nor_numbers(half: str) -> None:
    wrong = oneruler_answers.wrong(half)
    assert [row for row, said in wrong if row.verdict != "none" or said != "other"] == []


@pytest.mark.parametrize(
    ("lang", "text", "none"),
    [
        *(("en", "There aren't any.", True), ("en", "No, there isn't one.", True)),
        ("en", "Apple isn't associated with any magic number", True),
        *(("it", "Il testo non associa alcun numero", True), ("hu", "nincs megadva szám", True)),
        *(("sw", "Sikuona nambari yoyote", True), ("en", "I don't see any text", False)),
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
        *(
            ("사과가, 바다를 그리고 하늘입니다", ["사과", "바다", "하늘"]),
            ("ежик и елка", ["ёжик", "ёлка"]),
        ),
        *(("كتاب، گلي", ["کتاب", "گلی"]), ("любовʼю сімʼя", ["любов'ю", "сім’я"])),
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


def test_a_broken_file_of_phrases_is_named(tmp_path) -> None:
    broken = tmp_path / "none_phrases.yaml"
    for content in (b'"en":\n  - number: x\n', b"- a\n", "é".encode("latin-1")):
        broken.write_bytes(content)
        phrases.cache_clear()
        with pytest.raises(UserError, match=r"none_phrases\.yaml is not a valid file of phrases"):
            phrases(broken)
    phrases.cache_clear()
    assert phrases(PHRASES)
