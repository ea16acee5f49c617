"""Bars side by side or stacked, and points in rows: values over places with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from needlework.figures.style import COLUMN, PUBLISHED_COLOUR
from needlework.results.drawing.grid import (
    Row,
    Size,
    empty,
    finished,
    fitting,
    laid_out,
    values_axis,
)
from needlework.results.drawing.lines import reach
from needlework.results.drawing.picture import Picture
from needlework.results.drawings import Bars, Points, StackedBars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# More bars stand on no page with their names below them.
MOST_STANDING = 7
# Languages have short names.
MOST_CODES = 40
WHISKERS = {"elinewidth": 0.6, "capsize": 1.2}


def draw(picture: Picture) -> Figure:
    """A panel with the bars or points of each value of `Drawing.x`."""
    spec = picture.spec
    (x,) = picture.across
    places = picture.values(x, picture.ours)
    short = max(len(picture.tick(x, place)) for place in places) <= 4
    standing = len(places) <= (MOST_CODES if short else MOST_STANDING)
    down = isinstance(spec, Points) or (isinstance(spec, Bars) and spec.horizontal) or not standing
    figure, panels = laid_out(picture, size_of(picture, places, down=down, short=short))
    names = [picture.called(x, place) if down else picture.tick(x, place) for place in places]
    for ax, row, data in panels:
        if data[spec.value].isna().all():
            empty(ax, "no answer" if len(data) else "not run")
        draw_on = (
            _points
            if isinstance(spec, Points)
            else _stacked
            if isinstance(spec, StackedBars)
            else _beside
        )
        draw_on(ax, picture, row, data, {place: i for i, place in enumerate(places)}, down)
        if down:
            ax.set_yticks(range(len(places)), [fitting(name, 1.6) for name in names])
            ax.set_ylim(len(places) - 0.4, -0.6)
        else:
            size = 7 if len(places) * 0.13 < COLUMN / spec.columns else 5.5
            ax.set_xticks(range(len(places)), [fitting(name, 0.75) for name in names], size=size)
            ax.set_xlim(-0.6, len(places) - 0.4)
            if row.last:
                ax.set_xlabel(picture.label(x))
        ax.grid(visible=False, axis="y" if down else "x")
    values_axis(picture, panels, down=down)
    finished(figure, picture, panels)
    return figure


def size_of(picture: Picture, places: Sequence[Any], *, down: bool, short: bool) -> Size:
    """Room for each place: a row, or a name below its bars."""
    spec = picture.spec
    several = (
        1 if isinstance(spec, StackedBars | Points) or not _dodged(picture) else len(picture.looks)
    )
    if down:
        return Size(
            2.0, COLUMN * 1.2, max(0.8, len(places) * max(0.165, 0.06 * several + 0.07)) + 0.3
        )
    each = max(0.12 if short else 0.8, 0.1 * several)
    height = 1.2 if isinstance(spec, StackedBars) else 1.8
    return Size(each * len(places) + 0.4, max(COLUMN * 0.6, 2 * each * len(places)), height)


def _dodged(picture: Picture) -> bool:
    """Whether a place has several bars."""
    columns = [
        picture.spec.x,
        *picture.spec.row,
        *([picture.spec.panel] if picture.spec.panel else []),
    ]
    return bool(picture.ours.duplicated(columns).any())


def _beside(
    ax: Axes, picture: Picture, row: Row, data: pd.DataFrame, at: dict[Any, int], down: bool
) -> None:
    """Bars of each line side by side, with intervals or numbers, the paper's numbers as diamonds."""
    spec = picture.spec
    n = len(row.keys) if _dodged(picture) else 1
    width = 0.8 / n
    for i, line in enumerate(picture.lines(data, row.keys)):
        i = row.keys.index(line.key)
        rows = line.rows[line.rows[spec.x].isin(at)]
        where = rows[spec.x].map(at) + ((i - (n - 1) / 2) * width if n > 1 else 0)
        look: dict[str, Any] = {"color": line.look[0], "label": line.label}
        if isinstance(spec, Bars) and not spec.numbers:
            look |= {"xerr" if down else "yerr": reach(rows, spec.value), "ecolor": "#333333"}
            look |= {"error_kw": WHISKERS}
        values, thick = rows[spec.value], 0.92 * width
        drawn: Any = ()
        if line.key[0] == "ours":
            drawn = (
                ax.barh(where, values, height=thick, **look)
                if down
                else ax.bar(where, values, width=thick, **look)
            )
        if isinstance(spec, Bars) and spec.numbers:
            ax.bar_label(drawn, [f"{value:,.0f}" for value in values], fontsize=5, padding=1)
        for bar, exhausted in zip(drawn, rows.get("n_exhausted", values * 0), strict=False):
            if exhausted:
                bar.set(hatch="////", edgecolor="white", linewidth=0)
        printed = rows["printed"]
        if printed.notna().any():
            xy = (printed, where) if down else (where, printed)
            label, marker = (
                (line.printed, line.look[1]) if spec.line == "model" else ("the paper's", "D")
            )
            ax.plot(*xy, marker, color="#333333", markerfacecolor="white", markersize=4,
                    markeredgewidth=0.9, label=label, zorder=5)  # fmt: skip


def _stacked(
    ax: Axes, picture: Picture, row: Row, data: pd.DataFrame, at: dict[Any, int], down: bool
) -> None:
    """One bar a place, a share above another; those that are nowhere are in no legend."""
    below = dict.fromkeys(at, 0.0)
    for line in picture.lines(data, row.keys):
        shares = line.rows.set_index(picture.spec.x)[picture.spec.value].reindex([*at]).fillna(0.0)
        if picture.ours.loc[
            picture.ours[picture.spec.line] == line.key[1], picture.spec.value
        ].any():
            look: dict[str, Any] = {"color": line.look[0], "label": line.label}
            start = [*below.values()]
            if down:
                ax.barh([*at.values()], shares, left=start, height=0.7, **look)
            else:
                ax.bar([*at.values()], shares, bottom=start, width=0.76, **look)
            below = {place: start + shares[place] for place, start in below.items()}


def _points(
    ax: Axes, picture: Picture, row: Row, data: pd.DataFrame, at: dict[Any, int], down: bool
) -> None:
    """Points in rows, with a line from the least to the most; the paper's as rings."""
    spec = picture.spec
    ends = data.groupby(spec.x)[spec.value].agg(["min", "max"])
    ax.hlines([at[place] for place in ends.index], ends["min"], ends["max"], color="#cccccc",
              linewidth=1.6, zorder=1)  # fmt: skip
    for line in picture.lines(data, row.keys):
        where = line.rows[spec.x].map(at)
        colour, marker = line.look
        ax.scatter(line.rows[spec.value], where, s=16, color=colour, marker=marker,
                   label=line.label, zorder=3, linewidths=0)  # fmt: skip
        ax.scatter(line.rows["printed"], where, s=30, marker=marker, facecolors="none",
                   edgecolors=PUBLISHED_COLOUR, linewidths=0.8, zorder=2)  # fmt: skip
