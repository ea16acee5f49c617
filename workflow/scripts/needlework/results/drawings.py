"""How the numbers of a result are drawn, as data: one frozen value a figure.

Planning reads this too, so it needs the standard library alone. `results.drawing` draws any of them
from a tidy frame: one row a mark, with `source` ("ours", where the column is missing; "published": a
model of the paper's that was not run), `model`, the columns named below, the number with
`ci_low` and `ci_high`, and the paper's number beside it in `published`. A row
without a value of `panel` or `row` stands in every panel.

`where`, `needs` and `counted` are pandas queries; they and all words may name run settings in braces.
Looks are (colour, marker).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from needlework.results.context import Run

if TYPE_CHECKING:
    import pandas as pd

Look = tuple[str, str]

PAPER = "the paper's"


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """What every drawing says.

    x: the column across (down, where bars or points lie); several give a row of panels each, of the rows
    that have a value in it. nothing: why there may be nothing to draw. y: what the axis of values is
    called. line: the column of lines or bars within a panel. panel: a panel for each of its values;
    row: a row of panels for each of these columns' values. value, n: the columns of the number and of
    how many prompts are behind it; unit: what those are called. limits: of the axis of values, or None:
    around what is drawn. columns: most panels side by side where there is one row of them.

    where: which rows are drawn. needs: rows of ours without which there is nothing to draw. prepare:
    function (data, run) -> data, for what no column says. counted: the rows of ours in the small print.

    words: the start of the small print. paper: where the paper's numbers are printed, or a function
    (data, run) -> str. note: function (data, run) -> str, the end of the small print. panel_title, row_title,
    line_title: templates of these columns (row_title "": none). called: what single values are called
    here, before their factor's words. looks: of single values of `line`. suffix: the column of words in
    brackets after a line's name; members: that of codes, separated by spaces. why: the column that says
    why a panel is empty. listed: columns whose values are drawn in the order of the frame, not of their
    factor. scaled: numbers across are drawn to scale instead of at equal distances. level: a column with
    one number a panel, such as chance, and what that is called: a dotted line in panels of lines and bars.
    """

    x: str | tuple[str, ...]
    nothing: str
    y: str = "Accuracy"
    line: str = "model"
    panel: str = ""
    row: tuple[str, ...] = ()
    value: str = "value"
    n: str = "n"
    unit: str = "prompts"
    limits: tuple[float, float] | None = (0.0, 1.0)
    columns: int = 3
    where: str = ""
    needs: str = ""
    prepare: Callable[[pd.DataFrame, Run], pd.DataFrame] | None = None
    counted: str = ""
    words: str = ""
    paper: Callable[[pd.DataFrame, Run], str] | str = PAPER
    note: Callable[[pd.DataFrame, Run], str] | None = None
    panel_title: str = ""
    row_title: str | None = None
    line_title: str = ""
    called: Mapping[Any, str] = field(default_factory=dict)
    looks: Mapping[Any, Look] = field(default_factory=dict)
    suffix: str = ""
    members: str = ""
    why: str = ""
    listed: tuple[str, ...] = ()
    scaled: bool = False
    level: tuple[str, str] | None = None

    # What the small print calls a mark, the paper's numbers, and marks of prompts that are too short ("":
    # they have no mark) and of cells that lack answers.
    mark = "point"
    paper_look = "Dashed"
    short_look = "Hollow"
    incomplete_look = "Ringed"
    # Whether the intervals over questions are drawn.
    intervals = True


@dataclass(frozen=True, kw_only=True)
class Lines(Drawing):
    """Lines over `x`. A row without a value of `x` is a level across its panel.

    levels: the columns across which the paper's numbers are levels; across any other they are not drawn then.
    """

    levels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Bars(Drawing):
    """Bars of each `line` side by side, lying where `horizontal` or where there are many."""

    horizontal: bool = False

    mark = "bar"
    paper_look = "Hollow markers"
    short_look = "Hatched"


@dataclass(frozen=True, kw_only=True)
class Points(Drawing):
    """Points of each `line` in one row for each `x`, without intervals."""

    paper_look = "Hollow"
    short_look = ""
    intervals = False


@dataclass(frozen=True, kw_only=True)
class Dots(Points):
    """Points with intervals, the rows sorted by value: in place of a paper's radar."""

    intervals = True


@dataclass(frozen=True, kw_only=True)
class Heatmap(Drawing):
    """A cell for each `x` and `down`, in percent; the paper's number beneath in small print.

    margin: the value of `down` that is the mean of the others. tinted: a query for rows whose names are
    orange, and what that means.
    """

    down: str
    margin: str = ""
    tinted: tuple[str, str] | None = None

    mark = "cell"
    paper_look = "Small"
    short_look = "Dotted"
    incomplete_look = "With an asterisk"
    intervals = False
