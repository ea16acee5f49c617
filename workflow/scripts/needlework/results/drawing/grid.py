"""Panels in rows on a page: their sizes, titles, axes, legend and small print."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from needlework.results.drawing.picture import OTHERS, PAPER, SAME, Picture, evenly, small_print
from needlework.results.drawing.style import COLUMN, SMALLEST, TALLEST

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# More panels than these stand in no row.
MOST_COLUMNS = 6
# Inches: of a legend beside a row, of a line of 6- or 7-point text, and about of a character.
LEGEND, LINE, CHARACTER = 1.6, 0.135, 0.056
# Lines of a legend above a figure of a column's width.
MOST_ABOVE = 4
# An axis of shares reaches at least so far, also if nothing is above 0.
LEAST_HIGH = 0.2


@dataclass(frozen=True)
class Size:
    """Sizes in inches."""

    # The least and the wanted width of a panel, and its height.
    least: float
    wanted: float
    height: float
    # The space left of all panels.
    left: float = 0.0


@dataclass
class Row:
    """A row of panels."""

    # The column across the panels.
    x: str
    title: str
    # The keys of the lines: (column, value).
    keys: Sequence[tuple[str, Any]]
    # The value and the rows of each panel.
    panels: Sequence[Any]
    data: Sequence[pd.DataFrame]
    # The row's values but the last, such as its model. Rows with equal values belong together.
    group: Sequence[Any] = ()
    # Whether titles stand above the row.
    first: bool = False
    # Whether the axis across is named below the row.
    last: bool = False


# Of a page: axes, row, and the rows of data of each panel.
Panels: TypeAlias = "list[tuple[Axes, Row, pd.DataFrame]]"


def rows_of(picture: Picture, ncols: int) -> list[Row]:
    """The rows of panels that are not empty, `ncols` panels to a row.

    More panels get rows below.
    """
    spec, segments = picture.spec, evenly(picture.panels, ncols)
    values = list(product(*map(picture.values, spec.row)))
    rows: list[Row] = []
    for some in segments:
        block: list[Row] = []
        for x, value, keys in product(picture.across, values, picture.parts()):
            data = [panel_rows(picture, x, value, panel) for panel in some]
            if any(any(picture.lines(part, keys)) for part in data):
                named = spec.row and spec.row_title != ""
                title = picture.title(spec.row, value, spec.row_title or "") if named else ""
                block.append(Row(x, title, keys, some, data, value[:-1]))
        for i, row in enumerate(block):
            row.first, row.last = i == 0, i + 1 == len(block) or block[i + 1].x != row.x
        if rows and len(block) == 1:
            rows[-1].last = rows[-1].x != block[0].x
        rows += block
    return rows


def panel_rows(picture: Picture, x: str, values: Sequence[Any], panel: Any) -> pd.DataFrame:
    """The rows of a panel. Rows without a value of the panel's columns are in all panels."""
    data, spec = picture.data, picture.spec
    wanted = dict(zip((*spec.row, spec.panel), (*values, panel), strict=True))
    for column in filter(None, wanted):
        data = data[(data[column] == wanted[column]) | data[column].isna()]
    return data[data[x].notna()] if len(picture.across) > 1 else data


def pages(picture: Picture, size: Size, fill: Callable[[Figure, Panels], None]) -> list[Figure]:
    """A figure a page; `fill` draws into its panels, which have their titles."""
    spec, figures = picture.spec, []
    aside = LEGEND if len(picture.parts()) > 1 else 0.0
    page = picture.printing.width
    titles = [panel_title(picture, panel) for panel in picture.panels] if spec.panel else []
    # A character of a title of 6 points is 0.05 inches wide, at least.
    least = max(size.least, 0.05 * longest_word(titles))
    fit = max(1, int((page - size.left - aside) / least))
    most = min(MOST_COLUMNS if spec.row else spec.columns, fit)
    ncols = len(evenly(picture.panels, most)[0])
    # A single panel is as wide as a column if it can be.
    needed = size.left + aside + (least if ncols == 1 else ncols * size.wanted)
    width = (COLUMN if needed <= COLUMN + 0.01 else page) - aside
    # What `add_legend_and_notes` adds, with four lines of legend at most.
    notes = small_print_lines(picture, width + aside).count("\n")
    more = 0.35 + LINE * (5 + notes)
    down = max(1, int((TALLEST - more) / size.height))
    for rows in _packed(rows_of(picture, ncols), down):
        rows[0].first = rows[-1].last = True
        figure, panels = laid_out(picture, size, rows, ncols, width)
        fill(figure, panels)
        add_legend_and_notes(figure, picture, panels)
        figures.append(figure)
    return figures


def _packed(rows: Sequence[Row], most: int) -> Iterator[list[Row]]:
    """At most so many rows a page; titles or a group begin a page rather than break over two."""
    begin = 0
    while len(rows) - begin > most:
        after = range(begin + 1, begin + most + 1)
        whole = [i for i in after if rows[i].first]
        whole = whole or [i for i in after if rows[i].group != rows[i - 1].group]
        end = whole[-1] if whole else begin + most
        yield list(rows[begin:end])
        begin = end
    yield list(rows[begin:])


def laid_out(
    picture: Picture, size: Size, rows: Sequence[Row], ncols: int, width: float
) -> tuple[Figure, Panels]:
    """The figure of `rows`, and its panels with titles."""
    spec, aside = picture.spec, len(picture.parts()) > 1
    figure = figure_of(width, len(rows) * size.height)
    grid = figure.subplots(len(rows), ncols, sharey=True, squeeze=False)
    found: Panels = []
    titled: set[Any] = set()
    for line, row in zip(grid, rows, strict=True):
        titled = set() if row.first else titled
        shown: list[Axes] = []
        for ax in line[len(row.panels) :]:
            ax.remove()
        for ax, panel, data in zip(line, row.panels, row.data, strict=False):
            if not any(picture.lines(data, row.keys)):
                ax.remove()
                continue
            if not shown:
                ax.tick_params(labelleft=True)
            shown.append(ax)
            found.append((ax, row, data))
            if spec.panel and panel not in titled:
                title, wide = panel_title(picture, panel), (width - size.left) / ncols
                ax.set_title(wrapped(title, wide), fontsize=size_that_fits(title, wide, 8))
                titled.add(panel)
        if row.title and not aside:
            shown[-1].annotate(
                wrapped(row.title, size.height),
                (1.04, 0.5),
                xycoords="axes fraction",
                ha="left",
                va="center",
                rotation=-90,
                fontsize=size_that_fits(row.title, size.height, 7.5),
            )
    return figure, found


def panel_title(picture: Picture, panel: Any) -> str:
    """The title above a panel."""
    return picture.title((picture.spec.panel,), (panel,), picture.spec.panel_title)


def add_legend_and_notes(figure: Figure, picture: Picture, panels: Panels) -> None:
    """Legends and small print, and the room that they take."""
    width, height = map(float, figure.get_size_inches())
    entries = [(row, *ax.get_legend_handles_labels()) for ax, row, _ in panels]
    lines = 0
    if len(picture.parts()) > 1:
        # One legend to each row of panels: too many lines to be told apart by one above all.
        for ax, row in {id(row): (ax, row) for ax, row, _ in panels}.values():
            found = legend_of(entry for entry in entries if entry[0] is row)
            names = [wrapped(name, 1.5) for name in found]
            ax.legend([*found.values()], names, title=row.title, title_fontsize=6.5, fontsize=SMALLEST,
                      loc="upper left", bbox_to_anchor=(1.0, 1.03))  # fmt: skip
        width += LEGEND
    elif found := legend_of(entries):
        # Inches: the line and the gaps, then the text.
        each = 0.5 + CHARACTER * max(map(len, found))
        ncols = max(1, min(len(found), int(width / each)))
        lines = -(-len(found) // ncols)
        where: Literal["outside upper center", "outside right upper"] = "outside upper center"
        if lines > MOST_ABOVE and width < picture.printing.width:
            # A column's figure with a long legend gets a page's width, and the legend beside it.
            where, ncols, lines = "outside right upper", 1, 0
            width, height = picture.printing.width, max(height, LINE * len(found))
        figure.legend([*found.values()], [*found], loc=where, ncols=ncols, columnspacing=1.0)
    shown = _of_page(picture, panels)
    figure.set_label(small_print(shown))
    height += 0.35 + LINE * lines
    add_notes(figure, small_print_lines(shown, width), width, height)


def add_notes(figure: Figure, text: str, width: float, height: float) -> None:
    """A text below a figure of so many inches, and the room that it takes."""
    below = LINE * (text.count("\n") + 1)
    figure.set_size_inches(width, height + below)
    share = below / (height + below)
    if engine := figure.get_layout_engine():
        engine.set(rect=(0, share, 1, 1 - share))  # type: ignore[call-arg]  # the base class has no keys
    figure.text(0.01, 0.02 / (height + below), text, fontsize=SMALLEST, color="#555555")


def _of_page(picture: Picture, panels: Panels) -> Picture:
    """The picture with the rows alone that this page shows."""
    import pandas as pd

    parts = [data for _, _, data in panels]
    if len(picture.parts()) > 1:
        lines = [picture.lines(data, row.keys) for _, row, data in panels]
        parts = [line.rows for each in lines for line in each]
    shown = pd.concat(parts).index
    return replace(picture, data=picture.data[picture.data.index.isin(shown)])


def small_print_lines(picture: Picture, width: float) -> str:
    """The small print in lines of this many inches.

    A line has room for at least 21 characters of 6-point text.
    """
    return textwrap.fill(small_print(picture), int(width * 21))


def legend_of(entries: Iterable[tuple[Row, list[Artist], list[str]]]) -> dict[str, Artist]:
    """Legend handles, one per label: our models, models without a colour, the paper's models."""
    found: dict[str, Artist] = {}
    for _, handles, labels in entries:
        for handle, label in zip(handles, labels, strict=True):
            found.setdefault(label, _grey(handle) if label == SAME else handle)
    return dict(sorted(found.items(), key=lambda item: (PAPER in item[0], OTHERS in item[0])))


def _grey(handle: Artist) -> Artist:
    """The same handle of a legend in no model's colour."""
    from copy import copy

    same = copy(handle)
    same.set(color="#555555")
    return same


def level_line(ax: Axes, picture: Picture, data: pd.DataFrame, *, down: bool = False) -> None:
    """A dotted line at the number that holds across a panel (`Drawing.level`)."""
    if picture.spec.level is None:
        return
    column, name = picture.spec.level
    line = ax.axvline if down else ax.axhline
    for value in data[column].dropna().unique():
        line(value, color="#555555", linestyle=":", linewidth=1.0, label=name, zorder=1.6)


def values_axis(picture: Picture, panels: Panels, *, down: bool) -> None:
    """Set the limits of the axis of values, and its name at the outer panels.

    With `down`, marks lie, and the axis is horizontal.
    """
    spec = picture.spec
    low, high = limits(picture)
    margin = 0.02 * (high - low)
    for ax, _, _ in panels:
        (ax.set_xlim if down else ax.set_ylim)(low - margin, high + margin)
        axis = ax.xaxis if down else ax.yaxis
        if (low, high) == (0.0, 1.0):
            axis.set_ticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
        if spec.unit == "%":
            axis.set_major_formatter(lambda value, _: in_percent(value))
        elif high > 100:
            axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
            # Numbers of six digits touch each other at the usual distances.
            ax.locator_params(axis="x" if down else "y", nbins=5)
    name = picture.values_name
    if not down:
        name_down(panels, name)
        return
    name_across(panels, lambda row: name)
    if len(panels) == 1:
        # Beside long names a panel is narrower than its axis' name, which a figure's edge would cut.
        panels[0][0].set_xlabel(name, loc="right")


def in_percent(share: float) -> str:
    """A tick of an axis of shares."""
    return f"{round(100 * share, 6) + 0.0:g}".replace("-", "\u2212")


def name_down(panels: Panels, name: str) -> None:
    """Name the vertical axis, once for all rows of panels."""
    if len({id(row) for _, row, _ in panels}) == 1:
        panels[0][0].set_ylabel(name)
    elif figure := panels[0][0].get_figure(root=True):
        figure.supylabel(name, fontsize=7.5)


def name_across(panels: Panels, name_of: Callable[[Row], str], *, above: bool = False) -> None:
    """The name of the axis across, once below the last row of panels that share it, or above the first."""
    named = [row for _, row, _ in panels if (row.first if above else row.last)]
    for row in {id(row): row for row in named}.values():
        axes = [ax for ax, own, _ in panels if own is row]
        middle = axes[(len(axes) - 1) // 2]
        middle.set_xlabel(name_of(row))
        if len(axes) % 2 == 0:
            # Between the two in the middle.
            middle.xaxis.label.set_x(1.06)


def limits(picture: Picture) -> tuple[float, float]:
    """The drawing's limits, further out where a value, an interval or a number of the paper's lies there.

    Without limits, the axis is from 0, and of shares up to 1. Only differences can be below 0.
    """
    low, high = _ends(picture)
    if found := picture.spec.limits:
        return min(found[0], low), max(found[1], high)
    if high > 1 or picture.spec.column.startswith("n_"):
        return 0.0, max(1.0, 1.06 * high)
    margin = 0.04 * (high - low)
    if low < 0:
        return low - margin, max(0.0, high) + margin
    return 0.0, min(1.0, max(LEAST_HIGH, high + margin))


def _ends(picture: Picture) -> tuple[float, float]:
    """The lowest and the highest of all that an axis of values shows."""
    ends = [picture.spec.column, "paper_value"]
    ends += ["ci_low", "ci_high"] if picture.spec.intervals else []
    ends += ["lowest", "highest"] if picture.incomplete else []
    shown = picture.data[[name for name in ends if name in picture.data]]
    return float(shown.min(axis=None)), float(shown.max(axis=None))


def figure_of(width: float, height: float) -> Figure:
    """An empty figure of that many inches, not registered with pyplot."""
    from matplotlib.figure import Figure as MatplotlibFigure

    return MatplotlibFigure(figsize=(width, height))


def wrapped(text: str, inches: float) -> str:
    """A text broken between words into lines of this many inches. Names are not broken."""
    broken = textwrap.TextWrapper(
        max(6, int(inches * 13)), break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(map(broken.fill, text.split("\n")))


def longest_word(names: Iterable[str]) -> int:
    """The number of characters of the longest word in `names`."""
    return max((len(word) for name in names for word in name.split()), default=0)


def size_that_fits(text: str, inches: float, wanted: float) -> float:
    """The font size, at most `wanted`, at which the longest word of a text fits into this many inches."""
    # A character is 0.6 times as wide as the font is high; a point is a 72nd of an inch.
    return max(SMALLEST, min(wanted, 72 * inches / (0.6 * max(1, longest_word([text])))))


def empty(ax: Axes, text: str) -> None:
    """Write `text` into an empty panel."""
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", color="#777777")
    ax.set_xticks([])
