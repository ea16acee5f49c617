"""Exact accuracy: an answer is right if it contains an accepted answer (MLNeedle, section 2.4)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from needlework.data.comparison.normalisation import contains, normalise

_normalised_reference = lru_cache(maxsize=65536)(normalise)


def score(prediction: str, translated: str | None, references: Iterable[str]) -> tuple[float, str]:
    """1.0 if the answer or its English translation holds any reference, else 0.0, and why.

    The verdict is "match:raw:<i>" or "match:translated:<i>" with the index of the first reference
    that was found (the answer itself is searched first), "no_match", or "empty" where neither text
    holds anything but punctuation.
    """
    references = [_normalised_reference(reference) for reference in references]
    empty = True
    for name, said in (("raw", prediction), ("translated", translated or "")):
        text = normalise(said)
        empty = empty and not text
        for index, reference in enumerate(references):
            if contains(reference, text):
                return 1.0, f"match:{name}:{index}"
    return 0.0, "empty" if empty else "no_match"
