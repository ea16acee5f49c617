"""In which language an answer is: by its letters, else by the commonest words of each language.

Names and numbers are of no language, and a few words may be of several: then it is undecided (None). The
identifier of `scoring.translation` guesses on such texts, and takes a gigabyte and a millisecond for each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache

from needlework.scoring.careful import phrases

# Of a longer answer, the beginning.
_MOST = 400
_LETTER = r"[^\W\d_]"
_WORD = re.compile(rf"{_LETTER}+")
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


def languages_of(texts: Iterable[str]) -> list[str | None]:
    """The language (ISO 639-1) of each text; None where it is undecided."""
    return [_by_letters(text[:_MOST]) or _by_words(text[:_MOST]) for text in texts]


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


@cache
def _common() -> dict[str, list[str]]:
    """The languages in Latin and Cyrillic letters that have a word among their commonest."""
    found: dict[str, list[str]] = {}
    for lang in sorted(phrases.languages() - {"zh", "ja", "ko", "hi", "ta", "ar", "fa"}):
        for word in phrases.common((lang,)):
            found.setdefault(word, []).append(lang)
    return found


def _by_words(text: str) -> str | None:
    """The language that has at least two of a text's words among its commonest, and more than others."""
    common = _common()
    words = {word for word in _WORD.findall(text.casefold()) if word in common}
    if len(words) < 2:
        return None
    hits = Counter(lang for word in words for lang in common[word])
    (lang, most), *others = hits.most_common(2)
    return lang if most > 1 and (not others or most > others[0][1]) else None
