"""Existence accuracy: whether the answer says rightly that the passages hold the answer (MLNeedle)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# The words of the paper's prompt: the needle is absent, or present.
ENGLISH = ("No", "Yes")
# The choice said again ("Answer (Yes or No):", "Yes/No:") chooses nothing.
_CHOICE = re.compile(r"\b(?:yes\s*(?:or|/|\|)\s*no|no\s*(?:or|/|\|)\s*yes)\b", re.IGNORECASE)
# A number ("Document No. 3") and idioms that deny nothing.
_NO_VERDICT = re.compile(
    r"\bno\.?\s*[#(]?\d|\bno\s+(?:doubts?|question|problem|worries|matter|need)\b", re.I
)
_YES_OR_NO = re.compile(r"(?<![^\W_])(yes|no)(?![^\W_])", re.IGNORECASE)

_PASSAGES = r"(?:documents?|passages?|texts?|context|them|these|those)"
_HOLDS = r"(?:contain|include|hold|have|has|mention|provide|give|answer)s?"
# Whole sentences without either word.
_DENIED = re.compile(
    rf"\b(?:do|does|did)(?: not|n't|n’t) {_HOLDS}\b|\bnone of (?:the |these |those )?(?:\w+ )?{_PASSAGES}\b"
    rf"|\bno(?:ne)? (?:\w+ )?{_PASSAGES} {_HOLDS}\b|\b(?:is|are)(?: not|n't|n’t) (?:\w+ )?"
    r"(?:in|contained|found|present|included|mentioned|provided|given)\b|\bcannot be found\b",
    re.I,
)
_AFFIRMED = re.compile(
    rf"\b{_PASSAGES} (?:\w+ )?(?:do |does )?{_HOLDS}\b|\banswer (?:is|can be|was) (?:\w+ )?"
    r"(?:in|contained|found|present|included|mentioned|provided|given)\b",
    re.I,
)


def said(text: str) -> str | None:
    """ "yes" or "no", as an English text says it; None where it says neither.

    That is whichever stands first as a word of its own, where it is a verdict: not in the choice between
    both, not before a number ("Document No. 3"), not in "no doubt". Without either, a sentence that
    passages hold the answer, or do not, says it.
    """
    text = unicodedata.normalize("NFKC", text)
    lower = text.lower()
    no = "no" in lower
    if no or "yes" in lower:
        text = _NO_VERDICT.sub(" ", _CHOICE.sub(" ", text))
        found = _YES_OR_NO.search(text)
        if found:
            return found.group().lower()
    # Each denial has one of these in it.
    if (no or "n't" in lower or "n’t" in lower) and _DENIED.search(text):
        return "no"
    return "yes" if _AFFIRMED.search(text) else None


def said_in(text: str, words: Sequence[str]) -> str | None:
    """Which of the `words` stands first in a text; None if neither does, or the text only repeats the choice.

    Words that begin and end inside other words do not count, but in scripts without spaces nothing else
    can be told. Where one word is the end of the other, the longer one is meant.
    """
    text = _folded(text)
    folded = {_folded(word): word for word in words}
    either = "|".join(map(re.escape, sorted(folded, key=len, reverse=True)))
    text = re.sub(rf"(?:{either})\s*[/|]\s*(?:{either})", " ", text)
    for pattern in (rf"(?<![^\W_])(?:{either})(?![^\W_])", rf"(?:{either})"):
        if found := re.search(pattern, text):
            return folded[found.group()]
        if not any(map(_spaceless, either)):
            return None
    return None


def _folded(text: str) -> str:
    """`text` in one case, in which Turkish letters with and without a dot are the same."""
    return unicodedata.normalize("NFKC", text).casefold().replace("i\u0307", "i").replace("ı", "i")


def _spaceless(character: str) -> bool:
    """Whether a character is of a script that writes no spaces between words."""
    name = unicodedata.name(character, "")
    return name.startswith(("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"))


def score(
    prediction: str,
    translated: str | None,
    references: Sequence[str],
    words: Sequence[str] = ENGLISH,
) -> tuple[float, str]:
    """1.0 if the answer says Yes or No as the reference does (`references` holds one), and why.

    `words` are those of the prompt. A user's own are looked for in the answer itself, first.

    An answer in another language is read in its translation: a "sí" or "是" counts only so, and a Spanish
    "no" may deny something else. Where that says neither, or there is none, the answer itself is read.
    The verdict is what was read and where, such as "no:raw", or "no_verdict".
    """
    (reference,) = references
    if tuple(words) != ENGLISH and (verdict := said_in(prediction, words)):
        name = ENGLISH[list(words).index(verdict)].lower()
        return float(verdict == reference), f"{name}:raw"
    wanted = ENGLISH[list(words).index(reference)]
    for name, text in {"translated": translated or "", "raw": prediction}.items():
        if verdict := said(text):
            return float(verdict == wanted.lower()), f"{verdict}:{name}"
    return 0.0, "no_verdict"
