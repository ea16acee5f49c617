"""Answers without end, such as line breaks alone: reading them takes no more than their length."""

from __future__ import annotations

import time

import pytest

from needlework.benchmarks.lost_in_the_middle import scores as lost_in_the_middle
from needlework.benchmarks.mlneedle import scores as mlneedle
from needlework.benchmarks.mlongrr import scores as mlongrr
from needlework.benchmarks.mlongrr import scores as mlongrr_strict
from needlework.benchmarks.oneruler import scores as oneruler
from needlework.benchmarks.oneruler import strict
from needlework.benchmarks.oneruler.wording import ANSWER_TAGS, PHRASES, phrases
from needlework.models import thoughts
from needlework.scoring.metrics import numbers

WORDS = phrases(PHRASES)["en"]
READERS = {
    "mlneedle": lambda text: mlneedle.exact_verdict(text, None, ["Paris"], ["en"]),
    "lost_in_the_middle": lambda text: lost_in_the_middle.question_verdict(text, ["Paris"]),
    "oneruler": lambda text: oneruler.needles_verdict(
        strict.answer(text, ANSWER_TAGS), ["1234567"], WORDS, "en"
    ),
    "oneruler, strict": lambda text: strict.score_numbers(
        strict.answer(text, ANSWER_TAGS), ["1234567"], WORDS, lambda said: False
    ),
    "mlongrr": lambda text: mlongrr.number_verdict(text, "1234567", "en"),
    "mlongrr, strict": lambda text: mlongrr_strict.score_number(
        text, "1234567", ["7654321"], ["unanswerable"]
    ),
    "thoughts": lambda text: thoughts.part(text, thoughts.KNOWN, cut=False),
}
UNITS = ["\n", "12,34,", " ", "苏州、", "1", "1,23,456,", "Q ", "\n \n", "- ", "12.34."]


@pytest.mark.parametrize("reader", READERS)
def test_time_grows_with_the_length_alone(reader) -> None:
    """Four times the length takes at most some eight times as long: a square would take sixteen."""
    read = READERS[reader]
    read("Paris")

    def seconds(text: str) -> float:
        times = []
        for _ in range(3):
            fresh = text + " " * len(times)
            start = time.process_time()
            read(fresh)
            times.append(time.process_time() - start)
        return min(times)

    for unit in UNITS:
        for begin in ("", "Paris"):
            text = begin + unit * (50_000 // len(unit)) + "x"
            short, long = seconds(text[:12_000]), seconds(text)
            assert long < 0.5 or long < 8 * short, (unit, short, long)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("12,34,567", {1234567}),
        ("1,23,45,678 and 12,34,", {12345678, 12, 34}),
        ("12,34,56", {12, 34, 56}),
        ("12,34,5,67,890", {12, 34, 567890}),
    ],
)
def test_indian_groups_end_with_three_digits(text, found) -> None:
    assert numbers(text) == found
