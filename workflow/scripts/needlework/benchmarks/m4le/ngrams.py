"""How many n-grams two texts have in common, for n = 1, 2, ...

An n-gram of a text can only be in the other one if the n-gram before its last item is, so few places of a
long answer are looked at for every n.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Items = npt.NDArray[np.int64]


def numbered(found: Items, gold: Items) -> tuple[Items, Items]:
    """Both texts with the reference's items numbered from 0; -1 is an item that it does not have."""
    known, gold = np.unique(gold, return_inverse=True)
    if not len(known):
        return np.full(len(found), -1), gold
    at = np.searchsorted(known, found)
    at[at == len(known)] = 0
    return np.where(known[at] == found, at, -1), gold


def hits(found: Items, gold: Items, orders: int) -> list[int]:
    """The n-grams of `found` that `gold` has as often, for n = 1 to `orders`: clipped counts.

    Both are as `numbered` gives them. 0 where a text is shorter than n.
    """
    n_items = int(gold.max(initial=-1)) + 1
    counts_of = [0] * orders
    # Where an n-gram that the reference has begins in the answer; its number among these.
    starts = np.arange(len(found))
    prefix, own = np.zeros(len(found), np.int64), np.zeros(len(gold), np.int64)
    for n in range(min(orders, len(found), len(gold))):
        starts = starts[starts + n < len(found)]
        prefix = prefix[: len(starts)]
        follows = found[starts + n]
        starts, prefix, follows = (part[follows >= 0] for part in (starts, prefix, follows))
        keys = own[: len(gold) - n] * n_items + gold[n:]
        known, own, counts = np.unique(keys, return_inverse=True, return_counts=True)
        # Pages that nobody writes take no memory.
        number = np.zeros(n_items * len(gold), np.int32)
        number[known] = np.arange(1, len(known) + 1)
        place = number[prefix * n_items + follows] - 1
        there = place >= 0
        starts, prefix = starts[there], place[there]
        counts_of[n] = int(np.minimum(np.bincount(prefix, minlength=len(known)), counts).sum())
    return counts_of
