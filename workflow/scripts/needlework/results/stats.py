"""How certain a mean is: standard errors, intervals, paired tests, effective length.

Every mean comes with two 95% intervals. `ci_low` and `ci_high` are over questions (clusters): use them to
compare two runs, or a run with a paper. `ci_low_independent` and `ci_high_independent` are
made as if all prompts were independent draws. They are not: one question is asked at three
positions, in eight haystacks and at four lengths, and an easy question is easy in all of them.

Shares of right answers have Wilson's interval. Differences, and means of other scores, have Gaffke's
(`limits`), which also hold for few questions and where no answer differs; perf/intervals.py simulates both.
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
# Where the pole of an upper limit can be: logarithms of its distance, in units of the values' range.
_LOG_GAPS = (-30.0, 7.0)


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
    cell (a context length, say) it belongs to. Where all values are 0 or 1 both intervals are
    Wilson's. That over questions uses the sample size at which independent draws would have the variance that
    the questions show (Dean and Pagano, 2015, "Evaluating confidence interval methods for binomial
    proportions in clustered surveys"), and never more than the other. Other values have `limits`.
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
        clustered = sums.limits(0.0, 1.0)
        interval = clustered
        if sums.questions < len(y):
            interval = _Sums(y, np.arange(len(y)), strata).limits(0.0, 1.0)
    return Estimate(value, len(y), sums.questions, *clustered, math.sqrt(variance), *interval)


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
    """The mean of second - first over pairs of scores in [0, 1], with the 95% `limits` of the difference."""
    d = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    n = len(d)
    if n == 0:
        return _NOTHING
    sums = _Sums(d, clusters, strata)
    clustered = sums.limits(-1.0, 1.0)
    interval = clustered
    if sums.questions < n:
        interval = _Sums(d, np.arange(n), strata).limits(-1.0, 1.0)
    return Estimate(sums.value, n, sums.questions, *clustered, math.sqrt(sums.variance), *interval)


def difference_of_sides(
    values: npt.NDArray[np.float64],
    clusters: Labels,
    first: npt.NDArray[np.bool_],
    second: npt.NDArray[np.bool_],
    alpha: float,
) -> tuple[float, float, float, int]:
    """The second side's mean less the first's, its `limits` over clusters at 1 - alpha, and their number.

    `values` are scores in [0, 1]; the masks choose the sides' values. A cluster can have values on both.
    """
    here = first | second
    codes, n = _codes(np.asarray(clusters)[here])
    moved, falls, rises = np.zeros((3, n))
    value, present = 0.0, []
    for sign, mask in ((-1.0, first[here]), (1.0, second[here])):
        own, of = values[here][mask], codes[mask]
        mean = float(own.mean())
        counts = np.bincount(of, minlength=n) / len(own)
        present.append(counts > 0)
        value += sign * mean
        moved += sign * (np.bincount(of, own, minlength=n) / len(own) - counts * mean)
        least, most = sorted((-sign * mean, sign * (1 - mean)))
        falls, rises = falls + counts * least, rises + counts * most
    low, high = _limits_over_clusters(value, moved, (falls, rises), np.column_stack(present), alpha)
    return value, max(-1.0, low), min(1.0, high), n


def _limits_over_clusters(
    value: float,
    moved: npt.NDArray[np.float64],
    ends: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]],
    present: npt.NDArray[np.bool_],
    alpha: float,
) -> tuple[float, float]:
    """`limits` of a mean that each cluster has moved by so much.

    ends: by how much it would have if all of its values were the least, or the most. The worst possible
    cluster is of the worst kind, and as large as the cluster of the average value of its kind; a kind is
    where clusters have values (columns of `present`).
    """
    n = len(moved)
    kinds = present @ (2.0 ** np.arange(present.shape[1]))
    kind = np.unique(kinds, return_inverse=True)[1]
    falls, rises = (_of_usual_value(kind, end) for end in ends)
    parts = value + n * moved
    # A cluster with many values can be beyond.
    least, most = value + n * falls.min(), value + n * rises.max()
    return limits(parts, min(least, parts.min()), max(most, parts.max()), alpha)


def _of_usual_value(
    kind: npt.NDArray[np.intp], end: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Of each kind, the mean of `end` over clusters that count as often as they have values."""
    total = np.bincount(kind, end)
    return np.divide(np.bincount(kind, end**2), total, out=np.zeros_like(total), where=total != 0)


def limits(
    values: npt.ArrayLike, least: float, most: float, alpha: float = 0.05
) -> tuple[float, float]:
    """The limits, at 1 - alpha, of the mean of independent values, none below `least` or above `most`.

    They are Gaffke's (2005, "Three test statistics for a nonparametric one-sided hypothesis on the mean of
    a nonnegative variable"): to the values seen comes the worst possible one, and the upper limit
    is the 1 - alpha / 2 quantile of their mean when weights are drawn from a Dirichlet distribution, each 1.
    For values that are all 0 or 1 they are Clopper and Pearson's. (NaN, NaN) without values.
    """
    x = np.asarray(values, dtype=np.float64)
    if not len(x):
        return math.nan, math.nan
    return -_upper_limit(-x, -least, alpha / 2), _upper_limit(x, most, alpha / 2)


def _upper_limit(x: npt.NDArray[np.float64], most: float, tail: float) -> float:
    """The upper one of `limits`: at it, P(mean of randomly weighted values > limit) is `tail`.

    The probability is Lugannani and Rice's saddlepoint approximation. Each saddlepoint belongs to one limit;
    both follow from the distance of a pole above the largest value, by which the root is found.
    """
    from scipy.optimize import brentq

    # Sums in another order differ in their last digits.
    seen, times = np.unique(np.round(x, 12), return_counts=True)
    if seen[0] >= most:
        return most
    values, counts = np.append(np.minimum(seen, most), most), np.append(times, 1)
    scale, n = most - values[0], len(x) + 1
    below = (most - values) / scale

    def limit(log_gap: float) -> tuple[float, float]:
        """The distance of the limit from `most`, in units of the range, and its probability."""
        gaps = below + math.exp(log_gap)
        saddle = float(counts @ (1 / gaps)) / n
        under = below - (1 / saddle - math.exp(log_gap))
        w = math.sqrt(2 * float(counts @ np.log(saddle * gaps)))
        u = math.sqrt(float(counts @ (under / gaps) ** 2))
        density = math.exp(-w * w / 2) / math.sqrt(2 * math.pi)
        probability = math.erfc(w / math.sqrt(2)) / 2 + density * (1 / u - 1 / w)
        return 1 / saddle - math.exp(log_gap), probability

    root = brentq(lambda log_gap: limit(log_gap)[1] - tail, *_LOG_GAPS, xtol=1e-7)
    return float(round(most - scale * limit(root)[0], 12))


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
    def between(self) -> float:
        """The variance of `value`, estimated between questions; needs at least two questions."""
        each = self._moved(self.sums)
        return self.questions / (self.questions - 1) * float(np.sum(each**2))

    def limits(self, least: float, most: float, alpha: float = 0.05) -> tuple[float, float]:
        """`limits` of `value` over questions, for values in [least, most]."""
        low, high = _limits_over_clusters(
            self.value,
            self._moved(self.sums),
            (self._moved(self.counts * least), self._moved(self.counts * most)),
            self.counts > 0,
            alpha,
        )
        return max(least, low), min(most, high)

    @property
    def kish(self) -> float:
        """Kish's effective sample size: n, reduced by unequal weights of strata."""
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
