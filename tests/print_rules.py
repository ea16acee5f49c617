"""What a figure for print keeps to, read from the figure itself after it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from needlework.results.drawing.style import COLUMN, PAGE, SMALLEST, TALLEST, style


def check_print(figure: Figure, wide: float = PAGE) -> None:
    """One of two widths, no smaller text than 6 points, and no label on one of the next panel."""
    width, height = figure.get_size_inches()
    assert min(abs(width - COLUMN), abs(width - wide)) < 0.01 and height <= TALLEST, (width, height)
    for text in texts(figure):
        assert text.get_fontsize() >= SMALLEST, text.get_text()
    axes = [ax for ax in figure.axes if ax.get_subplotspec() and ax.name != "polar"]
    for one, other in combinations(axes, 2):
        assert_apart(x_labels(one), x_labels(other))


def of_many(frame: pd.DataFrame) -> pd.DataFrame:
    """The same numbers of ten times as many prompts: made-up runs ask few, and marks of few are not drawn."""
    return frame.assign(**{name: 10 * frame[name] for name in ("n", "n_all") if name in frame})


def texts(figure: Figure) -> list[Any]:
    """All words of a figure that are seen."""
    found = figure.findobj(match=lambda artist: hasattr(artist, "get_fontsize"))
    return [text for text in found if text.get_visible() and text.get_text().strip()]


def x_labels(ax: Any) -> list[Any]:
    """The labels of the axis across that are seen."""
    labels = [*ax.get_xticklabels(), ax.xaxis.label]
    return [label for label in labels if label.get_visible() and label.get_text().strip()]


def assert_apart(labels: list[Any], others: list[Any]) -> None:
    """No label of one panel lies on one of another."""
    for one in labels:
        a = one.get_window_extent()
        for other in others:
            b = other.get_window_extent()
            across = min(a.x1, b.x1) - max(a.x0, b.x0)
            down = min(a.y1, b.y1) - max(a.y0, b.y0)
            assert across < 1.5 or down < 1.5, f"{one.get_text()!r} on {other.get_text()!r}"


def only(pages: Sequence[Figure]) -> Figure:
    """The figure of a single page."""
    (page,) = pages
    return page


def words(figure: Figure) -> str:
    """All text of a figure, lines joined."""
    found = figure.findobj(match=lambda artist: hasattr(artist, "get_text"))
    return "\n".join(artist.get_text().replace("\n", " ") for artist in found)


def laid_out(figure: Figure) -> Figure:
    """What fails in a layout fails here."""
    with style():
        figure.draw_without_rendering()
    return figure


def lines_of(ax: Any, label: str) -> list[Any]:
    """The lines of a panel that its legend calls so."""
    handles, labels = ax.get_legend_handles_labels()
    return [handle for handle, one in zip(handles, labels, strict=True) if one == label]
