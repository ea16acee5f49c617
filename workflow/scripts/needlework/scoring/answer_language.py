"""The language of an answer: from its letters, else from py3langid, which knows a hundred languages.

The language is undecided (None) for names, numbers, very short texts, and texts that may be in several
languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

# Of a longer answer, the beginning.
_MOST = 400
_WORD = re.compile(r"[^\W\d_]+")
# Fewer words are mostly names.
_FEWEST_WORDS = 3
# Below this probability the language is undecided.
_SURE = 0.8
_SCRIPTS = tuple(
    (lang, re.compile(f"[{letters}]"))
    for lang, letters in (
        ("ko", "가-힣"),
        ("ja", "\u3041-\u30ff"),
        ("zh", "\u4e00-\u9fff"),
        ("th", "\u0e01-\u0e3a"),
        ("ta", "\u0b85-\u0bb9"),
        ("hi", "\u0905-\u0939"),
        ("el", "\u0391-\u03c9"),
        ("fa", "پچژگکی"),
        ("ar", "\u0621-\u064a"),
        ("uk", "іїєґІЇЄҐ"),
        ("sr", "ђћљњџјЂЋЉЊЏЈ"),
        ("vi", "ăđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ"),
    )
)


def identified_languages(texts: Iterable[str]) -> list[str | None]:
    """The language (ISO 639-1) of each text; None if it is undecided."""
    return [_by_letters(text[:_MOST]) or _identified(text[:_MOST]) for text in texts]


def _by_letters(text: str) -> str | None:
    """The language that most letters of a text are of alone; None where several share them."""
    if text.isascii():
        return None
    letters = sum(map(str.isalpha, text))
    for lang, pattern in _SCRIPTS:
        hits = len(pattern.findall(text))
        # A few letters tell the language of an alphabet that several share.
        shared = lang in ("uk", "sr", "vi", "ja", "fa")
        if hits and (hits * 2 > letters or (shared and hits * 20 > letters)):
            return lang
    return None


@lru_cache(maxsize=65536)
def _identified(text: str) -> str | None:
    """The language that py3langid is sure of."""
    if len(_WORD.findall(text)) < _FEWEST_WORDS:
        return None
    lang, probability = _identifier().classify(text)
    return None if probability < _SURE or lang == _NO_LANGUAGE else lang


# py3langid's code for a text without linguistic content.
_NO_LANGUAGE = "zxx"


@cache
def _identifier() -> LanguageIdentifier:
    # The judge's jobs import this module, and their environments lack the package.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
