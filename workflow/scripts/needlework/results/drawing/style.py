"""The look of all figures: sizes, fonts, colours, the names on their axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

# Inches: one column of a two-column page, and both; how tall a page may be.
COLUMN = 3.3
PAGE = 6.9
TALLEST = 9.5
# Points: no text is smaller. Models that have a colour; the rest is grey.
SMALLEST, MOST_COLOURED = 6.0, 6

# The id, in an SVG, of the words that stand where there is nothing to draw.
NOTHING = "nothing-to-draw"

# Each has 3.1 to 1 or more on white. Any two are 23 apart in CIELAB, also with deuteranopia and
# protanopia, and 4 in lightness, the neighbours of the first six 14, for print in grey.
COLOURS = ("#1453BE", "#D06B38", "#0B4535", "#A34C9C", "#7E340A", "#3397E6", "#7C7C7C")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
PUBLISHED_COLOUR = "#8a8a8a"
GRID = "#dddddd"
REST = ("#b5b5b5", ".")

# Of text on a cell with a colour of its own: unlike `INK` and `GROUND` they stay as they are in dark mode.
ON_LIGHT, ON_DARK = "#232323", "#fefefe"
INK, GROUND = "#222222", "#ffffff"
# What a dark page makes of colours that it would hide, by what they are on a light one: text and axes
# take the colour of the text around the figure (currentColor).
DARK_GROUND, DARK_INK = "#15181b", "#e4e7ea"
DARK = {
    **dict.fromkeys(("#000000", INK, "#333333"), "currentColor"),
    **dict.fromkeys(("#555555", "#777777"), "#a2acb5"),
    **dict.fromkeys((GRID, "#cccccc", "#e9e9e9"), "#343b42"),
    GROUND: DARK_GROUND,
    **{"#1453be": "#b4c2ff", "#0b4535": "#57e5c9", "#7e340a": "#ecc6a2"},
}

RC: dict[Any, Any] = {
    "figure.dpi": 100,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.03,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.6,
    "errorbar.capsize": 1.8,
    # Text stays text: searchable, and shown in the reader's font where DejaVu Sans is missing.
    "svg.fonttype": "none",
    "svg.hashsalt": "needlework",
    "pdf.fonttype": 42,
    "text.parse_math": False,
}


@dataclass(frozen=True)
class Printing:
    """How figures are printed: the configuration's `figures`."""

    # The width of wide figures, in inches.
    width: float = PAGE
    # The models in colour; if empty, the run's first six.
    coloured: Sequence[str] = ()


PRINTING = Printing()


@contextmanager
def style() -> Iterator[None]:
    """Matplotlib with the project's settings on its own defaults, whatever a user's matplotlibrc says."""
    import matplotlib.style

    with matplotlib.style.context(["default", RC]):
        yield


def looks(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each name, by its place: the same list gives the same everywhere."""
    return {
        name: (COLOURS[i % len(COLOURS)], MARKERS[(i + i // len(COLOURS)) % len(MARKERS)])
        for i, name in enumerate(names)
    }


def model_colours(models: Sequence[str], coloured: Sequence[str] = ()) -> dict[str, str]:
    """Each model's colour on cards and pages, as in figures: six have one, all others are grey.

    `coloured` are the models in colour, in place of the first six.
    """
    own = looks((list(coloured) or list(models))[:MOST_COLOURED])
    return {model: own[model][0] if model in own else COLOURS[-1] for model in models}


def on_pages(colour: str) -> str:
    """A colour as CSS: another one on dark pages that would hide it."""
    return f"light-dark({colour}, {DARK.get(colour.lower(), colour)})"


def ordered_colours(n: int) -> list[str]:
    """`n` colours from light to dark, for values that have an order (context lengths)."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    # The lightest has 3 to 1 on white.
    ramp = colormaps["viridis_r"]
    return [to_hex(ramp(0.41 + 0.41 * i / max(1, n - 1))) for i in range(n)]
