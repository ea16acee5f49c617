"""The share of a job's work that is done, by the tokens of its prompts and answers."""

from __future__ import annotations

import pytest

from needlework.models.outcomes import Size
from needlework.models.work_done import ANSWER_TOKEN, WorkDone


def made(**tokens: int) -> WorkDone:
    """A job with prompts of so many tokens, whose answers have 100 at most."""
    sizes = {key: Size("kind", key, n, 100) for key, n in tokens.items()}
    return WorkDone(sizes, sizes)


def test_long_prompts_count_for_more() -> None:
    work = made(short=100, long=900)
    work.sent("short")
    work.answered("short", 0)
    assert work.share() == pytest.approx(0.1)


@pytest.mark.parametrize(("tokens", "taken"), [(10, 10), (None, 100)])
def test_answers_to_come_are_as_short_as_those_that_came(tokens, taken) -> None:
    """The second prompt is ten times as long; answers of unknown length are as long as allowed."""
    work = made(first=100, second=1000)
    work.sent("first")
    work.answered("first", tokens)
    one, other = 100 + taken * ANSWER_TOKEN, 1000 + taken * ANSWER_TOKEN
    assert work.share() == pytest.approx(one / (one + other))


def test_prompts_under_way_are_half_done() -> None:
    work = made(a=100, b=100, c=100, d=100)
    for key in "abc":
        work.sent(key)
    work.answered("a", 0)
    # One ended, two may end with it: nothing is known yet.
    assert work.share() == 0
    work.answered("b", 0)
    assert work.share() == pytest.approx(2.5 / 4)


def test_failed_requests_are_no_work() -> None:
    work = made(refused=5000, a=100, b=100)
    for key in ("refused", "a"):
        work.sent(key)
    work.answered("refused", None, failed=True)
    work.answered("a", 0)
    assert work.share() == pytest.approx(0.5)
    work.sent("b")
    work.answered("b", 0)
    assert work.share() == 1
