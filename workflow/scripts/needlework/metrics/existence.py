"""Existence accuracy: whether the answer says rightly that the passages hold the answer (MLNeedle)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_YES_OR_NO = re.compile(r"(?<![^\W_])(yes|no)(?![^\W_])", re.IGNORECASE)


def said(text: str) -> str | None:
    """ "yes" or "no", whichever stands first in `text` as a word of its own; None without either."""
    found = _YES_OR_NO.search(unicodedata.normalize("NFKC", text))
    return found.group().lower() if found else None


def score(prediction: str, translated: str | None, references: Sequence[str]) -> tuple[float, str]:
    """1.0 if the first Yes or No of the answer is the reference (`references` holds one), and why.

    Where the answer holds neither word, its English translation is read; a "sí" or "是" counts only
    so. The verdict is what was read and where, such as "no:raw", or "no_verdict".
    """
    (reference,) = references
    for name, text in {"raw": prediction, "translated": translated or ""}.items():
        if verdict := said(text):
            return float(verdict == reference.lower()), f"{verdict}:{name}"
    return 0.0, "no_verdict"
