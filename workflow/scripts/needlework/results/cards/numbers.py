"""The numbers of report cards: curves over crossed prompts, and what is compared along them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from needlework.factor import Factor
from needlework.results import cells, stats
from needlework.results.cards.card import Card, Part
from needlework.results.cards.contrasts import ALPHA, Sides, difference, sides
from needlework.results.cards.crossing import crossed
from needlework.results.cards.words import comparison
from needlework.results.context import Context

if TYPE_CHECKING:
    import pandas as pd

LABELS = ("card", "benchmark", "part", "axis", "level")
# A point: of the card's model with its interval over questions; of another, its mean on the same prompts.
POINTS = (*LABELS, "called", "unit", "model", "value", "ci_low", "ci_high", "n", "n_questions")
# A comparison: the level less what `comparison` says; the intervals of a card hold together.
COMPARED = (*LABELS, "comparison", "difference", "ci_low", "ci_high", "n_questions", "drop")
# Another model has a line on a card if it answered at least this share of the prompts.
LEAST_SHARED = 0.95
# Columns that say which prompt a row is of, when levels ask the same questions.
QUESTION = ("example_id", "sample")
# A curve over questions is taken if it has at least this share of the prompts of one over settings alone.
LEAST_OF_QUESTIONS = 0.5


@dataclass(frozen=True)
class Curve:
    """The crossed rows of a model along an axis.

    factor: of the levels, of which `levels` are kept. level: each row's place among these. questions: codes.
    others: by model, its mean at each level, on the same prompts.
    """

    model: str
    labels: Mapping[str, str]
    axis: str
    factor: Factor
    levels: Sequence[Any]
    level: npt.NDArray[np.intp]
    values: npt.NDArray[np.float64]
    questions: npt.NDArray[np.intp]
    others: Mapping[str, npt.NDArray[np.float64]]

    def points(self) -> Iterator[dict[str, Any]]:
        """POINTS of the card's model, then of the others."""
        labels = {**self.labels, "card": self.model, "axis": self.axis, "unit": self.factor.label}
        for place, level in enumerate(self.levels):
            here = self.level == place
            found = stats.estimate(self.values[here], self.questions[here])
            yield {
                **labels,
                "level": level,
                "called": self.factor.called(level),
                "model": self.model,
                "value": found.value,
                "ci_low": found.ci_low,
                "ci_high": found.ci_high,
                "n": found.n,
                "n_questions": found.n_questions,
            }
        for model, means in self.others.items():
            for level, value in zip(self.levels, means, strict=True):
                called = self.factor.called(level)
                yield {
                    **{**labels, "level": level, "called": called},
                    **{"model": model, "value": value},
                }

    def sides(self) -> list[Sides]:
        """What is compared along it."""
        return list(sides(self.axis, self.levels, self.level))

    def compared(self, alpha: float) -> Iterator[dict[str, Any]]:
        """COMPARED, each interval at 1 - alpha."""
        for both in self.sides():
            found = difference(self.values, self.questions, both, alpha)
            said = comparison(self.axis, self.factor, self.levels, both.level)
            yield {
                **self.labels,
                **{"card": self.model, "axis": self.axis, "level": both.level, "comparison": said},
                **{"difference": found.value, "ci_low": found.low, "ci_high": found.high},
                **{"n_questions": found.n_questions, "drop": found.shows_drop},
            }


def curves(
    benchmark: str, card: Card, rows: pd.DataFrame, run: Context, models: Sequence[str]
) -> Iterator[Curve]:
    """The curves of these models in a benchmark; `rows` are its scores."""
    for part in card.parts:
        chosen = part.rows(rows, run)
        chosen = cells.kept(chosen, cells.judged(chosen) & chosen["model"].isin(list(models)))
        for name, factor in part.axes():
            own = cells.kept(chosen, chosen[factor.name].notna())
            if len(own):
                labels = {"benchmark": benchmark, "part": part.name}
                yield from _curves(_Rows(own, part, factor), name, labels, models)


def tables(found: Sequence[Curve]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of all curves of a run, POINTS and COMPARED."""
    import pandas as pd

    n: dict[str, int] = {}
    for curve in found:
        n[curve.model] = n.get(curve.model, 0) + len(curve.sides())
    points = [point for curve in found for point in curve.points()]
    pairs = [row for curve in found for row in curve.compared(ALPHA / n[curve.model])]
    return pd.DataFrame(points, columns=list(POINTS)), pd.DataFrame(pairs, columns=list(COMPARED))


def read(path: str | Path) -> pd.DataFrame:
    """A table of a card from its CSV: levels and names are text, even if all of them look like numbers."""
    import pandas as pd

    texts = ("card", "benchmark", "part", "level", "called", "unit", "model", "comparison")
    found = pd.read_csv(
        path, keep_default_na=False, na_values=[""], dtype=dict.fromkeys(texts, "object")
    )
    return found.fillna({name: "" for name in ("part", "unit") if name in found})


class _Rows:
    """Rows of a part along an axis, as codes; in the order of questions, so that any order gives the same."""

    def __init__(self, rows: pd.DataFrame, part: Part, factor: Factor) -> None:
        # `first` rows of a unit are those of the first questions.
        rows = rows.sort_values([*QUESTION], kind="stable")
        column = rows[factor.name]
        self.factor = factor
        self.levels = factor.sorted(column.unique().tolist())
        places = {level: place for place, level in enumerate(self.levels)}
        self.level = column.map(places).to_numpy(dtype=np.intp)
        self.model = rows["model"].astype(object).to_numpy()
        self.values = rows["value"].to_numpy(dtype=np.float64)
        self.questions = _codes(rows, ["example_id"])
        held = [name for name in part.held if name != factor.name]
        self.unit = _codes(rows, held)
        self.unit_with_question = _codes(rows, [*held, *QUESTION])


def _codes(rows: pd.DataFrame, columns: Sequence[str]) -> npt.NDArray[np.intp]:
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
            _others(rows, unit, kept, used, [name for name in models if name != model]),
        )


def _others(
    rows: _Rows,
    unit: npt.NDArray[np.intp],
    kept: npt.NDArray[np.intp],
    used: npt.NDArray[np.intp],
    models: Sequence[str],
) -> dict[str, npt.NDArray[np.float64]]:
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
