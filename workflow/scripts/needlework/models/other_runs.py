"""Runs that share a journal at the same time: no run sends a request that another run has finished."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from needlework.journal import Journal, Record

# How often to look for what other runs have finished.
LOOK_SECONDS = 0.25
# Looking takes at most this share of the time, so a journal of many files on a slow disk is read less often.
LOOK_SHARE = 0.05

# What a run knows of a request that was missing when it began.
FREE, SENT, FINISHED = range(3)


class Turns:
    """Which missing request a run sends next, while other runs that share its journal send theirs.

    Requests are numbered from 0 to `size`, in the order in which neighbours share the longest prefix. The
    first run begins at the beginning, the second in the middle, each next one in the middle of a remaining
    gap. So runs that started together meet as late as possible.

    A run goes on from request to request until it comes to a request that another run has sent. If it
    followed that run, both would send the same requests, since each hears late of the other's answers. So it
    jumps into the widest gap of requests that nobody is known to have finished.
    """

    def __init__(self, size: int, others: int, dice: random.Random) -> None:
        """`others` is the number of runs that were at work when this one began."""
        self._state = np.zeros(size, np.uint8)
        self._next = int(size * _fraction(others))
        self._dice = dice

    def finished(self, requests: Iterable[int]) -> None:
        """Take note of requests that other runs have finished."""
        for request in requests:
            if self._state[request] == FREE:
                self._state[request] = FINISHED

    def next(self) -> int | None:
        """The request to send next, which then counts as sent; None if none is left."""
        if self._next >= len(self._state) or self._state[self._next] != FREE:
            place = self._jump()
            if place is None:
                return None
            self._next = place
        place, self._next = self._next, self._next + 1
        self._state[place] = SENT
        return place

    def _jump(self) -> int | None:
        """Where to go on: in the widest gap of free requests; None without any."""
        free = np.concatenate(([False], self._state == FREE, [False]))
        edges = np.flatnonzero(free[1:] != free[:-1])
        starts, ends = edges[::2], edges[1::2]
        if not len(starts):
            return None
        widest = int(np.argmax(ends - starts))
        start, end = int(starts[widest]), int(ends[widest])
        if start == 0 or self._state[start - 1] != FINISHED:
            # No other run is about to enter the gap.
            return start
        # Another run comes from the gap's beginning. It has sent more than is known, so that a place after
        # the middle halves what is left. Runs that jump at the same time must not meet: hence the dice.
        return start + int((end - start) * self._dice.uniform(0.45, 0.65))


def _fraction(others: int) -> float:
    """Where the run begins that finds this number of others at work: 0, 1/2, 1/4, 3/4, 1/8, ..."""
    fraction, half = 0.0, 0.5
    while others:
        fraction += half * (others % 2)
        others, half = others // 2, half / 2
    return fraction


class Others:
    """The missing requests that other runs finish meanwhile.

    Requests are given by their keys, in the order of sending.
    """

    def __init__(
        self, journal: Journal, missing: Sequence[str], holds: Callable[[Record], bool]
    ) -> None:
        self._journal, self._holds = journal, holds
        self._numbers = {key: number for number, key in enumerate(missing)}
        self.found: dict[str, Record] = {}
        self._next_look = 0.0

    def look(self) -> list[int]:
        """The numbers of the requests that others have finished since the last look."""
        start = time.monotonic()
        if start < self._next_look:
            return []
        new = []
        for record in self._journal.news():
            key = record["key"]
            if key in self._numbers and key not in self.found and self._holds(record):
                self.found[key] = record
                new.append(self._numbers[key])
        end = time.monotonic()
        self._next_look = end + max(LOOK_SECONDS, (end - start) / LOOK_SHARE)
        return new
