"""Whether the first line of an answer holds an accepted answer (Lost in the Middle, section 3.1).

The facts are those of `metrics.py` and `evaluate_qa_responses.py` in nelson-liu/lost-in-the-middle at
29b8a6d; the program here is this project's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from needlework.data.comparison.subspan_normalisation import normalise

_normalised_reference = lru_cache(maxsize=65536)(normalise)


def score(prediction: str, references: Iterable[str]) -> tuple[float, str]:
    """1.0 if the first line of the answer holds any reference, both normalised, else 0.0, and why.

    Everything after the first line end does not count, so an answer that begins with one is empty.
    Parts may begin inside words ("art" is in "party"). A reference of which normalisation leaves
    nothing is part of every answer, even an empty one: a quirk of the released code that is kept. Of
    the 2,655 questions one has such a reference ("*", the multiplication sign).

    The verdict is "match:<i>" with the index of the first reference that was found, or
    "match_all:<i>" where nothing is left of that reference; else "no_match", or "empty" where nothing
    is left of the answer.
    """
    line = normalise(prediction.split("\n", 1)[0])
    for index, reference in enumerate(references):
        wanted = _normalised_reference(reference)
        if wanted in line:
            return 1.0, f"match:{index}" if wanted else f"match_all:{index}"
    return 0.0, "no_match" if line else "empty"
