"""Is a difference more than chance? Exact tests over questions, and corrections for many tests.

Under the null hypothesis the sides of a comparison could change places, question by question, without a
trace. perf/claims.py simulates pages of such tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from needlework import seeding
from needlework.results import stats

Floats = npt.NDArray[np.float64]

ALPHA = 0.05
# Sums are counted in units of 1 / n for the first n that makes all moves whole numbers ...
_DENOMINATORS = (*range(1, 7), 8, 9, 10, 12, 15, 16, 18, 20, 24, 30, 36, 48, 60, 90, 120, 360, 720)
# ... otherwise with so many units in a standard deviation of a move, or fewer if a test takes more steps.
_UNITS, _MOST_STEPS = 200, 1 << 26
# A sum is beyond so many standard deviations less often than a double's precision (Hoeffding's bound).
_BEYOND = 8.7
# The rounding error of the transform.
_LEAST = 1e-12
# Labels drawn by `label_test`, in all and at a time; so many larger differences end it early.
_DRAWS, _AT_ONCE, _ENOUGH = 100_000, 2000, 200


def exchange_test(moves: npt.ArrayLike, *, loss: bool = False) -> tuple[float, float]:
    """The two-sided p of a sum of moves, and the least p that moves of these sizes can have.

    `moves` (questions x k) has a row per question: its moves in k arrangements that are equally likely under
    the null hypothesis. The observed arrangement is first. `loss`: whether only sums below 0 count (a
    one-sided test). If a row is a difference of two sides and its negative, this is the sign-flip test; with
    one prompt per question, it is McNemar's.

    The distribution is exact: it is the Fourier transform of the product of the rows' characteristic
    functions. If moves are no multiples of a common unit, they are rounded, and p is slightly too large. p is
    at least _LEAST. (NaN, NaN) without questions, (1, 1) if nothing moves.
    """
    t = np.asarray(moves, dtype=np.float64)
    if not len(t):
        return math.nan, math.nan
    t = t[np.abs(t).max(axis=1) > 1e-12]
    if not len(t):
        return 1.0, 1.0
    least = min(1.0, (2 - loss) * t.shape[1] ** -float(len(t)))
    unit, rounding = _unit(t)
    observed = float(np.rint(t[:, 0] / unit).sum())
    steps = np.rint(np.sort(t, axis=1) / unit)
    kinds, times = np.unique(steps, axis=0, return_counts=True)
    largest = np.abs(kinds).max(axis=1)
    reach = min(float(times @ largest), _BEYOND * math.sqrt(float(times @ largest**2)))
    size = 2 * (int(abs(observed) + rounding + reach) + 2)
    frequencies = np.arange(size // 2 + 1) * (2 * math.pi / size)
    spectrum: npt.NDArray[np.complexfloating] = np.ones(len(frequencies), dtype=np.complex128)
    for kind, n in zip(kinds, times, strict=True):
        if len(kind) == 2:
            spectrum *= np.cos(kind[1] * frequencies) ** int(n)
        else:
            spectrum *= np.exp(-1j * np.outer(kind, frequencies)).mean(axis=0) ** int(n)
    shares = np.fft.irfft(spectrum, size)
    sums = (np.arange(size) + size // 2) % size - size // 2
    beyond = sums <= observed + rounding if loss else np.abs(sums) >= abs(observed) - rounding
    # More digits are rounding errors.
    return min(1.0, max(round(float(shares[beyond].sum()), 12), least, _LEAST)), least


def _unit(t: Floats) -> tuple[float, float]:
    """The unit of a grid of sums, and how far a sum can be from its place on the grid, in units."""
    for n in _DENOMINATORS:
        if np.abs(t * n - np.rint(t * n)).max() < 1e-6:
            return 1 / n, 0.5
    spread, reach = math.sqrt(float((t**2).mean())), math.sqrt(float((t**2).max(axis=1).sum()))
    units = min(_UNITS, _MOST_STEPS / len(t) / (2 * _BEYOND * reach / spread))
    # Three standard deviations of the rounding of so many moves.
    return spread / units, 3 * math.sqrt(len(t) / 12)


def label_test(
    sums: npt.ArrayLike,
    counts: npt.ArrayLike,
    strata: npt.ArrayLike | None = None,
    *,
    loss: bool = False,
    seed: tuple[object, ...] = (),
) -> tuple[float, float]:
    """p and least p as in `exchange_test`, of a difference of means between sides that ask other questions.

    sums, counts: questions x 2, each question's sum and number of values on the first and on the second
    side. The labels of questions on one side are permuted within the `strata`, a code per question; the
    values of questions on both sides change places. The test draws _DRAWS arrangements from `seed`, fewer if
    many are beyond the observed difference (Besag and Clifford, 1991, "Sequential Monte Carlo p-values").
    """
    s, n = np.asarray(sums, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    asked = n.any(axis=1)
    of = (np.zeros(len(s)) if strata is None else np.asarray(strata))[asked]
    s, n = s[asked], n[asked]
    if not n.any(axis=0).all():
        return math.nan, math.nan
    groups = [_Labels(s[of == code], n[of == code]) for code in np.unique(of)]
    # Two-sided, the farther of both ends may be the one with fewer arrangements.
    ends = [sum(group.choices[end] for group in groups) for end in (0, 1)]
    least = math.exp(-ends[0] if loss else -max(ends))
    total = np.array([s.sum(), n.sum()])

    def difference(second: Floats) -> Floats:
        """The second side's mean less the first's, if these are sum and count of the second side."""
        first = total - second
        found: Floats = second[:, 0] / second[:, 1] - first[:, 0] / first[:, 1]
        return found

    observed = float(difference(np.array([[s[:, 1].sum(), n[:, 1].sum()]]))[0])
    rng, hits, drawn = seeding.rng("labels", *seed), 0, 0
    while drawn < _DRAWS and hits < _ENOUGH:
        found = difference(np.sum([group.drawn(rng) for group in groups], axis=0))
        beyond = found <= observed + 1e-9 if loss else np.abs(found) >= abs(observed) - 1e-9
        hits += int(beyond.sum())
        drawn += _AT_ONCE
    return max((1 + hits) / (1 + drawn), least), least


class _Labels:
    """The questions of a stratum: those on one side in kinds with the same values, and those on both.

    choices: of both ends, that with the least and that with the largest values on the second side, the
    logarithm of how many arrangements there are per arrangement like it.
    """

    def __init__(self, s: Floats, n: Floats) -> None:
        both = n.all(axis=1)
        self.pairs, self.of_pairs = np.unique(
            np.column_stack([s, n])[both], axis=0, return_counts=True
        )
        loose = np.column_stack([s[~both].sum(axis=1), n[~both].sum(axis=1)])
        self.kinds, self.of_kinds = np.unique(loose, axis=0, return_counts=True)
        self.n_second = int((n[~both, 1] > 0).sum())
        every = _log_choices(len(loose), self.n_second) + int(both.sum()) * math.log(2)
        self.choices = [every, every]
        if self.n_second and not len(self.pairs) and len(set(loose[:, 1])) == 1:
            # The questions of an end can be chosen in several ways if some are alike.
            for end, values in enumerate((loose[:, 0], -loose[:, 0])):
                last = np.sort(values)[self.n_second - 1]
                alike, before = int((values == last).sum()), int((values < last).sum())
                self.choices[end] -= _log_choices(alike, self.n_second - before)

    def drawn(self, rng: np.random.Generator) -> Floats:
        """Sum and count of the second side in random arrangements: _AT_ONCE x 2."""
        own = np.zeros((_AT_ONCE, 2))
        if len(self.kinds):
            own += (
                rng.multivariate_hypergeometric(self.of_kinds, self.n_second, _AT_ONCE) @ self.kinds
            )
        if len(self.pairs):
            kept = rng.binomial(self.of_pairs, 0.5, (_AT_ONCE, len(self.pairs)))
            own += kept @ self.pairs[:, [1, 3]] + (self.of_pairs - kept) @ self.pairs[:, [0, 2]]
        return own


def _log_choices(n: int, k: int) -> float:
    """The logarithm of the number of ways to choose k of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def holm(p: npt.ArrayLike) -> Floats:
    """Holm's adjusted p values of a family of tests, in the given order.

    A NaN stays NaN and is no part of the family.
    """
    p = np.asarray(p, dtype=np.float64)
    adjusted = np.full(len(p), math.nan)
    order = [i for i in np.argsort(p, kind="stable") if not math.isnan(p[i])]
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p[i]))
        adjusted[i] = highest
    return adjusted


def shown(p: Sequence[float], least: Sequence[float]) -> npt.NDArray[np.bool_]:
    """Which tests of a family show a difference. With 95%, none of the differences shown is false.

    `p` is the p of each test, `least` the least p that it could have. The procedure is Holm's. A test that
    could never reach the level of its step takes no part in the correction (Tarone, 1990, "A modified
    Bonferroni method for discrete data"). A NaN shows nothing.
    """
    values, possible = np.asarray(p, dtype=np.float64), np.asarray(least, dtype=np.float64)
    found = np.zeros(len(values), dtype=bool)
    while True:
        left = np.sort(possible[~found & ~np.isnan(values)])
        # The fewest tests to correct for: no more than these could reach the corrected level.
        n = next((k for k in range(1, len(left) + 1) if (left <= ALPHA / k).sum() <= k), 1)
        new = ~found & (values <= ALPHA / n)
        if not new.any():
            return found
        found |= new


def paired_test(differences: npt.ArrayLike, clusters: stats.Labels) -> tuple[float, float]:
    """`exchange_test` of pairs of values: their differences, and the question that each pair is of."""
    import pandas as pd

    d = np.asarray(differences, dtype=np.float64)
    if not len(d):
        return math.nan, math.nan
    codes, _ = pd.factorize(np.asarray(clusters))
    moves = np.bincount(codes, weights=d)
    return exchange_test(np.column_stack([moves, -moves]))
