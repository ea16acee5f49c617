"""The tables of numbers that cards, page and terminal read: results/numbers/*.csv.

`means` has a mean per row, `points` the curves of report cards, `comparisons` the compared sides and whether
a test shows a difference, `answers` the outcomes of requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from needlework.results.columns import LEAST_ANSWERS

if TYPE_CHECKING:
    import pandas as pd


class Mean(TypedDict):
    """A mean with its interval over questions, and where the explorer shows its answers."""

    benchmark: str
    model: str
    # "headline": the mean of a benchmark that page and terminal show first. "left out": the mean of a task
    # that the headline leaves out and that is lower. "metric": the mean of one metric, over everything or in
    # one language.
    kind: str
    metric: str
    # The tasks in the mean; "" if it has all tasks of the metric.
    tasks: str
    # The display name of the languages' column.
    by: str
    language: str
    first_metric: bool
    value: float
    ci_low: float
    ci_high: float
    n: int
    n_questions: int
    # The size of the prompts, in words.
    size: str
    link: str


class Point(TypedDict):
    """A point of a curve."""

    card: str
    benchmark: str
    part: str
    axis: str
    level: Any
    called: str
    unit: str
    model: str
    # Another model than the card's has its mean on the same prompts, without an interval.
    value: float
    ci_low: NotRequired[float]
    ci_high: NotRequired[float]
    n: NotRequired[int]
    n_questions: NotRequired[int]


class Comparison(TypedDict):
    """A comparison: the second side's mean less the first's.

    If the axis is "model", the card's model is the second side.
    """

    card: str
    # "" for the mean over all benchmarks that every model answered.
    benchmark: str
    part: str
    axis: str
    level: Any
    # The sides in words, and their means.
    first_side: str
    second_side: str
    first: float
    second: float
    # The sides' means by the second scorer.
    first_careful: NotRequired[float]
    second_careful: NotRequired[float]
    difference: float
    # The 95% interval of the difference alone, over questions.
    ci_low: float
    ci_high: float
    n: int
    n_questions: int
    # Of an exact test. Along curves, it tests for a loss; between models and between languages other than
    # English, for any difference.
    p: float
    least_p: float
    # Whether the test shows a difference after the correction for all comparisons of the run.
    shown: NotRequired[bool]


class Answered(TypedDict):
    """A model's requests and answers in a benchmark."""

    benchmark: str
    model: str
    n: int
    cut: int
    empty: int
    failed: int
    skipped: int
    # Cut and empty answers of value 0, among the `judged`.
    lost_cut: int
    lost_empty: int
    judged: int
    # Answers that deny that there is a needle, of the answers to prompts with a needle.
    said_none: int
    with_needle: int
    # Answers in another language than asked for, of the answers whose language is known.
    other_language: int
    decided: int
    # Lengths in tokens: of the context, and the effective length with its interval.
    claimed: float | None
    effective: float | None
    effective_low: float | None
    effective_high: float | None


# The columns of each table.
MEANS, POINTS, COMPARED, ANSWERS = (
    tuple(row.__annotations__) for row in (Mean, Point, Comparison, Answered)
)
TABLES = {"means": MEANS, "points": POINTS, "comparisons": COMPARED, "answers": ANSWERS}
_TEXTS = (
    *(
        "card",
        "benchmark",
        "part",
        "axis",
        "level",
        "called",
        "unit",
        "model",
        "kind",
    ),
    *("first_side", "second_side", "metric", "tasks", "by", "language", "size", "link"),
)


def frame(table: str, rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """One of the TABLES with these rows."""
    import pandas as pd

    return pd.DataFrame(rows, columns=list(TABLES[table]))


def empty() -> dict[str, pd.DataFrame]:
    """All TABLES without rows."""
    return {name: frame(name, []) for name in TABLES}


def read(path: str | Path) -> pd.DataFrame:
    """One of the TABLES from its CSV: levels and names are text, even if all of them look like numbers."""
    import pandas as pd

    found = pd.read_csv(
        path, keep_default_na=False, na_values=[""], dtype=dict.fromkeys(_TEXTS, "object")
    )
    return found.fillna({name: "" for name in _TEXTS if name in found})


def records(rows: pd.DataFrame) -> list[Any]:
    """Rows of one of the TABLES, each a Mean, Point, Comparison or Answered."""
    return rows.to_dict("records")


def panels(points: pd.DataFrame) -> int:
    """How many curves of POINTS have at least LEAST_ANSWERS answers at each point, over all models."""
    own = points[points["card"] == points["model"]]
    fewest = own.groupby(["card", "benchmark", "part", "axis"])["n"].min()
    return int((fewest >= LEAST_ANSWERS).sum())
