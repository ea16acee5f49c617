"""The second scorer's verdicts on MLNeedle's answers."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.benchmarks.mlneedle.existence import ENGLISH, said_in
from needlework.scoring.careful.verdicts import Verdict, of_words, of_yes_or_no


def exact(
    text: str, translated: str | None, references: Sequence[str], langs: Sequence[str]
) -> Verdict:
    """1.0 if an answer or its English translation asserts any reference, and why."""
    own = of_words(text, references, langs)
    if translated is None:
        return own
    # A language without phrases shows only in English what an answer does with a reference.
    english = of_words(translated, references, langs)
    if "other" in (own[1], english[1]):
        return english if own[1] == "other" else own
    return own if own[0] == english[0] else (None, "apart")


def existence(
    text: str,
    translated: str | None,
    reference: str,
    langs: Sequence[str],
    words: Sequence[str] = ENGLISH,
) -> Verdict:
    """1.0 if an answer says Yes or No as the reference does, and why.

    `words` are the prompt's for the two. A user's own are looked for first.
    """
    wanted = ENGLISH[list(words).index(reference)].casefold()
    said = None
    if tuple(words) != ENGLISH and (found := said_in(text, words)):
        said = ENGLISH[list(words).index(found)].casefold()
    said = said or of_yes_or_no(text, langs)
    if said is None and translated is not None:
        said = of_yes_or_no(translated)
    if said is None:
        return (None, "unclear") if text.strip() else (0.0, "empty")
    return float(said == wanted), said
