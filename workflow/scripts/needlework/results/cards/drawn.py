"""The picture of a report card: a small panel a benchmark and axis, one column wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from needlework.results.cards.card import AXES
from needlework.results.columns import LEAST_ANSWERS
from needlework.results.drawing.grid import LINE, figure_of
from needlework.results.drawing.style import (
    COLOURS,
    COLUMN,
    GROUND,
    ON_DARK,
    ON_LIGHT,
    PAGE,
    TALLEST,
    style,
)
from needlework.results.numbers.in_words import (
    METHOD,
    called,
    lengths_in_words,
    questions,
    sentence,
)
from needlework.results.numbers.tables import Answered, records

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

OTHERS, SMALL = "#b4b4b4", 6
# Inches of a row of panels, of a head, of a line of a table.
PANEL, HEAD, ROW = 0.86, 0.16, 0.15
# Letters of codes side by side in a strip; languages of which each has room for a number, in half a page.
MOST_LETTERS, MOST_NUMBERS = 44, 26
# The colour of 0%; 100% is white.
WORST = "#d98a45"
# Characters of 6-point text in an inch, at least.
CHARACTERS = 22
PADS = {"h_pad": 0.015, "w_pad": 0.02, "hspace": 0.0, "wspace": 0.02}
HEADS = ("answers", "cut", "empty", "failed", "\u201cnone\u201d", "other lang.")


@dataclass(frozen=True)
class Form:
    """A card's width in inches and panels side by side; whether words stand below; its largest height."""

    width: float
    across: int
    words: bool
    tallest: float


FORMS = {
    "column": Form(COLUMN, 3, words=True, tallest=TALLEST),
    # For the page of results.
    "page": Form(PAGE, 6, words=False, tallest=TALLEST),
    # 6 points here are 10 on a screen of 400 pixels.
    "phone": Form(2.25, 1, words=False, tallest=float("inf")),
}


def draw_card(
    model: str,
    points: pd.DataFrame,
    compared: pd.DataFrame,
    facts: pd.DataFrame,
    titles: Mapping[str, str],
    *,
    colour: str = COLOURS[0],
    form: str = "column",
) -> Figure:
    """Draw the card of a model from its rows of POINTS, COMPARED and ANSWERS. `titles` are by benchmark.

    colour: the model's own. form: one of FORMS.
    """
    words, chosen = "", FORMS[form]
    if chosen.words:
        below = said(model, points, compared, facts, titles), legend(model, points, facts)
        words = "\n".join(map(_lines, below))
    sections = list(_sections(points, chosen))
    # Rows of the grid, in inches: panels give way if the page is too short.
    heights = [height for section in sections for height in section.heights]
    fixed = 0.35 + (LINE * (words.count("\n") + 2) if words else 0)
    fixed += sum(height for height in heights if height != PANEL) + _height(facts, chosen)
    wanted = sum(height for height in heights if height == PANEL)
    scale = min(1.0, (chosen.tallest - fixed) / wanted) if wanted else 1.0
    heights = [height * scale if height == PANEL else height for height in heights]
    heights.append(_height(facts, chosen))
    with style():
        figure = figure_of(chosen.width, fixed + scale * wanted)
        figure.suptitle(
            _broken(model, int(13 * chosen.width)), fontsize=8, fontweight="bold", x=0.01, ha="left"
        )
        figure.set_layout_engine("constrained", **PADS)
        grid = figure.add_gridspec(len(heights), 6, height_ratios=heights)
        row = 0
        for section in sections:
            section.draw(figure, grid, row, model, titles, colour)
            row += len(section.heights)
        _table(figure.add_subplot(grid[-1, :]), facts, titles, chosen)
        if words:
            figure.supxlabel(words, x=0.01, ha="left", fontsize=SMALL, color="#333333")
    return figure


@dataclass(frozen=True)
class _Section:
    """Panels below one head, or one heat strip of languages, whose rows they are."""

    head: str
    panels: Sequence[pd.DataFrame]
    strip: bool
    form: Form

    @property
    def across(self) -> int:
        """Panels side by side."""
        if self.form.words:
            return min(self.form.across, max(2, len(self.panels)))
        return self.form.across

    @property
    def beside(self) -> bool:
        """Whether there is room for names beside a strip."""
        return self.form.width == PAGE

    @property
    def heights(self) -> list[float]:
        """Inches of its rows in the grid."""
        if self.strip:
            lines = 1 if self.beside else 2
            return [HEAD, ROW * (lines * len(self.panels) + 2)]
        return [HEAD, *[PANEL] * -(-len(self.panels) // self.across)]

    def draw(
        self,
        figure: Figure,
        grid: GridSpec,
        row: int,
        model: str,
        titles: Mapping[str, str],
        colour: str,
    ) -> None:
        """Draw it into the grid from this row on."""
        ax = figure.add_subplot(grid[row, :])
        ax.set_axis_off()
        head = ax.text(0, 0.5, self.head, fontsize=7, fontweight="bold", va="center")
        # Panels do not make room for words beside them.
        head.set_in_layout(False)
        if self.strip:
            ax = figure.add_subplot(grid[row + 1, 2 if self.beside else 0 :])
            _heat(ax, model, self.panels, titles, beside=self.beside)
            return
        wide = 6 // self.across
        for place, own in enumerate(self.panels):
            down, column = divmod(place, self.across)
            spot = grid[row + 1 + down, column * wide : (column + 1) * wide]
            ax = figure.add_subplot(spot)
            width = min(38, int(self.form.width * CHARACTERS / self.across) - 3)
            _curve_panel(ax, model, own, titles, colour, width, first=column == 0)


def _sections(points: pd.DataFrame, form: Form) -> Iterator[_Section]:
    """Panels by length; by depth, with those of needles; by language."""
    found: dict[str, list[pd.DataFrame]] = {axis: [] for axis in AXES}
    for (axis, _, _), own in points.groupby(["axis", "benchmark", "part"], sort=False):
        if own["n"].min() >= LEAST_ANSWERS:
            found[str(axis)].append(own)
    depths = [*found["depth"], *found["needles"]]
    more = "number of needles" if found["needles"] else ""
    heads = " and ".join(filter(None, ["depth" if found["depth"] else "", more]))
    for head, panels, strip in (
        ("By length", found["length"], False),
        (f"By {heads}", depths, False),
        ("By language (%), best first", found["language"], True),
    ):
        if panels:
            yield _Section(head, panels, strip, form)


def _curve_panel(
    ax: Axes,
    model: str,
    rows: pd.DataFrame,
    titles: Mapping[str, str],
    colour: str,
    width: int,
    *,
    first: bool,
) -> None:
    """Means over a length, a depth or a number of needles; depths to scale."""
    own = rows[rows["model"] == model]
    axis = own["axis"].iloc[0]
    depth = axis == "depth"
    x = own["level"].astype(float).to_numpy() if depth else np.arange(len(own), dtype=float)
    for other, theirs in rows.groupby("model", sort=False):
        if other != model:
            ax.plot(x, theirs["value"], color=OTHERS, linewidth=0.6, zorder=1)
    _points(ax, x, own, colour)
    if depth:
        ax.set_xticks([0, 0.5, 1], ["start", "middle", "end"], size=SMALL)
        ax.set_xlim(-0.12, 1.12)
    else:
        # Names that would lie on each other are left out, those of the ends never.
        step, last = -(-sum(map(len, own["called"])) // 16), len(own) - 1
        names = [
            name if i in (0, last) or ((last - i) % step == 0 and i >= step) else ""
            for i, name in enumerate(own["called"])
        ]
        ax.set_xticks(x, names, size=SMALL)
        ax.set_xlim(-0.4, len(own) - 0.6)
    _values(ax, named=first)
    unit = {"depth": "", "needles": "needles"}.get(axis, own["unit"].iloc[0])
    ax.set_title(_named(own, titles, width, unit), fontsize=SMALL, pad=2, loc="left")


def _heat(
    ax: Axes, model: str, panels: Sequence[pd.DataFrame], titles: Mapping[str, str], *, beside: bool
) -> None:
    """Means by language in one strip: a row per benchmark and part, the best language first.

    beside: whether the names of rows stand to the left of the axes, not above each row.
    """
    from matplotlib.colors import LinearSegmentedColormap

    own = [rows[rows["model"] == model] for rows in panels]
    languages = _languages(own)
    n, ramp = len(languages), LinearSegmentedColormap.from_list("worse", [WORST, ON_DARK])
    step = 1 if beside else 2
    for place, rows in enumerate(own):
        shares = rows.set_index("level")["value"].reindex(languages).to_numpy(dtype=float)
        top = step * place + step - 1
        ax.pcolormesh(
            np.arange(n + 1), [top, top + 1], shares[None, :], vmin=0, vmax=1, cmap=ramp,
            edgecolors=GROUND, linewidth=0.8,
        )  # fmt: skip
        for column, share in enumerate(shares):
            if share == share and n <= MOST_NUMBERS * step:
                middle = column + 0.5, top + 0.5
                number = ax.text(*middle, f"{100 * share:.0f}", fontsize=SMALL, color=ON_LIGHT)
                number.set(ha="center", va="center")
        name = _named(rows, titles, 99)
        if beside:
            label = ax.text(-0.1, top + 0.5, name, fontsize=SMALL, ha="right", va="center")
            label.set_in_layout(False)
        else:
            ax.text(0, top - 0.4, name, fontsize=SMALL, va="center").set_in_layout(False)
    ax.set(xlim=(0, n), ylim=(step * len(own), 0))
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    # Codes of two letters touch each other from here on.
    turned = max(map(len, languages)) * n > MOST_LETTERS
    ax.set_xticks(np.arange(n) + 0.5, languages, size=SMALL, rotation=90 if turned else 0)
    ax.set_yticks([])
    ax.tick_params(length=0, pad=1.5)


def _languages(panels: Sequence[pd.DataFrame]) -> list[str]:
    """The languages of some panels, those with the highest mean of means first."""
    found: dict[str, list[float]] = {}
    for rows in panels:
        for level, value in zip(rows["level"].astype(str), rows["value"], strict=True):
            found.setdefault(level, []).append(float(value))
    return sorted(found, key=lambda level: -float(np.mean(found[level])))


def _points(ax: Axes, x: Any, own: pd.DataFrame, colour: str) -> None:
    bars = [
        (own["value"] - own["ci_low"]).clip(lower=0),
        (own["ci_high"] - own["value"]).clip(lower=0),
    ]
    ax.errorbar(
        x, own["value"], yerr=bars, color=colour, marker="o", markersize=2.6, elinewidth=0.7,
        capsize=1.2, linewidth=1.1, zorder=3,
    )  # fmt: skip


def _values(ax: Axes, *, named: bool) -> None:
    ax.set_ylim(-0.04, 1.04)
    ax.set_yticks([0, 0.5, 1], ["0", "50", "100%"] if named else ["", "", ""], size=SMALL)
    ax.tick_params(pad=1.5, length=2)


def _named(own: pd.DataFrame, titles: Mapping[str, str], width: int, unit: str = "") -> str:
    """Benchmark and part, the unit across, and how many questions and answers a point is of."""
    first = own.iloc[0]
    name = called(titles[first["benchmark"]], first["part"])
    name += f", {unit}" if unit and unit != first["part"] else ""
    n = questions(first["n_questions"]).replace(" ", "\u00a0")
    if first["n"] != first["n_questions"]:
        n += f", {int(first['n']):,}\u00a0answers"
    return _broken(f"{name}, {n}", width)


def _height(facts: pd.DataFrame, form: Form) -> float:
    """Inches of the table: in the narrow form a benchmark's name stands above its numbers."""
    return ROW * (len(facts) * (2 if form.across == 1 else 1) + 1)


def _table(ax: Axes, facts: pd.DataFrame, titles: Mapping[str, str], form: Form) -> None:
    """Answers of each benchmark, and what became of them."""
    narrow = form.across == 1
    lines = len(facts) * (2 if narrow else 1)
    ax.set_axis_off()
    ax.set(xlim=(0, 1), ylim=(lines + 0.5, -0.5))
    # Across the whole column, not only the width of the panels.
    at = [0.17, 0.28, 0.44, 0.6, 0.76, 1.0] if narrow else [0.4, 0.49, 0.6, 0.71, 0.83, 1.0]
    for x, head in zip(at, HEADS, strict=True):
        ax.text(x, 0, head, fontsize=SMALL, ha="right", va="center", color="#555555")
    row: Answered
    for place, row in enumerate(records(facts), 1):
        n, failed = row["n"], row["failed"] + row["skipped"]
        given = n - failed
        cells = [
            f"{n:,}",
            *(whole_percent(count, given) for count in (row["cut"], row["empty"])),
            whole_percent(failed, n),
            whole_percent(row["said_none"], row["with_needle"]),
            whole_percent(row["other_language"], given if row["decided"] else 0),
        ]
        y = 2 * place if narrow else place
        name = titles[row["benchmark"]]
        ax.text(0, y - narrow, name, fontsize=SMALL, va="center", clip_on=False)
        for x, text in zip(at, cells, strict=True):
            ax.text(x, y, text, fontsize=SMALL, ha="right", va="center", clip_on=False)
    for label in ax.texts:
        label.set_in_layout(False)


def whole_percent(n: float, of: float) -> str:
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
    reached = [lengths(row, points, titles) for row in records(facts)]
    return " ".join(filter(None, [sentence(model, compared, titles), *reached]))


def legend(model: str, points: pd.DataFrame, facts: pd.DataFrame) -> str:
    """Sentences that explain curves, colours, bars and brackets."""
    parts = [
        "Each curve follows the same questions; only the value on the x-axis changes. Counts are per point. "
        "Error bars: 95% intervals over questions."
    ]
    if n := points.loc[points["model"] != model, "model"].nunique():
        many = "another model" if n == 1 else f"up to {n} other models"
        parts.append(f"Grey: {many} on the same prompts.")
    if facts["decided"].any():
        parts.append(
            "\u201cother lang.\u201d: answers in a language that the prompt did not ask for."
        )
    if facts["with_needle"].any():
        parts.append(
            "\u201cnone\u201d: answers \u201cnone\u201d although the prompt has the needle."
        )
    return " ".join([*parts, METHOD])


def lengths(row: Answered, points: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """Claimed and effective length in a sentence, if the benchmark defines these."""
    found = lengths_in_words(row, points)
    if found is None:
        return ""
    claimed, effective = found
    if effective == "unknown":
        return f"Its claimed context is {claimed}."
    return f"Its effective length is {effective} ({titles[row['benchmark']]}), its claimed context {claimed}."


def _lines(text: str) -> str:
    return textwrap.fill(text, int(COLUMN * CHARACTERS))


def _broken(text: str, width: int) -> str:
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
