"""ONERULER's part of the embedded sample: complete, alike in seven languages, and nothing astray in it."""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from pathlib import Path

import pytest

from needlework.benchmarks.oneruler import corpus as oneruler

FOLDER = Path(__file__).resolve().parents[4] / "resources/sample/oneruler"
NOUNS = FOLDER / "nouns.tsv"
# What the letters of a language's texts are called in Unicode.
SCRIPTS = {
    "en": "LATIN",
    "fa": "ARABIC",
    "hi": "DEVANAGARI",
    "ko": "HANGUL",
    "ru": "CYRILLIC",
    "sw": "LATIN",
    "zh": "CJK",
}
LANGUAGES = sorted(SCRIPTS)
# The keys of the released niah.txt, each with its placeholders.
PLACEHOLDERS = {
    "task": ["context"],
    "needle_words": ["key", "value"],
    "needle_numbers": ["key", "value"],
    "question_single_numbers": ["query1"],
    "question_single_words": ["query1"],
    "question_multi_numbers": ["query1", "query2"],
    "question_multi_words": ["query1", "query2"],
    "please_list": [],
    "if_no_numbers": [],
    "if_no_words": [],
    "answer_prefix": [],
    "answer_words": [],
    "answer_numbers": [],
    "none": [],
}
# Sentences end at these, rightly or wrongly: enough to count them.
CRUDE_END = re.compile(r"[.!?।؟。！？]+[”»]?")
# Words that 75 pairs of key-value retrieval need; ten of the common words need fewer.
PAIRED_WORDS = 150


def read(lang: str, name: str) -> str:
    return (FOLDER / lang / name).read_bytes().decode("utf-8")


def niah(lang: str) -> dict[str, str]:
    return json.loads(read(lang, "niah.json"))


def noun_columns() -> dict[str, list[str]]:
    header, *rows = (line.split("\t") for line in NOUNS.read_text(encoding="utf-8").splitlines())
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}


def words(lang: str) -> list[dict[str, str]]:
    return list(csv.DictReader(read(lang, "words.csv").splitlines()))


def script(text: str) -> str:
    """The script of most letters of `text`, by the first word of their Unicode names."""
    names = [unicodedata.name(c).split()[0] for c in text if unicodedata.category(c)[0] == "L"]
    return max(set(names), key=names.count)


def test_every_language_has_every_file_and_there_are_no_others() -> None:
    found = {str(p.relative_to(FOLDER)) for p in FOLDER.rglob("*") if p.is_file()}
    names = ("book.txt", "cwe.txt", "niah.json", "words.csv")
    assert found == {"nouns.tsv"} | {f"{lang}/{name}" for lang in LANGUAGES for name in names}


def test_the_texts_are_in_five_scripts_or_more() -> None:
    assert {lang: script(read(lang, "book.txt")) for lang in LANGUAGES} == SCRIPTS
    assert len(set(SCRIPTS.values())) >= 5


@pytest.mark.parametrize(
    "path", sorted(FOLDER.rglob("*.*")), ids=lambda p: f"{p.parent.name}-{p.name}"
)
def test_files_are_utf8_in_nfc(path: Path) -> None:
    text = path.read_bytes().decode("utf-8")
    assert unicodedata.is_normalized("NFC", text)
    assert not text.startswith("\ufeff")
    assert text.endswith("\n")
    assert not re.search(r"\d{3}", text), "a number that may be taken for a needle's"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_prompts_have_the_released_keys_and_placeholders(lang: str) -> None:
    texts = niah(lang)
    assert list(texts) == list(PLACEHOLDERS)
    assert {k: re.findall(r"{(\w*)}", text) for k, text in texts.items()} == PLACEHOLDERS
    assert re.findall(r"{(\w*)}", read(lang, "cwe.txt")) == ["context"]
    assert texts["none"] in texts["if_no_numbers"]
    assert texts["none"] in texts["if_no_words"]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_tags_that_are_opened_are_closed(lang: str) -> None:
    texts = niah(lang)
    prompts = [
        "".join(
            texts[key]
            for key in ("task", f"question_{n}_{kind}", f"if_no_{kind}", f"answer_{kind}")
        )
        for n in ("single", "multi")
        for kind in ("numbers", "words")
    ]
    for prompt in [*prompts, read(lang, "cwe.txt")]:
        opened, closed = (
            re.findall(r"<(\w+)>", unmarked(prompt)),
            re.findall(r"</(\w+)>", unmarked(prompt)),
        )
        assert opened == closed
        assert len(opened) == 3


def unmarked(text: str) -> str:
    """`text` without vowel signs, which are no part of \\w."""
    return "".join(c for c in text if unicodedata.category(c)[0] != "M")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_numbers_and_words_are_asked_for_differently(lang: str) -> None:
    texts = niah(lang)
    for key in ("needle", "question_single", "question_multi", "if_no", "answer"):
        assert texts[f"{key}_numbers"] != texts[f"{key}_words"]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_books_are_long_enough(lang: str) -> None:
    text = read(lang, "book.txt")
    assert len(CRUDE_END.findall(text)) >= 50
    table = oneruler.table("sample_books", lang, [str(FOLDER / lang / "book.txt")], {})
    assert len(table["sentence_starts"][0].as_py()) >= 50


@pytest.mark.parametrize("lang", LANGUAGES)
def test_books_hold_dialogue_and_a_decimal_but_no_needle(lang: str) -> None:
    text = read(lang, "book.txt")
    assert text.count("“" if "“" in text else "«") >= 20
    assert re.search(r"\d[.,٫]\d", text)
    for noun in noun_columns()[lang]:
        for opening, closing in ("“”", "«»", '""'):
            assert f"{opening}{noun}{closing}" not in text
    needle_start = niah(lang)["needle_numbers"].partition("{key}")[0]
    assert not needle_start.strip("“«") or needle_start not in text


def test_nouns_are_distinct_in_every_language() -> None:
    columns = noun_columns()
    assert set(columns) == {*LANGUAGES, "definition"}
    for name, column in columns.items():
        assert len({noun.casefold() for noun in column}) == 24, name
        assert all(noun and noun == noun.strip() for noun in column), name
    for lang in LANGUAGES:
        assert script("".join(columns[lang])) == SCRIPTS[lang]
        assert not any(re.search(r"\s", noun) for noun in columns[lang])


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_noun_stands_in_another_or_in_the_prompt(lang: str) -> None:
    nouns = noun_columns()[lang]
    prompt = " ".join(re.sub(r"{\w*}", "", text) for text in niah(lang).values()).casefold()
    for noun in map(str.casefold, nouns):
        assert sum(noun in other.casefold() for other in nouns) == 1, noun
        assert not re.search(rf"(?<!\w){re.escape(noun)}(?!\w)", prompt), noun
        assert noun not in niah(lang)["needle_numbers"].casefold(), noun
        assert noun not in niah(lang)["needle_words"].casefold(), noun


@pytest.mark.parametrize("lang", LANGUAGES)
def test_words_are_many_distinct_and_single(lang: str) -> None:
    rows = words(lang)
    assert list(rows[0]) == ["words", "pos"]
    found = [row["words"] for row in rows]
    folded = {unicodedata.normalize("NFKC", word).casefold() for word in found}
    assert len(folded) == len(found) >= 300
    counts = {pos: sum(row["pos"] == pos for row in rows) for pos in ("noun", "adjective", "verb")}
    assert sum(counts.values()) == len(rows)
    assert counts["noun"] >= PAIRED_WORDS
    assert min(counts.values()) >= 80
    assert all(unicodedata.category(c)[0] in "LM" for word in found for c in word)
    assert script("".join(found)) == SCRIPTS[lang]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_reader_takes_the_files_as_they_are(lang: str) -> None:
    folder = FOLDER / lang
    texts = oneruler.table(
        "sample_prompts", lang, [str(folder / "niah.json"), str(folder / "cwe.txt")], {}
    )
    assert dict(zip(texts["key"].to_pylist(), texts["text"].to_pylist(), strict=True)) == {
        key: niah(lang)[key] for key in oneruler.NIAH_KEYS
    } | {"cwe": read(lang, "cwe.txt")}
    nouns = oneruler.table("sample_nouns", lang, [str(NOUNS)], {})
    assert nouns["noun"].to_pylist() == noun_columns()[lang]
    usable = oneruler.table("sample_words", lang, [str(folder / "words.csv")], {})
    assert sorted(usable["word"].to_pylist()) == sorted(row["words"] for row in words(lang))


def test_the_sample_copies_no_released_text(mirror: Path) -> None:
    released = mirror / "oneruler/OneRuler/data"
    if not released.is_dir():
        pytest.skip("the mirror has no ONERULER")
    theirs: set[str] = set()
    for path in sorted(released.glob("prompt/*/niah.txt")):
        texts = json.loads(path.read_text(encoding="utf-8-sig"))
        assert {k: re.findall(r"{(\w*)}", t) for k, t in texts.items()} == PLACEHOLDERS, path
        theirs.update(text.strip() for key, text in texts.items() if key != "none")
    ours = {t.strip() for lang in LANGUAGES for key, t in niah(lang).items() if key != "none"}
    assert not ours & theirs
    table = (released / "vocab/100_noun_list_translated.tsv").read_text(encoding="utf-8-sig")
    english = {line.split("\t")[0].strip() for line in table.splitlines()[1:]}
    assert not english & set(noun_columns()["en"])
