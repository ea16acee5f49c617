"""The second scorer's verdicts on ONERULER's answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from needlework.benchmarks.oneruler.none_answers import says_none
from needlework.benchmarks.oneruler.wording import Wording
from needlework.scoring.careful.tables import split
from needlework.scoring.careful.verdicts import (
    Verdict,
    bare_list,
    denies,
    has_number,
    leaves_out,
    of_list,
    of_numbers,
)
from needlework.scoring.careful.words import bounded, read

_NONE = "none"


def needles(
    text: str, expected: Sequence[str], none_words: Iterable[str | Wording], lang: str
) -> Verdict:
    """1.0 if an answer gives exactly the expected numbers, and why."""
    value, why = of_numbers(text, map(int, expected), [lang])
    if why in ("no number", "unspelled") and says_none(bounded(text), none_words):
        return 0.0, _NONE
    # The question asks for the numbers of one word.
    return (0.0 if value is None and why == "several" and bare_list(text) else value), why


def none(
    text: str,
    none_words: Iterable[str | Wording],
    lang: str,
    quotes: Callable[[str], bool] = lambda text: False,
) -> Verdict:
    """1.0 if an answer says that there is no number, and gives none for the word that was asked, and why."""
    if not text.strip():
        return 0.0, "empty"
    text, words = bounded(text), list(none_words)
    if has_number(text):
        return (1.0, "right") if leaves_out(text, [lang]) else (0.0, "other")
    said = says_none(text, words, quotes) or (
        not quotes(text) and denies(text, _nouns(words), [lang])
    )
    return (1.0, "right") if said else (0.0, "no number")


def _nouns(none_words: Iterable[str | Wording]) -> list[str]:
    """A language's words for a number."""
    listed = (each.number for each in none_words if isinstance(each, Wording))
    return [word for each in listed for noun in split(each) for word in read(noun).bare]


def common_words(text: str, expected: Sequence[str], lang: str) -> Verdict:
    """1.0 if an answer lists all the expected words and no further ones, and why."""
    return of_list(text, expected, [lang])
