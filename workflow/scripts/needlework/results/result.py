"""The class of tables and figures: a function of rows and the run, with title, place and look as data.

`written_tables` lays out a tidy table by its grids; `drawing` draws a figure. Planning imports results to
learn their names, titles and needs, so this needs the standard library alone.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from needlework.contract import Run as Run
from needlework.factor import Factor
from needlework.results import published as publications
from needlework.results.columns import LEAST_ANSWERS, MARKED

if TYPE_CHECKING:
    import pandas as pd

# What numbers are made with: the run, and the paper's numbers.

# The labels of a cell, by column.
Labels: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Context:
    """The input of every result besides its rows: the paper's numbers, and facts about the run."""

    published: pd.DataFrame
    run: Run

    @cached_property
    def tables(self) -> dict[str, dict[str, publications.PrintedLine]]:
        """The paper's tables by name: their lines, and the numbers of each by column."""
        return publications.tables(self.published)

    def line(self, table: str, row: str) -> publications.PrintedLine:
        """The numbers in a line of the paper's table, by column; none where there is no such line."""
        return self.tables.get(table, {}).get(row, {})

    def find(self, table: str, row: str, column: str) -> publications.PrintedNumber | None:
        """The number of a cell of the paper's table; None without any."""
        return self.line(table, row).get(column)

    def paper_name(self, model: str) -> str:
        """The paper's name of a model; "" if the paper lacks the model."""
        return self.run.get("published", {}).get(model, "")


def model_order(present: Collection[str], run: Run) -> list[str]:
    """Models in the run's order, then any others by name."""
    listed = [model for model in run.get("models", ()) if model in present]
    return listed + sorted(set(present).difference(listed))


def without_controls(numbers: pd.DataFrame, run: Run) -> pd.DataFrame:
    """A result's rows without controls, unless the run has no other model in it.

    A pair that the configuration names keeps both of its models.
    """
    if "model" not in numbers or "pair" in numbers:
        return numbers
    left = numbers[~numbers["model"].isin(list(run.get("controls", ())))]
    ours = left["source"] == "ours" if "source" in left else left["model"].notna()
    return left if ours.any() else numbers


def without_incomparable(numbers: pd.DataFrame) -> pd.DataFrame:
    """A result's rows without the paper's numbers.

    If one of these numbers has a verdict beside ours, all rows stay.
    """
    ours = numbers[numbers["source"] == "ours"] if "source" in numbers else numbers
    for name in numbers.columns[numbers.columns.str.startswith("comparison")]:
        if any(str(one).partition(":")[0] in publications.JUDGED for one in ours[name].dropna()):
            return numbers
    printed = [name for name in numbers if name.startswith("published")]
    if len(ours) == len(numbers) and ours[printed].isna().all(axis=None):
        return numbers
    return ours.assign(**dict.fromkeys(printed, float("nan")))


@dataclass(frozen=True)
class Number:
    """How a value, its interval and the paper's number are written."""

    # Places after the point; 100 for percentages.
    digits: int = 3
    scale: float = 1
    # The table's column with the value; the paper's is `published`, or `published_<column>`.
    column: str = "value"
    # With a plus if above 0; values below `least` are written as "<least".
    signed: bool = False
    least: float = 0
    # Written as a value of this factor, such as a length.
    factor: Factor | None = None
    # (value, cell, table, paper) -> text: `cell` is a row of `table`; `paper`: the value is the paper's.
    write: Callable[[Any, Mapping[str, Any], pd.DataFrame, bool], str] | None = None
    # Whether a sign says on which side of the paper's number ours lies.
    compared: bool = True

    @property
    def published(self) -> str:
        """The column of the paper's number."""
        return "published" if self.column == "value" else f"published_{self.column}"


PERCENT = Number(digits=1, scale=100)


@dataclass(frozen=True)
class Mark:
    """A sign at (or a line under) the numbers for which `where` holds; `note` explains it below."""

    where: str
    note: str
    underline: bool = False
    # Whether it marks the paper's number in place of ours.
    paper: bool = False
    # Stands behind the number, if that is not underlined.
    sign: str = "†"


@dataclass(frozen=True)
class FurtherLine:
    """A further line below the numbers of a block: `columns` of the cells for which `where` holds."""

    label: str
    columns: tuple[str, ...]
    number: Number
    where: str


# The text of a cell without a value.
ABSENT = "--"
# At cells that lack answers, in every table that counts them.
INCOMPLETE = Mark(
    MARKED,
    "more than 1% of the answers were skipped or failed; the line below has the mean if all of these are "
    "wrong, and if all are right",
    sign="‡",
)
LOST = FurtherLine(
    "skipped, failed", ("n_skipped", "n_error"), Number(0), "n_skipped + n_error > 0"
)
# What is said of sums over answers, by column.
MISSING = {
    "n_skipped": "{} answers were skipped (longer than the model's context).",
    "n_error": "{} requests failed.",
    "n_cut": "{} answers were cut at the token limit.",
    "n_empty": "{} answers are empty.",
    "n_prompt_cut": "The server cut the prompts of {} failed requests.",
    "n_refused": "The server refused {} of the failed requests.",
}


@dataclass(frozen=True)
class Grid:
    """A table's layout: blocks of lines down, columns across.

    A block has lines of numbers, intervals and the paper's numbers.
    """

    # Columns of labels. Blocks come in the table's order.
    rows: tuple[Factor, ...]
    # What goes across, the outer level first; without any, there is one column with this head.
    columns: tuple[Factor, ...] = ()
    head: str = ""
    # What parts blocks and is not shown. Blocks with one value of the first (else of `rows[0]`) share a page.
    by: tuple[str, ...] = ()
    # Never averaged over; shown behind the first label where the table has several values.
    apart: tuple[Factor, ...] = ()
    # A float for each value.
    float_per: tuple[Factor, ...] = ()
    # How values are written; and, by (column, value as text), how those of a certain value are.
    number: Number = Number()
    numbers: Mapping[tuple[str, str], Number] = field(default_factory=dict)
    # Further lines below a block, and marks at numbers.
    lines: tuple[FurtherLine, ...] = ()
    marks: tuple[Mark, ...] = ()

    # The rows that are laid out: of `prepare(table)`, those for which the query `where` holds. Columns across
    # whose cells all fulfil the query `without` are left out.
    prepare: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    where: str = ""
    without: str = ""

    # Below the table: a text, what intervals are over, and in one without rows `empty`.
    note: str = ""
    over: str = "questions"
    empty: str = "no scores"
    # A query for rows that count every answer once; by column, a sentence with "{}" for its sum over these.
    answers: str = ""
    counts: Mapping[str, str] = field(default_factory=dict)


# One or more grids: each makes floats of the rows that it shows.
Layout = tuple[Grid, ...]


def pairs(
    columns: tuple[Factor, ...], number: Number = Number(), answers: str = "", **more: Any
) -> Grid:
    """Two models and their difference: rows of the roles first, second and delta, by `pair`."""
    test = Number(3, least=0.001)
    return Grid(
        rows=(Factor("model", label="Model", words={"delta": "Δ second − first"}),),
        columns=columns,
        by=("pair", "role"),
        number=number,
        numbers={("role", "delta"): replace(number, signed=True)},
        lines=(FurtherLine("McNemar's p", ("p_mcnemar",), test, "p_mcnemar == p_mcnemar"),),
        empty="no pair was run",
        answers=answers,
        **more,
    )


@dataclass(frozen=True)
class PromptTable:
    """A table of a tokenizer's prompts. Its notes have counts of prompts that are left out or peculiar."""

    # Factors whose values have a row each.
    by: tuple[str, ...]
    # Of each column: its name, the column that it counts, and how (pandas' size, nunique, mean, max or sum).
    counts: tuple[tuple[str, str, str], ...]
    # The columns of a note that have the parts of a slice's name, between hyphens; "" is left out, and the
    # last has the rest.
    slice_names: tuple[str, ...]
    # Columns as expressions of others.
    computed: Mapping[str, str] = field(default_factory=dict)
    # Digits, where a mean has not 1 and another number not 0.
    digits: Mapping[str, int] = field(default_factory=dict)
    # Notes that count what is not left out, as do those whose names end with "_kept".
    kept: tuple[str, ...] = ()
    # Whether rows and notes are in the order of their factors, not of the files.
    sorted: bool = True


Look = tuple[str, str]

PAPER = "the paper's"


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """The contents of a figure, whatever its form."""

    # The column across (down, where bars or points lie). Several give a row of panels each, of the rows that
    # have a value in it.
    x: str | tuple[str, ...]
    # Why there may be nothing to draw.
    nothing: str
    # The column of lines or bars within a panel.
    line: str = "model"
    # Whether numbers across are drawn to scale instead of at equal distances.
    scaled: bool = False
    # A column with one number a panel, such as chance, and its name: a dotted line across lines and bars.
    level: tuple[str, str] | None = None

    # The axis of values: its name and unit; with "%", shares are written in percent.
    axis: str = "Accuracy"
    unit: str = "%"
    # The column of the numbers, the column of how many prompts are behind each, and the name of those.
    column: str = "value"
    n: str = "n"
    prompts: str = "prompts"
    # The fewest prompts that give a mark its place or colour.
    least: int = LEAST_ANSWERS
    # Ends of the axis, further out where something lies there, or None: from 0, around what is drawn.
    limits: tuple[float, float] | None = (0.0, 1.0)

    # A panel for each value of this column; a row of panels for each of these columns' values.
    panel: str = ""
    row: tuple[str, ...] = ()
    # The most panels side by side where there is one row of them.
    columns: int = 3
    # Templates of titles, with names of columns (row_title "": none).
    panel_title: str = ""
    row_title: str | None = None
    # The column that says why a panel is empty.
    why: str = ""

    # A query for the rows that are drawn, and one for rows of ours without which there is nothing to draw.
    where: str = ""
    only_if: str = ""
    # (data, run) -> data, for what no column says.
    prepare: Callable[[pd.DataFrame, Run], pd.DataFrame] | None = None
    # Columns whose values are drawn in the order of the frame, not of their factor.
    listed: tuple[str, ...] = ()

    # The template of a line's name, and names of single values, before their factor's words.
    line_title: str = ""
    called: Mapping[Any, str] = field(default_factory=dict)
    # Colours and markers of single lines.
    looks: Mapping[Any, Look] = field(default_factory=dict)
    # Behind a line's name, in brackets: the column of words, and the column of codes separated by spaces.
    suffix: str = ""
    members: str = ""

    # The small print: its start, and a query for the rows of ours that its n is of.
    words: str = ""
    counted: str = ""
    # Where the paper's numbers are printed, as text or (data, run) -> text; (data, run) -> the print's end.
    paper: Callable[[pd.DataFrame, Run], str] | str = PAPER
    note: Callable[[pd.DataFrame, Run], str] | None = None

    # What the small print calls a mark, the paper's numbers, and marks of prompts that are too short ("":
    # they have no mark) and of cells that lack answers; what became of marks with too few answers.
    mark = "point"
    few_look = "Not drawn: {mark}s of fewer than {least} {prompts}, and panels of mostly such."
    paper_look = "Dashed"
    short_look = "Hollow"
    incomplete_look = "Ringed"
    # Whether the intervals over questions are drawn.
    intervals = True


@dataclass(frozen=True, kw_only=True)
class Lines(Drawing):
    """Lines over `x`. A row without a value of `x` is a level across its panel."""

    # The columns across which the paper's numbers are levels. Across any other column they are then not
    # drawn.
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
    """A cell for each `x` and `down`, in percent; the paper's number beneath in small print."""

    down: str
    # The value of `down` that is the mean of the others.
    margin: str = ""
    # A query for the rows whose names are orange, and what the colour means.
    tinted: tuple[str, str] | None = None

    mark = "cell"
    few_look = "Grey: {name} of fewer than {least} {prompts}."
    paper_look = "Small"
    short_look = "Dotted"
    incomplete_look = "With an asterisk"
    intervals = False


# The rows that a result is made of: scores of answers, ceilings of translation, instances, token counts (of
# books, too), or the paper's numbers alone.
Needs: TypeAlias = Literal["scores", "ceilings", "instances", "token_counts", "books", "published"]
Numbers: TypeAlias = Callable[["pd.DataFrame", "Context"], "pd.DataFrame"]

# Sentences that captions share.
MCNEMAR = (
    "The CSV has McNemar's exact test per point, over questions answered on both sides, with the numbers of "
    "questions that only one side has right."
)
DELTA = (
    "Rows “Δ” are the second model minus the first on prompts that both answered, with the interval of this "
    "paired difference. McNemar's exact p treats prompts as independent. If many prompts ask few questions, "
    "it is too small; use the interval over questions."
)


@dataclass(frozen=True)
class Result:
    """A table or figure: its files, a target, an entry of the report and of the documentation."""

    # The name of its files. "table1" and "figure4b" are the paper's.
    name: str
    title: str
    # In reStructuredText.
    caption: str
    # Function that makes its tidy table, one cell a row.
    numbers: Numbers
    # How the tidy table is laid out or drawn.
    shown: Layout | Drawing
    # The rows that `numbers` gets.
    needs: Needs = "scores"
    # Conditions of the benchmark (`RunFacts.conditions`) that must hold for it to have rows.
    when: tuple[str, ...] = ()
    # Whether some of its numbers are means over models.
    over_models: bool = False
    # Whether scores in it are by the run's metric. The name of a metric: only if the run's metric is this
    # one.
    by_metric: bool | str = True

    def __call__(self, rows: pd.DataFrame, run: Context) -> pd.DataFrame:
        """The tidy table of these rows."""
        return self.numbers(rows, run)

    @property
    def kind(self) -> Literal["tables", "figures"]:
        """The folder of its files."""
        return "figures" if isinstance(self.shown, Drawing) else "tables"

    @property
    def endings(self) -> tuple[str, ...]:
        """The endings of the files that show its numbers, which are in `<name>.csv`."""
        return ("svg", "pdf", "png", "txt") if self.kind == "figures" else ("tex", "html")

    @property
    def place(self) -> str:
        """The result's number in the paper ("Table 1"); "" if the paper lacks it."""
        found = re.fullmatch(r"(table|figure)(\d+[a-z]?)", self.name)
        return f"{found[1].capitalize()} {found[2]}" if found else ""

    @property
    def full_caption(self) -> str:
        """The caption in the report: title, place in the paper, and `caption`."""
        place = f" (the paper's {self.place})" if self.place else ""
        return f"**{self.title}**{place}. {self.caption}"

    @property
    def label(self) -> str:
        """The result's name in the report and in messages."""
        if not self.place:
            return self.title
        # A name of a model or a task stays as it is.
        word = re.match("[A-Z][a-z-]+,? ", self.title)
        return f"{self.place}: {self.title[0].lower() if word else self.title[0]}{self.title[1:]}"


Decorated: TypeAlias = Callable[[Numbers], Result]


def told(result: Result, run: Run) -> str:
    """A sentence on the run for captions, notes and LaTeX: data, metric, models in means, partly asked ones.

    If a table has a column of metrics, the metric is not named.
    """
    grids = () if isinstance(result.shown, Drawing) else result.shown
    named = any(factor.name == "metric" for grid in grids for factor in (*grid.rows, *grid.columns))
    by = run.get("scored_by", "") if result.needs == "scores" and not named else ""
    by_it = result.by_metric in (True, by.partition(" ")[0])
    metric = f"Metric: {by}." if by and by_it else ""
    counted = run.get("counted", "") if result.over_models else ""
    return " ".join(filter(None, (run.get("data", ""), metric, counted, run.get("asked", ""))))


def table(
    title: str,
    *grids: Grid,
    needs: Needs = "scores",
    when: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    over_models: bool = False,
    by_metric: bool | str = True,
) -> Decorated:
    """Make the decorated function a table, laid out as these grids.

    Its docstring is the caption; `notes` are further sentences of it, which several results share.
    """
    return _result(title, grids, needs, when, notes, over_models, by_metric)


def figure(
    title: str,
    drawing: Drawing,
    *,
    needs: Needs = "scores",
    when: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    over_models: bool = False,
    by_metric: bool | str = True,
) -> Decorated:
    """Make the decorated function a figure; docstring and `notes` as for `table`."""
    return _result(title, drawing, needs, when, notes, over_models, by_metric)


def _result(
    title: str,
    shown: Layout | Drawing,
    needs: Needs,
    when: tuple[str, ...],
    notes: tuple[str, ...],
    over_models: bool,
    by_metric: bool | str,
) -> Decorated:
    def decorate(numbers: Numbers) -> Result:
        caption = " ".join([*(inspect.getdoc(numbers) or "").split(), *notes])
        name = numbers.__name__
        return Result(name, title, caption, numbers, shown, needs, when, over_models, by_metric)

    return decorate


def results_in(*modules: ModuleType) -> tuple[Result, ...]:
    """The results that these modules define, in the order of definition. ValueError if two share a name."""
    found: dict[str, Result] = {}
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, Result) and found.setdefault(value.name, value) is not value:
                raise ValueError(f"{module.__name__} defines {value.name} a second time.")
    return tuple(found.values())
