"""One form for each word, however it is written: resources/writings/.

`fold` keeps accents, since another accent is another word; `bare` leaves them out, since many writers do.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

from needlework.scoring.careful.tables import rows

# Vowel marks of Arabic and points of Hebrew, and selectors of a glyph.
_AT_WILL = re.compile(
    "[\u0640\u064b-\u0652\u0670\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\ufe00-\ufe0f\U000e0100-\U000e01ef\u093c]"
)
# Hindi writes a nasal before a consonant as half a letter or as a dot.
_HALF_NASAL = re.compile("[ङञणनम]\u094d(?=[क-ह])")
# Vietnamese puts a tone mark on either vowel of oa, oe, uy.
_TONE = "\u0300\u0301\u0303\u0309\u0323"
_TONE_FIRST = re.compile(f"([ou])([{_TONE}])([aey])(?![\u0300-\u036f])")
_UMLAUTS = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}
)


def fold(text: str) -> str:
    """`text` with one form for each letter and digit, in its letter case."""
    if text.isascii():
        return text
    text = _INNER_APOSTROPHE.sub("", unicodedata.normalize("NFKC", text))
    if _COMPOSED_TONE.search(text):
        text = _tones_last(text)
    return _HALF_NASAL.sub("ं", text.translate(_LETTERS))


def _tones_last(text: str) -> str:
    """Vietnamese tone marks on the last vowel."""
    parts = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", _TONE_FIRST.sub(r"\1\3\2", parts))


# Ukrainian writes one within words.
_INNER_APOSTROPHE = re.compile("(?<=[\u0400-\u04ff])['’ʼ](?=[\u0400-\u04ff])")
_COMPOSED_TONE = re.compile("[òóõỏọùúũủụÒÓÕỎỌÙÚŨỦỤ][aeyAEY]")


@lru_cache(maxsize=65536)
def bare(word: str) -> str:
    """A folded word without accents; an accent that stands alone stays."""
    if word.isascii():
        return word
    parts = unicodedata.normalize("NFD", word)
    plain = "".join(c for c in parts if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", plain) or word


def cyrillic(word: str) -> bool:
    """Whether a word is in Cyrillic letters."""
    return "\u0400" <= word[0] <= "\u04ff"


@lru_cache(maxsize=65536)
def in_latin(word: str) -> str:
    """A word in small Cyrillic letters as Serbian writes it in Latin ones; any other as it is."""
    return word.translate(_latin()) if cyrillic(word) else word


@cache
def _latin() -> dict[int, str]:
    return {ord(letter): latin for letter, latin in rows("writings/cyrillic.tsv")}


def without_umlauts(text: str) -> str:
    """German and Nordic letters as an English keyboard writes them: Röntgen as Roentgen."""
    return text.translate(_UMLAUTS)


class _Letters(dict[int, str]):
    """The table of `str.translate`, filled as characters are met."""

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[str, str] | None = None

    def __missing__(self, code: int) -> str:
        if self.given is None:
            self.given = {row[0]: row[1] for row in rows("writings/letters.tsv")}
            self.given |= {row[0]: row[1] for row in rows("writings/han.tsv")}
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Cf" or _AT_WILL.match(character):
            new = ""
        elif category == "Nd":
            new = str(unicodedata.decimal(character))
        elif category == "Zs":
            new = " "
        else:
            new = self.given.get(character, character)
        self[code] = new
        return new


_LETTERS = _Letters()
