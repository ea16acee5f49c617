"""The time left of a job of answers, on a clock of the tests' own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from needlework.models.outcomes import PromptSize
from needlework.models.work_done import ANSWER_TOKEN, WorkDone


class Job:
    """A job with prompts of so many tokens, whose answers have 100 at most."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self.now = 1000.0
        sizes = {
            str(place): PromptSize("kind", str(place), n, 100) for place, n in enumerate(tokens)
        }
        self.work = WorkDone(sizes, sizes, clock=lambda: self.now)

    def answer(self, place: int, at: float, tokens: int | None = 0, failed: bool = False) -> None:
        self.now = 1000 + at
        self.work.answered(str(place), tokens, failed)

    @property
    def left(self) -> float | None:
        return self.work.seconds_left()


@pytest.mark.parametrize("concurrency", [1, 8])
def test_one_by_one_the_rest_takes_as_long_again(concurrency: int) -> None:
    job = Job([100] * 24)
    for place in range(18):
        job.answer(place, at=12.5 * (place + 1))
    assert job.left == pytest.approx(6 * 12.5)
    job.now += 10
    assert job.left == pytest.approx(6 * 12.5 - 10)


def test_many_at_once_are_timed_from_the_first_answer() -> None:
    """Of 400 prompts, 100 are under way: a second passes between two answers, after a hundred seconds."""
    job = Job([100] * 400)
    for place in range(200):
        job.answer(place, at=100 + place)
    assert job.left == pytest.approx(200, rel=0.15)


def test_answers_of_one_batch_say_no_rate() -> None:
    job = Job([100] * 24)
    for batch in range(2):
        for place in range(8):
            job.answer(8 * batch + place, at=60 * (batch + 1) + place / 100)
        if batch == 0:
            assert job.left is None
    assert job.left == pytest.approx(60, rel=0.01)


@pytest.mark.parametrize(("tokens", "taken"), [(10, 10), (None, 100)])
def test_answers_to_come_are_as_short_as_those_that_came(tokens: int | None, taken: int) -> None:
    """The third prompt is ten times as long; answers of unknown length are as long as allowed."""
    job = Job([100, 100, 1000])
    job.answer(0, at=10, tokens=tokens)
    job.answer(1, at=20, tokens=tokens)
    one, other = 100 + taken * ANSWER_TOKEN, 1000 + taken * ANSWER_TOKEN
    assert job.left == pytest.approx(10 * other / one)


def test_failed_requests_are_no_work() -> None:
    job = Job([5000, 100, 100, 100])
    job.answer(0, at=1, tokens=None, failed=True)
    job.answer(1, at=10)
    job.answer(2, at=20)
    assert job.left == pytest.approx(10)
    job.answer(3, at=30)
    assert job.left == 0
