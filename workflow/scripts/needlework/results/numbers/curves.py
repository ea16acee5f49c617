"""The curves of report cards: means over prompts that differ only in length, depth, needles or language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from needlework.factor import Factor
from needlework.results import cells
from needlework.results.cards.card import Card, CardPart
from needlework.results.columns import LEAST_ANSWERS
from needlework.results.numbers.means import estimated
from needlework.results.numbers.tables import Point
from needlework.results.result import Context

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

# Sets of levels that are tried, each with every other: those that most units have.
MOST_TRIED = 48
# The share of the units of the best two levels that must be left when more levels are kept.
LEAST_KEPT = 0.5


def crossed(levels: Codes, units: Codes) -> Mask:
    """The rows of the units that occur at every kept level, with equally many rows per level.

    `units` and `levels` are codes from 0, one per row. A unit is a question in its setting, which must be the
    same at all levels. As many levels are kept as LEAST_KEPT allows. If no two levels share a unit, no row
    is kept.
    """
    if not len(levels):
        return np.zeros(0, dtype=bool)
    n = int(levels.max()) + 1
    cell = units * n + levels
    counts = np.bincount(cell, minlength=(int(units.max()) + 1) * n).reshape(-1, n)
    kept = _kept_levels(counts > 0)
    if not kept.any():
        return np.zeros(len(levels), dtype=bool)
    fewest = counts[:, kept].min(axis=1)
    return kept[levels] & (_rank(cell) < fewest[units])


def _kept_levels(there: Mask) -> Mask:
    """The levels that are kept; `there` says which of them each unit has."""
    patterns, n_units = np.unique(there, axis=0, return_counts=True)
    shared = (patterns * n_units[:, None]).T @ patterns
    np.fill_diagonal(shared, 0)
    if not shared.max():
        return np.zeros(there.shape[1], dtype=bool)
    common = patterns[np.argsort(-n_units, kind="stable")[:MOST_TRIED]]
    pairs = [one & other for one, other in combinations(common, 2)]
    best_pair = np.zeros(there.shape[1], dtype=bool)
    best_pair[list(np.unravel_index(shared.argmax(), shared.shape))] = True
    tried = np.unique(np.array([*common, *pairs, best_pair]), axis=0)
    tried = tried[tried.sum(axis=1) >= 2]
    having = np.array(
        [n_units[(patterns | ~levels).all(axis=1)].sum() for levels in tried], dtype=np.intp
    )
    enough = having >= LEAST_KEPT * shared.max()
    # The most levels, then the most units, then the first levels.
    order = np.lexsort((having[enough], tried[enough].sum(axis=1)))
    found: Mask = tried[enough][order[-1]]
    return found


def _rank(cell: Codes) -> Codes:
    """The place of each row among those of its cell, in the order of rows."""
    order = np.argsort(cell, kind="stable")
    found = cell[order]
    starts = np.flatnonzero(np.r_[True, found[1:] != found[:-1]])
    sizes = np.diff(np.r_[starts, len(found)])
    rank = np.empty(len(cell), dtype=np.intp)
    rank[order] = np.arange(len(found)) - np.repeat(starts, sizes)
    return rank


# Another model has a line on a card if it answered at least this share of the prompts.
LEAST_SHARED = 0.95
# Columns that say which prompt a row is of, when levels ask the same questions.
QUESTION = ("example_id", "sample")
# Cards have depths as shares of the prompt (`CardPart`).
DEPTH = Factor("depth", "double", percent=100)
# A curve over questions is taken if it has at least this share of the prompts of one over settings alone.
LEAST_OF_QUESTIONS = 0.5


@dataclass(frozen=True)
class Curve:
    """The crossed rows of a model along an axis.

    Arrays have a value per row.
    """

    model: str
    labels: Mapping[str, str]
    axis: str
    # The axis, and its levels that are kept.
    factor: Factor
    levels: Sequence[Any]
    # An index into `levels`.
    level: Codes
    values: Floats
    # A code of the row's question.
    questions: Codes
    # A code of the row's setting, which occurs at all levels.
    units: Codes
    # The second scorer's values; NaN where it has none.
    careful: Floats
    # Along lengths, the row's value without distractors; NaN where it was not asked.
    baseline: Floats
    # For each other model, its mean per level on the same prompts.
    others: Mapping[str, Floats]

    @property
    def few(self) -> bool:
        """Whether a point has fewer than LEAST_ANSWERS answers."""
        return len(self.values) < LEAST_ANSWERS * len(self.levels)

    def called(self, level: Any) -> str:
        """A level in words."""
        return (DEPTH if self.axis == "depth" else self.factor).called(level)

    def points(self) -> Iterator[Point]:
        """The rows of POINTS: of the card's model, then of the other models."""
        for place, level in enumerate(self.levels):
            here = self.level == place
            found = estimated(self.values[here], self.questions[here])
            own: Point = {
                "card": self.model,
                "benchmark": self.labels["benchmark"],
                "part": self.labels["part"],
                "axis": self.axis,
                "level": level,
                "called": self.called(level),
                # The label of a length or a number of needles is its unit.
                "unit": "" if self.axis == "depth" else self.factor.label,
                "model": self.model,
                "value": found["value"],
            }
            yield {**own, **found}
            for model, means in self.others.items():
                yield {**own, "model": model, "value": means[place]}


def curves(
    benchmark: str,
    card: Card,
    rows: pd.DataFrame,
    careful: pd.Series,
    run: Context,
    models: Sequence[str],
) -> Iterator[Curve]:
    """The curves of `models` in a benchmark.

    `rows` are its scores. `careful` are the second scorer's values by model, instance_id and sample. The
    run's `in_words` names the models whose lengths are counted in words in place of tokens.
    """
    for part in card.parts:
        chosen = part.rows(rows, run)
        chosen = cells.kept(chosen, cells.judged(chosen) & chosen["model"].isin(list(models)))
        keys = [chosen[name].astype(object).to_numpy() for name in careful.index.names]
        chosen = chosen.assign(
            careful=careful.reindex(list(zip(*keys, strict=True))).to_numpy(),
            baseline=_baseline(card, rows, chosen, run),
        )
        for name, factor in part.axes():
            own = cells.kept(chosen, chosen[factor.name].notna())
            if len(own):
                labels = {"benchmark": benchmark, "part": part.name}
                for curve in _curves(_Rows(own, part, factor), name, labels, models):
                    tokens = factor.label == "tokens"
                    if tokens and curve.model in run.run.get("in_words", ()):
                        curve = replace(curve, factor=replace(factor, label="words"))
                    yield curve


def _baseline(card: Card, rows: pd.DataFrame, of: pd.DataFrame, run: Context) -> Floats:
    """For each of the rows `of`, the value of its question without distractors."""
    if card.baseline is None:
        return np.full(len(of), np.nan)
    alone, same = card.baseline
    by = ["model", *QUESTION, *same]
    own = alone(rows, run)
    own = own[cells.judged(own)].drop_duplicates(by)
    found: Floats = of[by].merge(own[[*by, "value"]], on=by, how="left")["value"].to_numpy(float)
    return found


class _Rows:
    """Rows of a part along an axis, as codes; in the order of questions, so that any order gives the same."""

    def __init__(self, rows: pd.DataFrame, part: CardPart, factor: Factor) -> None:
        # `first` rows of a unit are those of the first questions.
        rows = rows.sort_values([*QUESTION], kind="stable")
        column = rows[factor.name]
        self.factor = factor
        self.levels = factor.sorted(column.unique().tolist())
        places = {level: place for place, level in enumerate(self.levels)}
        self.level = column.map(places).to_numpy(dtype=np.intp)
        self.model = rows["model"].astype(object).to_numpy()
        self.values, self.careful, self.baseline = (
            rows[name].to_numpy(dtype=np.float64) for name in ("value", "careful", "baseline")
        )
        self.questions = _codes(rows, ["example_id"])
        held = [name for name in part.held if name != factor.name]
        self.unit = _codes(rows, held)
        self.unit_with_question = _codes(rows, [*held, *QUESTION])


def _codes(rows: pd.DataFrame, columns: Sequence[str]) -> Codes:
    if not columns:
        return np.zeros(len(rows), dtype=np.intp)
    grouped = rows.groupby(list(columns), observed=True, dropna=False, sort=False)
    return grouped.ngroup().to_numpy(dtype=np.intp)


def _curves(
    rows: _Rows, axis: str, labels: Mapping[str, str], models: Sequence[str]
) -> Iterator[Curve]:
    present = set(rows.model)
    for model in models:
        if model not in present:
            continue
        own = np.flatnonzero(rows.model == model)
        unit = rows.unit_with_question
        kept = own[crossed(rows.level[own], unit[own])]
        loose = own[crossed(rows.level[own], rows.unit[own])]
        if len(kept) < LEAST_OF_QUESTIONS * len(loose):
            kept, unit = loose, rows.unit
        if not len(kept):
            continue
        used, level = np.unique(rows.level[kept], return_inverse=True)
        yield Curve(
            model,
            labels,
            axis,
            rows.factor,
            [rows.levels[place] for place in used],
            level,
            rows.values[kept],
            np.unique(rows.questions[kept], return_inverse=True)[1],
            rows.unit[kept],
            rows.careful[kept],
            rows.baseline[kept],
            _others(rows, unit, kept, used, [name for name in models if name != model]),
        )


def _others(
    rows: _Rows,
    unit: Codes,
    kept: Codes,
    used: Codes,
    models: Sequence[str],
) -> dict[str, Floats]:
    """Means of other models over the kept rows' units and levels, if they answered nearly all of these."""
    n_levels = len(rows.levels)
    cell = unit * n_levels + rows.level
    wanted = np.zeros(int(cell.max()) + 1, dtype=bool)
    wanted[cell[kept]] = True
    n = np.bincount(rows.level[kept], minlength=n_levels)[used]
    found = {}
    for model in models:
        theirs = np.flatnonzero(wanted[cell] & (rows.model == model))
        counts = np.bincount(rows.level[theirs], minlength=n_levels)[used]
        if (counts >= LEAST_SHARED * n).all():
            sums = np.bincount(rows.level[theirs], rows.values[theirs], minlength=n_levels)[used]
            found[model] = sums / counts
    return found
