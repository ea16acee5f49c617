"""ONERULER's part of the embedded sample: complete, alike in seven languages, and nothing astray in it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from factories import ROOT
from needlework.benchmarks.oneruler import corpus as oneruler
from needlework.data.corpora.registry import folder_languages, languages_of

FOLDER = ROOT / "resources/sample/oneruler"
NOUNS = FOLDER / "nouns.tsv"
# What the letters of a language's texts are called in Unicode.
SCRIPTS = {
    **{"en": "LATIN", "fa": "ARABIC", "hi": "DEVANAGARI", "ko": "HANGUL"},
    **{"ru": "CYRILLIC", "sw": "LATIN", "zh": "CJK"},
}
LANGUAGES = sorted(SCRIPTS)
# The keys of the released niah.txt, each with its placeholders; those of words are not used.
PLACEHOLDERS = {key: [*names] for key, names in oneruler.NIAH_KEYS.items()}
PLACEHOLDERS |= {key.replace("numbers", "words"): names for key, names in PLACEHOLDERS.items()}
EACH = pytest.mark.parametrize("lang", LANGUAGES)


def read(lang: str, name: str) -> str:
    return (FOLDER / lang / name).read_bytes().decode("utf-8")


def niah(lang: str) -> dict[str, str]:
    return json.loads(read(lang, "niah.json"))


def table(part: str, lang: str, *names: str) -> list[dict]:
    """What the reader makes of files of a language."""
    return oneruler.table(part, lang, [str(FOLDER / lang / name) for name in names], {}).to_pylist()


def noun_columns() -> dict[str, list[str]]:
    header, *rows = (line.split("\t") for line in NOUNS.read_text(encoding="utf-8").splitlines())
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}


def script(text: str) -> str:
    """The script of most letters of `text`, by the first word of their Unicode names."""
    names = [unicodedata.name(c).split()[0] for c in text if unicodedata.category(c)[0] == "L"]
    return max(set(names), key=names.count)


def test_every_language_has_every_file_in_nfc_and_no_other() -> None:
    assert LANGUAGES == folder_languages(str(FOLDER)) == sorted(languages_of("sample_books"))
    found = {str(p.relative_to(FOLDER)): p for p in FOLDER.rglob("*") if p.is_file()}
    names = ("book.txt", "cwe.txt", "niah.json", "words.csv")
    assert set(found) == {"nouns.tsv"} | {f"{x}/{name}" for x in LANGUAGES for name in names}
    for name, path in found.items():
        text = path.read_bytes().decode("utf-8")
        assert unicodedata.is_normalized("NFC", text), name
        assert not text.startswith("\ufeff") and text.endswith("\n"), name
        assert not re.search(r"\d{3}", text), f"{name}: may be taken for a needle's number"


@EACH
def test_texts_are_read_as_they_are_and_hold_no_needle(lang: str) -> None:
    texts, cwe, text = niah(lang), read(lang, "cwe.txt"), read(lang, "book.txt")
    assert {k: re.findall(r"{(\w*)}", text) for k, text in texts.items()} == PLACEHOLDERS
    assert texts["none"] in texts["if_no_numbers"]
    found = {r["key"]: r["text"] for r in table("sample_prompts", lang, "niah.json", "cwe.txt")}
    assert found == {key: texts[key] for key in oneruler.NIAH_KEYS} | {"cwe": cwe}
    (book,) = table("sample_books", lang, "book.txt")
    assert script(text) == SCRIPTS[lang] and len(book["sentence_starts"]) >= 50
    # Sentences are cut at dialogue and decimals too.
    assert text.count("“" if "“" in text else "«") >= 20 and re.search(r"\d[.,٫]\d", text)
    for noun, (opening, closing) in product(noun_columns()[lang], ("“”", "«»", '""')):
        assert f"{opening}{noun}{closing}" not in text


@EACH
def test_nouns_and_words_are_distinct_and_in_no_prompt(lang: str) -> None:
    nouns = noun_columns()[lang]
    assert len({noun.casefold() for noun in nouns}) == len(nouns) == 24
    assert all(noun and not re.search(r"\s", noun) for noun in nouns)
    texts = {key: re.sub(r"{\w*}", "", text).casefold() for key, text in niah(lang).items()}
    for noun in map(str.casefold, nouns):
        assert sum(noun in other.casefold() for other in nouns) == 1, noun
        assert not re.search(rf"(?<!\w){re.escape(noun)}(?!\w)", " ".join(texts.values())), noun
        assert noun not in texts["needle_numbers"], noun
    assert [row["noun"] for row in table("sample_nouns", lang, "../nouns.tsv")] == nouns
    words = [row["word"] for row in table("sample_words", lang, "words.csv")]
    assert len({unicodedata.normalize("NFKC", word).casefold() for word in words}) == len(words)
    counts = Counter(row["pos"] for row in table("sample_words", lang, "words.csv"))
    # 75 pairs of key-value retrieval need 150 nouns; ten of the common words need fewer.
    assert min(counts.values()) >= 80 and counts["noun"] >= 150 and len(words) >= 300
    assert all(unicodedata.category(c)[0] in "LM" for word in words for c in word)
    assert script("".join(words)) == script("".join(nouns)) == SCRIPTS[lang]


def test_the_sample_copies_no_released_text(mirror: Path) -> None:
    released = mirror / "oneruler/OneRuler/data"
    theirs: set[str] = set()
    for path in sorted(released.glob("prompt/*/niah.txt")):
        texts = json.loads(path.read_text(encoding="utf-8-sig"))
        assert {k: re.findall(r"{(\w*)}", t) for k, t in texts.items()} == PLACEHOLDERS, path
        theirs.update(text.strip() for key, text in texts.items() if key != "none")
    ours = {t.strip() for lang in LANGUAGES for key, t in niah(lang).items() if key != "none"}
    assert theirs and not ours & theirs
    nouns = (released / "vocab/100_noun_list_translated.tsv").read_text(encoding="utf-8-sig")
    english = {line.split("\t")[0].strip() for line in nouns.splitlines()[1:]}
    assert not english & set(noun_columns()["en"])
