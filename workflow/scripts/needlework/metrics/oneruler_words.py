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
_HYPHENS = frozenset("-'\u2010\u2011\u2019\u02bc\u05be")
# A hyphen or an apostrophe holds letters together, and nothing else.
_LOOSE_JOINER = re.compile(r"(?<![^\s\d-])-|-(?![^\s\d-])")


def words_of(text: str) -> list[str]:
    """The words of `text`, folded; of a script without spaces, the runs between other characters."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = _LOOSE_JOINER.sub(" ", text.translate(_KEPT))
    return UNSPACED_RUN.sub(r" \g<0> ", text).split()


class _Kept(dict):
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
