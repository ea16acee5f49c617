"""The first screen of the page of results: a title that is the finding, and models by benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from needlework.data.language_names import language_name
from needlework.results import comparisons, stats
from needlework.results.cards.drawn import lengths_in_words
from needlework.results.cards.numbers import (
    ASKED,
    BY,
    called,
    missed,
    reportable,
    size,
)
from needlework.results.columns import LEAST_ANSWERS
from needlework.results.page import overview
from needlework.results.page.terminal import headline, lower_tasks

if TYPE_CHECKING:
    import pandas as pd

# Drops that the title and a row of the table name.
MOST_NAMED = 3
WIDE, HIGH = 46, 20
_CURVES = ("length", "depth", "needles")


@dataclass(frozen=True)
class Curve:
    """A small curve: its axis, the points of an SVG polyline, and its values in words."""

    axis: str
    points: str
    words: str


@dataclass(frozen=True)
class Asked:
    """A model in a benchmark: mean and its 95% interval in percent over n answers, curves, cells by language.

    mean: None where fewer than LEAST_ANSWERS answers are there. lower: tasks that it leaves out, with their
    means.
    """

    n: int
    mean: float | None
    low: float
    high: float
    link: str
    curves: Sequence[Curve]
    languages: Sequence[tuple[str, overview.Cell]]
    lower: Sequence[str]


@dataclass(frozen=True)
class Row:
    """A model: its range of ranks, mean over benchmarks in percent, lengths and drops in words.

    effective, claimed: lengths with their units; "" where no benchmark measures them.
    """

    model: str
    rank: str
    mean: float | None
    asked: Mapping[str, Asked | None]
    effective: str
    claimed: str
    breaks: str


class Compared(NamedTuple):
    """A model's mean less another's, in points on the same prompts, and whether a test tells them apart."""

    difference: float
    apart: bool


class Matrix(NamedTuple):
    """The paired comparisons of a benchmark's models: one row and one column per model."""

    title: str
    cells: Mapping[str, Mapping[str, Compared]]


def finding(
    scores: Mapping[str, pd.DataFrame],
    benchmarks: Mapping[str, Mapping[str, Any]],
    grids: Mapping[str, Sequence[overview.Grid]],
    models: Sequence[str],
    cards: Mapping[str, pd.DataFrame],
) -> dict[str, Any]:
    """Title, further sentences, rows in the order of their means, and what the run leaves open.

    scores: of `models` alone. benchmarks: title, designed, asked (factors). cards: the tables of report
    cards, by name, if there are any.
    """
    titles = {name: str(own["title"]) for name, own in benchmarks.items()}
    given = {
        name: headline(scores[name], own["designed"], own["closed_book"])
        for name, own in benchmarks.items()
    }
    asked = {
        model: {
            name: _asked(
                name, model, given[name], grids[name], cards, _lower(scores[name], own, model)
            )
            for name, own in benchmarks.items()
        }
        for model in models
    }
    means, ranks, matrices = _ranked(given, benchmarks, models)
    if cards:
        cards = {**cards, "comparisons": reportable(cards["points"], cards["comparisons"])}
    order = sorted(models, key=lambda model: -means.get(model, -1.0))
    compared = cards.get("comparisons")
    rows = [
        Row(
            model,
            ranks.get(model, ""),
            means.get(model),
            asked[model],
            *_lengths(model, cards),
            _breaks(model, compared, titles),
        )
        for model in order
    ]
    open_drops = [] if compared is None else list(missed(compared, titles))
    left = [title for name, title in titles.items() if given[name].empty]
    return {
        "title": _title(rows, cards, titles),
        "rows": rows,
        "matrices": matrices,
        "titles": {name: titles[name] for name in titles if not given[name].empty},
        # Whether any mean leaves out tasks that are lower.
        "leave_out": any(one and one.lower for row in rows for one in row.asked.values()),
        "losing": [model for model, _ in _losing(order, compared)],
        "not_asked": left,
        "not_compared": []
        if compared is None
        else [words for axis, words in ASKED.items() if axis not in set(compared["axis"])],
        "missed": open_drops,
        "missed_ranges": _ranges(open_drops),
        "axes": {axis: BY.get(axis, axis) for axis in ("length", "depth", "needles", "language")},
    }


def _asked(
    benchmark: str,
    model: str,
    given: pd.DataFrame,
    grids: Sequence[overview.Grid],
    cards: Mapping[str, pd.DataFrame],
    lower: Sequence[str],
) -> Asked | None:
    mine = given[given["model"] == model]
    if mine.empty:
        return None
    found = stats.estimate(mine["value"].to_numpy(), mine["example_id"].to_numpy())
    few = found.n < LEAST_ANSWERS
    view = {"model": model}
    tasks = sorted(mine["task"].unique())
    grid = next((grid for grid in grids if model in grid.rows), None)
    cells = [] if grid is None else list(zip(grid.languages, grid.rows[model][1:], strict=True))
    return Asked(
        n=found.n,
        mean=None if few else 100 * found.value,
        low=100 * found.ci_low,
        high=100 * found.ci_high,
        link=overview.explorer(benchmark, {**view, "task": tasks}),
        curves=_curves(benchmark, model, cards),
        languages=[(name, cell) for name, cell in cells if cell and cell.n >= LEAST_ANSWERS],
        lower=lower,
    )


def _lower(scores: pd.DataFrame, benchmark: Mapping[str, Any], model: str) -> list[str]:
    """What the mean of a model leaves out (`lower_tasks`)."""
    mine = scores[scores["model"] == model]
    return lower_tasks(mine, benchmark["designed"], benchmark["closed_book"])


def _curves(benchmark: str, model: str, cards: Mapping[str, pd.DataFrame]) -> list[Curve]:
    """Per axis, the part with the most answers per point."""
    if "points" not in cards:
        return []
    points = cards["points"]
    own = points[
        (points["card"] == model) & (points["model"] == model) & (points["benchmark"] == benchmark)
    ]
    found = []
    for axis in _CURVES:
        parts = [
            part
            for _, part in own[own["axis"] == axis].groupby("part", sort=False)
            if part["n"].min() >= LEAST_ANSWERS
        ]
        if not parts:
            continue
        part = max(parts, key=lambda rows: int(rows["n"].sum()))
        x = part["level"].astype(float).to_numpy() if axis == "depth" else np.arange(len(part))
        x = (x - x.min()) / max(x.max() - x.min(), 1e-9) * (WIDE - 4) + 2
        y = HIGH - 2 - part["value"].to_numpy() * (HIGH - 4)
        words = ", ".join(
            f"{name}: {100 * value:.0f}%"
            for name, value in zip(part["called"], part["value"], strict=True)
        )
        unit = part["unit"].iloc[0] if axis == "length" else BY.get(axis, axis)
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        found.append(Curve(axis, line, f"by {unit}: {words} ({int(part['n'].min()):,} per point)"))
    return found


def _ranked(
    given: Mapping[str, pd.DataFrame],
    benchmarks: Mapping[str, Mapping[str, Any]],
    models: Sequence[str],
) -> tuple[dict[str, float], dict[str, str], list[Matrix]]:
    """Means over the benchmarks that all models answered, in percent; ranks; and every pair of models.

    Benchmarks of which a model has fewer than LEAST_ANSWERS answers count as not answered.

    Two models share a rank unless their answers to these benchmarks are told apart.
    """
    enough = {
        name: [model for model in models if (own["model"] == model).sum() >= LEAST_ANSWERS]
        for name, own in given.items()
    }
    shared = [name for name, own in enough.items() if len(own) == len(models)]
    sides = {
        name: {str(model): rows for model, rows in own.groupby("model", sort=False)}
        for name, own in given.items()
    }
    means = {
        model: float(np.mean([100 * sides[name][model]["value"].mean() for name in shared]))
        for model in models
        if shared
    }
    matrices = [
        _compared(str(benchmarks[name]["title"]), {name: sides[name]}, benchmarks, own)
        for name, own in enough.items()
        if len(own) > 1
    ]
    if len(models) < 2 or not shared:
        return means, {}, matrices
    overall = _compared("All", {name: sides[name] for name in shared}, benchmarks, models)
    ranks = {}
    for model in models:
        told = [found for found in overall.cells[model].values() if found.apart]
        best = 1 + sum(found.difference < 0 for found in told)
        worst = len(models) - sum(found.difference > 0 for found in told)
        ranks[model] = str(best) if best == worst else f"{best}–{worst}"
    return means, ranks, [overall, *matrices] if len(shared) > 1 else matrices


def _compared(
    title: str,
    sides: Mapping[str, Mapping[str, pd.DataFrame]],
    benchmarks: Mapping[str, Mapping[str, Any]],
    models: Sequence[str],
) -> Matrix:
    """Every two models by the permutation test over questions, after Holm's correction over the pairs.

    sides: answers by benchmark and model; each benchmark has the same weight.
    """
    pairs = list(combinations(models, 2))
    differences, p = [], []
    for first, second in pairs:
        changes, questions = [], []
        for name, own in sides.items():
            both = comparisons.paired(
                own[first], own[second], benchmarks[name]["asked"], same_prompts=False
            )
            if len(both):
                change = (both["value_first"] - both["value_second"]).to_numpy()
                changes.append(change / len(change))
                questions += [f"{name}/{example}" for example in both["example_id"]]
        every = np.concatenate(changes) if changes else np.zeros(0)
        differences.append(100 * float(every.sum()) / max(len(changes), 1))
        p.append(comparisons.permutation_test(every, questions, seed=(first, second)))
    cells: dict[str, dict[str, Compared]] = {model: {} for model in models}
    for (first, second), value, found in zip(pairs, comparisons.holm(p), differences, strict=True):
        apart = bool(value < comparisons.ALPHA)
        cells[first][second] = Compared(found, apart)
        cells[second][first] = Compared(-found, apart)
    return Matrix(title, cells)


def _lengths(model: str, cards: Mapping[str, pd.DataFrame]) -> tuple[str, str]:
    """Effective and claimed length in a few words, if a benchmark defines these."""
    if "answers" not in cards:
        return "", ""
    answers = cards["answers"]
    for row in answers[answers["model"] == model].to_dict("records"):
        if (found := lengths_in_words(row, cards["points"])) is not None:
            claimed, effective = found
            return effective, claimed
    return "", ""


def _ranges(missed: Sequence[tuple[str, str, Mapping[str, str]]]) -> str:
    """By axis, the smallest and the largest drop that could have been missed, in points."""
    sizes: dict[str, list[float]] = {}
    for _, _, found in missed:
        for axis, points in found.items():
            sizes.setdefault(BY.get(axis, axis), []).append(float(points.lstrip("<")))
    return ", ".join(f"{axis} {min(own):.0f} to {max(own):.0f}" for axis, own in sizes.items())


def _drops(model: str, compared: pd.DataFrame | None) -> pd.DataFrame | None:
    """The shown drops of a model, the largest first; None without any."""
    if compared is None:
        return None
    own = compared[(compared["card"] == model) & compared["drop"].astype(bool)]
    return own.sort_values("difference", kind="stable") if len(own) else None


def _is_compared(model: str, compared: pd.DataFrame | None) -> bool:
    """Whether the run compares anything of a model, so that a drop could show."""
    return compared is not None and bool((compared["card"] == model).any())


def _breaks(model: str, compared: pd.DataFrame | None, titles: Mapping[str, str]) -> str:
    drops = _drops(model, compared)
    if drops is None:
        return "no drop shown" if _is_compared(model, compared) else ""
    named = [
        f"{_place(row)}: {size(row)} ({called(titles[row['benchmark']], row['part'])})"
        for row in drops.head(MOST_NAMED).to_dict("records")
    ]
    more = len(drops) - len(named)
    return "; ".join(named) + (f"; {more} more" if more else "")


def _place(row: Mapping[str, Any]) -> str:
    axis = row["axis"]
    if axis == "language":
        return str(language_name(str(row["level"])))
    return {"depth": "middle", "needles": "more needles"}.get(axis, axis)


def _losing(models: Sequence[str], compared: pd.DataFrame | None) -> list[tuple[str, pd.DataFrame]]:
    """The models with a shown drop and these drops; the model with the largest drop comes first."""
    found = [(model, drops) for model in models if (drops := _drops(model, compared)) is not None]
    return sorted(found, key=lambda one: float(one[1]["difference"].iloc[0]))


def _title(
    rows: Sequence[Row], cards: Mapping[str, pd.DataFrame], titles: Mapping[str, str]
) -> list[str]:
    """The heading, then further sentences. titles: of the benchmarks, by name."""
    compared = cards.get("comparisons")
    losing = _losing([row.model for row in rows], compared)
    if len(rows) == 1:
        if losing:
            model, drops = losing[0]
            return [_loss(model, drops.iloc[0], cards["points"], titles)]
        model = rows[0].model
        found = [(titles[name], one) for name, one in rows[0].asked.items() if one]
        if len(found) == 1 and (mean := found[0][1].mean) is not None:
            title, one = found[0]
            return [f"{model} scores {mean:.0f}% [{one.low:.0f}, {one.high:.0f}] in {title}"]
        return [f"{model} shows no drop" if _is_compared(model, compared) else model]
    said = []
    first = [row.model for row in rows if row.rank.split("–")[0] == "1"]
    if len(first) == 1:
        by_benchmark = zip(*(row.asked.values() for row in rows), strict=True)
        shared = sum(all(one and one.mean is not None for one in own) for own in by_benchmark)
        over = f", the mean of {shared} benchmarks" if shared > 1 else ""
        said.append(f"{first[0]} is best: {rows[0].mean:.0f}%{over}")
    elif first and len(first) < len(rows):
        said.append(f"{', '.join(first[:-1])} and {first[-1]} are best and not told apart")
    else:
        said.append(f"{len(rows)} models, none told apart as the best")
    for model, drops in losing[:MOST_NAMED]:
        said.append(_loss(model, drops.iloc[0], cards["points"], titles))
    return said


def _loss(model: str, drop: pd.Series, points: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """A drop in words, with the means of both sides, its benchmark and its number of questions."""
    own = points[
        (points["card"] == model)
        & (points["model"] == model)
        & (points["benchmark"] == drop["benchmark"])
        & (points["part"] == drop["part"])
        & (points["axis"] == drop["axis"])
    ]
    levels, values = own["level"].astype(str).tolist(), (100 * own["value"]).tolist()
    # As text a level is written as the table of points writes it.
    place = levels.index(str(drop["level"]))
    low, benchmark = values[place], called(titles[drop["benchmark"]], drop["part"])
    asked = f"({benchmark}, {int(drop['n_questions']):,} questions)"
    loses = f"{model} loses {size(drop)}"
    if drop["axis"] == "depth" and len(levels) > 2:
        ends = (values[0] + values[-1]) / 2
        return f"{loses} in the middle: {low:.0f}% there, {ends:.0f}% at the ends {asked}"
    if drop["axis"] == "language":
        name = language_name(str(drop["level"]))
        rest = float(np.mean([value for i, value in enumerate(values) if i != place]))
        return f"{loses} in {name}: {low:.0f}% there, {rest:.0f}% in other languages {asked}"
    unit = {"needles": "needles", "depth": "of the prompt"}.get(drop["axis"], own["unit"].iloc[0])
    names = own["called"].tolist()
    what = {"needles": "with more needles", "depth": "at the end"}.get(drop["axis"], "by length")
    return (
        f"{loses} {what}: {values[0]:.0f}% at {names[0]} {unit}, "
        f"{low:.0f}% at {names[place]} {asked}"
    )
