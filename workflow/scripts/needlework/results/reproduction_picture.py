"""The papers' numbers and ours in one picture: a dot each, filled where ours covers the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from needlework.factor import in_1000
from needlework.results.drawing.grid import figure_of, wrapped
from needlework.results.drawing.picture import evenly
from needlework.results.figures.style import COLOURS, COLUMN, PAGE, style
from needlework.results.reproduction import COVERED, JUDGED, summary

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Above these, printed numbers are counts and not shares.
LARGEST_SHARE = 1.0
# Panels side by side, and inches: how tall one is, and what stands above and below all.
MOST, HEIGHT, AROUND = 3, 1.9, 0.75
# So many intervals in a panel hide the dots.
MOST_INTERVALS = 400
NOTE = (
    "Filled: our 95% interval over questions covers the paper's number, or ours equals it. Hollow: it does "
    "not. Grey: beside a number that cannot be compared."
)


def draw(table: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """The picture of `reproduction.compared` of all benchmarks, whose titles are by name.

    Each benchmark has a panel of shares; all counts are in one.
    """
    panels = list(_panels(table, titles))
    rows = evenly(panels, MOST)
    width = COLUMN if len(panels) < MOST else PAGE
    tall = HEIGHT * len(rows) * (1.4 if len(panels) == 1 else 1)
    with style():
        figure = figure_of(width, AROUND + tall)
        figure.suptitle(wrapped(summary(table), width), fontsize=8)
        grid = figure.subplots(len(rows), len(rows[0]), squeeze=False)
        for axes_row, row in zip(grid, rows, strict=True):
            for axes in axes_row[len(row) :]:
                axes.set_axis_off()
            for axes, (title, dots) in zip(axes_row, row, strict=False):
                _panel(axes, title, dots)
        figure.supxlabel(wrapped(f"the paper's number\n{NOTE}", width), fontsize=6)
        figure.supylabel("ours", fontsize=7.5)
    return figure


def comparable(table: pd.DataFrame) -> bool:
    """Whether any number has a verdict."""
    return bool(table["verdict"].isin(JUDGED).any())


def _panels(table: pd.DataFrame, titles: Mapping[str, str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """The dots of each panel that has a verdict: numbers that both sides have."""
    there = table[table["value"].notna()]
    counts = (there["published"].abs() > LARGEST_SHARE) | (there["value"].abs() > LARGEST_SHARE)
    for name, title in titles.items():
        dots = there[~counts & (there["benchmark"] == name)]
        if comparable(dots):
            yield title, dots
    if comparable(there[counts]):
        yield "Counts", there[counts]


def _panel(axes: Axes, title: str, dots: pd.DataFrame) -> None:
    """One panel: dots with a verdict above the grey ones."""
    low, high = _scale(axes, [*dots["published"], *dots["value"]])
    # A count of 0 stands at the edge.
    dots = dots.assign(value=dots["value"].clip(lower=low))
    axes.plot([low, high], [low, high], color="#555555", linewidth=0.7, zorder=1)
    judged, covered = dots["verdict"].isin(JUDGED), dots["verdict"].isin(COVERED)
    known = dots[judged & dots["ci_low"].notna()]
    if len(known) <= MOST_INTERVALS:
        lines = known["published"], known["ci_low"], known["ci_high"]
        axes.vlines(*lines, color=COLOURS[0], linewidth=0.5, alpha=0.5, zorder=2)
    looks = (
        (~judged, "#c4c4c4", "none", 2),
        (judged & ~covered, COLOURS[1], "none", 4),
        (judged & covered, COLOURS[0], COLOURS[0], 3),
    )
    for own, edge, face, order in looks:
        some = dots[own]
        marks = axes.scatter(some["published"], some["value"], s=9, linewidths=0.7, alpha=0.8)
        marks.set(facecolors=face, edgecolors=edge, zorder=order, urls=some["link"].tolist())
    axes.set_title(f"{title}: {int(covered.sum()):,} of {int(judged.sum()):,}")


def _scale(axes: Axes, numbers: Sequence[float]) -> tuple[float, float]:
    """Scale both axes alike, those of counts by powers of ten; the ends of the diagonal."""
    from matplotlib.ticker import NullLocator

    low, high = min(numbers), max(numbers)
    if high <= LARGEST_SHARE:
        ends = min(low, 0.0) - 0.04, LARGEST_SHARE + 0.04
    else:
        ends = max(low, 1.0) / 1.4, high * 1.4
        axes.set(xscale="log", yscale="log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda number, _: in_1000(int(number)))
            axis.set_minor_locator(NullLocator())
    axes.set(xlim=ends, ylim=ends)
    return ends
