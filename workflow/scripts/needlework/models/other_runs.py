"""Runs that share a journal at the same time: none sends a request that another has finished."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence, Set

from needlework.journal import Journal, Record

# How often to look for what other runs have finished.
LOOK_SECONDS = 0.5


class Others:
    """The missing requests that other runs, which share the journal, finish meanwhile."""

    def __init__(
        self, journal: Journal, missing: Set[str], holds: Callable[[Record], bool]
    ) -> None:
        self._journal, self._missing, self._holds = journal, missing, holds
        self._found: dict[str, Record] = {}
        # The requests that this run therefore does not send.
        self.used: dict[str, Record] = {}
        self._next_look = 0.0

    def answer(self, key: str) -> bool:
        """Whether another run has answered the request, which is then `used`."""
        start = time.monotonic()
        if start >= self._next_look:
            for record in self._journal.news():
                if record["key"] in self._missing and self._holds(record):
                    self._found.setdefault(record["key"], record)
            # A journal of many files on a slow disk is looked at less often.
            end = time.monotonic()
            self._next_look = end + max(LOOK_SECONDS, 20 * (end - start))
        if key in self._found:
            self.used[key] = self._found[key]
        return key in self._found


def start_place(keys: Sequence[str], missing: Set[str], others: int) -> int:
    """The place in `keys` at which to begin, with this number of other runs at work.

    The first begins at the beginning, the second in the middle of what is missing, the next ones in
    the middle of what is left between: runs that started together then meet as late as can be.
    """
    places = [place for place, key in enumerate(keys) if key in missing]
    fraction, half = 0.0, 0.5
    while others:
        fraction += half * (others % 2)
        others, half = others // 2, half / 2
    return places[int(fraction * len(places))] if fraction else 0
