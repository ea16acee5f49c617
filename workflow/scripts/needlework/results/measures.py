"""Measures of a cell that are no mean of values: functions of statistics summed over its answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from needlework import seeding
from needlework.results import stats

if TYPE_CHECKING:
    from needlework.results.parts import Part

DRAWS = 2000
MOST_KEPT = 1000
"""Rows; samples of so many take 16 MB."""
# Of a matrix, one row a sum of statistics: a value in [0, 1] a row.
OfSums: TypeAlias = Callable[[npt.NDArray[Any]], npt.NDArray[np.float64]]


def measure_of_sums(part: Part, column: str, value_of: OfSums) -> dict[str, float | int]:
    """MEASURES of a function of summed statistics, such as the BLEU of a corpus.

    `column` of the scores has a list of numbers an answer, of one length. Both intervals are percentiles of
    a bootstrap, over answers and over questions; `se` is the bootstrap's over answers. If all samples have
    one value (no 4-gram of three answers is right, say), they are `stats.limits` of that value. `lowest` and
    `highest` are NaN where an answer is missing: what it would have added to the sums is not known.
    """
    given = part.given
    measured: dict[str, float | int] = {
        "n": len(given),
        "n_questions": len(given.values("example_id")),
        **part.lost(),
    }
    measured |= dict.fromkeys(("lowest", "highest"), np.nan)
    ends = ("ci_low_independent", "ci_high_independent", "ci_low", "ci_high")
    if not len(given):
        return {
            "value": np.nan,
            "se_independent": np.nan,
            **dict.fromkeys(ends, np.nan),
            **measured,
        }
    rows = np.array(given.column(column).tolist(), dtype=np.float64)
    codes = given.table.codes("example_id")[0][given.places]
    questions = np.zeros((codes.max() + 1, rows.shape[1]))
    np.add.at(questions, codes, rows)
    answers = _drawn(rows, value_of)
    clustered = _drawn(questions[np.unique(codes)], value_of)
    intervals = [*_interval(answers, len(rows)), *_interval(clustered, measured["n_questions"])]
    value = float(value_of(rows.sum(axis=0, keepdims=True))[0])
    if len(given) == len(part):
        measured |= {"lowest": value, "highest": value}
    return {
        "value": value,
        "se_independent": float(answers.std()),
        **dict(zip(ends, map(float, intervals), strict=True)),
        **measured,
    }


def _drawn(rows: npt.NDArray[np.float64], value_of: OfSums) -> npt.NDArray[np.float64]:
    """The values of samples of the rows, drawn with replacement."""
    n = len(rows)
    return value_of((_kept_times(n) if n <= MOST_KEPT else _times(n)) @ rows)


def _interval(drawn: npt.NDArray[np.float64], n: float) -> tuple[float, float]:
    """The interval of what was drawn of `n` answers or questions."""
    if drawn.min() == drawn.max():
        return stats.limits(np.full(int(n), drawn[0]), 0.0, 1.0)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def _times(n: int) -> npt.NDArray[np.int64]:
    """How often each of n rows is in each of DRAWS samples."""
    return seeding.rng("bootstrap", "sums", n).multinomial(n, np.full(n, 1 / n), size=DRAWS)


# Cells of a benchmark have as many rows as each other: the same samples serve them all.
_kept_times = lru_cache(maxsize=4)(_times)
