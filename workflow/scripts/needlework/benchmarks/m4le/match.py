"""M4LE's accuracy, exact match and F1 of ids, as its released evaluation.py computes them.

The facts are those of KwanWaiChung/M4LE at 47c2af9; the program here is this project's own.
"""

from __future__ import annotations

from collections.abc import Iterable


def cut(text: str, marks: Iterable[str]) -> str:
    """The text before the first of each of `marks`, one after the other, without white space around it."""
    for mark in marks:
        text = text.split(mark, maxsplit=1)[0].strip()
    return text.strip()


def accurate(answer: str, accepted: Iterable[str]) -> bool:
    """Whether an accepted answer is a part of the answer, whatever the case."""
    return any(text.lower() in answer.lower() for text in accepted)


def equal(answer: str, accepted: Iterable[str]) -> bool:
    """Whether the answer is an accepted one, but for case and white space around it."""
    return any(text.lower().strip() == answer.lower().strip() for text in accepted)


def id_set(text: str, stop: str | None, comma: str) -> set[str]:
    """The ids in the text up to `stop` (None: in all of it), parted by `comma`."""
    before = text if stop is None else text.split(stop, maxsplit=1)[0]
    return {part.strip() for part in before.strip().split(comma)}


def f1(found: set[str], gold: set[str]) -> float:
    """The F1 of two sets of ids, in [0, 1]."""
    right = len(found & gold)
    # 2PR / (P + R), with P = right / found and R = right / gold.
    return 2 * right / (len(found) + len(gold)) if right else 0.0
