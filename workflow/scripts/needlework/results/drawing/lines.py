"""Lines over an axis or around a centre: values with intervals, the paper's dashed, levels, differences."""

from __future__ import annotations

import math
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
from needlework.results.drawings import Lines, Polar
from needlework.results.figures.style import COLUMN, REST, SMALLEST

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# How far sides stand from the other values, as a part of the axis.
SIDES = 0.2
# Around a circle; of more, languages have codes.
MOST_NAMES = 16
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
    sides = [name for name in spec.sides[1:] if (data[spec.sides[0]] == name).any()]
    scaled = spec.scaled and picture.data[x].dtype.kind in "iuf"
    values = picture.values(x, data if scaled else None)
    at = {value: float(value) if scaled else float(i) for i, value in enumerate(values)}
    labels = {value: picture.tick(x, value) for value in values}
    low, high = (min(at.values()), max(at.values())) if at else (0.0, 1.0)
    length = (high - low) or 1.0
    for name in sides:
        left = name == spec.sides[1]
        at[name] = low - SIDES * length if left else high + SIDES * length
        labels[name] = picture.called(spec.sides[0], name).replace(" ", "\n")
    margin = length * (SIDES + 0.1 if sides else 0.06) if scaled else 0.4
    return Across(at, labels, low - margin, high + margin, scaled)


def draw(picture: Picture) -> list[Figure]:
    """A panel with a line for each value of `Drawing.line`; a figure a page."""
    spec = picture.spec
    assert isinstance(spec, Lines)
    polar = isinstance(spec, Polar)
    many = max(
        0 if across(picture, spec, x, picture.data).scaled else len(picture.values(x))
        for x in picture.across
    )
    wide = COLUMN / 1.2 if spec.panel or spec.row else COLUMN
    several = spec.row or len(picture.parts()) > 1
    height = 1.6 if several else 1.9 if spec.panel else 2.3
    size = Size(max(1.12, 0.09 * many + 0.3), wide, height)
    if polar:
        size = Size(COLUMN, COLUMN, 3.0)

    def fill(figure: Figure, panels: Panels) -> None:
        for ax, row, data in panels:
            axis = polar_axis(ax, picture, row.x) if polar else across(picture, spec, row.x, data)
            _panel(ax, picture, spec, row, data, axis)
            level_line(ax, picture, data)
            shown = data
            if spec.line in data:
                shown = data[data[spec.line].isin([key[1] for key in row.keys])]
            if shown[[spec.value, "paper_value"]].isna().all(axis=None):
                reasons = set(data[spec.why].dropna()) - {""} if spec.why else set()
                empty(ax, reasons.pop() if len(reasons) == 1 else "no answer")
            elif not polar:
                _named(ax, axis)
        if not polar:
            values_axis(picture, panels, down=False)
            name_across(panels, lambda row: picture.label(row.x))

    return pages(picture, size, fill, "polar" if polar else None)


def _panel(
    ax: Axes, picture: Picture, spec: Lines, row: Row, data: pd.DataFrame, axis: Across
) -> None:
    """The lines of a panel; beside each other where they would hide each other."""
    if spec.sides:
        # What stands at the sides, where the model has a line between them.
        data = data[data["model"].isin(data.loc[data[row.x].notna(), "model"])]
    beside = [key for key in row.keys if key[0] == "ours" and picture.looks[key] != REST]
    for line in picture.lines(data, row.keys):
        if line.key[1] == spec.written != "":
            _written(ax, line, axis, row.x, spec.value)
            continue
        names = line.rows[row.x].astype("object")
        if spec.sides:
            names = names.where(names.notna(), line.rows[spec.sides[0]])
        x = names.map(axis.at).astype("float64")
        if line.key in beside:
            x += axis.aside(beside.index(line.key), len(beside))
        level = x.isna()
        inner = line.rows[row.x].notna() & ~level
        for some, joined in ((inner, True), (~inner & ~level, False)):
            if not some.any():
                continue
            _points(ax, spec, line, x[some], line.rows[some], row.x, joined=joined)
        for one in line.rows[level].to_dict("records") if level.any() else ():
            _level(ax, spec, line, one)
        if row.x in spec.levels:
            for value in line.rows.loc[inner, "paper_value"].dropna().unique():
                _level(ax, spec, line, {"source": "published", "paper_value": value})


def _points(
    ax: Axes,
    spec: Lines,
    line: Line,
    x: pd.Series,
    rows: pd.DataFrame,
    across: str,
    *,
    joined: bool,
) -> None:
    """Values with intervals, and the paper's numbers, hollow and dashed; hollow too are short prompts."""
    colour, marker = line.look
    ours = rows[(rows["source"] == "ours") & rows[spec.value].notna()]
    if isinstance(spec, Polar):
        # Round once, to where the line began.
        rows, ours = _closed(rows), _closed(ours)
    look: dict[str, Any] = {
        "color": colour,
        "linestyle": "-" if joined else "none",
        "label": line.label,
    }
    if spec.band and len(ours):
        y = ours[spec.value]
        ax.plot(x[ours.index], y, **look, marker="o" if len(ours) == 1 else "")
        for low, high, alpha in (
            (y - ours["se_independent"], y + ours["se_independent"], 0.35),
            (ours["ci_low"], ours["ci_high"], 0.13),
        ):
            ax.fill_between(x[ours.index], low, high, color=colour, alpha=alpha, linewidth=0)
    elif len(ours) and line.rest:
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
                linestyle=DASHES if joined else "none", zorder=1.5)  # fmt: skip


def mark_incomplete(
    ax: Axes, rows: pd.DataFrame, where: pd.Series, value: str, *, down: bool = False
) -> None:
    """Rings around the values that lack answers, and in grey how far those could move them."""
    # A line around a circle has its first row twice.
    rows = rows[rows["incomplete"] & ~rows.index.duplicated()]
    if rows.empty:
        return
    at = where[~where.index.duplicated()][rows.index]
    (ax.hlines if down else ax.vlines)(
        at, rows["lowest"], rows["highest"], color="#999999", linewidth=3, alpha=0.5, zorder=1.4
    )
    x, y = (rows[value], at) if down else (at, rows[value])
    ax.scatter(x, y, s=45, facecolors="none", edgecolors="#333333", linewidths=0.7, zorder=6)


def _closed(rows: pd.DataFrame) -> pd.DataFrame:
    """These rows, the first once more at the end."""
    return rows.loc[[*rows.index, *rows.index[:1]]]


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


def _written(ax: Axes, line: Line, axis: Across, across: str, value: str) -> None:
    """Differences in points below the lines, the paper's beneath."""
    for row in line.rows.to_dict("records"):
        words = f"{line.label} {points(row[value])}"
        if row["paper_value"] == row["paper_value"]:
            words += f"\npaper {points(row['paper_value'])}"
        ax.text(axis.at[row[across]], 0.015, words, transform=ax.get_xaxis_transform(), ha="center",
                va="bottom", fontsize=SMALLEST, color="#333333")  # fmt: skip


def points(value: float) -> str:
    """A difference of shares in percentage points."""
    return f"{100 * value:.0f}".replace("-", "\u2212") if value == value else "\u2013"


def error_bars(rows: pd.DataFrame, value: str) -> list[pd.Series]:
    """How far intervals over questions reach below and above the values."""
    low, high = rows["ci_low"], rows["ci_high"]
    return [(rows[value] - low).clip(lower=0), (high - rows[value]).clip(lower=0)]


def polar_axis(ax: Any, picture: Picture, x: str) -> Across:
    """The directions of the values, from the top clockwise, named around the circle."""
    values = picture.values(x)
    at = {value: 2 * math.pi * i / len(values) for i, value in enumerate(values)}
    ax.set_theta_offset(math.pi / 2)
    ax.set_theta_direction(-1)
    name = picture.tick if len(values) > MOST_NAMES else picture.called
    ax.set_xticks([*at.values()], [name(x, value) for value in values])
    ax.tick_params(axis="x", pad=-1)
    for label, angle in zip(ax.get_xticklabels(), at.values(), strict=True):
        sideways = round(math.sin(angle), 6)
        label.set_ha("left" if sideways > 0 else "right" if sideways < 0 else "center")
    ax.set_ylim(0, 1)
    ax.set_yticks([0.25, 0.5, 0.75, 1.0], ["0.25", "0.5", "0.75", "1"], color="#555555", size=6)
    ax.set_rlabel_position(180 / len(values))
    return Across(at, {}, 0.0, 3.0)


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
    longest = max(len(part) for _, name in ends for part in name.split("\n"))
    turned = not axis.scaled and longest * character > 0.9
    room = 0.05 / inches * (axis.high - axis.low)
    named: list[tuple[float, str]] = []
    for at, name in reversed(ends):
        wide = sum(max(map(len, text.split("\n"))) for _, text in [(at, name), *named[:1]]) + 1
        half = max(map(len, name.split("\n"))) / 2 * character
        if "\n" in name and at - half < axis.low - room:
            # It stands to the right of its place, where a number gives way.
            named = [own for own in named if "\n" in own[1] or own[0] - character > at + 2 * half]
        if not named or not axis.scaled or named[0][0] - at >= wide / 2 * character or "\n" in name:
            named.insert(0, (at, name))
    shown = dict(named)
    ax.set_xticks([at for at, _ in ends], [shown.get(at, "") for at, _ in ends],
                  fontsize=SMALLEST if turned else 7, rotation=90 if turned else 0)  # fmt: skip
    # A name at an end that would reach into the next panel stands within its own.
    for label, (at, name) in zip(ax.get_xticklabels(), ends, strict=True):
        half = max(map(len, name.split("\n"))) / 2 * character
        if not turned and at - half < axis.low - room:
            label.set_horizontalalignment("left")
        elif not turned and at + half > axis.high + room:
            label.set_horizontalalignment("right")
