"""How certain a mean is: standard errors, intervals, paired tests, effective length.

Every mean comes with two 95% intervals. The first is Wilson's, as if all prompts were independent
draws. They are not: one question is asked at three positions, in eight haystacks and at four
lengths, and an easy question is easy in all of them. The second interval therefore counts
questions (clusters) instead of prompts; it is the one to compare two runs, or a run and a paper, by.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from needlework import seeding

# The 97.5% point of the normal distribution: all intervals are at 95%.
Z = 1.959963984540054


@dataclass(frozen=True)
class Estimate:
    """A mean and its uncertainty. All fields but the counts are NaN where `n` is 0."""

    value: float
    n: int
    se: float
    ci_low: float
    ci_high: float
    n_questions: int
    ci_low_clustered: float
    ci_high_clustered: float


@dataclass(frozen=True)
class McNemar:
    """Outcome of McNemar's exact test on `n` pairs of 0 or 1."""

    n: int
    first_only: int
    second_only: int
    p: float


def standard_error(p: float, n: float) -> float:
    """sqrt(p (1 - p) / n), the paper's equation (1); NaN for n = 0."""
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
    clusters: Sequence[Hashable] | npt.ArrayLike,
    strata: Sequence[Hashable] | npt.ArrayLike | None = None,
    *,
    seed: tuple[object, ...] = (),
) -> Estimate:
    """The mean of `values`, or the mean of the strata's means where `strata` are given.

    `values` are scores in [0, 1], `clusters` says which question each belongs to, `strata` which
    cell (a context length, say) it belongs to. Where all values are 0 or 1 both intervals are
    Wilson's. The second uses the sample size at which independent draws would have the variance that
    the questions show (Dean and Pagano, 2015, "Evaluating confidence interval methods for binomial
    proportions in clustered surveys"), and never more than the first one. Other values get
    percentile bootstrap intervals, of values and of questions, drawn from `seed`.
    """
    y = np.asarray(values, dtype=np.float64)
    n = len(y)
    if n == 0:
        nan = math.nan
        return Estimate(nan, 0, nan, nan, nan, 0, nan, nan)
    question = _codes(clusters, n)
    weight, residual = _linearise(y, strata)
    value = float(weight @ y)
    n_questions = int(question.max()) + 1
    variance = float(residual @ residual)
    if np.isin(y, (0.0, 1.0)).all():
        value = min(1.0, max(0.0, value))
        # Kish's effective sample size: what is left of n when strata weigh unequally.
        most = 1 / float(weight @ weight)
        size = _effective_size(value, variance, most, without=most)
        # Questions that all score alike say no more than one prompt each would.
        size_clustered = (
            _effective_size(value, _between(residual, question), size, without=n_questions)
            if n_questions > 1
            else 1.0
        )
        interval, clustered = wilson(value, size), wilson(value, size_clustered)
    else:
        interval = bootstrap_interval(y, np.arange(n), strata, seed=seed)
        clustered = bootstrap_interval(y, question, strata, seed=seed)
    return Estimate(value, n, math.sqrt(variance), *interval, n_questions, *clustered)


def bootstrap_interval(
    values: npt.ArrayLike,
    clusters: Sequence[Hashable] | npt.ArrayLike,
    strata: Sequence[Hashable] | npt.ArrayLike | None = None,
    *,
    seed: tuple[object, ...],
    draws: int = 2000,
) -> tuple[float, float]:
    """The 95% percentile interval of the mean (of the strata's means) when clusters are redrawn.

    The draw depends on `seed` alone, not on the order of the rows' clusters elsewhere.
    """
    y = np.asarray(values, dtype=np.float64)
    cluster = _codes(clusters, len(y))
    stratum = _codes(strata, len(y))
    n_clusters, n_strata = int(cluster.max()) + 1, int(stratum.max()) + 1
    sums = np.zeros((n_clusters, n_strata))
    counts = np.zeros((n_clusters, n_strata))
    np.add.at(sums, (cluster, stratum), y)
    np.add.at(counts, (cluster, stratum), 1)
    rng = seeding.rng("bootstrap", *seed)
    means = np.empty(draws)
    for draw in range(draws):
        times = np.bincount(rng.integers(n_clusters, size=n_clusters), minlength=n_clusters)
        total = times @ counts
        # A stratum none of whose clusters was drawn is left out of that draw's mean.
        means[draw] = np.mean((times @ sums)[total > 0] / total[total > 0])
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def paired_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: Sequence[Hashable] | npt.ArrayLike,
    strata: Sequence[Hashable] | npt.ArrayLike | None = None,
) -> Estimate:
    """The mean of second - first over pairs, with normal intervals of the difference.

    Where no pair differs the difference's variance is 0 and the normal interval empty; the interval
    is then bounded by the share of differing pairs that Wilson's interval still allows.
    """
    d = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    n = len(d)
    if n == 0:
        nan = math.nan
        return Estimate(nan, 0, nan, nan, nan, 0, nan, nan)
    question = _codes(clusters, n)
    weight, residual = _linearise(d, strata)
    value = float(weight @ d)
    n_questions = int(question.max()) + 1
    if d.any():
        se = math.sqrt(residual @ residual)
        half = Z * se
        half_clustered = (
            max(half, Z * math.sqrt(_between(residual, question))) if n_questions > 1 else 1.0
        )
    else:
        se = 0.0
        half, half_clustered = wilson(0, n)[1], wilson(0, n_questions)[1]
    return Estimate(
        value,
        n,
        se,
        max(-1.0, value - half),
        min(1.0, value + half),
        n_questions,
        max(-1.0, value - half_clustered),
        min(1.0, value + half_clustered),
    )


def mcnemar(first: npt.ArrayLike, second: npt.ArrayLike) -> McNemar:
    """McNemar's exact test of two models' correctness (0 or 1) on the same prompts.

    p is the two-sided binomial probability of a split as uneven as that of the pairs of which only
    one is right. It takes the pairs for independent draws.
    """
    from scipy.stats import binomtest

    a = np.asarray(first, dtype=np.float64)
    b = np.asarray(second, dtype=np.float64)
    first_only, second_only = int(np.sum(a > b)), int(np.sum(b > a))
    differing = first_only + second_only
    p = float(binomtest(first_only, differing).pvalue) if differing else 1.0
    return McNemar(len(a), first_only, second_only, p)


def effective_length(
    means: Mapping[int, float], baseline: float | None, share: float = 0.75
) -> int | None:
    """The longest length whose mean is at least `share` of the baseline (paper, Table 1).

    0 where no length reaches it; None where there is no baseline or no length to judge.
    """
    judged = {length: mean for length, mean in means.items() if not math.isnan(mean)}
    if baseline is None or math.isnan(baseline) or not judged:
        return None
    # The tolerance keeps 0.45 from failing against 0.75 * 0.6 = 0.45000000000000007.
    return max((k for k, mean in judged.items() if mean >= share * baseline - 1e-12), default=0)


def _codes(labels: Sequence[Hashable] | npt.ArrayLike | None, n: int) -> npt.NDArray[np.intp]:
    """Labels as whole numbers from 0; one label for all where there are none."""
    if labels is None:
        return np.zeros(n, dtype=np.intp)
    import pandas as pd

    return pd.factorize(pd.Series(labels).to_numpy())[0]


def _linearise(
    y: npt.NDArray[np.float64], strata: Sequence[Hashable] | npt.ArrayLike | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Each value's weight in the mean of the strata's means, and its share in that mean's error."""
    stratum = _codes(strata, len(y))
    sizes = np.bincount(stratum)
    means = np.bincount(stratum, weights=y) / sizes
    weight = 1 / (len(sizes) * sizes[stratum])
    return weight, weight * (y - means[stratum])


def _between(residual: npt.NDArray[np.float64], question: npt.NDArray[np.intp]) -> float:
    """The variance of the mean from how the questions' sums of residuals differ."""
    sums = np.bincount(question, weights=residual)
    questions = len(sums)
    return questions / (questions - 1) * float(sums @ sums) if questions > 1 else 0.0


def _effective_size(p: float, variance: float, most: float, without: float) -> float:
    """The n, at most `most`, at which independent draws of p have this variance.

    `without` where the variance is 0 and so tells nothing.
    """
    return min(most, p * (1 - p) / variance if variance > 0 else without)
