"""The words of an answer to ONERULER, in any script."""

from __future__ import annotations

import re
import unicodedata

# Scripts that are written without spaces: Han, kana; Thai, Lao, Burmese and Khmer.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
)
UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
# Letters that are written in two ways: Persian ones with an Arabic keyboard, ё and œ without theirs.
_SAME = str.maketrans(
    {"ي": "ی", "ى": "ی", "ك": "ک", "ё": "е", "œ": "oe", "æ": "ae", "ʹ": "'", "\u02bc": "'"}
)
_MOST_DIGITS = 1000
_HYPHENS = frozenset("-'\u2010\u2011\u2019\u02bc\u05be")
# A hyphen or an apostrophe holds letters together, and nothing else.
_LOOSE_JOINER = re.compile(r"(?<![^\s\d-])-|-(?![^\s\d-])")


def number_of(digits: str) -> int:
    """The number in decimal digits; of very many digits another one, which is as long as no reference.

    Python converts no more than 4,300 digits, and a model can write more.
    """
    return int(digits.lstrip("0")[:_MOST_DIGITS] or "0")


def words_of(text: str) -> list[str]:
    """The words of `text`, folded; of a script without spaces, the runs between other characters."""
    if text.isascii():
        text = text.lower().encode().translate(_KEPT_ASCII).decode()
    else:
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        text = text.translate(_SAME).translate(_KEPT)
    if "-" in text:
        text = _LOOSE_JOINER.sub(" ", text)
    return (text if text.isascii() else UNSPACED_RUN.sub(r" \g<0> ", text)).split()


class _Kept(dict[int, str | int | None]):
    """The table of `str.translate`, filled as characters are met (there are 1.1 million)."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Cf":
            # The joiners of Persian and Hindi are written or left out at will.
            new = ""
        elif category[0] in "LMN":
            new = character
        else:
            new = "-" if character in _HYPHENS else " "
        self[code] = new
        return new


_KEPT = _Kept()
# ASCII is translated as bytes, ten times as fast.
_KEPT_ASCII = "".join(str(_KEPT[code]) for code in range(128)).encode().ljust(256)
