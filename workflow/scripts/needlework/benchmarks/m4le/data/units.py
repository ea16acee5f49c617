"""How M4LE counts the length of a text."""

from __future__ import annotations

import re

from needlework.data.words import word_starts

# Chinese characters, and the punctuation and full-width forms that stand between them.
_CHINESE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


def length(text: str, unit: str) -> int:
    """The length in "words" (between white space), "characters", "mixed", or "any".

    Any counts words of any script: between white space, or characters where a script has none.
    Mixed counts Chinese characters one by one and the words between them. (The released scripts add
    up lengths of parts by hand; released rows keep the bucket that they came with.)
    """
    if unit == "words":
        return len(text.split())
    if unit == "characters":
        return len(text)
    if unit == "any":
        return len(word_starts(text))
    rest, chinese = _CHINESE.subn(" ", text)
    return chinese + len(rest.split())


def beginning(text: str, n: int, unit: str) -> str:
    """The first `n` words or characters of a text."""
    if unit == "words":
        return " ".join(text.split()[:n])
    if unit == "any":
        starts = word_starts(text)
        return text[: starts[n]].rstrip() if n < len(starts) else text
    return text[:n]
