"""The seconds that a job of answers still takes, by tokens and by the rate since its first answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from needlework.models.outcomes import PromptSize

# A token of an answer takes the time of so many tokens of a prompt, roughly, with several prompts at once.
ANSWER_TOKEN = 4
# Answers until so many times the seconds to the first one came with it, from an engine that works on several.
_WITH_THE_FIRST = 1.2


@dataclass
class _Tokens:
    """Tokens of some prompts, and the limits of their answers."""

    prompts: int = 0
    limits: int = 0

    def add(self, size: PromptSize, sign: int = 1) -> None:
        self.prompts += sign * size.tokens
        self.limits += sign * size.new


class WorkDone:
    """The work of a job, in tokens of prompts and of answers, and how much of it is done.

    Answers are seldom as long as their limits. So missing answers are assumed to use the same share of their
    limits as the answers that came. An engine that works on several prompts gives no answer for a while, and
    then answers at its rate. So the rate is measured from the first answers on.
    """

    def __init__(
        self,
        sizes: Mapping[str, PromptSize],
        missing: Iterable[str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sizes, self._clock = sizes, clock
        self.all, self._done, self._first = _Tokens(), _Tokens(), _Tokens()
        self._first_s = self._last_s = 0.0
        self._answered = 0
        for key in missing:
            self.all.add(sizes[key])
        self.begin()

    def begin(self) -> None:
        """Start the clock now: the time before says nothing of the rate."""
        self._began = self._clock()

    def answered(self, key: str, tokens: int | None, failed: bool = False) -> None:
        """Count an answer of this many tokens (None: unknown). A failed one is taken to cost no time."""
        size = self._sizes[key]
        if failed:
            self.all.add(size, -1)
            return
        now = self._clock() - self._began
        self._done.add(size)
        self._answered += size.new if tokens is None else min(tokens, size.new)
        self._last_s = now
        if now <= _WITH_THE_FIRST * (self._first_s or now):
            self._first = replace(self._done)
            self._first_s = self._first_s or now

    def seconds_left(self) -> float | None:
        """The seconds until the last answer; None while all answers came with the first."""
        weight = ANSWER_TOKEN * self._answered / max(self._done.limits, 1)
        first, done, whole = (
            part.prompts + weight * part.limits for part in (self._first, self._done, self.all)
        )
        if done == first:
            return None
        at_last = (whole - done) * (self._last_s - self._first_s) / (done - first)
        return max(0.0, at_last - (self._clock() - self._began - self._last_s))
