"""M4LE's normalised scores r / (g + r) of a score r by a reference g, and their means over tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from needlework.benchmarks.m4le import measures
from needlework.benchmarks.m4le.data.tasks import CONSTRUCTED
from needlework.benchmarks.m4le.factors import SHORTEST, TABLES
from needlework.benchmarks.m4le.paper import REFERENCE, row_of
from needlework.results import stats
from needlework.results.cells import Part, Table, judged, measure_of_sums
from needlework.results.result import Context, Run
from needlework.results.stats import Z


class Score(NamedTuple):
    """A score in [0, 1], and its standard error (0 if unknown, as for a printed number)."""

    value: float
    se: float = 0.0


class Normalised(NamedTuple):
    """A normalised score with its standard error and 95% interval."""

    value: float
    se: float
    ci_low: float
    ci_high: float


NOTHING = Normalised(math.nan, math.nan, math.nan, math.nan)


def normalised(score: Score, reference: Score, covariance: float = 0.0) -> Normalised:
    """r / (g + r): 0.5 if the score equals its reference (paper, section 3.5).

    `covariance` is the covariance of both scores, if both are of the same prompts. The error is by the delta
    method: the derivatives are g / (g + r)^2 by r and -r / (g + r)^2 by g. The interval is normal on the
    scale of log(r / g), so its ends stay within [0, 1]; if the result is 0 or 1, the interval is cut there.
    NaN if both scores are 0, or one is missing.
    """
    r, g = score.value, reference.value
    if math.isnan(r) or math.isnan(g) or r + g == 0:
        return NOTHING
    value = r / (g + r)
    variance = (g * score.se) ** 2 + (r * reference.se) ** 2 - 2 * r * g * covariance
    se = math.sqrt(max(0.0, variance)) / (g + r) ** 2
    if value in (0.0, 1.0):
        return Normalised(value, se, max(0.0, value - Z * se), min(1.0, value + Z * se))
    half = Z * se / (value * (1 - value))
    centre = math.log(r / g)
    low, high = (1 / (1 + math.exp(-(centre + side * half))) for side in (-1, 1))
    return Normalised(value, se, low, high)


class Weighed(NamedTuple):
    """A task's score, its reference, and the weight of their normalised score in a sum."""

    task: str
    score: Score
    reference: Score
    covariance: float
    weight: float


def combined(cells: Sequence[Weighed]) -> Normalised:
    """The weighed sum of normalised scores, such as a mean over tasks or a slope over lengths.

    The error is by the delta method: scores of different cells are independent, but the cells of a task share
    its reference. The interval is normal. NaN without any cell.
    """
    if not cells:
        return NOTHING
    value, variance = 0.0, 0.0
    by_reference: dict[str, float] = {}
    for cell in cells:
        r, g = cell.score.value, cell.reference.value
        value += cell.weight * r / (g + r)
        by_reference.setdefault(cell.task, 0.0)
        by_reference[cell.task] -= cell.weight * r / (g + r) ** 2
    for cell in cells:
        r, g = cell.score.value, cell.reference.value
        slope_of_score = cell.weight * g / (g + r) ** 2
        variance += (slope_of_score * cell.score.se) ** 2
        variance += 2 * slope_of_score * by_reference[cell.task] * cell.covariance
    errors = {cell.task: cell.reference.se for cell in cells}
    variance += sum((by_reference[task] * se) ** 2 for task, se in errors.items())
    se = math.sqrt(max(0.0, variance))
    return Normalised(value, se, value - Z * se, value + Z * se)


def slope_weights(places: Sequence[int]) -> list[float]:
    """The weight of each value in a least-squares slope over the indices 0, 1, ... of the values' buckets.

    Indices are used in place of lengths, since the printed slopes then follow from Table 3 (Figure 3, right).
    Empty if there are fewer than two values, which have no slope.
    """
    if len(places) < 2:
        return []
    middle = sum(places) / len(places)
    spread = sum((place - middle) ** 2 for place in places)
    return [(place - middle) / spread for place in places]


# The scores of M4LE's tasks, and the means of their normalised scores.


def score(part: Part) -> dict[str, float | int]:
    """MEASURES of the rows of one task.

    The score is the mean of the values. Translations have the BLEU of all answers together.
    """
    if {CONSTRUCTED[task].metric for task in part.values("task")} == {"bleu"}:
        return measure_of_sums(part, "bleu_statistics", measures.of_sums)
    return part.measure()


class Reference(NamedTuple):
    """A score's model, and the reference that normalises the score, as columns of rows."""

    model: str
    g: float
    g_se: float
    g_se_independent: float


@dataclass(frozen=True)
class Own:
    """A task's score at a length."""

    task: str
    length: int
    part: Part
    value: float
    # The error over answers (`se_independent`), and over questions (`se`).
    se_independent: float
    se: float
    lowest: float
    highest: float

    @cached_property
    def reference(self) -> Reference:
        """The reference of the first row; all rows share it."""
        frame, place = self.part.table.frame, self.part.places[0]
        # A whole row of many columns would be made anew for each cell.
        return Reference(*(frame[name].iloc[place] for name in Reference._fields))

    @cached_property
    def covariance(self) -> float:
        """The covariance of the score with its reference, if both are of the same prompts; 0 for BLEU."""
        if CONSTRUCTED[self.task].metric == "bleu":
            return 0.0
        given = self.part.given
        value = given.array("value", lambda frame: frame["value"].astype(float))
        reference = given.array("reference", lambda frame: frame["reference"].astype(float))
        both = ~np.isnan(value) & ~np.isnan(reference)
        if both.sum() < 2:
            return 0.0
        return float(np.cov(value[both], reference[both], ddof=0)[0, 1] / both.sum())


# The scores of a table's cells, by model, metric, task and length: most are in several results' cells.
_SCORES: WeakKeyDictionary[Table, dict[tuple[str, str, str, int], Own]] = WeakKeyDictionary()


def task_scores(part: Part) -> list[Own]:
    """A model's scores by one metric, per task and length, without cells that have no answer."""
    known = _SCORES.setdefault(part.table, {})
    (model,), (metric,) = part.values("model"), part.values("metric")
    found = []
    for task, rows in part.split("task").items():
        for length, own in rows.split("length").items():
            place = int(str(length))
            key = model, metric, str(task), place
            if key not in known:
                values = score(own)
                se = (values["ci_high"] - values["ci_low"]) / 2 / Z
                found_values = values["value"], values["se_independent"], se
                ends = values["lowest"], values["highest"]
                known[key] = Own(str(task), place, own, *found_values, *ends)
            found.append(known[key])
    return [own for own in found if not math.isnan(own.value)]


def with_reference(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Rows of one metric, with the reference scores by which each task is normalised.

    Further columns: `g`, the reference's score at 1K as a share; `g_se` and `g_se_independent`, its errors
    over questions and over answers; `reference`, the reference model's value on the same prompt, if the run
    has this model.
    """
    name, values = run.run["reference"], rows.iloc[:0]
    found: dict[str, tuple[float, float, float]] = {}
    if name == "published":
        # An accuracy is a share of n rows; of other printed numbers no error is known.
        for task, table in TABLES.items():
            if number := run.find(table, row_of(REFERENCE, task), str(SHORTEST)):
                se = stats.standard_error(number.value, number.n) if number.n else 0.0
                found[task] = (number.value, se, se)
    else:
        short = rows[(rows["model"] == name) & (rows["length"] == SHORTEST)]
        for own in task_scores(Table(short).all()) if len(short) else []:
            found[own.task] = (own.value, own.se, own.se_independent)
        values = short[judged(short)]
    errors = pd.DataFrame.from_dict(found, "index", columns=["g", "g_se", "g_se_independent"])
    rows = rows.join(errors.astype(float), on="task")
    keys = ["task", "length", "example_id", "sample"]
    values = values[[*keys, "value"]].rename(columns={"value": "reference"})
    return rows.merge(values, on=keys, how="left", validate="many_to_one")


def normalised_mean(part: Part, run: Run, weigh: str = "cells") -> dict[str, float | int]:
    """MEASURES of a model's normalised scores r / (g + r), and the number of tasks behind them.

    `weigh` is "cells" for the mean over all tasks and lengths, "lengths" for the mean of the lengths' means,
    or "slope" for the least-squares slope of the lengths' means over the indices of the run's lengths. A
    score is left out if it has no reference, or if both are 0.
    """
    there = [own for own in task_scores(part) if own.value + own.reference.g > 0]
    weights = _weights([own.length for own in there], weigh, run["lengths"])
    made: dict[str, float] = {}
    for kind in ("", "_independent"):
        weighed = []
        for own, weight in zip(there, weights, strict=False):
            mine, their = Score(own.value, own.se_independent if kind else own.se), own.reference
            reference = Score(their.g, their.g_se_independent if kind else their.g_se)
            itself = their.model == run["reference"] and own.length == SHORTEST
            covariance = mine.se**2 if itself else own.covariance
            weighed.append(Weighed(own.task, mine, reference, covariance, weight))
        found = combined(weighed)
        if len(weighed) == 1 and weigh != "slope":
            found = normalised(weighed[0].score, weighed[0].reference, weighed[0].covariance)
        low, high = found.ci_low, found.ci_high
        if weigh != "slope":
            low, high = (float(np.clip(end, 0, 1)) for end in (low, high))
        made |= {f"ci_low{kind}": low, f"ci_high{kind}": high}
        if kind:
            made |= {"value": found.value, "se_independent": found.se}
    # With every missing answer wrong, and right, the references as they are. NaN of a slope with missing
    # answers, and where nothing of a task was answered: it is in no mean.
    given = len(part.given)
    bounds = dict.fromkeys(("lowest", "highest"), made["value"] if given == len(part) else math.nan)
    if weigh != "slope" and given < len(part) == sum(len(own.part) for own in there):
        for end in bounds:
            pairs = [(getattr(own, end), own.reference.g) for own in there]
            shares = [r / (g + r) if g + r else 0.0 for r, g in pairs]
            bounds[end] = sum(w * share for w, share in zip(weights, shares, strict=True))
    return {
        **made,
        "n": sum(len(own.part.given) for own in there),
        "n_questions": sum(len(own.part.given.values("example_id")) for own in there),
        **part.lost(),
        **bounds,
        "n_tasks": len({own.task for own in there}),
    }


def _weights(lengths: list[int], weigh: str, order: Sequence[int]) -> list[float]:
    """What each cell, of one of these lengths, counts; none where there is no slope."""
    if weigh == "cells":
        return [1 / len(lengths) for _ in lengths]
    counts = {length: lengths.count(length) for length in sorted(set(lengths))}
    if weigh == "lengths":
        return [1 / counts[length] / len(counts) for length in lengths]
    slopes = slope_weights([order.index(length) for length in counts])
    if not slopes:
        return []
    of_length = dict(zip(counts, slopes, strict=True))
    return [of_length[length] / counts[length] for length in lengths]
