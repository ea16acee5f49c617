"""The tables of numbers that cards, page and terminal read: results/numbers/*.csv.

`means` holds a mean per row, `points` the curves of report cards, `comparisons` what is compared and whether
a test shows a difference, `answers` what became of requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from needlework.results.columns import LEAST_ANSWERS

if TYPE_CHECKING:
    import pandas as pd


class Mean(TypedDict):
    """A mean with its interval over questions, and where the explorer shows its answers.

    kind: "headline" (the mean of a benchmark that page and terminal show first), "left out" (of a task that
    the headline leaves out, and that is lower) or "metric" (of one metric, over everything or in one
    language). tasks: of the mean; "" if these are all tasks of the metric. by: the display name of the
    languages' column. size: of the prompts.
    """

    benchmark: str
    model: str
    kind: str
    metric: str
    tasks: str
    by: str
    language: str
    first_metric: bool
    value: float
    ci_low: float
    ci_high: float
    n: int
    n_questions: int
    size: str
    link: str


class Point(TypedDict):
    """A point of a curve.

    Of the card's model with its interval over questions; of another model, its mean on the same prompts.
    """

    card: str
    benchmark: str
    part: str
    axis: str
    level: Any
    called: str
    unit: str
    model: str
    value: float
    ci_low: NotRequired[float]
    ci_high: NotRequired[float]
    n: NotRequired[int]
    n_questions: NotRequired[int]


class Comparison(TypedDict):
    """A comparison: the second side's mean less the first's.

    It has its own 95% interval over questions, and p of an exact test: of a loss along curves; of any
    difference between models, and of languages without English. shown: whether the test shows it after the
    correction for all comparisons of the run. Sides are in words; careful: their means by the second scorer.
    Of models (axis "model"), the card's model is the second side; benchmark "" is the mean over all
    benchmarks that every model answered.
    """

    card: str
    benchmark: str
    part: str
    axis: str
    level: Any
    first_side: str
    second_side: str
    first: float
    second: float
    first_careful: NotRequired[float]
    second_careful: NotRequired[float]
    difference: float
    ci_low: float
    ci_high: float
    n: int
    n_questions: int
    p: float
    least_p: float
    shown: NotRequired[bool]


class Answered(TypedDict):
    """A model's requests and answers in a benchmark.

    lost_cut, lost_empty: cut and empty answers of value 0, among the `judged`. decided: answers whose
    language is known, of which `other_language` are in another than asked for. with_needle: answers that
    could say "none" though there is a needle. Lengths in tokens, the effective one with its interval.
    """

    benchmark: str
    model: str
    n: int
    cut: int
    empty: int
    failed: int
    skipped: int
    lost_cut: int
    lost_empty: int
    judged: int
    said_none: int
    with_needle: int
    other_language: int
    decided: int
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
    """How many curves of POINTS, of all models, have LEAST_ANSWERS answers or more at each point."""
    own = points[points["card"] == points["model"]]
    fewest = own.groupby(["card", "benchmark", "part", "axis"])["n"].min()
    return int((fewest >= LEAST_ANSWERS).sum())
