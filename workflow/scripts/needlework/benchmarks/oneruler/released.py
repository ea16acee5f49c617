"""ONERULER's released rules, false verdicts included; `oneruler_strict` has none of them.

The facts are those of `OneRuler/eval/evaluate.py` in mungg/OneRuler at a3fe6af; the program here is
this project's own. The false verdicts, each with a test: "1,234,567" is read as 234 and 567; a right
answer that holds a word for "none" is wrong ("inga andra"), unless in other capitals; an answer to the
"none" task that gives a number is right if it holds such a word; common words count inside other words
("art" in "party"); a list of words that is written in another Unicode form is wrong.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from needlework.scoring.metrics.words import number_of

# What the released program looks for, by the language of the instructions.
NONE_WORDS: dict[str, tuple[str, ...]] = {
    "cs": ("žádné", "žádná"),
    "da": ("ingen",),
    "de": ("Keine vorhanden",),
    "en": ("none",),
    "es": ("ninguno",),
    "fa": ("هیچ کدام",),
    "fi": ("ei mikään",),
    "fr": ("aucun",),
    "hi": ("कोई नहीं",),
    "hu": ("nincs",),
    "it": ("nessuno",),
    "ja": ("なし", "数字はありません"),
    "ko": ("없음",),
    "nl": ("geen",),
    "no": ("ingen",),
    "pl": ("brak",),
    "pt": ("nenhum",),
    "ru": ("нет",),
    "sr": ("nema",),
    "st": ("ha ho letho",),
    "sv": ("inga",),
    "sw": ("hakuna",),
    "ta": ("ஏதுமில்லை",),
    "uk": ("немає", "Нема"),
    "vi": ("Không có",),
    "zh": ("无",),
}
_ANSWER = re.compile("<Answer>.*?</Answer>")


def answer(text: str, model: str) -> str:
    """All of `text`, or of a Deepseek model the first line's <Answer> that is written just so."""
    found = _ANSWER.search(text) if "deepseek" in model.lower() else None
    return found.group() if found else text


def score_numbers(
    text: str, expected: Sequence[str], none_words: Iterable[str]
) -> tuple[float, str]:
    """1.0 if the numbers of two digits or more are the `expected` ones, and why.

    Verdicts: "correct", "none_word" (the answer holds one), "no_number", "wrong_number".
    """
    text = unicodedata.normalize("NFKC", text)
    if any(word in text or _squeezed(word) in text for word in none_words):
        return 0.0, "none_word"
    digits = dict.fromkeys(re.findall(r"\d+", text))
    found = [number_of(number) for number in digits if len(number) > 1]
    if not found:
        return 0.0, "no_number"
    # As many numbers as expected ones, before those that differ in leading zeros become one.
    same = len(found) == len(expected) and set(found) == {int(number) for number in expected}
    return (1.0, "correct") if same else (0.0, "wrong_number")


def score_none(text: str, none_words: Iterable[str]) -> tuple[float, str]:
    """1.0 if a word for "none" stands anywhere in an answer, and why: "correct", "no_none_word"."""
    text = re.sub(r"\b\d\b", "", _squeezed(unicodedata.normalize("NFKC", text)))
    found = any(_squeezed(word) in text for word in none_words)
    return (1.0, "correct") if found else (0.0, "no_none_word")


def score_words(text: str, expected: Sequence[str]) -> tuple[float, str]:
    """1.0 if all `expected` words are part of an answer, and why: "correct", "partial:8/10"."""
    text = text.strip().lower()
    right = sum(word.strip().lower() in text for word in expected)
    return float(right == len(expected)), (
        "correct" if right == len(expected) else f"partial:{right}/{len(expected)}"
    )


def _squeezed(text: str) -> str:
    """`text` in lower case, without spaces and zero-width non-joiners."""
    return text.strip().lower().replace("\u200c", "").replace(" ", "")
