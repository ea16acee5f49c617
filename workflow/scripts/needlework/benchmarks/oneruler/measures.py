"""What the cells of ONERULER's results say: means as the paper counts, shares of errors, other means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.oneruler.rows import dropped
from needlework.results.columns import MEASURES
from needlework.results.tabulate import Cell, Measure

if TYPE_CHECKING:
    from needlework.results.cells import Part

CI = ("ci_low", "ci_high")


def _accuracy(cell: Cell) -> dict[str, Any]:
    """The mean as the paper counts, how many answers it leaves out, and the mean of all prompts."""
    from needlework.results import cells

    part = cell.part
    out = part.array("dropped", dropped)
    given = part.array("given", cells.judged)
    value = part.array("value", lambda frame: frame["value"].astype(float))
    return {
        **part.measure(counted=part.where(given & ~out)),
        "n_dropped": int(out.sum()),
        "value_all": float(value.mean()) if len(part) else math.nan,
        "n_all": len(part),
        "n_exhausted": _exhausted(part),
    }


def _exhausted(part: Part) -> int:
    return int(part.array("exhausted", lambda frame: frame["exhausted"].astype(bool)).sum())


def _share(cell: Cell) -> dict[str, Any]:
    """How many answers have a cell's error, and what share of all prompts."""
    from needlework.results import stats

    part = cell.part
    here = part.array("error", lambda frame: frame["error"]) == cell.labels["error"]
    clusters = part.table.codes("example_id")[0][part.places]
    found = vars(stats.estimate(here.astype("float64"), clusters))
    return {"n_errors": int(here.sum()), **found, "n_exhausted": _exhausted(part)}


def mean_of(column: str) -> Measure:
    """The mean of a column that is no share: its interval over questions is from the bootstrap."""

    def of(cell: Cell) -> Mapping[str, Any]:
        from needlework.results import stats

        part = cell.part
        values = part.array(column, lambda frame: frame[column].astype("float64"))
        questions = part.table.codes("example_id")[0][part.places]
        seed = ("oneruler", column, *cell.labels.values())
        interval = stats.bootstrap_interval(values, questions, seed=seed, draws=1000)
        return {
            "value": float(values.mean()),
            "n": len(values),
            "se_independent": float(values.std() / len(values) ** 0.5),
            "n_questions": len(set(questions)),
            **dict(zip(CI, interval, strict=True)),
            **part.lost(),
            "n_exhausted": _exhausted(part),
        }

    lost = ("n_skipped", "n_error", "n_cut", "n_empty", "n_prompt_cut", "n_refused")
    columns = ("value", "n", "se_independent", "n_questions", *CI, *lost)
    return Measure((*columns, "n_exhausted"), of)


# The mean and its certainty as the paper counts, how many answers were dropped for that, the share of
# right answers among all prompts, and how many prompts ended before their length because the vocabulary did.
ACCURACY = Measure((*MEASURES, "n_dropped", "value_all", "n_all", "n_exhausted"), _accuracy)
SHARE = Measure(("n_errors", "value", "n", *CI, "n_questions", "n_exhausted"), _share)
