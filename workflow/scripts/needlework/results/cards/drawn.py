"""The picture of a report card: a small panel a benchmark and axis, one column wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from needlework.factor import in_1000, in_1024
from needlework.results.cards.card import AXES
from needlework.results.cards.numbers import METHOD, called, sentence
from needlework.results.drawing.grid import LINE, figure_of
from needlework.results.figures.style import COLOURS, COLUMN, PAGE, TALLEST, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

# A panel has at least so many answers a point.
LEAST_ANSWERS = 10
OTHERS, SMALL = "#b4b4b4", 6
# Panels side by side; inches of a row of panels, of a strip of languages, of a head, of a line of the table.
ACROSS, PANEL, STRIP, HEAD, ROW = 3, 0.86, 0.62, 0.16, 0.15
# Letters of codes side by side.
MOST_LETTERS = 44
# Characters of 6-point text in an inch, at least.
CHARACTERS = 22
PADS = {"h_pad": 0.015, "w_pad": 0.02, "hspace": 0.0, "wspace": 0.02}
HEADS = ("answers", "cut", "empty", "failed", "\u201cnone\u201d", "other lang.")


def draw(
    model: str,
    points: pd.DataFrame,
    compared: pd.DataFrame,
    facts: pd.DataFrame,
    titles: Mapping[str, str],
    *,
    page: bool = False,
) -> Figure:
    """Draw the card of a model from its rows of POINTS, COMPARED and FACTS. `titles` are by benchmark.

    page: draw it for the page of results: two columns wide, without the sentences and the small print.
    """
    words = ""
    if not page:
        below = said(model, points, compared, facts, titles), legend(model, points, facts)
        words = "\n".join(map(_lines, below))
    sections = list(_sections(points, page))
    # Rows of the grid: their inches, and whether these give way if the page is too short.
    heights = [height for section in sections for height in section.heights]
    fixed = 0.35 + (LINE * (words.count("\n") + 2) if words else 0)
    fixed += sum(height for height in heights if height < STRIP) + ROW * (len(facts) + 1)
    wanted = sum(height for height in heights if height >= STRIP)
    scale = min(1.0, (TALLEST - fixed) / wanted) if wanted else 1.0
    heights = [height * scale if height >= STRIP else height for height in heights]
    heights.append(ROW * (len(facts) + 1))
    with style():
        figure = figure_of(PAGE if page else COLUMN, fixed + scale * wanted)
        figure.suptitle(_broken(model, 44), fontsize=8, fontweight="bold", x=0.01, ha="left")
        figure.set_layout_engine("constrained", **PADS)
        grid = figure.add_gridspec(len(heights), 6, height_ratios=heights)
        row = 0
        for section in sections:
            section.draw(figure, grid, row, model, titles)
            row += len(section.heights)
        _table(figure.add_subplot(grid[-1, :]), facts, titles)
        if words:
            figure.supxlabel(words, x=0.01, ha="left", fontsize=SMALL, color="#333333")
    return figure


@dataclass(frozen=True)
class _Section:
    """Panels below one head; strips take the whole width, or on the page of results a third."""

    head: str
    panels: Sequence[pd.DataFrame]
    strips: bool
    page: bool

    @property
    def across(self) -> int:
        """Panels side by side."""
        if self.page:
            return 3 if self.strips else 6
        return 1 if self.strips else min(ACROSS, max(2, len(self.panels)))

    @property
    def heights(self) -> list[float]:
        """Inches of its rows in the grid."""
        rows = -(-len(self.panels) // self.across)
        return [HEAD, *[STRIP if self.strips else PANEL] * rows]

    def draw(
        self, figure: Figure, grid: GridSpec, row: int, model: str, titles: Mapping[str, str]
    ) -> None:
        """Draw it into the grid from this row on."""
        ax = figure.add_subplot(grid[row, :])
        ax.set_axis_off()
        ax.text(0, 0.5, self.head, fontsize=7, fontweight="bold", va="center")
        wide = 6 // self.across
        for place, own in enumerate(self.panels):
            down, column = divmod(place, self.across)
            spot = grid[row + 1 + down, column * wide : (column + 1) * wide]
            ax = figure.add_subplot(spot)
            if self.strips:
                _strip(ax, model, own, titles, first=column == 0)
            else:
                _panel(ax, model, own, titles, first=column == 0)


def _sections(points: pd.DataFrame, page: bool) -> Iterator[_Section]:
    """Panels by length; by depth, with those of needles; by language."""
    found: dict[str, list[pd.DataFrame]] = {axis: [] for axis in AXES}
    for (axis, _, _), own in points.groupby(["axis", "benchmark", "part"], sort=False):
        if own["n"].min() >= LEAST_ANSWERS:
            found[str(axis)].append(own)
    depths = [*found["depth"], *found["needles"]]
    more = "number of needles" if found["needles"] else ""
    heads = " and ".join(filter(None, ["depth in the prompt" if found["depth"] else "", more]))
    for head, panels, strips in (
        ("By length", found["length"], False),
        (f"By {heads}", depths, False),
        ("By language, the best first", found["language"], True),
    ):
        if panels:
            yield _Section(head, panels, strips, page)


def _panel(
    ax: Axes, model: str, rows: pd.DataFrame, titles: Mapping[str, str], *, first: bool
) -> None:
    """Means over a length, a depth or a number of needles; depths to scale."""
    own = rows[rows["model"] == model]
    axis = own["axis"].iloc[0]
    depth = axis == "depth"
    x = own["level"].astype(float).to_numpy() if depth else np.arange(len(own), dtype=float)
    for other, theirs in rows.groupby("model", sort=False):
        if other != model:
            ax.plot(x, theirs["value"], color=OTHERS, linewidth=0.6, zorder=1)
    _points(ax, x, own, "-")
    if depth:
        ax.set_xticks([0, 0.5, 1], ["start", "middle", "end"], size=SMALL)
        ax.set_xlim(-0.12, 1.12)
    else:
        # Names that would lie on each other are left out, the last one never.
        step = -(-sum(map(len, own["called"])) // 16)
        names = [
            name if (len(own) - 1 - i) % step == 0 else "" for i, name in enumerate(own["called"])
        ]
        ax.set_xticks(x, names, size=SMALL)
        ax.set_xlim(-0.4, len(own) - 0.6)
    _values(ax, named=first)
    unit = {"depth": "", "needles": "needles"}.get(axis, own["unit"].iloc[0])
    ax.set_title(_named(own, titles, 19, unit), fontsize=SMALL, pad=2, loc="left")


def _strip(
    ax: Axes, model: str, rows: pd.DataFrame, titles: Mapping[str, str], *, first: bool
) -> None:
    """Means by language, the best first."""
    own = rows[rows["model"] == model].sort_values("value", ascending=False, kind="stable")
    place = {level: i for i, level in enumerate(own["level"])}
    for other, theirs in rows.groupby("model", sort=False):
        if other != model:
            ax.plot(theirs["level"].map(place), theirs["value"], "_", color=OTHERS, zorder=1)
    _points(ax, np.arange(len(own), dtype=float), own, "none")
    # Codes of two letters touch each other from here on.
    turned = max(map(len, own["level"])) * len(own) > MOST_LETTERS
    ax.set_xticks(range(len(own)), own["level"], size=SMALL, rotation=90 if turned else 0)
    ax.set_xlim(-0.6, len(own) - 0.4)
    _values(ax, named=first)
    ax.set_title(_named(own, titles, 70), fontsize=SMALL, pad=2, loc="left")


def _points(ax: Axes, x: Any, own: pd.DataFrame, line: str) -> None:
    bars = [
        (own["value"] - own["ci_low"]).clip(lower=0),
        (own["ci_high"] - own["value"]).clip(lower=0),
    ]
    ax.errorbar(
        x, own["value"], yerr=bars, color=COLOURS[0], marker="o", markersize=2.6, elinewidth=0.7,
        capsize=1.2, linestyle=line, linewidth=1.1, zorder=3,
    )  # fmt: skip


def _values(ax: Axes, *, named: bool) -> None:
    ax.set_ylim(-0.04, 1.04)
    ax.set_yticks([0, 0.5, 1], ["0", "50", "100%"] if named else ["", "", ""], size=SMALL)
    ax.tick_params(pad=1.5, length=2)


def _named(own: pd.DataFrame, titles: Mapping[str, str], width: int, unit: str = "") -> str:
    """Benchmark and part, the unit across, and how many prompts a point is of."""
    first = own.iloc[0]
    name = called(titles[first["benchmark"]], first["part"])
    name += f", {unit}" if unit and unit != first["part"] else ""
    return _broken(f"{name}, n\u00a0=\u00a0{int(first['n']):,}", width)


def _table(ax: Axes, facts: pd.DataFrame, titles: Mapping[str, str]) -> None:
    """Answers of each benchmark, and what became of them."""
    ax.set_axis_off()
    ax.set(xlim=(0, 1), ylim=(len(facts) + 0.5, -0.5))
    # Across the whole column, not only the width of the panels.
    at = [0.4, 0.49, 0.6, 0.71, 0.83, 1.0]
    for x, head in zip(at, HEADS, strict=True):
        ax.text(x, 0, head, fontsize=SMALL, ha="right", va="center", color="#555555")
    for y, row in enumerate(facts.to_dict("records"), 1):
        n, failed = row["n"], row["failed"] + row["skipped"]
        given = n - failed
        cells = [
            f"{n:,}",
            *(percent(row[name], given) for name in ("cut", "empty")),
            percent(failed, n),
            percent(row["said_none"], row["with_needle"]),
            percent(row["other_language"], given if row["decided"] else 0),
        ]
        texts = zip([0.0, *at], [titles[row["benchmark"]], *cells], strict=True)
        for x, text in texts:
            side = "right" if x else "left"
            ax.text(x, y, text, fontsize=SMALL, ha=side, va="center", clip_on=False)


def percent(n: float, of: float) -> str:
    """Format a share as whole percent: a dash without answers, "<1%" or ">99%" if rounding hides one."""
    if not of:
        return "\u2013"
    share = 100 * n / of
    if 0 < share < 1:
        return "<1%"
    return ">99%" if 99 < share < 100 else f"{share:.0f}%"


def said(
    model: str,
    points: pd.DataFrame,
    compared: pd.DataFrame,
    facts: pd.DataFrame,
    titles: Mapping[str, str],
) -> str:
    """The sentences of a card, and claimed and effective lengths."""
    reached = [lengths(row, points, titles) for row in facts.to_dict("records")]
    return " ".join(filter(None, [sentence(model, compared, titles), *reached]))


def legend(model: str, points: pd.DataFrame, facts: pd.DataFrame) -> str:
    """What curves, colours, bars and brackets mean."""
    parts = [
        "Each curve follows the same questions; only the value on the x-axis changes. n: prompts per "
        "point. Error bars: 95% intervals over questions."
    ]
    if n := points.loc[points["model"] != model, "model"].nunique():
        many = "another model" if n == 1 else f"up to {n} other models"
        parts.append(f"Grey: {many} on the same prompts.")
    if facts["decided"].any():
        parts.append("\u201cother lang.\u201d: in another language than was asked for.")
    if facts["with_needle"].any():
        parts.append("\u201cnone\u201d: answers that deny a needle which is in the prompt.")
    return " ".join([*parts, METHOD])


def lengths(row: Mapping[str, Any], points: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Claimed and effective length in a sentence, if the benchmark defines these."""
    found = lengths_in_words(row, points)
    if found is None:
        return ""
    claimed, effective = found
    return f"Context: {claimed} tokens claimed; effective length: {effective} ({titles[row['benchmark']]})."


def lengths_in_words(row: Mapping[str, Any], points: pd.DataFrame) -> tuple[str, str] | None:
    """Claimed and effective length of a row of FACTS as text.

    If the effective length is the longest asked, "at least".
    """
    claimed, effective = row["claimed"], row["effective"]
    if claimed != claimed or claimed is None:
        return None
    if effective is None or effective != effective:
        return _tokens(claimed), "unknown"
    if not effective:
        return _tokens(claimed), "below the shortest"
    asked = points.loc[
        (points["benchmark"] == row["benchmark"])
        & (points["card"] == row["model"])
        & (points["axis"] == "length"),
        "level",
    ].astype(float)
    longest = len(asked) and effective >= asked.max()
    return _tokens(claimed), (
        f"at least {_tokens(effective)}, the longest asked" if longest else _tokens(effective)
    )


def _tokens(n: float) -> str:
    return in_1024(n) if n % 1024 == 0 else in_1000(n)


def _lines(text: str) -> str:
    return textwrap.fill(text, int(COLUMN * CHARACTERS))


def _broken(text: str, width: int) -> str:
    return textwrap.fill(text, width)
