"""Parts that the benchmarks' figures are put together from: panels, lines with intervals, legends."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from needlework.figures.style import COLUMN, PAGE, PUBLISHED_COLOUR, looks, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What the legend calls a published line, after the model's name.
PAPER = ", paper"
INTERVALS = "Bars: 95% intervals over questions."
# Of lines whose model has no line of ours.
PUBLISHED_MARKERS = "<>*hp8d"


@dataclass(frozen=True)
class Plot:
    """A figure of a benchmark: `draw(data(rows, published, settings), settings)`.

    What `rows` are, the benchmark's plan says (`contract.Result.needs`).
    """

    title: str
    data: Callable[[pd.DataFrame, pd.DataFrame, Any], pd.DataFrame]
    draw: Callable[[pd.DataFrame, Any], Figure]


def figure_of(width: float, height: float) -> Figure:
    """An empty figure of that many inches, known to no global state."""
    from matplotlib.figure import Figure as MatplotlibFigure

    return MatplotlibFigure(figsize=(width, height))


def grid(
    n: int, ncols: int, width: float = PAGE, height: float = 1.65
) -> tuple[Figure, list[Axes]]:
    """A figure with `n` panels in rows of `ncols`, on one vertical scale."""
    nrows = math.ceil(n / ncols)
    figure = figure_of(min(width, COLUMN * ncols), nrows * height + 0.75)
    panels = list(figure.subplots(nrows, ncols, sharey=True, squeeze=False).flat)
    for ax in panels[n:]:
        ax.remove()
    return figure, panels[:n]


def empty(reason: str) -> Figure:
    """A figure that says that there is nothing to draw, and why."""
    figure = figure_of(COLUMN, 1.2)
    text = textwrap.fill(f"Nothing to draw: {reason}.", 50)
    figure.text(0.5, 0.5, text, ha="center", va="center")
    return figure


def nothing(reason: str) -> Figure:
    """`empty`, in the project's style."""
    with style():
        return empty(reason)


def looked(data: pd.DataFrame, models: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The models of ours in `data` with the colour and marker they have in every figure.

    `models` are all of the run, in its order.
    """
    present = set(data.loc[data["source"] == "ours", "model"])
    every = looks([*models, *sorted(present.difference(models))])
    return {model: look for model, look in every.items() if model in present}


def not_run(data: pd.DataFrame) -> list[tuple[str, str]]:
    """The published models that have no line of ours, each with a marker."""
    names = dict.fromkeys(data.loc[data["source"] == "published", "model"])
    return list(zip(names, PUBLISHED_MARKERS, strict=False))


def turn(i: int, n: int, places: float = 0) -> float:
    """How far line `i` of `n` is moved aside: a little of an axis of so many `places`, or from 0 to 1."""
    return (i - (n - 1) / 2) * 0.012 * (places or 1.2)


def model_lines(
    ax: Axes,
    data: pd.DataFrame,
    across: str,
    models: Sequence[str],
    *,
    places: Sequence[Any] | None = None,
    span: float = 0,
    names: Mapping[str, str] | None = None,
) -> None:
    """One line a model over the column `across`, side by side where they would hide each other.

    `data` has source, model, cells.MEASURES and, where the paper prints numbers, `published`: ours are
    solid, the paper's dashed in the same colour, or grey where the model was not run. `across` holds
    `places`, drawn at equal distances, or numbers on an axis that is `span` long (0: from 0 to 1). The
    legend has `names` for models.
    """
    every = looked(data, models)
    x = data[across].map(list(places).index) if places else data[across]
    for i, (model, (colour, marker)) in enumerate(every.items()):
        rows = data[(data["source"] == "ours") & (data["model"] == model)]
        at = x[rows.index] + turn(i, len(every), len(places) if places else span)
        measured(ax, at, rows, colour, marker, names[model] if names else model)
        if "published" in rows and rows["published"].notna().any():
            printed(ax, at, rows["published"], colour, marker, model)
    for name, marker in not_run(data):
        rows = data[(data["source"] == "published") & (data["model"] == name)]
        printed(ax, x[rows.index], rows["value"], PUBLISHED_COLOUR, marker, name)


def measured(
    ax: Axes, x: Iterable[float], rows: pd.DataFrame, colour: str, marker: str, label: str
) -> None:
    """A line of ours: `rows` have value, ci_low_clustered and ci_high_clustered."""
    value = rows["value"]
    below = (value - rows["ci_low_clustered"]).clip(lower=0)
    above = (rows["ci_high_clustered"] - value).clip(lower=0)
    ax.errorbar(
        x, value, yerr=[below, above], color=colour, marker=marker, label=label, elinewidth=0.7
    )


def printed(
    ax: Axes, x: Iterable[float], values: Iterable[float], colour: str, marker: str, name: str
) -> None:
    """A line of a paper's numbers: dashed, thin, hollow, behind ours."""
    ax.plot(
        x,
        values,
        color=colour,
        linestyle=(0, (4, 2)),
        linewidth=0.8,
        marker=marker,
        markersize=4.5,
        markerfacecolor="white",
        markeredgewidth=0.8,
        label=f"{name}{PAPER}",
        zorder=1.5,
    )


def printed_level(ax: Axes, value: float, colour: str) -> None:
    """A number of a paper's that holds for a whole panel."""
    ax.axhline(value, color=colour, linestyle=(0, (4, 3)), linewidth=0.8, zorder=1.5)


def legend(figure: Figure, panels: Sequence[Axes], *, beside: bool = False) -> None:
    """One legend above all panels, or beside them, the paper's lines last."""
    found: dict[str, Any] = {}
    for ax in panels:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    ours = [label for label in found if not label.endswith(PAPER)]
    theirs = [label for label in found if label.endswith(PAPER)]
    next_to = [f"{label}{PAPER}" for label in ours if f"{label}{PAPER}" in theirs]
    labels = [*ours, *next_to, *(label for label in theirs if label not in next_to)]
    if not labels:
        return
    handles = [found[label] for label in labels]
    if beside:
        figure.legend(handles, labels, loc="outside right upper")
        return
    # Inches: the line and the gaps, then about 0.053 a character of 7-point text.
    each = 0.45 + 0.053 * max(map(len, labels))
    ncols = max(1, min(len(labels), int(float(figure.get_size_inches()[0]) / each)))
    figure.legend(handles, labels, loc="outside upper center", ncols=ncols, columnspacing=1.0)


def outer_labels(panels: Sequence[Axes], x: str, y: str) -> None:
    """Axis labels for the panels that have none below, or none to the left."""
    places = [ax.get_subplotspec() for ax in panels]
    lowest = {place.colspan.start: place.rowspan.start for place in places}
    for ax, place in zip(panels, places, strict=True):
        if place.rowspan.start == lowest[place.colspan.start]:
            ax.set_xlabel(x)
        if place.colspan.start == 0:
            ax.set_ylabel(y)


def row_title(ax: Axes, text: str) -> None:
    """A title to the right of a row's last panel."""
    ax.annotate(text, (1.04, 0.5), xycoords="axes fraction", rotation=-90, ha="left", va="center")


def unit_axis(ax: Axes) -> None:
    """An accuracy axis: from 0 to 1, with room for markers at both ends."""
    ax.set_ylim(-0.02, 1.02)
    ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])


def fitted_axis(ax: Axes, data: pd.DataFrame) -> None:
    """An accuracy axis around the values, intervals and published numbers of `data`, within 0 and 1."""
    ends = ("value", "ci_low_clustered", "ci_high_clustered", "published")
    shown = data[[name for name in ends if name in data]]
    low, high = shown.min(axis=None), shown.max(axis=None)
    ax.set_ylim(max(-0.02, low - 0.03), min(1.02, high + 0.03))


def footnote(figure: Figure, text: str) -> None:
    """Small print below the figure, wrapped to its width."""
    # At least 21 characters of 6-point text fit into an inch.
    width = int(float(figure.get_size_inches()[0]) * 21)
    figure.supxlabel(textwrap.fill(text, width), x=0.01, ha="left", fontsize=6, color="#555555")


def if_published(data: pd.DataFrame, what: str) -> str:
    """A sentence that says what the dashed lines are, where there are any."""
    return f" Dashed: {what}." if data["published"].notna().any() else ""


def counted(data: pd.DataFrame) -> str:
    """How many answers are behind a point, and how many are missing."""
    # What has no answer has no point.
    given = data[data["n"] > 0] if data["n"].any() else data
    n, questions = spread(given["n"]), spread(given["n_questions"])
    words = f"n\u00a0=\u00a0{n} prompts a point ({questions} questions)."
    missing = int(data["n_skipped"].sum() + data["n_error"].sum())
    return words + (f" {missing:,} answers skipped or failed." if missing else "")


def spread(counts: Iterable[int]) -> str:
    """The smallest and largest of these counts, as one number where they are the same."""
    found = sorted(set(counts))
    low, high = int(found[0]), int(found[-1])
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def fitting(name: str, inches: float) -> str:
    """A title, broken into lines that fit into so many inches."""
    return textwrap.fill(name, max(6, int(inches * 13)))
