"""Lost in the Middle's scores: best_subspan_em of questions, accuracy of key-value pairs, second scorer.

best_subspan_em (section 3.1) says whether the first line of an answer holds an accepted answer. The rules
follow `metrics.py` and `evaluate_qa_responses.py` in nelson-liu/lost-in-the-middle; no code is copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from needlework.benchmarks.lost_in_the_middle.metrics import METRICS
from needlework.data.comparison.subspan_normalisation import normalise
from needlework.scoring.careful import words
from needlework.scoring.careful.verdicts import Verdict, of_words, tagged
from needlework.scoring.careful.words import fold
from needlework.scoring.metric import CAREFUL, Metric, default, rates
from needlework.scoring.scores import Rating, score_rows, second

if TYPE_CHECKING:
    from needlework.benchmarks.lost_in_the_middle.settings import LostInTheMiddle

_normalised_reference = lru_cache(maxsize=65536)(normalise)


def best_subspan_em(prediction: str, references: Iterable[str]) -> tuple[float, str]:
    """1.0 if the first line of the answer holds any reference, both normalised, else 0.0; and the verdict.

    Text after the first line end does not count, so an answer that begins with a line end is empty. A
    reference may stand inside a word ("art" is in "party"). If a reference is empty after normalisation, it
    is part of every answer, even of an empty one. This quirk of the released code is kept: one of the 2,655
    questions has such a reference ("*", the multiplication sign).

    The verdict is "match:<i>" with the index of the first reference that was found. If this reference is
    empty after normalisation, it is "match_all:<i>". Otherwise it is "no_match", or "empty" if the answer is
    empty.
    """
    line = normalise(prediction.split("\n", 1)[0])
    for index, reference in enumerate(references):
        wanted = _normalised_reference(reference)
        if wanted in line:
            return 1.0, f"match:{index}" if wanted else f"match_all:{index}"
    return 0.0, "no_match" if line else "empty"


# Whether an answer holds the value that was asked for (Lost in the Middle, section 4.1).


def key_value_accuracy(prediction: str, references: Iterable[str]) -> tuple[float, str]:
    """1.0 if the answer holds the value (the only one of `references`), both in lower case; and the verdict.

    All lines of the answer count, and the value may stand among others. The verdict is "match", "no_match",
    or "empty" if the answer is blank.
    """
    (value,) = references
    if value.lower() in prediction.lower():
        return 1.0, "match"
    return 0.0, "no_match" if prediction.strip() else "empty"


# The second scorer's verdicts on Lost in the Middle's answers.

# A UUID however its parts are separated.
_UUID = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{8}(?:[\s-]{0,3}[0-9a-f]{4}){3}[\s-]{0,3}[0-9a-f]{12}(?![0-9a-f])"
)
# A model that goes on with the next key.
_RUNS_ON = re.compile(r"\n\s*(?:key|json)\b.{0,20}[:=]", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(?:not exist|not found|no such|not in the|cannot find|could not find|not present)\b"
)
_NOT_BEFORE = re.compile(r"\b(?:not|isn't|instead of|rather than)\W{1,4}$")
_AFTER_KEY = re.compile(r"\bkey\W{0,6}$")
_IS_KEY = re.compile(r"[\"'`]?\s*(?::|=|->|→|is\b)")


def question_verdict(text: str, references: Sequence[str]) -> Verdict:
    """1.0 if an answer asserts any of the references, and the verdict."""
    return of_words(text, references, ["en"])


def pair_verdict(text: str, value: str) -> Verdict:
    """1.0 if an answer gives the value and no other, and the verdict."""
    first = _RUNS_ON.split(text.lstrip(), maxsplit=1)[0]
    said = fold(words.plain(tagged(first))).casefold()
    wanted = fold(value).casefold()
    if not said.strip():
        return 0.0, "empty"
    if not _UUID.fullmatch(wanted):
        return of_words(text, [value], ["en"])
    # A key before its value is none.
    found = {
        re.sub(r"[\s-]", "", each.group())
        for each in _UUID.finditer(said)
        if not _IS_KEY.match(said, each.end()) and not _AFTER_KEY.search(said[: each.start()])
    }
    denied = {
        re.sub(r"[\s-]", "", each.group())
        for each in _UUID.finditer(said)
        if _NOT_BEFORE.search(said[: each.start()])
    }
    gold = wanted.replace("-", "")
    if gold in denied:
        return 0.0, "denied"
    if found - denied == {gold}:
        return (0.0, "denied") if _DENIED.search(said) else (1.0, "right")
    if gold not in found:
        return 0.0, "other"
    # A bare list of values chooses none of them; a sentence with several may.
    listed = not any(map(str.isalpha, _UUID.sub("", said)))
    return (0.0 if listed else None), "several"


def careful(task: str, text: str, references: Sequence[str]) -> Verdict:
    """The second scorer's verdict on an answer to a question, or on pairs if the task is "key_value"."""
    if task == "key_value":
        return pair_verdict(text, references[0])
    return question_verdict(text, references)


def score(
    instances: pa.Table,
    generations: pa.Table,
    translations: pa.Table | None,
    *,
    model: str,
    settings: LostInTheMiddle,
) -> pa.Table:
    """The scores of `generations`, as `needlework.scoring.scores.score_rows` returns them.

    Answers to the task "key_value" have the metric "key_value_accuracy", all other answers `settings.metric`.
    All answers have the metric "careful" too. If `settings.metric` is "careful", they have no other. Nothing
    is translated.
    """

    def rated(metric: Metric, row: Mapping[str, Any], text: str) -> tuple[float, str]:
        found: tuple[float, str] = globals()[metric.function](
            row["raw_text"] if metric.raw else text, row["references"]
        )
        return found

    def rate(row: Mapping[str, Any], text: str, translated: str | None) -> Rating:
        task = row["task"]
        first, own = rates(METRICS, default(METRICS), task), rates(METRICS, settings.metric, task)
        value, why = rated(first, row, text)
        verdict = second(careful(task, text, row["references"]), value)
        if settings.metric == CAREFUL:
            return [verdict]
        return [(*((value, why) if own is first else rated(own, row, text)), own.name), verdict]

    return score_rows(instances, generations, rate, model=model)
