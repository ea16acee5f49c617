"""The numbers of report cards: curves over crossed prompts, and what is compared along them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from needlework.data.language_names import language_name
from needlework.factor import Factor
from needlework.models.accounts import UNANSWERED
from needlework.results import cells, stats
from needlework.results.cards.card import Card, Part
from needlework.results.columns import LEAST_ANSWERS
from needlework.results.result import Context

if TYPE_CHECKING:
    import pandas as pd

# Which prompts a curve is made of: the same at every level, so that nothing else changes along it.

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


# Whether answers are worse at one end of a curve than at the other: differences that hold together.
#
# What is compared is fixed before the answers are seen: the longest with the shortest length, the middle with
# the ends, most with fewest needles, each language with all others.

# All intervals of a card together hold with this probability at least (Bonferroni).
ALPHA = 0.05
# Fewer questions than these never show a drop: no sign test of five reaches 5%.
LEAST_QUESTIONS = 6


class Sides(NamedTuple):
    """A comparison: the name of the level, and the rows of both sides."""

    level: Any
    first: Mask
    second: Mask


class Difference(NamedTuple):
    """The second side's mean less the first's, its interval, and the number of questions."""

    value: float
    low: float
    high: float
    n_questions: int

    @property
    def shows_drop(self) -> bool:
        """Whether this is a drop: the interval lies below 0, of LEAST_QUESTIONS questions or more."""
        return self.high < 0 and self.n_questions >= LEAST_QUESTIONS


def sides(axis: str, levels: Sequence[Any], rows: npt.NDArray[np.intp]) -> Iterator[Sides]:
    """The comparisons along an axis. `rows` has one index into the sorted `levels` per row."""
    last = len(levels) - 1
    if axis == "language":
        for place, level in enumerate(levels):
            yield Sides(level, rows != place, rows == place)
    elif axis == "depth" and last >= 2:
        middle = min(range(1, last), key=lambda place: (abs(float(levels[place]) - 0.5), place))
        yield Sides(levels[middle], (rows == 0) | (rows == last), rows == middle)
    else:
        yield Sides(levels[last], rows == 0, rows == last)


def difference(
    values: npt.NDArray[np.float64], questions: npt.NDArray[np.intp], both: Sides, alpha: float
) -> Difference:
    """The difference of the sides' means of values in [0, 1], with its `stats.limits` at 1 - alpha.

    A question that both sides ask counts as a pair.
    """
    found = stats.difference_of_sides(values, questions, both.first, both.second, alpha)
    return Difference(*found)


# What became of a model's answers, benchmark by benchmark, and which length it reaches.

# Counts of requests and their answers; `decided`: answers whose language is known, of which `other_language`
# are in another than asked for; `with_needle`: those that could say "none" though there is a needle; lengths
# in tokens.
FACTS = (
    *("benchmark", "model", "n", "cut", "empty", "failed", "skipped"),
    *("said_none", "with_needle", "other_language", "decided", "claimed", "effective"),
)


def facts(
    benchmark: str, card: Card, rows: pd.DataFrame, run: Context, models: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """FACTS per model, without models that were asked nothing. `rows` are the benchmark's scores."""
    none = card.said_none(rows, run) if card.said_none else None
    asked = card.asked_in(rows, run)
    lengths = card.lengths(rows, run) if card.lengths else {}
    keys = ["instance_id", "sample"]
    for model in models:
        mine = rows["model"] == model
        if not mine.any():
            continue
        once = rows[mine].drop_duplicates(keys)
        given = ~once["finish_reason"].isin(UNANSWERED)
        ended = once["finish_reason"].astype(str).value_counts()
        # Scores that were made by hand may lack these columns.
        empty = (once["outcome"].astype(str) == "empty").sum() if "outcome" in once else 0
        language = asked[once.index]
        said = once["answered_in"].astype(object) if "answered_in" in once else language.mask(given)
        known = given & said.notna() & language.notna()
        denied = none[mine].dropna() if none is not None else []
        claimed, effective = lengths.get(model, (None, None))
        yield {
            **{"benchmark": benchmark, "model": model, "n": len(once), "empty": int(empty)},
            **{"cut": int(ended.get("length", 0)), "failed": int(ended.get("error", 0))},
            **{"skipped": int(ended.get("skipped", 0)), "with_needle": len(denied)},
            **{"said_none": sum(map(bool, denied)), "decided": int(known.sum())},
            "other_language": int((said[known] != language[known]).sum()),
            **{"claimed": claimed, "effective": effective},
        }


# The sentences below a report card: what its comparisons show. What they could have missed is a table.

# What an axis is called.
BY = {"needles": "number of needles"}
# What a card compares, in the plural; few benchmarks have several needles.
ASKED = {"length": "lengths", "depth": "depths", "language": "languages"}
NOTHING = (
    "was not asked the same at two lengths, depths, numbers of needles or languages: these answers cannot "
    "show where it breaks."
)
METHOD = (
    "In brackets: joint 95% intervals over questions. A drop is reported only if its interval excludes 0 and "
    "it rests on six questions or more."
)


def comparison(axis: str, factor: Factor, levels: Sequence[Any], level: Any) -> str:
    """A comparison in words: one level of a factor against its other levels."""
    if axis == "language":
        return f"in {language_name(str(level))} against the other languages"
    if axis == "depth":
        return "in the middle against the ends" if len(levels) > 2 else "at the end of the prompt"
    unit = "needles" if axis == "needles" else factor.label
    return f"from {factor.called(levels[0])} to {factor.called(level)} {unit}"


def sentence(model: str, compared: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """The sentences on a model: one per drop whose interval excludes 0, the largest first.

    `compared` are the comparisons of its card, `titles` of benchmarks.
    """
    if compared.empty:
        return f"{model} {NOTHING}"
    drops = list(_drops(compared, titles))
    said = [
        f"{who} loses {drop}."
        for who, drop in zip(chain([model], repeat("It")), drops, strict=False)
    ]
    return " ".join(said or [f"{model} shows no drop."])


def missed(
    compared: pd.DataFrame, titles: Mapping[str, str]
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """The drops that the run could have missed: model, part of a benchmark, and the largest drop by axis.

    Drops are in points: the far end of the intervals. Axes with a shown drop are left out.
    """
    compared = compared.fillna({"part": ""})
    for (model, benchmark, part), own in compared.groupby(
        ["card", "benchmark", "part"], sort=False
    ):
        found = {
            str(axis): _points(largest)
            for axis, rows in own.groupby("axis", sort=False)
            if not rows["drop"].any() and (largest := -float(rows["ci_low"].min())) > 0
        }
        if found:
            yield str(model), called(titles[str(benchmark)], str(part)), found


def _drops(compared: pd.DataFrame, titles: Mapping[str, str]) -> Iterator[str]:
    """The drops that are shown, the largest first."""
    compared = compared.fillna({"part": ""})
    shown = compared[compared["drop"].astype(bool)].sort_values("difference", kind="stable")
    for row in shown.to_dict("records"):
        where = called(titles[row["benchmark"]], row["part"])
        yield (f"{size(row)} {row['comparison']} ({where}, {_questions(row['n_questions'])})")


def size(drop: Mapping[str, Any] | pd.Series) -> str:
    """A drop in points, with its interval."""
    most, value, least = (_points(-drop[name]) for name in ("ci_low", "difference", "ci_high"))
    return f"{value} points [{least}, {most}]"


def called(title: str, part: str) -> str:
    """A part of a benchmark."""
    return f"{title} {part}".strip()


def _questions(n: float) -> str:
    return f"{int(n):,} question{'' if n == 1 else 's'}"


def _points(share: float) -> str:
    """A share in percent points; a bound that is not 0 is not written as 0."""
    points = 100 * share
    if 0 < points < 0.05:
        return "<0.1"
    return f"{points:.1f}" if 0 < abs(points) < 0.95 else f"{points:.0f}"


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

    factor: the axis. levels: its kept levels. level: an index into `levels` per row. questions: a code per
    row. others: for each other model, its mean per level on the same prompts.
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
        """The rows of POINTS: of the card's model, then of the other models."""
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
        """The comparisons along this curve."""
        return list(sides(self.axis, self.levels, self.level))

    def compared(self, alpha: float) -> Iterator[dict[str, Any]]:
        """The rows of COMPARED, with intervals at 1 - alpha."""
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
    """The curves of these models in a benchmark; `rows` are its scores.

    `in_words` of the run are the models whose lengths are counted in words: their unit is not tokens.
    """
    for part in card.parts:
        chosen = part.rows(rows, run)
        chosen = cells.kept(chosen, cells.judged(chosen) & chosen["model"].isin(list(models)))
        for name, factor in part.axes():
            own = cells.kept(chosen, chosen[factor.name].notna())
            if len(own):
                labels = {"benchmark": benchmark, "part": part.name}
                for curve in _curves(_Rows(own, part, factor), name, labels, models):
                    counted = factor.label == "tokens" and curve.model in run.run.get(
                        "in_words", ()
                    )
                    words = replace(factor, label="words") if counted else factor
                    yield replace(curve, factor=words)


def reportable(points: pd.DataFrame, compared: pd.DataFrame) -> pd.DataFrame:
    """The rows of COMPARED whose curve has LEAST_ANSWERS answers or more at each point."""
    curve = ["card", "benchmark", "part", "axis"]
    own = points[points["card"] == points["model"]]
    few = set(own.loc[own["n"] < LEAST_ANSWERS, curve].itertuples(index=False, name=None))
    names = compared[curve].itertuples(index=False, name=None)
    # Not a list: an empty one would choose columns.
    return compared[np.array([name not in few for name in names], dtype=bool)]


def tables(found: Sequence[Curve]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tables POINTS and COMPARED of all curves of a run."""
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
