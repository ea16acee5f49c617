"""Whether an answer holds the value that was asked for (Lost in the Middle, section 4.1)."""

from __future__ import annotations

from collections.abc import Iterable


def score(prediction: str, references: Iterable[str]) -> tuple[float, str]:
    """1.0 if the answer holds the value (`references` holds one), both in lower case, and why.

    All lines of the answer count, and the value may stand among others. The verdict is "match",
    "no_match", or "empty" where the answer is blank.
    """
    (value,) = references
    if value.lower() in prediction.lower():
        return 1.0, "match"
    return 0.0, "no_match" if prediction.strip() else "empty"
