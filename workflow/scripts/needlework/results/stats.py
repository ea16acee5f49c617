"""How certain a mean is: standard errors, intervals, paired tests, effective length.

Every mean comes with two 95% intervals. `ci_low` and `ci_high` are over questions (clusters): use them to
compare two runs, or a run with a paper. `ci_low_independent` and `ci_high_independent` are
made as if all prompts were independent draws. They are not: one question is asked at three
positions, in eight haystacks and at four lengths, and an easy question is easy in all of them.

All intervals have the same idea: with few questions, their spread is not known, so pseudo-questions are added
that differ as much as questions can. perf/intervals.py simulates them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from needlework import seeding

Labels: TypeAlias = Sequence[Hashable] | npt.ArrayLike

# How many clusters a bootstrap draws at a time: more take more memory and no less time.
_DRAWN_AT_ONCE = 1 << 17
# Samples of a bootstrap interval.
_DRAWS = 1000
# The 97.5% point of the normal distribution: all intervals are at 95%.
Z = 1.959963984540054
# Pseudo-questions in the variance of a mean.
PSEUDO = 2


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

    `n` may be fractional, such as an effective sample size.
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
) -> Estimate:
    """The mean of `values`, or the mean of the strata's means where `strata` are given.

    `values` are scores in [0, 1], `clusters` says which question each belongs to, `strata` which
    cell (a context length, say) it belongs to. Both intervals are Clopper and Pearson's, at the number of
    draws of 0 or 1 that would have the variance of the mean (Korn and Graubard, 1998, "Confidence intervals
    for proportions with small expected number of positive counts estimated from survey data"). The variance
    between questions is that of the questions and of two pseudo-questions, all prompts of which score alike.
    """
    y = np.asarray(values, dtype=np.float64)
    if len(y) == 0:
        return _NOTHING
    sums = _Sums(y, clusters, strata)
    clustered = sums.mean_interval()
    interval = clustered
    if sums.questions < len(y):
        interval = _Sums(y, np.arange(len(y)), strata).mean_interval()
    return Estimate(
        sums.value, len(y), sums.questions, *clustered, math.sqrt(sums.variance), *interval
    )


def clopper_pearson(p: float, n: float) -> tuple[float, float]:
    """Clopper and Pearson's 95% interval of a share `p` of `n` draws; `n` need not be whole."""
    from scipy.special import betaincinv

    low = betaincinv(p * n, n - p * n + 1, 0.025) if p > 0 else 0.0
    high = betaincinv(p * n + 1, n - p * n, 0.975) if p < 1 else 1.0
    return float(low), float(high)


def bounds(
    values: npt.ArrayLike, failed: npt.ArrayLike, strata: Labels | None = None
) -> tuple[float, float]:
    """The mean of `values` in [0, 1] if all that `failed` were wrong, and if all were right.

    `failed` marks answers that were skipped or are errors, whatever value they have. With `strata`, the
    means of the strata's means, as in `estimate`. (NaN, NaN) without values.
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
    values: npt.ArrayLike, clusters: Labels, *, seed: tuple[object, ...]
) -> tuple[float, float]:
    """The 95% percentile interval of the mean when clusters are redrawn.

    The draw depends on `seed` alone, not on the order of the rows' clusters elsewhere.
    """
    table = _Sums(np.asarray(values, dtype=np.float64), clusters, None)
    n_clusters = table.questions
    rng = seeding.rng("bootstrap", *seed)
    means = []
    at_once = max(1, _DRAWN_AT_ONCE // n_clusters)
    for first in range(0, _DRAWS, at_once):
        rows = min(at_once, _DRAWS - first)
        drawn = rng.integers(n_clusters, size=(rows, n_clusters))
        drawn += n_clusters * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        means.append((times @ table.sums / (times @ table.counts))[:, 0])
    low, high = np.quantile(np.concatenate(means), (0.025, 0.975))
    return float(low), float(high)


def paired_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: Labels,
    strata: Labels | None = None,
) -> Estimate:
    """The mean of second - first over pairs of scores in [0, 1], with the interval of `_difference`."""
    d = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    n = len(d)
    if n == 0:
        return _NOTHING
    sums = _Sums(d, clusters, strata)
    clustered = sums.difference_interval()
    interval = clustered
    if sums.questions < n:
        interval = _Sums(d, np.arange(n), strata).difference_interval()
    return Estimate(sums.value, n, sums.questions, *clustered, math.sqrt(sums.variance), *interval)


def difference_of_sides(
    values: npt.NDArray[np.float64],
    clusters: Labels,
    first: npt.NDArray[np.bool_],
    second: npt.NDArray[np.bool_],
) -> tuple[float, float, float, int]:
    """The second side's mean less the first's, its interval (`_difference`), and the number of clusters.

    `values` are scores in [0, 1]; the masks choose the sides' values. A cluster can have values on both.
    """
    here = first | second
    codes, n = _codes(np.asarray(clusters)[here])
    moved = np.zeros(n)
    value = alike = apart = 0.0
    for sign, mask in ((-1.0, first[here]), (1.0, second[here])):
        own, of = values[here][mask], codes[mask]
        mean, spread = float(own.mean()), float(own.var())
        counts = np.bincount(of, minlength=n) / len(own)
        value += sign * mean
        moved += sign * (np.bincount(of, own, minlength=n) / len(own) - counts * mean)
        alike += spread * float(counts @ counts)
        apart += spread / len(own)
    return value, *_difference(value, moved, alike, apart), n


def _difference(
    value: float, moved: npt.NDArray[np.float64], alike: float, apart: float
) -> tuple[float, float]:
    """The 95% interval of a difference of means of scores in [0, 1] that each question has moved by so much.

    Bonett and Price's (2012, "Adjusted Wald confidence interval for a difference of binomial proportions
    based on paired data"), for questions instead of pairs: to the questions come two pseudo-questions, one
    that gains and one that loses as much as the questions' spread allows. alike, apart: the variance of the
    difference if all prompts of a question scored alike, and if they were independent.
    """
    from scipy.special import stdtrit

    n = len(moved)
    squares = n * n * float(moved @ moved)
    size2 = 1.0
    if alike > 0 and n > 1:
        size2 = min(1.0, max(squares / (n - 1) / n, apart) / alike)
    mean = value * n / (n + 2)
    variance = ((squares + n * value**2 + 2 * size2) / (n + 2) - mean**2) / (n + 1)
    half = float(stdtrit(n + 1, 0.975)) * math.sqrt(variance)
    return max(-1.0, mean - half), min(1.0, mean + half)


def mcnemar(first: npt.ArrayLike, second: npt.ArrayLike) -> McNemar:
    """McNemar's exact test of two models' correctness (0 or 1) on the same prompts.

    p is the two-sided binomial probability of a split at least as uneven as that between pairs in which only
    the first, and only the second, is right. It treats pairs as independent draws.
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


# The share of the baseline that an effective length reaches.
EFFECTIVE = 0.75


def effective_length(means: Mapping[int, float], baseline: float | None) -> int | None:
    """The longest length whose mean is at least EFFECTIVE of the baseline (MLNeedle, Table 1).

    0 if no length reaches it. None if there are no lengths or no baseline, or if the baseline is 0, which
    every accuracy would reach.
    """
    judged = {length: mean for length, mean in means.items() if not math.isnan(mean)}
    if not baseline or math.isnan(baseline) or not judged:
        return None
    # The tolerance keeps 0.45 from failing against 0.75 * 0.6 = 0.45000000000000007.
    return max((k for k, mean in judged.items() if mean >= EFFECTIVE * baseline - 1e-12), default=0)


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

    def _moved(self, to: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """By how much `value` rises above the mean for each question if its sums are `to`."""
        moved: npt.NDArray[np.float64] = (
            (to - self.counts * self._means) / (self._sizes * len(self._means))
        ).sum(axis=1)
        return moved

    @property
    def _alike(self) -> float:
        """By how much `value` varies, in units of one value's variance, if all values of a question are alike."""
        weights = (self.counts / (self._sizes * len(self._means))).sum(axis=1)
        return float(weights @ weights)

    def mean_interval(self) -> tuple[float, float]:
        """The interval of `value` over questions, for values in [0, 1] (`estimate`)."""
        n, value = self.questions, self.value
        # The variance of one draw of 0 or 1.
        draw = float(np.mean(self._means * (1 - self._means)))
        if draw <= 1e-12:
            # Each stratum is all right or all wrong.
            sizes = self._sizes**2 / (self.counts**2).sum(axis=0)
            ends = [clopper_pearson(p, size) for p, size in zip(self._means.round(), sizes)]
            low, high = np.mean(ends, axis=0)
            return float(low), float(high)
        moved = self._moved(self.sums)
        squares = float(moved @ moved)
        added = PSEUDO * self._alike / n * draw
        variance = max((squares + added) * n / (n + PSEUDO), self.variance)
        return clopper_pearson(value, value * (1 - value) / variance)

    def difference_interval(self) -> tuple[float, float]:
        """The interval of `value` over questions, for differences (`_difference`)."""
        spread = float(np.mean(np.clip(self._squares - self._means**2, 0, None)))
        return _difference(self.value, self._moved(self.sums), self._alike * spread, self.variance)


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
