"""What verdicts, outcomes of requests and remarks mean, for readers of the explorer."""

from __future__ import annotations

from collections.abc import Iterable

from needlework.models import accounts

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
    "right": "The metric gives the answer all of its value.",
    "wrong": "The metric gives the answer nothing.",
    "not_found": "What was asked for does not stand in the answer.",
    "correct": "The answer is exactly what was asked for.",
    "partial": "The answer is right in part; after a colon, how much it holds, and after '+', what else.",
    "several": "What was asked for stands in the answer, and others beside it.",
    "other_needle": "The answer gives what another needle says.",
    "wrong_number": "The answer gives a number, but none that was asked for.",
    "wrong_words": "None of the words that were asked for stands in the answer.",
    "no_number": "The answer gives no number.",
    "no_city": "The answer names no needle's city.",
    "unanswerable": "The answer says that the text does not say it, but it does.",
    "no_refusal": "The answer does not say that the text does not say it, which is the answer.",
    "none_error": "The answer says that there is no such number, but there is one.",
    "none_word": "The answer says 'none' where that is not the answer.",
    "no_none_word": "The answer does not say 'none', which is the answer.",
    "no_answer": "The answer holds no text.",
    "length": "The limit on new tokens cut the answer before it said anything.",
    # Of the metric "careful".
    "undecided": "The second scorer does not decide; after a colon, why. The value is the paper's metric's.",
    "denied": "The answer says that it is not a reference.",
    "replaced": "The answer names a reference, but concludes with something else.",
    "refused": "The answer names a reference, but says that it does not know.",
    "other": "The answer gives something else, or nothing that was asked for.",
    "unclear": "The answer says neither yes nor no.",
    "incomplete": "The answer lacks some of what was asked for.",
    "missing": "The answer lacks words that were asked for; after a colon, how many.",
    "more": "The answer has words that were not asked for; after a colon, how many.",
    "none": "The answer says that there is no such number, but there is one.",
    "no number": "The answer gives no number, and does not say that there is none.",
    "no refusal": "The answer does not say that the text does not say it, which is the answer.",
    "skipped": "The prompt does not fit into the model's context, so it was not sent.",
    "error": "The request failed.",
}
# The same for the list and its filters, where a sentence does not fit.
IN_WORDS = {
    "match": "reference found",
    "match_all": "all references found",
    "semantic": "near in meaning",
    "no_match": "reference not found",
    "empty": "empty answer",
    "yes": "says yes",
    "no": "says no",
    "no_verdict": "neither yes nor no",
    "words": "the words of a reference",
    "right": "right",
    "wrong": "wrong",
    "not_found": "not found",
    "correct": "correct",
    "partial": "right in part",
    "several": "others beside it",
    "other_needle": "another needle's",
    "wrong_number": "wrong number",
    "wrong_words": "wrong words",
    "no_number": "no number",
    "no_city": "no city",
    "unanswerable": "says it is not there",
    "no_refusal": "should have refused",
    "none_error": "says none, wrongly",
    "none_word": "says 'none', wrongly",
    "no_none_word": "'none' is missing",
    "no_answer": "no text",
    "length": "cut before an answer",
    "undecided": "not decided",
    "denied": "reference denied",
    "replaced": "concludes otherwise",
    "refused": "says it does not know",
    "other": "something else",
    "unclear": "neither yes nor no",
    "incomplete": "incomplete",
    "missing": "words are missing",
    "more": "words too many",
    "none": "says none, wrongly",
    "no number": "no number, no 'none'",
    "no refusal": "should have refused",
    "skipped": "not sent: too long",
    "error": "request failed",
}

# What became of a request, and what else is to be told of an answer, by their names in files of answers.
OUTCOMES = {
    accounts.ANSWERED: "answered",
    accounts.EMPTY: "empty answer",
    accounts.CUT: "answer cut at the limit on new tokens",
    accounts.PROMPT_CUT: "prompt cut by the server",
    accounts.REFUSED: "refused by the server",
    accounts.FAILED: "request failed",
    accounts.SKIPPED: "too long for the context, not sent",
    accounts.UNASKED: "not sent before the job ended",
}
REMARKS = {
    accounts.REASONED: "reasoning, but no answer",
    accounts.UNKNOWN_END: "no finish_reason",
    accounts.OTHER_MODEL: "the reply names another model",
    accounts.ODD_COUNT: "odd count of prompt tokens",
    accounts.CONTROL_TOKENS: "the prompt quotes a control token",
    accounts.DATED: "a fixed date in the chat template",
    accounts.LONGER: "longer than the limit",
    accounts.BESIDE_PROMPT: "other text before the prompt",
    accounts.UNKNOWN_MARK: "unknown tag at the beginning",
    accounts.DROPPED: "a setting that the provider ignores",
}


def meanings(verdicts: Iterable[str]) -> dict[str, str]:
    """The meaning of each verdict that is known here; others are left out."""
    known = {verdict: MEANINGS.get(verdict.partition(":")[0]) for verdict in verdicts}
    return {verdict: meaning for verdict, meaning in known.items() if meaning}
