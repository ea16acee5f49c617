"""How certain a mean is: standard errors, intervals, paired tests, effective length.

Every mean comes with two 95% intervals. `ci_low` and `ci_high` count questions (clusters), and are the
ones to compare two runs, or a run and a paper, by. `ci_low_independent` and `ci_high_independent` are
Wilson's, as if all prompts were independent draws. They are not: one question is asked at three
positions, in eight haystacks and at four lengths, and an easy question is easy in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from needlework import seeding

Labels: TypeAlias = Sequence[Hashable] | npt.ArrayLike

# How many clusters a bootstrap draws at a time: more take more memory and no less time.
_DRAWN_AT_ONCE = 1 << 17
# The 97.5% point of the normal distribution: all intervals are at 95%.
Z = 1.959963984540054


@dataclass(frozen=True)
class Estimate:
    """A mean and its uncertainty. All fields but the counts are NaN where `n` is 0."""

    value: float
    n: int
    n_questions: int
    ci_low: float
    ci_high: float
    se_independent: float
    ci_low_independent: float
    ci_high_independent: float


_NOTHING = Estimate(math.nan, 0, 0, *[math.nan] * 5)


@dataclass(frozen=True)
class McNemar:
    """Outcome of McNemar's exact test on `n` pairs of 0 or 1."""

    n: int
    first_only: int
    second_only: int
    p: float


def standard_error(p: float, n: float) -> float:
    """sqrt(p (1 - p) / n), MLNeedle's equation (1); NaN for n = 0."""
    return math.sqrt(p * (1 - p) / n) if n else math.nan


def wilson(p: float, n: float) -> tuple[float, float]:
    """Wilson's 95% score interval of a proportion `p` of `n`; (NaN, NaN) for n = 0.

    `n` need not be whole: an effective sample size serves as well.
    """
    if not n:
        return math.nan, math.nan
    centre = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    # Rounding would otherwise leave 1 - 1e-17 as the upper end of 10 out of 10.
    low = 0.0 if p == 0 else max(0.0, centre - half)
    high = 1.0 if p == 1 else min(1.0, centre + half)
    return low, high


def estimate(
    values: npt.ArrayLike,
    clusters: Labels,
    strata: Labels | None = None,
    *,
    seed: tuple[object, ...] = (),
) -> Estimate:
    """The mean of `values`, or the mean of the strata's means where `strata` are given.

    `values` are scores in [0, 1], `clusters` says which question each belongs to, `strata` which
    cell (a context length, say) it belongs to. Where all values are 0 or 1 both intervals are
    Wilson's. That over questions uses the sample size at which independent draws would have the variance that
    the questions show (Dean and Pagano, 2015, "Evaluating confidence interval methods for binomial
    proportions in clustered surveys"), and never more than the other. Other values get
    percentile bootstrap intervals, of values and of questions, drawn from `seed`.
    """
    y = np.asarray(values, dtype=np.float64)
    if len(y) == 0:
        return _NOTHING
    sums = _Sums(y, clusters, strata)
    value, variance = sums.value, sums.variance
    if ((y == 0) | (y == 1)).all():
        size = _effective_size(value, variance, sums.kish, without=sums.kish)
        # Questions that all score alike say no more than one prompt each would.
        size_clustered = (
            _effective_size(value, sums.between, size, without=sums.questions)
            if sums.questions > 1
            else 1.0
        )
        interval, clustered = wilson(value, size), wilson(value, size_clustered)
    else:
        interval = bootstrap_interval(y, np.arange(len(y)), strata, seed=seed)
        clustered = bootstrap_interval(y, clusters, strata, seed=seed)
    return Estimate(value, len(y), sums.questions, *clustered, math.sqrt(variance), *interval)


def bounds(
    values: npt.ArrayLike, failed: npt.ArrayLike, strata: Labels | None = None
) -> tuple[float, float]:
    """The mean of `values` in [0, 1] if all that `failed` were wrong, and if all were right.

    `failed` marks answers that were skipped or are errors, whatever value they have. With `strata`, the
    means of the strata's means, as in `estimate`. (NaN, NaN) of nothing.
    """
    lost = np.asarray(failed, dtype=bool)
    if not lost.size:
        return math.nan, math.nan
    names = np.zeros(lost.size) if strata is None else strata
    _, codes, sizes = np.unique(np.asarray(names), return_inverse=True, return_counts=True)
    answered = np.where(lost, 0.0, np.asarray(values, dtype=float))
    low, high = (
        float(np.mean(np.bincount(codes, weights=found) / sizes))
        for found in (answered, answered + lost)
    )
    return low, high


def bootstrap_interval(
    values: npt.ArrayLike,
    clusters: Labels,
    strata: Labels | None = None,
    *,
    seed: tuple[object, ...],
    draws: int = 2000,
) -> tuple[float, float]:
    """The 95% percentile interval of the mean (of the strata's means) when clusters are redrawn.

    The draw depends on `seed` alone, not on the order of the rows' clusters elsewhere.
    """
    table = _Sums(np.asarray(values, dtype=np.float64), clusters, strata)
    sums, counts, n_clusters = table.sums, table.counts, table.questions
    rng = seeding.rng("bootstrap", *seed)
    means = []
    at_once = max(1, _DRAWN_AT_ONCE // n_clusters)
    for first in range(0, draws, at_once):
        rows = min(at_once, draws - first)
        drawn = rng.integers(n_clusters, size=(rows, n_clusters))
        drawn += n_clusters * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        total = times @ counts
        # A stratum none of whose clusters was drawn is left out of that draw's mean.
        there = total > 0
        share = np.divide(times @ sums, total, out=np.zeros(total.shape), where=there)
        means.append(share.sum(axis=1) / there.sum(axis=1))
    low, high = np.quantile(np.concatenate(means), (0.025, 0.975))
    return float(low), float(high)


def paired_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: Labels,
    strata: Labels | None = None,
) -> Estimate:
    """The mean of second - first over pairs, with normal intervals of the difference.

    Where all pairs differ alike (or none does) the difference's variance is 0 and the normal interval
    empty; its half is then the share of other pairs that Wilson's interval still allows.
    """
    d = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    n = len(d)
    if n == 0:
        return _NOTHING
    sums = _Sums(d, clusters, strata)
    value, se = sums.value, math.sqrt(sums.variance)
    if (d != d[0]).any():
        half = Z * se
        half_clustered = max(half, Z * math.sqrt(sums.between)) if sums.questions > 1 else 1.0
    else:
        half, half_clustered = wilson(0, n)[1], wilson(0, sums.questions)[1]
    return Estimate(
        value,
        n,
        sums.questions,
        max(-1.0, value - half_clustered),
        min(1.0, value + half_clustered),
        se,
        max(-1.0, value - half),
        min(1.0, value + half),
    )


def mcnemar(first: npt.ArrayLike, second: npt.ArrayLike) -> McNemar:
    """McNemar's exact test of two models' correctness (0 or 1) on the same prompts.

    p is the two-sided binomial probability of a split as uneven as that of the pairs of which only
    one is right. It takes the pairs for independent draws.
    """
    a = np.asarray(first, dtype=np.float64)
    b = np.asarray(second, dtype=np.float64)
    first_only, second_only = int(np.sum(a > b)), int(np.sum(b > a))
    differing = first_only + second_only
    p = _even_split(first_only, differing) if differing else 1.0
    return McNemar(len(a), first_only, second_only, p)


@lru_cache(maxsize=1 << 16)
def _even_split(first: int, n: int) -> float:
    """The two-sided binomial test of `first` of `n`. Of many pairs of models, few splits are new."""
    from scipy.stats import binomtest

    return float(binomtest(first, n).pvalue)


def effective_length(
    means: Mapping[int, float], baseline: float | None, share: float = 0.75
) -> int | None:
    """The longest length whose mean is at least `share` of the baseline (MLNeedle, Table 1).

    0 where no length reaches it; None where there is no length to judge, no baseline, or a baseline
    of 0, of which every accuracy would be share enough.
    """
    judged = {length: mean for length, mean in means.items() if not math.isnan(mean)}
    if not baseline or math.isnan(baseline) or not judged:
        return None
    # The tolerance keeps 0.45 from failing against 0.75 * 0.6 = 0.45000000000000007.
    return max((k for k, mean in judged.items() if mean >= share * baseline - 1e-12), default=0)


class _Sums:
    """Sums and counts of values by question and stratum, and what follows from them.

    Everything is computed from these in the labels' own order, so that values which are whole
    numbers give the same result to the last digit in whatever order they come.
    """

    def __init__(self, y: npt.NDArray[np.float64], clusters: Labels, strata: Labels | None) -> None:
        question, n_questions = _codes(clusters)
        stratum, n_strata = (
            (np.zeros(len(y), dtype=np.intp), 1) if strata is None else _codes(strata)
        )
        cell, shape = question * n_strata + stratum, (n_questions, n_strata)
        size = n_questions * n_strata
        self.questions = n_questions
        self.sums = np.bincount(cell, weights=y, minlength=size).reshape(shape)
        self.counts = np.bincount(cell, minlength=size).reshape(shape)
        self._sizes = self.counts.sum(axis=0)
        self._means = self.sums.sum(axis=0) / self._sizes
        self._squares = np.bincount(stratum, weights=y**2) / self._sizes

    @property
    def value(self) -> float:
        """The mean of the strata's means."""
        return float(self._means.mean())

    @property
    def variance(self) -> float:
        """The variance of `value` when all values are independent: p (1 - p) / n in one stratum."""
        spread = np.clip(self._squares - self._means**2, 0, None)
        return float(np.sum(spread / self._sizes)) / len(self._means) ** 2

    @property
    def between(self) -> float:
        """The variance of `value` as the questions show it, for two questions or more."""
        residuals = (self.sums - self.counts * self._means) / (self._sizes * len(self._means))
        each = residuals.sum(axis=1)
        return self.questions / (self.questions - 1) * float(np.sum(each**2))

    @property
    def kish(self) -> float:
        """Kish's effective sample size: what is left of n when strata weigh unequally."""
        return len(self._means) ** 2 / float(np.sum(1 / self._sizes))


def _codes(labels: Labels) -> tuple[npt.NDArray[np.intp], int]:
    """Labels as whole numbers from 0 in sorted order, and how many there are."""
    import pandas as pd

    given = np.asarray(labels)
    # Codes of a larger table: there are not many more than rows.
    if given.dtype.kind == "i" and len(given) and 0 <= given.min() <= given.max() < 1 << 16:
        present = np.bincount(given) > 0
        numbers = np.cumsum(present) - 1
        return numbers[given], int(numbers[-1]) + 1
    codes, names = pd.factorize(given, sort=True)
    return codes, len(names)


def _effective_size(p: float, variance: float, most: float, without: float) -> float:
    """The n, at most `most`, at which independent draws of p have this variance.

    `without` where the variance is 0 and so tells nothing.
    """
    return min(most, p * (1 - p) / variance if variance > 0 else without)
