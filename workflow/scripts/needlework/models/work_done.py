"""The share of a job's work that is done, by tokens; the time left is estimated from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from needlework.models.outcomes import Size

# A token of an answer takes the time of so many tokens of a prompt, roughly, with several prompts at once.
ANSWER_TOKEN = 4


@dataclass
class _Tokens:
    """Tokens of some prompts, and the limits of their answers."""

    prompts: int = 0
    limits: int = 0

    def add(self, size: Size, sign: int = 1) -> None:
        self.prompts += sign * size.tokens
        self.limits += sign * size.new


class WorkDone:
    """The share of a job's work that is done.

    Answers are seldom as long as their limits: those that are missing are taken to be as long, by their
    limits, as those that came. Of the prompts that the backend has now, half the work is taken to be done.
    """

    def __init__(self, sizes: Mapping[str, Size], missing: Iterable[str]) -> None:
        self._sizes = sizes
        self._all, self._under_way, self._done = _Tokens(), _Tokens(), _Tokens()
        self._answered = 0
        for key in missing:
            self._all.add(sizes[key])

    def sent(self, key: str) -> None:
        """Count a prompt that the backend took."""
        self._under_way.add(self._sizes[key])

    def answered(self, key: str, tokens: int | None, failed: bool = False) -> None:
        """Count an answer of so many tokens (None: unknown); one that failed took no time to speak of."""
        size = self._sizes[key]
        self._under_way.add(size, -1)
        if failed:
            self._all.add(size, -1)
            return
        self._done.add(size)
        self._answered += size.new if tokens is None else min(tokens, size.new)

    def share(self) -> float:
        """The share, from 0 to 1; 0 until as much is done as is under way, since all may end together."""
        weight = ANSWER_TOKEN * self._answered / max(self._done.limits, 1)
        done, under_way, whole = (
            part.prompts + weight * part.limits for part in (self._done, self._under_way, self._all)
        )
        return (done + under_way / 2) / whole if 0 < done >= under_way else 0.0
