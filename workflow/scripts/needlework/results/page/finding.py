"""The first screen of the page of results: a title that is the finding, and models by benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from needlework.results.columns import LEAST_ANSWERS
from needlework.results.numbers.claims import ALL
from needlework.results.numbers.in_words import (
    BY,
    IN_PLURAL,
    MODEL,
    called,
    lengths_in_words,
    loss,
    losses,
    missed,
    place,
    size,
)
from needlework.results.numbers.tables import Comparison, Mean, records
from needlework.results.page.overview import MeanCell, cell
from needlework.results.page.terminal import lower_tasks

if TYPE_CHECKING:
    import pandas as pd

# Losses that the title and a row of the table name.
MOST_NAMED = 3
# From this share of answers on, cut and empty answers are a finding.
MOST_LOST = 0.05
WIDE, HIGH = 46, 20
_CURVES = ("length", "depth", "needles")


@dataclass(frozen=True)
class SmallCurve:
    """A small curve."""

    name: str
    # Of an SVG polyline.
    points: str
    # The values in words.
    words: str


@dataclass(frozen=True)
class Asked:
    """A model in a benchmark."""

    n: int
    n_questions: int
    # In percent, with its 95% interval. None if there are fewer than LEAST_ANSWERS answers.
    mean: float | None
    low: float
    high: float
    link: str
    curves: Sequence[SmallCurve]
    languages: Sequence[tuple[str, MeanCell]]
    # Tasks that the mean leaves out, with their means.
    lower: Sequence[str]


@dataclass(frozen=True)
class ModelRow:
    """A model in the main table of the page."""

    model: str
    # Its range of ranks.
    rank: str
    # Over benchmarks, in percent.
    mean: float | None
    # By benchmark.
    asked: Mapping[str, Asked | None]
    # Lengths with their units; "" if no benchmark measures them.
    effective: str
    claimed: str
    # Its losses in words.
    breaks: str


@dataclass(frozen=True)
class Lead:
    """A model's mean less another's, in points on the same prompts, with its interval."""

    difference: float
    low: float
    high: float
    # Whether a test shows the difference.
    told: bool


@dataclass(frozen=True)
class Matrix:
    """The paired comparisons of a benchmark's models: one row and one column per model."""

    title: str
    cells: Mapping[str, Mapping[str, Lead]]


class MainFinding(TypedDict):
    """What the page says first: a title, sentences, a table of models, and what the run leaves open."""

    title: list[str]
    all: list[str]
    # In the order of their means.
    rows: list[ModelRow]
    matrices: list[Matrix]
    titles: dict[str, str]
    # Whether any mean leaves out tasks that are lower.
    leave_out: bool
    languages: bool
    # The models with a loss, the largest first.
    losing: list[str]
    not_asked: list[str]
    not_compared: list[str]
    # A model, a part of a benchmark, and by axis the largest loss that could have been missed.
    missed: list[tuple[str, str, dict[str, str]]]
    missed_ranges: str
    axes: dict[str, str]


def finding(
    numbers: Mapping[str, pd.DataFrame], titles: Mapping[str, str], models: Sequence[str]
) -> MainFinding:
    """The finding of a run.

    `numbers` are the tables of numbers (`numbers.tables`), `titles` the titles of all benchmarks by name.
    """
    compared, means = numbers["comparisons"], numbers["means"]
    heads = means[means["kind"] == "headline"]
    asked = {model: {name: _asked(name, model, numbers) for name in titles} for model in models}
    overall = _means(asked, models)
    ranks = _ranks(compared, titles, models)
    order = sorted(models, key=lambda model: -overall.get(model, -1.0))
    rows = [
        ModelRow(
            model,
            ranks.get(model, ""),
            overall.get(model),
            asked[model],
            *_lengths(model, numbers),
            _breaks(model, compared, titles),
        )
        for model in order
    ]
    of_curves = compared[compared["axis"] != MODEL]
    open_losses = list(missed(compared, titles))
    found = losses(compared)
    here = [name for name in titles if name in set(heads["benchmark"])]
    said = [loss(row, titles) for row in records(found)]
    lost = _lost(numbers["answers"], order)
    title = _title(rows, found, titles, lost)
    return {
        "title": title,
        "all": [one for one in [*said, *lost] if one not in title],
        "rows": rows,
        "matrices": _matrices(compared, titles, order),
        "titles": {name: titles[name] for name in here},
        "leave_out": any(one and one.lower for row in rows for one in row.asked.values()),
        "languages": any(one and one.languages for row in rows for one in row.asked.values()),
        "losing": list(dict.fromkeys(found["card"])),
        "not_asked": [title for name, title in titles.items() if name not in here],
        "not_compared": [
            words for axis, words in IN_PLURAL.items() if axis not in set(of_curves["axis"])
        ]
        if len(numbers["points"])
        else [],
        "missed": open_losses,
        "missed_ranges": _ranges(open_losses),
        "axes": {axis: BY.get(axis, axis) for axis in ("length", "depth", "needles", "language")},
    }


def _asked(benchmark: str, model: str, numbers: Mapping[str, pd.DataFrame]) -> Asked | None:
    means = numbers["means"]
    own = means[(means["model"] == model) & (means["benchmark"] == benchmark)]
    head: Mean
    for head in records(own[own["kind"] == "headline"]):
        by_metric = own[own["kind"] == "metric"]
        first = by_metric[
            (by_metric["metric"] == by_metric["metric"].iloc[0])
            & (by_metric["tasks"] == by_metric["tasks"].iloc[0])
        ]
        cells = [
            (row["language"], cell(row))
            for row in records(first[first["language"] != ""])
            if row["n"] >= LEAST_ANSWERS
        ]
        return Asked(
            n=int(head["n"]),
            n_questions=int(head["n_questions"]),
            mean=None if head["n"] < LEAST_ANSWERS else 100 * head["value"],
            low=100 * head["ci_low"],
            high=100 * head["ci_high"],
            link=head["link"],
            curves=_curves(benchmark, model, numbers["points"]),
            languages=cells,
            lower=lower_tasks(own),
        )
    return None


def _curves(benchmark: str, model: str, points: pd.DataFrame) -> list[SmallCurve]:
    """Per axis, the part with the most answers per point."""
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
        many = f"{int(part['n_questions'].min()):,} questions, {int(part['n'].min()):,} answers per point"
        found.append(SmallCurve(axis, line, f"Accuracy by {unit}: {words}; {many}"))
    return found


def _means(
    asked: Mapping[str, Mapping[str, Asked | None]], models: Sequence[str]
) -> dict[str, float]:
    """Means in percent over the benchmarks in which every model has a mean."""
    by_benchmark = zip(*(asked[model].values() for model in models), strict=True)
    shared = [
        [one.mean for one in own if one and one.mean is not None]
        for own in by_benchmark
        if all(one and one.mean is not None for one in own)
    ]
    return {
        model: float(np.mean([own[place] for own in shared]))
        for place, model in enumerate(models)
        if shared
    }


def _pairs(compared: pd.DataFrame, models: Sequence[str]) -> dict[str, dict[str, dict[str, Lead]]]:
    """The comparisons of models, by benchmark, from both sides."""
    found: dict[str, dict[str, dict[str, Lead]]] = {}
    row: Comparison
    for row in records(compared[compared["axis"] == MODEL]):
        cells = found.setdefault(row["benchmark"], {model: {} for model in models})
        value, low, high = (100 * n for n in (row["difference"], row["ci_low"], row["ci_high"]))
        told = bool(row["shown"])
        cells[row["card"]][row["level"]] = Lead(value, low, high, told)
        cells[row["level"]][row["card"]] = Lead(-value, -high, -low, told)
    return found


def _matrices(
    compared: pd.DataFrame, titles: Mapping[str, str], models: Sequence[str]
) -> list[Matrix]:
    """All benchmarks together first."""
    return [
        Matrix(titles.get(name, "All"), {model: own for model, own in cells.items() if own})
        for name, cells in _pairs(compared, models).items()
    ]


def _ranks(
    compared: pd.DataFrame, titles: Mapping[str, str], models: Sequence[str]
) -> dict[str, str]:
    """The ranks over all shared benchmarks; models share one unless a test tells them apart."""
    pairs = _pairs(compared, models)
    whole = [
        cells
        for cells in pairs.values()
        if all(len(own) == len(models) - 1 for own in cells.values())
    ]
    cells = pairs.get(ALL) or (whole[0] if len(whole) == 1 else None)
    if cells is None:
        return {}
    ranks = {}
    for model in models:
        told = [pair.difference for pair in cells[model].values() if pair.told]
        best = 1 + sum(difference < 0 for difference in told)
        worst = len(models) - sum(difference > 0 for difference in told)
        ranks[model] = str(best) if best == worst else f"{best}–{worst}"
    return ranks


def _lengths(model: str, numbers: Mapping[str, pd.DataFrame]) -> tuple[str, str]:
    """Effective and claimed length in a few words, if a benchmark defines these."""
    answers = numbers["answers"]
    for row in records(answers[answers["model"] == model]):
        if (found := lengths_in_words(row, numbers["points"])) is not None:
            claimed, effective = found
            return effective, claimed
    return "", ""


def _ranges(open_losses: Sequence[tuple[str, str, Mapping[str, str]]]) -> str:
    """By axis, the largest loss that could have been missed, in points."""
    sizes: dict[str, float] = {}
    for _, _, found in open_losses:
        for axis, points in found.items():
            name = BY.get(axis, axis)
            sizes[name] = max(sizes.get(name, 0.0), float(points.lstrip("<")))
    return ", ".join(f"up to {most:.0f} points by {axis}" for axis, most in sizes.items())


def _breaks(model: str, compared: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """The largest losses of a model; without any, the loss that could have been missed."""
    own = losses(compared, model)
    named = [
        f"{place(row)}: {size(row)} ({called(titles[row['benchmark']], row['part'])})"
        for row in records(own.head(MOST_NAMED))
    ]
    if named:
        more = len(own) - len(named)
        return "; ".join(named) + (f"; {more} smaller" if more else "")
    tested = compared[(compared["card"] == model) & (compared["axis"] != MODEL)]
    if tested["p"].isna().all():
        return ""
    open_losses = [
        float(points.lstrip("<"))
        for _, _, found in missed(tested, titles)
        for points in found.values()
    ]
    possible = f", up to {max(open_losses):.0f} points possible" if open_losses else ""
    return f"no loss shown{possible}"


def _lost(answers: pd.DataFrame, models: Sequence[str]) -> list[str]:
    """The models that lose answers because these are cut or empty, in sentences; most first."""
    lost = ["lost_cut", "lost_empty"]
    sums = answers.groupby("model", sort=False)[[*lost, "judged"]].sum()
    shares = (sums[lost].sum(axis=1) / sums["judged"]).reindex(list(models)).dropna()
    said = []
    for model, share in shares[shares >= MOST_LOST].sort_values(ascending=False).items():
        kinds = " or ".join(name.removeprefix("lost_") for name in lost if sums.loc[model, name])
        said.append(f"{100 * share:.0f}% of {model}'s answers are {kinds} and count as wrong")
    return said


def _title(
    rows: Sequence[ModelRow], found: pd.DataFrame, titles: Mapping[str, str], lost: Sequence[str]
) -> list[str]:
    """The heading, then further sentences: the largest loss of each model that has one."""
    first = found.drop_duplicates("card").head(MOST_NAMED)
    said = [loss(row, titles) for row in records(first)]
    if len(rows) == 1:
        return [*(said or [_of_one(rows[0], titles)]), *lost]
    lost = lost[:MOST_NAMED]
    best = [row.model for row in rows if row.rank.split("–")[0] == "1"]
    if len(best) == 1:
        by_benchmark = zip(*(row.asked.values() for row in rows), strict=True)
        shared = sum(all(one and one.mean is not None for one in own) for own in by_benchmark)
        over = f" over {shared} benchmarks" if shared > 1 else ""
        (mean,) = (row.mean for row in rows if row.model == best[0])
        head = f"{best[0]} is best, with a mean of {mean:.0f}%{over}"
    elif best and len(best) < len(rows):
        head = f"{', '.join(best[:-1])} and {best[-1]} share the first rank"
    else:
        head = f"{len(rows)} models" + (", and no single best one" if best else "")
    return [head, *said, *lost]


def _of_one(row: ModelRow, titles: Mapping[str, str]) -> str:
    """The heading of a run of one model without a loss."""
    found = [(titles[name], one) for name, one in row.asked.items() if one]
    if len(found) == 1 and (mean := found[0][1].mean) is not None:
        title, one = found[0]
        return f"{row.model} scores {mean:.0f}% [{one.low:.0f}, {one.high:.0f}] in {title}"
    return f"No loss of {row.model} is shown" if row.breaks else row.model
