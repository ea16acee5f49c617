"""How tables are laid out, as data: `latex` makes LaTeX of a tidy table by one of these descriptions.

Planning imports them, so they need the standard library alone. Conditions are expressions for pandas'
`query` over the columns of the tidy table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from needlework.factor import Factor
from needlework.results.columns import MARKED

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Number:
    """How a value, its interval and the paper's number are written.

    column: of the table, that has the value; the paper's is in `published_<column>` where it is not `value`.
    digits: after the point. scale: 100 for percentages. signed: with a plus where it is above 0.
    least: smaller values are written as "<least". factor: written as a value of this factor, such as
    a length. write: `function(value, cell, table, paper)`, which returns text; `cell` is a
    row of `table`, and `paper` says that the value is the paper's. compared: whether a sign says on
    which side of the paper's number ours lies.
    """

    digits: int = 3
    scale: float = 1
    column: str = "value"
    signed: bool = False
    least: float = 0
    factor: Factor | None = None
    write: Callable[[Any, Mapping[str, Any], pd.DataFrame, bool], str] | None = None
    compared: bool = True

    @property
    def published(self) -> str:
        """The column of the paper's number."""
        return "published" if self.column == "value" else f"published_{self.column}"


PERCENT = Number(digits=1, scale=100)


@dataclass(frozen=True)
class Mark:
    """A sign at (or a line under) the numbers for which `where` holds; `note` explains it below.

    paper: marks the paper's number, not ours. sign: in LaTeX.
    """

    where: str
    note: str
    underline: bool = False
    paper: bool = False
    sign: str = r"\dag"


@dataclass(frozen=True)
class Line:
    """A further line below the numbers of a block: of cells for which `where` holds, these columns."""

    label: str
    columns: tuple[str, ...]
    number: Number
    where: str


# At cells that lack answers, in every table that counts them.
INCOMPLETE = Mark(
    MARKED,
    "more than 1% of the answers were skipped or failed; the line below gives the mean if all of them were "
    "wrong, and if all were right",
    sign=r"\ddag",
)
LOST = Line("skipped, failed", ("n_skipped", "n_error"), Number(0), "n_skipped + n_error > 0")
# What is said of sums over answers, by column.
MISSING = {
    "n_skipped": "{} answers were skipped (longer than the model's context).",
    "n_error": "{} requests failed.",
    "n_cut": "{} answers were cut at the token limit.",
    "n_empty": "{} answers are empty.",
    "n_prompt_cut": "Of the failed requests, the server cut the prompts of {}.",
    "n_refused": "Of the failed requests, the server refused {}.",
}


@dataclass(frozen=True)
class Grid:
    """Blocks of lines down, columns across: in each block numbers, intervals, the paper's numbers.

    rows: columns of labels; blocks come in the table's order. columns: what goes across, the outer
    level first; without any, there is one column with the head `head`. by: what parts blocks but is
    not shown (blocks that agree in the first of `by`, or else of `rows`, share a page). apart: never
    averaged over; shown behind the first label where the table has several values. number, numbers:
    how values are written, and those whose column (of the table) has a certain value, as text.
    prepare: `function(table)` that returns the rows to lay out. show: which of them. without:
    columns across all of whose cells are so are left out. float_per: a float for each value. lines,
    marks: further lines below, and marks at numbers. answers: which rows count every answer once;
    counts: by column, a sentence on its sum over these rows, with "{}". over: what intervals are over.
    note, empty: a text below, and what stands in a table without rows.
    """

    rows: tuple[Factor, ...]
    columns: tuple[Factor, ...] = ()
    head: str = ""
    by: tuple[str, ...] = ()
    apart: tuple[Factor, ...] = ()
    number: Number = Number()
    numbers: Mapping[tuple[str, str], Number] = field(default_factory=dict)
    prepare: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    show: str = ""
    without: str = ""
    float_per: tuple[Factor, ...] = ()
    lines: tuple[Line, ...] = ()
    marks: tuple[Mark, ...] = ()
    answers: str = ""
    counts: Mapping[str, str] = field(default_factory=dict)
    over: str = "questions"
    note: str = ""
    empty: str = "no scores"


# One or more grids: each makes floats of the rows that it shows.
Layout = tuple[Grid, ...]


def pairs(columns: tuple[Factor, ...], number: Number = Number(), **more: Any) -> Grid:
    """Two models and their difference: rows of the roles first, second and delta, by `pair`."""
    test = Number(3, least=0.001)
    return Grid(
        rows=(Factor("model", label="Model", words={"delta": "Δ second − first"}),),
        columns=columns,
        by=("pair", "role"),
        number=number,
        numbers={("role", "delta"): replace(number, signed=True)},
        lines=(Line("McNemar's p", ("p_mcnemar",), test, "p_mcnemar == p_mcnemar"),),
        empty="no pair was run",
        **more,
    )


@dataclass(frozen=True)
class PromptTable:
    """A table of a tokenizer's prompts, and below it what could not be built or is in the data all the same.

    by: factors whose values have a row each. counts: name of a column, what it is of, and how it is
    counted (an aggregation of pandas: size, nunique, mean, max, sum). slice_names: the columns that
    the parts of a slice's name, between hyphens, stand in beside a note ("": none; the last takes the
    rest). computed: columns as expressions of others. digits: of means, where not 1, and of others. kept:
    notes that count what is not left out, as do those that end with "_kept". sorted: rows by their factors,
    not as the files have them; also_notes: those of notes too.
    """

    by: tuple[str, ...]
    counts: tuple[tuple[str, str, str], ...]
    slice_names: tuple[str, ...]
    computed: Mapping[str, str] = field(default_factory=dict)
    digits: Mapping[str, int] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    sorted: bool = True
