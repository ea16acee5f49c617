"""Any drawing (`results.result`) as figures: `draw`, then `drawing.save.save_figure`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from needlework.factor import Factor
from needlework.results.drawing import marks
from needlework.results.drawing.grid import figure_of, wrapped
from needlework.results.drawing.picture import NothingToDraw, Picture
from needlework.results.drawing.style import COLUMN, NOTHING, PRINTING, Printing, style
from needlework.results.result import Drawing, Heatmap, Lines, Run

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["NothingToDraw", "draw", "notice"]


def draw(
    drawing: Drawing,
    frame: pd.DataFrame,
    factors: Mapping[str, Factor],
    run: Run,
    printing: Printing = PRINTING,
) -> list[Figure]:
    """Draw a result: figures that each fit a page. Raises NothingToDraw if the frame has no number of ours.

    `factors` are the benchmark's, by column: order, label and words of their values. `run` has `models` (all,
    in order), `published` (model to the paper's name for it), and whatever the drawing's words, queries and
    functions read. A figure's label is its small print; if `printing` says so, the figure itself shows it.
    """
    picture = Picture.of(drawing, frame, factors, run, printing)
    with style():
        if isinstance(picture.spec, Heatmap):
            return marks.heat_map(picture)
        return marks.line_plot(picture) if isinstance(picture.spec, Lines) else marks.bars(picture)


def notice(text: str) -> Figure:
    """A figure that says this alone, for a file that must be there."""
    with style():
        figure = figure_of(COLUMN, 1.2)
        said = figure.text(0.5, 0.5, wrapped(text, COLUMN), ha="center", va="center")
    said.set_gid(NOTHING)
    figure.set_label(text)
    return figure
