"""Which prompts a curve is made of: the same at every level, so that nothing else changes along it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

# Sets of levels that are tried, each with every other: those that most units have.
MOST_TRIED = 48
# The share of the units of the best two levels that must be left when more levels are kept.
LEAST_KEPT = 0.5


def crossed(levels: Codes, units: Codes) -> Mask:
    """The rows of units that have every level that is kept, with as many rows at each.

    Both are codes from 0. A unit is what must be the same at all levels: a question in its setting. As many
    levels are kept as LEAST_KEPT allows; without two levels that share a unit, no row is.
    """
    if not len(levels):
        return np.zeros(0, dtype=bool)
    n = int(levels.max()) + 1
    cell = units * n + levels
    counts = np.bincount(cell, minlength=(int(units.max()) + 1) * n).reshape(-1, n)
    kept = _kept_levels(counts > 0)
    if not kept.any():
        return np.zeros(len(levels), dtype=bool)
    fewest = counts[:, kept].min(axis=1)
    return kept[levels] & (_rank(cell) < fewest[units])


def _kept_levels(there: Mask) -> Mask:
    """The levels that are kept; `there` says which of them each unit has."""
    patterns, n_units = np.unique(there, axis=0, return_counts=True)
    shared = (patterns * n_units[:, None]).T @ patterns
    np.fill_diagonal(shared, 0)
    if not shared.max():
        return np.zeros(there.shape[1], dtype=bool)
    common = patterns[np.argsort(-n_units, kind="stable")[:MOST_TRIED]]
    pairs = [one & other for one, other in combinations(common, 2)]
    best_pair = np.zeros(there.shape[1], dtype=bool)
    best_pair[list(np.unravel_index(shared.argmax(), shared.shape))] = True
    tried = np.unique(np.array([*common, *pairs, best_pair]), axis=0)
    tried = tried[tried.sum(axis=1) >= 2]
    having = np.array(
        [n_units[(patterns | ~levels).all(axis=1)].sum() for levels in tried], dtype=np.intp
    )
    enough = having >= LEAST_KEPT * shared.max()
    # The most levels, then the most units, then the first levels.
    order = np.lexsort((having[enough], tried[enough].sum(axis=1)))
    found: Mask = tried[enough][order[-1]]
    return found


def _rank(cell: Codes) -> Codes:
    """The place of each row among those of its cell, in the order of rows."""
    order = np.argsort(cell, kind="stable")
    found = cell[order]
    starts = np.flatnonzero(np.r_[True, found[1:] != found[:-1]])
    sizes = np.diff(np.r_[starts, len(found)])
    rank = np.empty(len(cell), dtype=np.intp)
    rank[order] = np.arange(len(found)) - np.repeat(starts, sizes)
    return rank
