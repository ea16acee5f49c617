"""Existence accuracy: whether the answer says rightly that the passages hold the answer (MLNeedle)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

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


def score(prediction: str, translated: str | None, references: Sequence[str]) -> tuple[float, str]:
    """1.0 if the answer says Yes or No as the reference does (`references` holds one), and why.

    An answer in another language is read in its translation: a "sí" or "是" counts only so, and a Spanish
    "no" may deny something else. Where that says neither, or there is none, the answer itself is read.
    The verdict is what was read and where, such as "no:raw", or "no_verdict".
    """
    (reference,) = references
    for name, text in {"translated": translated or "", "raw": prediction}.items():
        if verdict := said(text):
            return float(verdict == reference.lower()), f"{verdict}:{name}"
    return 0.0, "no_verdict"
