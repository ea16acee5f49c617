"""Panels in rows on a page: their sizes, titles, axes, legend and small print."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from needlework.figures.style import COLUMN, PAGE
from needlework.results.drawing.notes import small_print
from needlework.results.drawing.picture import PAPER, Picture, evenly

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches a line of 6- or 7-point text takes, and about what a character does.
LINE, CHARACTER = 0.135, 0.056


@dataclass(frozen=True)
class Size:
    """Inches: the least and the wanted width of a panel, its height, and what stands left of all."""

    least: float
    wanted: float
    height: float
    left: float = 0.0


@dataclass(frozen=True)
class Row:
    """A row of panels: its column across, values of `Drawing.row`, panels and lines.

    first, last: whether titles stand above it, and the axis across is named below it.
    """

    x: str
    values: tuple[Any, ...]
    panels: Sequence[Any]
    keys: Sequence[tuple[str, Any]]
    first: bool
    last: bool


def rows_of(picture: Picture, ncols: int) -> list[Row]:
    """The rows of panels, `ncols` to a row; where there are more panels, all rows once again."""
    spec, data = picture.spec, picture.data
    panels = panels_of(picture)
    kinds = data[list(spec.row)].dropna().drop_duplicates() if spec.row else None
    places = [picture.values(column) for column in spec.row]
    present = set() if kinds is None else set(kinds.itertuples(index=False, name=None))
    values = [value for value in product(*places) if not spec.row or value in present]
    parts = picture.parts()
    rows = []
    for some in evenly(panels, ncols):
        whole = list(product(picture.across, values, parts))
        for i, (x, value, keys) in enumerate(whole):
            last = i + 1 == len(whole) or whole[i + 1][0] != x
            rows.append(Row(x, value, some, keys, i == 0, last))
    return rows


def panels_of(picture: Picture) -> list[Any]:
    """The values that have a panel: those of ours, and of the paper's models where they are panels."""
    panel = picture.spec.panel
    if not panel:
        return [None]
    return picture.values(panel, picture.data if panel == "model" else picture.ours)


def inside(picture: Picture, row: Row, panel: Any) -> pd.DataFrame:
    """The rows of a panel; those without a value of its columns stand in all."""
    data, spec = picture.data, picture.spec
    wanted = dict(zip(spec.row, row.values, strict=True))
    if spec.panel:
        wanted[spec.panel] = panel
    for column, value in wanted.items():
        data = data[(data[column] == value) | data[column].isna()]
    return data[data[row.x].notna()] if len(picture.across) > 1 else data


def laid_out(picture: Picture, size: Size, projection: str | None = None) -> tuple[Figure, list[Any]]:
    """The figure, and (axes, row, rows of data) of each of its panels, titled."""
    from matplotlib.figure import Figure as MatplotlibFigure

    spec = picture.spec
    n = len(panels_of(picture))
    fit = max(1, int((PAGE - size.left) / size.least))
    ncols = len(evenly(range(n), min(spec.columns, fit))[0])
    rows = rows_of(picture, ncols)
    width = min(PAGE, max(COLUMN, size.left + ncols * size.wanted))
    figure = MatplotlibFigure(figsize=(width, len(rows) * size.height))
    keywords = {"projection": projection} if projection else {}
    grid = figure.subplots(
        len(rows), ncols, sharey=not projection, squeeze=False, subplot_kw=keywords
    )
    found = []
    inches = (width - size.left) / ncols
    for line, row in zip(grid, rows, strict=True):
        for ax in line[len(row.panels) :]:
            ax.remove()
        for ax, panel in zip(line, row.panels, strict=False):
            if spec.panel and row.first:
                title = picture.title((spec.panel,), (panel,), spec.panel_title)
                ax.set_title(fitting(title, inches))
            found.append((ax, row, inside(picture, row, panel)))
        if spec.row and spec.row_title != "":
            text = picture.title(spec.row, row.values, spec.row_title or "")
            beside(line[len(row.panels) - 1], fitting(text, size.height))
    return figure, found


def finished(figure: Figure, picture: Picture, panels: Sequence[tuple[Axes, Row, Any]]) -> None:
    """Legends and small print, and the room that they take."""
    width, height = map(float, figure.get_size_inches())
    entries = {ax: ax.get_legend_handles_labels() for ax, _, _ in panels}
    parts = {tuple(row.keys) for _, row, _ in panels}
    lines = 0
    if len(parts) > 1:
        # One legend to each row of panels: too many lines to be told apart by one above all.
        last = {id(row): ax for ax, row, _ in panels}
        for ax in last.values():
            mine = [entries[one] for one, row, _ in panels if last[id(row)] is ax]
            found = legend_of(mine)
            look = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.03), "fontsize": 6}
            ax.legend([*found.values()], [fitting(name, 1.5) for name in found], **look)
        figure.set_size_inches(width := min(PAGE, width + 1.7), height)
    elif len(found := legend_of(entries.values())) > 1 or "model" not in picture.spec.panel:
        # Inches: the line and the gaps, then the text.
        each = 0.5 + CHARACTER * max(map(len, found), default=0)
        ncols = max(1, min(len(found), int(width / each)))
        lines = -(-len(found) // ncols)
        if found:
            figure.legend(
                [*found.values()], [*found], loc="outside upper center", ncols=ncols,
                columnspacing=1.0,
            )  # fmt: skip
    # At least 21 characters of 6-point text fit into an inch.
    text = textwrap.fill(small_print(picture), int(width * 21))
    figure.supxlabel(text, x=0.01, ha="left", fontsize=6, color="#555555")
    figure.set_size_inches(width, height + 0.35 + LINE * (lines + text.count("\n") + 1))


def legend_of(entries: Any) -> dict[str, Any]:
    """Handles by label, each once; a paper's line after all of ours."""
    found: dict[str, Any] = {}
    for handles, labels in entries:
        for handle, label in zip(handles, labels, strict=True):
            found.setdefault(label, handle)
    return dict(sorted(found.items(), key=lambda item: item[0].endswith(PAPER)))


def values_axis(picture: Picture, panels: Sequence[tuple[Axes, Row, Any]], *, down: bool) -> None:
    """The axis of values (across where the marks lie): its limits, and its name at the outer panels."""
    spec, data = picture.spec, picture.data
    low, high = spec.limits or fitted(picture)
    margin = 0.02 * (high - low)
    below = 0.16 * (high - low) if getattr(spec, "written", "") in set(data.get(spec.line, ())) - {""} else 0
    for ax, row, _ in panels:
        (ax.set_xlim if down else ax.set_ylim)(low - margin - below, high + margin)
        axis = ax.xaxis if down else ax.yaxis
        if (low, high) == (0.0, 1.0):
            axis.set_ticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
        elif high > 100:
            axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        name = picture.say(spec.y)
        if down and row.last:
            ax.set_xlabel(name)
        elif not down and ax.get_subplotspec().colspan.start == 0:
            ax.set_ylabel(name)


def fitted(picture: Picture) -> tuple[float, float]:
    """Limits around values, intervals and the paper's numbers; of counts from 0, of shares up to 1."""
    ends = [picture.spec.value, "printed"]
    ends += ["ci_low_clustered", "ci_high_clustered"] if picture.spec.intervals else []
    shown = picture.data[[name for name in ends if name in picture.data]]
    low, high = float(shown.min(axis=None)), float(shown.max(axis=None))
    if high > 1:
        return 0.0, 1.06 * high
    return max(0.0, low - 0.03), min(1.0, high + 0.03)


def fitting(text: str, inches: float) -> str:
    """A text, broken into lines that fit into so many inches."""
    parts = text.split("\n")
    return "\n".join(textwrap.fill(part, max(6, int(inches * 13))) for part in parts)


def beside(ax: Axes, text: str) -> None:
    """A title to the right of a row's last panel."""
    ax.annotate(text, (1.04, 0.5), xycoords="axes fraction", rotation=-90, ha="left", va="center")


def empty(ax: Axes, text: str) -> None:
    """What an empty panel says."""
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", color="#777777")
