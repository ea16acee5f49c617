"""Measures of a cell that are no mean of values: functions of statistics summed over its answers.

A hook of `result.Measure` names one, with arguments: BLEU of a corpus is
`Measure(columns.MEASURES, "needlework.results.measures:of_sums?column=statistics&function=<hook>")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from needlework import seeding
from needlework.benchmarks.contract import Labels
from needlework.hooks import load_hook

if TYPE_CHECKING:
    from needlework.results.context import Context
    from needlework.results.parts import Part

DRAWS = 2000


def of_sums(
    part: Part, context: Context, labels: Labels, column: str, function: str
) -> dict[str, float | int]:
    """`columns.MEASURES` of a function of summed statistics.

    `column` of the scores has a list of numbers an answer, of one length; the hook `function` makes of a
    matrix, one row a sum of such lists, one value in [0, 1] a row. Both intervals are percentiles of a
    bootstrap, over answers and over questions; `se` is the bootstrap's over answers. `lowest` and `highest`
    are NaN where an answer is missing: what it would have added to the sums is not known.
    """
    value_of = load_hook(function)
    given = part.given
    measured: dict[str, float | int] = {
        "n": len(given),
        "n_questions": len(given.values("example_id")),
        **part.lost(),
    }
    measured |= dict.fromkeys(("lowest", "highest"), np.nan)
    ends = ("ci_low", "ci_high", "ci_low_clustered", "ci_high_clustered")
    if not len(given):
        return {"value": np.nan, "se": np.nan, **dict.fromkeys(ends, np.nan), **measured}
    rows = np.array(given.column(column).tolist(), dtype=np.float64)
    codes = given.table.codes("example_id")[0][given.places]
    questions = np.zeros((codes.max() + 1, rows.shape[1]))
    np.add.at(questions, codes, rows)
    answers = _drawn(rows, value_of)
    clustered = _drawn(questions[np.unique(codes)], value_of)
    intervals = [*np.quantile(answers, (0.025, 0.975)), *np.quantile(clustered, (0.025, 0.975))]
    value = float(value_of(rows.sum(axis=0, keepdims=True))[0])
    if len(given) == len(part):
        measured |= {"lowest": value, "highest": value}
    return {
        "value": value,
        "se": float(answers.std()),
        **dict(zip(ends, map(float, intervals), strict=True)),
        **measured,
    }


def _drawn(rows: np.ndarray, value_of: Any) -> np.ndarray:
    """The values of samples of the rows, drawn with replacement."""
    n = len(rows)
    times = seeding.rng("bootstrap", "sums", n).multinomial(n, np.full(n, 1 / n), size=DRAWS)
    return value_of(times @ rows)
