"""The contents of panels: lines, bars, points in rows, cells of heat maps; the paper's numbers beside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from needlework.results.drawing.grid import (
    LINE,
    Panels,
    Row,
    Size,
    empty,
    level_line,
    longest_word,
    name_across,
    name_down,
    pages,
    values_axis,
    wrapped,
)
from needlework.results.drawing.picture import DrawnLine, Picture
from needlework.results.drawing.style import (
    COLOURS,
    COLUMN,
    GRID,
    GROUND,
    INK,
    ON_DARK,
    ON_LIGHT,
    REST,
    SMALLEST,
)
from needlework.results.result import Bars, Dots, Heatmap, Lines, Points

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DASHES = (0, (4, 2))
# Inches of a character of 7-point text; numbers to scale of which more are named by round ones between them.
NAME, MOST_TICKS = 0.065, 12


@dataclass(frozen=True)
class Across:
    """The axis across a panel: the place and the name of each value (others: `between`), and its ends."""

    at: dict[Any, float]
    labels: dict[Any, str]
    low: float
    high: float
    scaled: bool = False
    between: Callable[[float], str] = "{:,.6g}".format

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
    factor = picture.factors.get(x)
    between = Across.between if factor is None or factor.percent is None else factor.called
    return Across(at, labels, low - margin, high + margin, scaled, between)


def line_plot(picture: Picture) -> list[Figure]:
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
            if shown[[spec.column, "paper_value"]].isna().all(axis=None):
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


def _points(ax: Axes, spec: Lines, line: DrawnLine, x: pd.Series, rows: pd.DataFrame) -> None:
    """Values with intervals, and the paper's numbers, hollow and dashed; hollow too are short prompts."""
    colour, marker = line.look
    ours = rows[(rows["source"] == "ours") & rows[spec.column].notna()]
    look: dict[str, Any] = {"color": colour, "label": line.label}
    if len(ours) and line.rest:
        ax.plot(x[ours.index], ours[spec.column], **look,
                marker=marker, linewidth=0.7, zorder=1.3)  # fmt: skip
    elif len(ours):
        reach = error_bars(ours, spec.column)
        ax.errorbar(x[ours.index], ours[spec.column], yerr=reach, **look,
                    marker=marker, elinewidth=0.7)  # fmt: skip
    short = ours[ours["n_exhausted"] > 0] if "n_exhausted" in ours else ours.iloc[:0]
    if len(short):
        ax.plot(x[short.index], short[spec.column], **hollow_marker(line.look),
                linestyle="none", zorder=4)  # fmt: skip
    mark_incomplete(ax, ours, x[ours.index], spec.column)
    theirs = rows["paper_value"]
    if theirs.notna().any() and not spec.levels:
        ax.plot(x[rows.index], theirs, **hollow_marker(line.look), linewidth=0.8, label=line.paper_label,
                linestyle=DASHES, zorder=1.5)  # fmt: skip


def mark_incomplete(
    ax: Axes, rows: pd.DataFrame, where: pd.Series, value: str, *, down: bool = False
) -> None:
    """Draw a ring around each value that lacks answers, and a grey range.

    The missing answers could move the value within this range.
    """
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
    return {"color": colour, "marker": marker, "markerfacecolor": GROUND, "markeredgewidth": 0.8}


def _level(ax: Axes, spec: Lines, line: DrawnLine, row: dict[str, Any]) -> None:
    """A number that holds across a panel: ours dotted with its interval, the paper's dashed."""
    colour = line.look[0]
    if row["source"] == "ours" and row[spec.column] == row[spec.column]:
        ax.axhline(row[spec.column], color=colour, linestyle=":", linewidth=1.2, label=line.label)
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
    ends = sorted((at, axis.labels[value]) for value, at in axis.at.items())
    longest = max(len(name) for _, name in ends)
    if not axis.scaled:
        ax.set_xlim(axis.low, axis.high)
        turned = longest * NAME * (axis.high - axis.low) / inches > 0.9
        ax.set_xticks(*zip(*ends, strict=True), fontsize=SMALLEST if turned else 7,
                      rotation=90 if turned else 0)  # fmt: skip
        return
    # The names of both ends stand below them, within the panel but for half a character.
    (first, first_name), (last, last_name) = ends[0], ends[-1]
    before, after = (
        max(0.05 * inches, NAME * (len(name) - 1) / 2) for name in (first_name, last_name)
    )
    each = ((last - first) or 1.0) / max(0.2, inches - before - after)
    ax.set_xlim(first - before * each, last + after * each)
    if len(ends) > MOST_TICKS:
        between = [at for at in ax.get_xticks() if first < at < last]
        ends = [ends[0], *((at, axis.between(at)) for at in between), ends[-1]]
    named = {last: last_name}
    if len(first_name + last_name) / 2 * NAME * each < last - first:
        named[first] = first_name
    for at, name in reversed(ends):
        # How much room two names need, and a gap of a character.
        if all(
            abs(at - other) >= (len(name + text) / 2 + 1) * NAME * each
            for other, text in named.items()
        ):
            named[at] = name
    ax.set_xticks([at for at, _ in ends], [named.get(at, "") for at, _ in ends], fontsize=7)


# More bars than these lie, as no page has room for their names below them; languages have codes.
MOST_STANDING, MOST_CODES = 7, 40
# Inches of a page that rows of bars or dots have at most: the rest is for the legend and the notes.
ROWS_HIGH = 7.0
# Names below bars that stand have no longer word.
MOST_LETTERS = 10
# From 0 to 1, in equal steps.
HEAT = ("#fbfaf7", "#dfe6ee", "#a9c1d9", "#6a86b8", "#5a4a94", "#331a4f")
ORANGE = COLOURS[1]


def bars(picture: Picture) -> list[Figure]:
    """One figure per page. A panel has bars, or points, for the values of `Drawing.x`."""
    spec, x = picture.spec, picture.across[0]
    places = picture.places(x)
    if isinstance(spec, Dots):
        means = picture.ours.groupby(x)[spec.column].mean()
        places.sort(key=lambda place: -means.get(place, 0.0))
    ticks = [picture.tick(x, place) for place in places]
    codes = max(map(len, ticks)) <= 4
    lying = (
        len(places) > (MOST_CODES if codes else MOST_STANDING) or longest_word(ticks) > MOST_LETTERS
    )
    down = lying or isinstance(spec, Points) or (isinstance(spec, Bars) and spec.horizontal)
    columns = [column for column in (x, *spec.row, spec.panel) if column]
    beside = not isinstance(spec, Points) and picture.ours.duplicated(columns).any()
    dodged = beside or isinstance(spec, Dots)
    n = len(picture.looks) if dodged else 1
    # Points of equal value overlap, but do not hide each other.
    spread = 0.8 if dodged else 0.5 if isinstance(spec, Points) else 0.0
    names = [picture.called(x, place) for place in places] if down else ticks
    names = [wrapped(name, 1.6 if down else 0.75) for name in names]
    tall = 0.03 + LINE * (1 + max(name.count("\n") for name in names))
    each = max(tall, 0.06 * n + 0.07) if down else max(0.12 if codes else 0.8, 0.1 * n)
    if down:
        # All rows stand on one page; many models then lie closer together.
        each = max(tall, min(each, ROWS_HIGH / len(places)))
    long = each * len(places)
    height = max(0.8, long) + 0.3 if down else 1.3 if spec.row else 1.8
    size = Size(2.0, COLUMN * 1.2, height) if down else Size(long + 0.4, max(2.0, 2 * long), height)

    def fill(figure: Figure, panels: Panels) -> None:
        for ax, row, data in panels:
            if data[spec.column].isna().all():
                empty(ax, "no answer")
            if not spec.intervals:
                ends = data.groupby(x)[spec.column].agg(["min", "max"]).reindex(places)
                ax.hlines(range(len(places)), ends["min"], ends["max"], color="#cccccc", zorder=1)
            for line in picture.lines(data[data[x].isin(places)], row.keys):
                where = line.rows[x].map(places.index)
                aside = (row.keys.index(line.key) + 0.5) / len(picture.looks) - 0.5
                where = where + aside * spread
                _marks(ax, picture, line, where, down, 0.74 / n)
            level_line(ax, picture, data, down=down)
            if down:
                ax.set_yticks(range(len(places)), names)
                ax.set_ylim(len(places) - 0.4, -0.6)
            else:
                small = 7 if len(places) * 0.13 < COLUMN / spec.columns else SMALLEST
                ax.set_xticks(range(len(places)), names, size=small)
                ax.set_xlim(-0.6, len(places) - 0.4)
            ax.grid(visible=False, axis="y" if down else "x")
        values_axis(picture, panels, down=down)
        if not down:
            name_across(panels, lambda row: picture.label(x))

    return pages(picture, size, fill)


def _marks(
    ax: Axes, picture: Picture, line: DrawnLine, where: Any, down: bool, thick: float
) -> None:
    """A line's bars with intervals, or its points; the paper's numbers are hollow."""
    spec = picture.spec
    rows = line.rows[line.rows["source"] == "ours"]
    values, there = rows[spec.column].fillna(0.0), where[rows.index]
    colour, marker = line.look
    # A bar for each name on the axis needs no name in a legend.
    named = spec.line != picture.across[0]
    look: dict[str, Any] = {"color": colour, "label": line.label if named else None}
    if isinstance(spec, Points):
        above = 2 if line.rest else 3
        ax.plot(values, there, marker, **look, zorder=above)
        if spec.intervals and not line.rest:
            ax.hlines(
                there, rows["ci_low"], rows["ci_high"], color=colour, linewidth=0.7, alpha=0.6
            )
    else:
        look |= {
            "xerr" if down else "yerr": error_bars(rows, spec.column),
            "ecolor": "#333333",
        }
        look |= {"error_kw": {"elinewidth": 0.6, "capsize": 1.2}}
        drawn = (ax.barh if down else ax.bar)(there, values, thick, **look)
        for bar, exhausted in zip(drawn, rows.get("n_exhausted", values * 0), strict=True):
            if exhausted:
                bar.set(hatch="////", edgecolor=GROUND, linewidth=0)
    mark_incomplete(ax, rows, there, spec.column, down=down)
    if line.rows["paper_value"].notna().any():
        xy = (line.rows["paper_value"], where) if down else (where, line.rows["paper_value"])
        own = named and (spec.line == "model" or isinstance(spec, Points))
        shape = hollow_marker(("#333333", marker if own else "D"))
        label = line.paper_label if own else "the paper's"
        over = 2 if isinstance(spec, Points) else 5
        ax.plot(*xy, **shape, linestyle="none", markersize=5.5, label=label, zorder=over)


def heat_map(picture: Picture) -> list[Figure]:
    """One figure per page. A panel has a cell for each value of `Drawing.x` and `Heatmap.down`."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    spec = picture.spec
    assert isinstance(spec, Heatmap)
    x = picture.across[0]
    columns, names = picture.values(x), picture.values(spec.down)
    with_paper = bool(picture.data["paper_value"].notna().any())
    # A little space parts the mean from what it is of.
    after = names.index(spec.margin) if spec.margin in names else len(names)
    y = {name: i + (0.35 if i > after else 0) for i, name in enumerate(names)}
    tall = (len(names) + 0.35) * (0.27 if with_paper else 0.2) + 0.45
    size = Size(len(columns) * 0.27 + 0.1, len(columns) * 0.52 + 0.1, tall, left=0.95)
    shade = ScalarMappable(Normalize(0, 1), LinearSegmentedColormap.from_list("heat", HEAT))
    tinted = set(picture.data.query(spec.tinted[0])[spec.down]) if spec.tinted else set()

    def fill(figure: Figure, panels: Panels) -> None:
        for ax, row, data in panels:
            for cell in data.to_dict("records"):
                at = columns.index(cell[x]), y[cell[spec.down]]
                _cell(ax, cell, at, shade, spec.column, with_paper)
            # Bold letters are a tenth wider than those that the title's size is chosen for.
            points = max(SMALLEST, 0.9 * float(ax.title.get_fontsize()))
            # Above the ticks and the name of the axis across.
            pad = 24 if picture.label(x) else 14
            ax.set_title(ax.get_title(), y=1, pad=pad, fontweight="bold", fontsize=points)
            ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(max(y.values()) + 0.5, -0.5))
            ax.set_xticks(range(len(columns)), [picture.tick(x, value) for value in columns])
            ax.xaxis.tick_top()
            ax.xaxis.set_label_position("top")
            ax.tick_params(length=0, pad=1.5)
            ax.grid(visible=False)
            ax.spines[:].set_visible(False)
            if (spot := ax.get_subplotspec()) and spot.colspan.start == 0:
                ax.set_yticks([*y.values()], [picture.called(spec.down, name) for name in names])
                for label, name in zip(ax.get_yticklabels(), names, strict=True):
                    # A row of panels names its own cells.
                    label.set_visible(any((part[spec.down] == name).any() for part in row.data))
                    bold = "bold" if name == spec.margin else "normal"
                    label.set(color=ORANGE if name in tinted else INK, fontweight=bold)
        name_down(panels, picture.label(spec.down))
        # Above: below, it would be taken for the colour bar's name.
        name_across(panels, lambda row: picture.label(x), above=True)
        if picture.data["few"].all():
            return
        aspect, shrink = (60, 0.5) if len(panels) > 2 else (35, 0.9)
        axes = [ax for ax, *_ in panels]
        bar = figure.colorbar(
            shade, ax=axes, location="bottom", fraction=0.02, pad=0.01, aspect=aspect, shrink=shrink
        )
        bar.set_ticks([0, 0.25, 0.5, 0.75, 1], labels=["0", "25", "50", "75", "100"])
        bar.set_label(picture.values_name, fontsize=7)
        bar.outline.set_linewidth(0.4)

    return pages(picture, size, fill)


def _cell(
    ax: Axes, cell: dict[str, Any], at: tuple[float, float], shade: Any, value: str, paired: bool
) -> None:
    """A cell with its number in percent, the paper's beneath; with a dot where its prompts are short."""
    from matplotlib.patches import Rectangle

    (x, y), number, paper = at, cell[value], cell["paper_value"]
    edge = GRID if cell["few"] else GROUND
    plain = cell["few"] or number != number
    colour = (1, 1, 1, 1) if plain else shade.to_rgba(number)
    # `add_patch` also computes new limits, which are set here: a quarter of a heat map's time.
    ax.add_artist(
        Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor=edge, linewidth=0.8)
    )
    # Of the colour's luminance, as the eye weighs red, green and blue.
    dark = 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2] < 0.58
    look: dict[str, Any] = {
        "ha": "center",
        "va": "center",
        "color": "#555555" if cell["few"] else INK if plain else ON_DARK if dark else ON_LIGHT,
    }
    words = f"{100 * number:.0f}" if number == number else "\u2013"
    words += "*" if cell["incomplete"] and number == number else ""
    ax.text(x, y - (0.16 if paired else 0.0), words, fontsize=6.5, **look)
    if paper == paper:
        ax.text(
            x, y + 0.27, f"{100 * paper:.0f}", fontsize=SMALLEST, alpha=0.8, style="italic", **look
        )
    if cell.get("n_exhausted"):
        ax.plot(x + 0.38, y - 0.36, ".", color=look["color"], markersize=2.5)
