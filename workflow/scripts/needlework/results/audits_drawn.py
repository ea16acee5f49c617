"""An audit as a figure: differences with their intervals, and how many texts changed."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from needlework.results.audits import name_of
from needlework.results.figures.style import COLOURS, PAGE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Cells on a page; inches of a cell, and of what stands around them.
_CELLS, _ROW, _AROUND = 40, 0.19, 1.25
_WIDEST = 44
_NOTE = (
    "Left: mean scores on the same prompts, the changed model less the base; intervals over questions that "
    "hold for all cells together, however often the audit is looked at; filled: the interval excludes 0; "
    "grey: within the margin. Middle: dots, texts that differ between the two models; triangles, between two "
    "answers of one model (left- and right-pointing: base and changed) in other orders and batches. Right: "
    "how much more often texts of two models differ in such pairs; 0 if nothing changed."
)


def pages(
    table: Sequence[Mapping[str, Any]], base: str, changed: str, margin: float
) -> list[Figure]:
    """The figure, a page for every forty cells."""
    parts = [table[first : first + _CELLS] for first in range(0, len(table), _CELLS)] or [table]
    return [_page(part, f"{changed} against {base}", margin) for part in parts]


def _page(table: Sequence[Mapping[str, Any]], title: str, margin: float) -> Figure:
    from needlework.results.drawing.grid import LINE, figure_of

    note = textwrap.fill(_NOTE, int(PAGE * 21))
    with style():
        height = len(table) * _ROW + _AROUND + LINE * (note.count("\n") + 1)
        made = figure_of(PAGE, height)
        left, right, last = made.subplots(1, 3, sharey=True, width_ratios=(4, 2, 3))
        places = range(len(table))[::-1]
        for y, row in zip(places, table, strict=True):
            if row["n"]:
                worse, better = row["ci_high"] < 0, row["ci_low"] > 0
                colour = COLOURS[1] if worse else COLOURS[2] if better else COLOURS[0]
                _interval(left, y, colour, row["difference"], row["ci_low"], row["ci_high"])
                _texts(right, y, row)
            if row["n_again"]:
                _interval(
                    last,
                    y,
                    COLOURS[0],
                    *(row[f"texts_{name}"] for name in ("d", "d_low", "d_high")),
                )
        left.axvspan(-100 * margin, 100 * margin, color="#e9e9e9", zorder=0)
        for ax in (left, last):
            ax.axvline(0, color="#555555", linewidth=0.8, zorder=1)
        names = [textwrap.shorten(name_of(row), _WIDEST, placeholder="…") for row in table]
        left.set_yticks(list(places), names)
        left.set_ylim(-0.6, len(table) - 0.4)
        left.set_xlabel("Difference (points)")
        right.set_xlabel("Texts that differ (%)")
        last.set_xlabel("D of texts (points)")
        right.set_xlim(-3, 103)
        for ax in (left, right, last):
            ax.grid(axis="y", visible=False)
        made.suptitle(title, fontsize=8.5)
        made.supxlabel(note, x=0.01, ha="left", fontsize=6, color="#555555")
    return made


def _interval(ax: Axes, y: int, colour: str, value: float, low: float, high: float) -> None:
    """A mean with its interval, filled if that excludes 0."""
    ax.errorbar(
        [100 * value],
        [y],
        xerr=[[100 * (value - low)], [100 * (high - value)]],
        fmt="o",
        color=colour,
        markerfacecolor=colour if low > 0 or high < 0 else "white",
        zorder=3,
    )


def _texts(ax: Axes, y: int, row: Mapping[str, Any]) -> None:
    ax.plot([100 * row["texts_differ"]], [y], "o", color=COLOURS[0], zorder=3)
    if row["n_again"]:
        for side, marker in (("base", "<"), ("changed", ">")):
            ax.plot([100 * row[f"texts_floor_{side}"]], [y], marker, color=COLOURS[6], zorder=2)
