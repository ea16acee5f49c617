"""Lines over an axis: values with intervals, the paper's dashed, levels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from needlework.results.drawing.grid import (
    Panels,
    Row,
    Size,
    empty,
    level_line,
    name_across,
    pages,
    values_axis,
)
from needlework.results.drawing.picture import Line, Picture
from needlework.results.figures.style import COLUMN, REST, SMALLEST
from needlework.results.result import Lines

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DASHES = (0, (4, 2))


@dataclass(frozen=True)
class Across:
    """Where the values of a panel stand, what each is called, and the axis' ends."""

    at: dict[Any, float]
    labels: dict[Any, str]
    low: float
    high: float
    scaled: bool = False

    def aside(self, i: int, n: int) -> float:
        """How far line `i` of `n` is moved aside: all within half the way to the next value."""
        places = sorted(self.at.values())
        gaps = [b - a for a, b in pairwise(places)]
        step = min(0.012 * (self.high - self.low), 0.5 * min(gaps, default=1.0) / max(1, n - 1))
        return (i - (n - 1) / 2) * step


def across(picture: Picture, spec: Lines, x: str, data: pd.DataFrame) -> Across:
    """The axis of a panel: numbers to scale, or values at equal distances."""
    scaled = spec.scaled and picture.data[x].dtype.kind in "iuf"
    values = picture.values(x, data if scaled else None)
    at = {value: float(value) if scaled else float(i) for i, value in enumerate(values)}
    labels = {value: picture.tick(x, value) for value in values}
    low, high = (min(at.values()), max(at.values())) if at else (0.0, 1.0)
    margin = ((high - low) or 1.0) * 0.06 if scaled else 0.4
    return Across(at, labels, low - margin, high + margin, scaled)


def draw(picture: Picture) -> list[Figure]:
    """A panel with a line for each value of `Drawing.line`; a figure a page."""
    spec = picture.spec
    assert isinstance(spec, Lines)
    many = max(
        0 if across(picture, spec, x, picture.data).scaled else len(picture.values(x))
        for x in picture.across
    )
    wide = COLUMN / 1.2 if spec.panel or spec.row else COLUMN
    several = spec.row or len(picture.parts()) > 1
    height = 1.6 if several else 1.9 if spec.panel else 2.3
    size = Size(max(1.12, 0.09 * many + 0.3), wide, height)

    def fill(figure: Figure, panels: Panels) -> None:
        for ax, row, data in panels:
            axis = across(picture, spec, row.x, data)
            _panel(ax, picture, spec, row, data, axis)
            level_line(ax, picture, data)
            shown = data
            if spec.line in data:
                shown = data[data[spec.line].isin([key[1] for key in row.keys])]
            if shown[[spec.value, "paper_value"]].isna().all(axis=None):
                reasons = set(data[spec.why].dropna()) - {""} if spec.why else set()
                empty(ax, reasons.pop() if len(reasons) == 1 else "no answer")
            else:
                _named(ax, axis)
        values_axis(picture, panels, down=False)
        name_across(panels, lambda row: picture.label(row.x))

    return pages(picture, size, fill)


def _panel(
    ax: Axes, picture: Picture, spec: Lines, row: Row, data: pd.DataFrame, axis: Across
) -> None:
    """The lines of a panel; beside each other where they would hide each other."""
    beside = [key for key in row.keys if key[0] == "ours" and picture.looks[key] != REST]
    for line in picture.lines(data, row.keys):
        x = line.rows[row.x].astype("object").map(axis.at).astype("float64")
        if line.key in beside:
            x += axis.aside(beside.index(line.key), len(beside))
        level = x.isna()
        if not level.all():
            _points(ax, spec, line, x[~level], line.rows[~level])
        for one in line.rows[level].to_dict("records") if level.any() else ():
            _level(ax, spec, line, one)
        if row.x in spec.levels:
            for value in line.rows.loc[~level, "paper_value"].dropna().unique():
                _level(ax, spec, line, {"source": "published", "paper_value": value})


def _points(ax: Axes, spec: Lines, line: Line, x: pd.Series, rows: pd.DataFrame) -> None:
    """Values with intervals, and the paper's numbers, hollow and dashed; hollow too are short prompts."""
    colour, marker = line.look
    ours = rows[(rows["source"] == "ours") & rows[spec.value].notna()]
    look: dict[str, Any] = {"color": colour, "label": line.label}
    if len(ours) and line.rest:
        ax.plot(x[ours.index], ours[spec.value], **look, marker=marker, linewidth=0.7, zorder=1.3)
    elif len(ours):
        ax.errorbar(x[ours.index], ours[spec.value], yerr=error_bars(ours, spec.value), **look,
                    marker=marker, elinewidth=0.7)  # fmt: skip
    short = ours[ours["n_exhausted"] > 0] if "n_exhausted" in ours else ours.iloc[:0]
    if len(short):
        ax.plot(
            x[short.index],
            short[spec.value],
            **hollow_marker(line.look),
            linestyle="none",
            zorder=4,
        )
    mark_incomplete(ax, ours, x[ours.index], spec.value)
    theirs = rows["paper_value"]
    if theirs.notna().any() and not spec.levels:
        ax.plot(x[rows.index], theirs, **hollow_marker(line.look), linewidth=0.8, label=line.paper_label,
                linestyle=DASHES, zorder=1.5)  # fmt: skip


def mark_incomplete(
    ax: Axes, rows: pd.DataFrame, where: pd.Series, value: str, *, down: bool = False
) -> None:
    """Rings around the values that lack answers, and in grey how far those could move them."""
    rows = rows[rows["incomplete"]]
    if rows.empty:
        return
    at = where[rows.index]
    (ax.hlines if down else ax.vlines)(
        at, rows["lowest"], rows["highest"], color="#999999", linewidth=3, alpha=0.5, zorder=1.4
    )
    x, y = (rows[value], at) if down else (at, rows[value])
    ax.scatter(x, y, s=45, facecolors="none", edgecolors="#333333", linewidths=0.7, zorder=6)


def hollow_marker(look: tuple[str, str]) -> dict[str, Any]:
    """How the paper's numbers and short prompts look."""
    colour, marker = look
    return {"color": colour, "marker": marker, "markerfacecolor": "white", "markeredgewidth": 0.8}


def _level(ax: Axes, spec: Lines, line: Line, row: dict[str, Any]) -> None:
    """A number that holds across a panel: ours dotted with its interval, the paper's dashed."""
    colour = line.look[0]
    if row["source"] == "ours" and row[spec.value] == row[spec.value]:
        ax.axhline(row[spec.value], color=colour, linestyle=":", linewidth=1.2, label=line.label)
        low, high = row["ci_low"], row["ci_high"]
        ax.axhspan(low, high, color=colour, alpha=0.08, linewidth=0)
    if row["paper_value"] == row["paper_value"]:
        ax.axhline(row["paper_value"], color=colour, label=line.paper_label, linestyle=DASHES,
                   linewidth=0.8, zorder=1.5)  # fmt: skip


def error_bars(rows: pd.DataFrame, value: str) -> list[pd.Series]:
    """How far intervals over questions reach below and above the values."""
    low, high = rows["ci_low"], rows["ci_high"]
    return [(rows[value] - low).clip(lower=0), (high - rows[value]).clip(lower=0)]


def _named(ax: Axes, axis: Across) -> None:
    """Names below the axis: turned where they are too many, of numbers to scale those that fit."""
    figure, spot = ax.get_figure(root=True), ax.get_subplotspec()
    assert figure is not None and spot is not None, "it is a panel of a grid"
    inches = float(figure.get_size_inches()[0]) / spot.get_gridspec().ncols - 0.35
    ax.set_xlim(axis.low, axis.high)
    if axis.scaled and len(axis.at) > 12:
        ax.locator_params(axis="x", nbins=4)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
        return
    ends = sorted((at, axis.labels[value]) for value, at in axis.at.items())
    # A character of 7-point text is 0.07 inches wide; the last name always stands.
    character = 0.07 * (axis.high - axis.low) / inches
    longest = max(len(name) for _, name in ends)
    turned = not axis.scaled and longest * character > 0.9
    room = 0.05 / inches * (axis.high - axis.low)
    named: list[tuple[float, str]] = []
    for at, name in reversed(ends):
        wide = sum(len(text) for _, text in [(at, name), *named[:1]]) + 1
        if not named or not axis.scaled or named[0][0] - at >= wide / 2 * character:
            named.insert(0, (at, name))
    shown = dict(named)
    ax.set_xticks([at for at, _ in ends], [shown.get(at, "") for at, _ in ends],
                  fontsize=SMALLEST if turned else 7, rotation=90 if turned else 0)  # fmt: skip
    # A name at an end that would reach into the next panel stands within its own.
    for label, (at, name) in zip(ax.get_xticklabels(), ends, strict=True):
        half = len(name) / 2 * character
        if not turned and at - half < axis.low - room:
            label.set_horizontalalignment("left")
        elif not turned and at + half > axis.high + room:
            label.set_horizontalalignment("right")
