"""Words of a text in any script, as the tokenizer `words` counts them."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# A word is a run without white space, or one character of a script that is written without spaces.
WORD = re.compile(
    r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"
    r"|[^\s\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]+"
)


@cache
def marks() -> str:
    """All combining marks, for a character class: vowels and tones of many scripts, and accents.

    `\\w` has none of them.
    """
    found = (chr(code) for code in range(0x300, 0x20000))
    return "".join(mark for mark in found if unicodedata.category(mark)[0] == "M")


def word_starts(text: str) -> list[int]:
    """The index of the first character of each word of `text`."""
    return [match.start() for match in WORD.finditer(text)]
