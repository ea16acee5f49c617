"""mLongRR's notebooks' rules, false verdicts included; `mlongrr_strict` has none of them.

The facts are those of the notebooks in PortNLP/mLongRR at f3edbda; the program is this project's own. An
answer that lists all numbers is right, "8,134,445" is wrong, and "Lima" is found in "Lima belas". With
several needles the notebooks ask whether any answer of a file holds the number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def score(answers: Iterable[str], gold: Iterable[str]) -> tuple[float, str]:
    """1.0 if one of `answers` contains one of the texts `gold`, and why: "correct", "not_found"."""
    found = any(text in answer for answer in answers for text in gold)
    return (1.0, "correct") if found else (0.0, "not_found")


def claude_gold(numbers: Sequence[str]) -> int:
    """Which needle the notebook of Claude takes for the largest: it looks at the first two alone.

    With three, a perfect model is right where the third is not the largest.
    """
    return max(range(min(2, len(numbers))), key=lambda i: int(numbers[i]))
