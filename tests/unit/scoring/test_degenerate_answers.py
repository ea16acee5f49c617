"""Answers without end, such as line breaks alone: reading them takes no more than their length."""

from __future__ import annotations

from itertools import count, product

import pytest

from growth import assert_linear
from needlework.benchmarks.lost_in_the_middle import scores as lost_in_the_middle
from needlework.benchmarks.mlneedle import scores as mlneedle
from needlework.benchmarks.mlongrr import scores as mlongrr
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
    "mlongrr, strict": lambda text: mlongrr.score_number(
        text, "1234567", ["7654321"], ["unanswerable"]
    ),
    "thoughts": lambda text: thoughts.part(text, thoughts.KNOWN, cut=False),
}
UNITS = ["\n", "12,34,", " ", "苏州、", "1", "1,23,456,", "Q ", "\n \n", "- ", "12.34."]


@pytest.mark.parametrize("reader", READERS)
def test_time_grows_with_the_length_alone(reader) -> None:
    fresh = count()

    for unit, begin in product(UNITS, ("", "Paris")):

        def work(size: int, unit: str = unit, begin: str = begin) -> None:
            # Another text each time: some readers know those that they have read.
            READERS[reader](f"{begin}{unit * (size // len(unit))}x{' ' * next(fresh)}")

        assert_linear(work, 3_000)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *[("12,34,567", {1234567}), ("1,23,45,678 and 12,34,", {12345678, 12, 34})],
        *[("12,34,56", {12, 34, 56}), ("12,34,5,67,890", {12, 34, 567890})],
    ],
)
def test_indian_groups_end_with_three_digits(text, found) -> None:
    assert numbers(text) == found
