"""Whether a passage holds an answer to a question that best_subspan_em scores.

It does where the metric would accept the passage as an answer ("commissioner" holds "the Commission"),
and where the answer stands in it in another writing, which the metric does not see ("٣" and "3", "co-op"
with a hyphen of another script): a reader finds it there all the same.
"""

from __future__ import annotations

from needlework.data.comparison import normalisation, subspan_normalisation


def normalise(text: str) -> tuple[str, str]:
    """`text` in both forms in which it is compared: the metric's, and the one that knows all writings."""
    return subspan_normalisation.normalise(text), normalisation.normalise(text)


def contains(reference: tuple[str, str], text: tuple[str, str]) -> bool:
    """Whether `text` holds `reference` in either form, both already normalised.

    A reference of which nothing is left ("*") is held by no text, although the metric accepts every text
    for it: no passage would be without it.
    """
    return any(part and part in whole for part, whole in zip(reference, text, strict=True))
