"""The embedded sample: enough of it, in languages that say the same, with no answer astray."""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from needlework.data.corpora.registry import languages_of
from needlework.scoring.metrics import contains, normalise

FILES = sorted((Path(__file__).resolve().parents[2] / "resources/sample").glob("*.json"))
LANGUAGES = ["en", "de", "es", "zh", "vi", "hi", "ar"]
SCRIPTS = {"zh": "CJK UNIFIED", "hi": "DEVANAGARI", "ar": "ARABIC"}
# The shortest and longest context and passage, in characters: short enough for a demonstration's
# prompts, long enough to be a paragraph. A Chinese character is worth three or four Latin letters.
RANGES = dict.fromkeys(LANGUAGES, (250, 600)) | {"zh": (80, 200)}


def items(kind: str) -> list[dict[str, Any]]:
    return [i for file in FILES for i in json.loads(file.read_text(encoding="utf-8")).get(kind, [])]


EVERY, PASSAGES = items("questions"), items("passages")
# Some are in English alone, for tests of how much a model reads.
ENGLISH = [item for item in EVERY if list(item["text"]) == ["en"]]
QUESTIONS = [item for item in EVERY if item not in ENGLISH]


def paragraphs() -> Iterator[tuple[str, str, str]]:
    """Every context and passage as (id, language, text)."""
    for item in EVERY:
        yield from ((item["example_id"], lang, t["context"]) for lang, t in item["text"].items())
    for item, lang in itertools.product(PASSAGES, LANGUAGES):
        yield item["passage_id"], lang, item["text"][lang]


def questions() -> Iterator[tuple[str, str, str]]:
    for item in EVERY:
        yield from ((item["example_id"], lang, t["question"]) for lang, t in item["text"].items())


def accepted(item: dict[str, Any]) -> set[str]:
    """An item's answers in all languages, as the metric compares them."""
    return {normalise(text["answer"]) for text in item["text"].values()}


OTHERS = [normalise(item["text"][lang]) for item in PASSAGES for lang in LANGUAGES]
OTHERS += [normalise(text) for _, _, text in questions()]


def test_there_is_enough_with_unique_ids_in_every_language() -> None:
    assert len(QUESTIONS) >= 12 and len(ENGLISH) >= 45 and len(PASSAGES) >= 36
    assert sorted(languages_of("sample_questions")) == sorted(LANGUAGES)
    for item in [*QUESTIONS, *PASSAGES]:
        assert sorted(item["text"]) == sorted(LANGUAGES)
    for item in EVERY:
        for text in item["text"].values():
            assert sorted(text) == ["answer", "context", "question"]
    ids = [i["example_id"] for i in EVERY] + [i["passage_id"] for i in PASSAGES]
    assert len(set(ids)) == len(ids)
    # They become parts of the names of documents.
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in ids)


@pytest.mark.parametrize("item", EVERY, ids=lambda item: item["example_id"])
def test_the_answer_stands_once_and_in_its_context_alone(item: dict[str, Any]) -> None:
    for lang, text in item["text"].items():
        assert text["answer"].strip() == text["answer"]
        assert text["context"].count(text["answer"]) == 1
        answer = normalise(text["answer"])
        assert normalise(text["context"]).count(answer) == 1
        # Not within ordinary words.
        assert len(answer) >= (3 if lang == "zh" else 4)
    # In no passage, and in no question: its own, or one that is asked of the same needle.
    answers = accepted(item)
    assert [text for text in OTHERS if any(contains(answer, text) for answer in answers)] == []


def test_texts_are_clean_in_their_script_and_there_once() -> None:
    texts = [*paragraphs(), *questions()]
    assert len({text for _, _, text in texts}) == len(texts)
    for name, lang, text in texts:
        letters = [c for c in text if c.isalpha()]
        wanted = SCRIPTS.get(lang, "LATIN")
        other = {c for c in letters if not unicodedata.name(c).startswith(wanted)}
        assert len(letters) > 8 and not other, (name, lang, other)
        # Thousands are set apart by a space that does not break.
        joined = re.sub(r"(?<=\d)\u00a0(?=\d)", "", text)
        assert joined == " ".join(joined.split()), (name, lang)
        assert unicodedata.is_normalized("NFC", text), (name, lang)
        assert not any(unicodedata.category(c) in ("Cc", "Cf", "Co", "Cn") for c in text)
        assert not set(text) & set("{}<>[]"), (name, lang)


def test_texts_are_long_enough_and_end_as_sentences_do() -> None:
    ends = dict.fromkeys(LANGUAGES, ".") | {"zh": "。", "hi": "।"}
    for name, lang, text in paragraphs():
        shortest, longest = RANGES[lang]
        assert shortest <= len(text) <= longest, (name, lang)
        assert text.rstrip('"”»“').endswith(ends[lang]), (name, lang)
    marks = dict.fromkeys(LANGUAGES, "?") | {"zh": "？", "ar": "؟"}
    for name, lang, text in questions():
        assert text.endswith(marks[lang]) and ("¿" in text) == (lang == "es"), (name, lang)


def test_the_languages_say_the_same_numbers() -> None:
    """Years and measures. Small numbers and thousands are words in some languages, rightly."""
    for item in [*QUESTIONS, *PASSAGES]:
        numbers = {}
        for lang in LANGUAGES:
            text = item["text"][lang]
            text = text if isinstance(text, str) else f"{text['context']} {text['answer']}"
            found = re.findall(r"(?<!\d)[1-9]\d{2,3}(?!\d)", normalise(text))
            numbers[lang] = sorted(found)
        name = item.get("example_id") or item["passage_id"]
        assert all(found == numbers["en"] for found in numbers.values()), (name, numbers)


def test_every_text_is_in_its_language() -> None:
    from lingua import IsoCode639_1, LanguageDetectorBuilder

    codes = [IsoCode639_1.from_str(lang) for lang in LANGUAGES]
    detector = LanguageDetectorBuilder.from_iso_codes_639_1(*codes).build()
    texts = [*paragraphs(), *questions()]
    found = detector.detect_languages_in_parallel_of([text for _, _, text in texts])
    wrong = [
        (name, lang, language)
        for (name, lang, _), language in zip(texts, found, strict=True)
        if language is None or language.iso_code_639_1.name.lower() != lang
    ]
    assert wrong == []
