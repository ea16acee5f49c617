"""mLongRR's answers read strictly: exactly the number, or the city and no other needle's.

Paper, section 3.6: the number or city is extracted and compared. What it leaves open: grouped digits
count ("8,134,445"), and an answer that lists several needles' numbers is wrong.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from needlework.benchmarks.mlongrr.prompt_files import name_pattern
from needlework.scoring.metrics.numbers import numbers

_SEVEN = range(10**6, 10**7)


def score_number(
    text: str, gold: str, others: Iterable[str], unanswerable: Iterable[str]
) -> tuple[float, str]:
    """1.0 if `gold` is the one number of seven digits in an answer, and why.

    `others` are the numbers of the other needles. Verdicts: "correct"; "several" where the gold is
    among others; "other_needle"; "wrong_number"; without such a number "unanswerable" or "no_number".
    A number of more digits is a wrong one.
    """
    found = {number for number in numbers(text) if number >= _SEVEN.start}
    if not found:
        return 0.0, "unanswerable" if says(text, unanswerable) else "no_number"
    if found == {int(gold)}:
        return 1.0, "correct"
    if int(gold) in found:
        return 0.0, "several"
    return 0.0, "other_needle" if found <= set(map(int, others)) else "wrong_number"


def score_city(
    text: str, gold: Sequence[str], others: Iterable[str], unanswerable: Iterable[str]
) -> tuple[float, str]:
    """1.0 if an answer has one of the names of the `gold` city, and why.

    `others` are the names of the other needles' cities. A name is a whole word, in any letter case.
    Verdicts: "correct"; "several" where another needle's city is named too; "other_needle"; without
    any of them "unanswerable" or "no_city".
    """
    small = unicodedata.normalize("NFKC", text).casefold()
    right = any(_pattern(name).search(small) for name in gold)
    wrong = any(_pattern(name).search(small) for name in set(others) - set(gold))
    if right or wrong:
        return (1.0, "correct") if not wrong else (0.0, "several" if right else "other_needle")
    return 0.0, "unanswerable" if says(text, unanswerable) else "no_city"


def score_absent(text: str, unanswerable: Iterable[str]) -> tuple[float, str]:
    """1.0 if an answer to a question without a needle says so and has no number, and why.

    Verdicts: "correct", "wrong_number", "no_refusal".
    """
    if any(number in _SEVEN for number in numbers(text)):
        return 0.0, "wrong_number"
    return (1.0, "correct") if says(text, unanswerable) else (0.0, "no_refusal")


def says(text: str, words: Iterable[str]) -> bool:
    """Whether one of `words` stands in `text` as a whole, in any letter case."""
    small = re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text)).casefold()
    return any(_pattern(word).search(small) for word in words if word)


def _pattern(name: str) -> re.Pattern[str]:
    return name_pattern(unicodedata.normalize("NFKC", name))
