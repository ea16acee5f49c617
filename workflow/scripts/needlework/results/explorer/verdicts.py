"""What the metrics' verdicts mean, in one sentence each, for readers of the explorer."""

from __future__ import annotations

from collections.abc import Iterable

# By the verdict's first part; the parts after a colon say which reference, which text, how many.
MEANINGS = {
    "match": "A reference stands in the answer.",
    "match_all": "Every reference stands in the answer.",
    "semantic": "The answer is near a reference in meaning, by an embedding.",
    "no_match": "No reference stands in the answer.",
    "empty": "The answer is empty.",
    "yes": "The answer says yes.",
    "no": "The answer says no.",
    "no_verdict": "The answer says neither yes nor no.",
    "words": "The answer's words are a reference's.",
    "correct": "The answer is exactly what was asked for.",
    "partial": "Some of what was asked for stands in the answer; after '+', how much else does.",
    "wrong_number": "The answer gives a number, but none that was asked for.",
    "wrong_words": "None of the words that were asked for stands in the answer.",
    "no_number": "The answer gives no number.",
    "no_city": "The answer names no city.",
    "other_needle": "The answer gives another needle's number or city.",
    "several": "The answer gives what was asked for among other needles' numbers or cities.",
    "unanswerable": "The answer says that the question cannot be answered, but it can.",
    "none_error": "The answer says that there is no such number, but there is one.",
    "none_word": "The answer says 'none' where that is not the answer.",
    "no_none_word": "The answer does not say 'none', which is the answer.",
    "no_answer": "The answer holds no text.",
    "length": "The limit on new tokens cut the answer before it said anything.",
    "skipped": "The prompt does not fit into the model's context, so it was not sent.",
    "error": "The request failed.",
}


def meanings(verdicts: Iterable[str]) -> dict[str, str]:
    """The meaning of each verdict that is known here; others are left out."""
    known = {verdict: MEANINGS.get(verdict.partition(":")[0]) for verdict in verdicts}
    return {verdict: meaning for verdict, meaning in known.items() if meaning}
