"""A tidy table as `layouts` describes it, in plain text: parts with a head, blocks of cells, and notes.

`latex` and `html_tables` write it. A tidy table has a column `value` (or those that `Number.column` names)
and, where there are such things, `source` ("ours" or "published"), `n`, an interval (`ci_low` and `ci_high`,
or `ci_low_independent` and `ci_high_independent`), `published`, `comparison`, and counts of missing answers.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from needlework.factor import Factor, in_1000, in_1024
from needlework.results.columns import MARKED
from needlework.results.layouts import INCOMPLETE, MISSING, Grid, Layout, Line, Mark, Number

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]
Key = tuple[Hashable, ...]

PAPER = (
    "In italics: the paper's numbers, and whether our interval covers them (=), lies below (<) or "
    "above them (>), or that this cannot be told (?; the CSV says why)."
)
EXACT = (
    "In italics: the paper's numbers, and whether ours equal them to the last digit (=) or not "
    "(≠), or that this cannot be told (?; the CSV says why)."
)
SIGNS = {"covers": "=", "below": "<", "above": ">", "equals": "=", "differs": "≠"}
ABSENT = "--"


@dataclass(frozen=True)
class Written:
    """A number as it stands in a cell, with the marks at it (and under it)."""

    text: str
    marks: tuple[Mark, ...] = ()

    @property
    def underlined(self) -> bool:
        """Whether a line stands under it."""
        return any(mark.underline for mark in self.marks)

    @property
    def signs(self) -> tuple[str, ...]:
        """The signs behind it, in LaTeX."""
        return tuple(mark.sign for mark in self.marks if not mark.underline)


@dataclass(frozen=True)
class Cell:
    """What stands in a cell: our number, its interval, the paper's with a sign, and further lines.

    theirs: whether the first number is the paper's. value: the number, to sort by.
    """

    number: Written
    theirs: bool
    value: float | None = None
    interval: str = ""
    paper: Written | None = None
    sign: str = ""
    further: tuple[str, ...] = ()


@dataclass(frozen=True)
class Block:
    """Lines of one label: a cell for each column, or None; `unit` is what shares a page."""

    unit: Hashable
    labels: tuple[str, ...]
    theirs: bool
    kind: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Head:
    """What stands above the blocks: words over columns, from the outermost, and counts of answers."""

    above: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """A grid's rows of one value of `Grid.float_per`, which `words` names; notes are (sign, sentence)."""

    grid: Grid
    words: str
    across: tuple[Key, ...]
    head: Head
    blocks: tuple[Block, ...]
    notes: tuple[tuple[str, str], ...]


def parts_of(table: pd.DataFrame, layout: Layout) -> Iterator[Part]:
    """The parts of a table. Grids that show no row are left out, if another one does.

    ValueError if two rows are of one cell.
    """
    if {"lowest", "n_skipped"} <= set(table):
        layout = tuple(_with_bounds(grid) for grid in layout)
    shown = [(grid, _shown(grid, table)) for grid in layout]
    for grid, rows in [(grid, rows) for grid, rows in shown if len(rows)] or shown[:1]:
        per = [factor.name for factor in grid.float_per]
        for key, part in rows.groupby(per, sort=False) if per and len(rows) else [((), rows)]:
            words = " ".join(f.called(v) for f, v in zip(grid.float_per, key, strict=False))
            across = _across(grid, part)
            head, blocks = _head(grid, part, across), _blocks(grid, part, across)
            yield Part(grid, words, tuple(across), head, tuple(blocks), tuple(_notes(grid, part)))


def _with_bounds(grid: Grid) -> Grid:
    """The same grid, with a mark and the bounds of the mean at cells that lack answers."""
    bounds = Line(
        "if wrong, if right", ("lowest", "highest"), grid.number, f"{MARKED} and lowest == lowest"
    )
    return replace(grid, marks=(*grid.marks, INCOMPLETE), lines=(*grid.lines, bounds))


def _shown(grid: Grid, table: pd.DataFrame) -> pd.DataFrame:
    """The rows that a grid shows; under the text of each of its conditions, whether it holds.

    The interval, over questions where there is such a one, is in `low` and `high`.
    """
    table = grid.prepare(table) if grid.prepare else table
    table = table if "source" in table else table.assign(source="ours")
    table = (table.query(grid.show) if grid.show else table).reset_index(drop=True)
    kind = "" if "ci_low" in table else "_independent"
    conditions = [*(m.where for m in grid.marks), *(one.where for one in grid.lines), grid.without]
    # Without rows, a file's columns have no type to compute with.
    holds = {
        text: table.index.isin(table.query(text).index) if len(table) else False
        for text in filter(None, conditions)
    }
    factors = (*grid.rows, *grid.columns, *grid.apart, *grid.float_per)
    values = {f.name: [_value(f, value) for value in table[f.name]] for f in factors}
    ends = {f"ci_low{kind}": "low", f"ci_high{kind}": "high"}
    return table.assign(**holds, **values).rename(columns=ends)


def _across(grid: Grid, table: pd.DataFrame) -> list[Key]:
    """What goes across, in the factors' order, or as it comes where they have none."""
    table = table[~table[grid.without]] if grid.without else table
    keys = list(dict.fromkeys(_key(grid, row) for row in table.to_dict("records")))
    for level, factor in reversed(list(enumerate(grid.columns))):
        values = list(dict.fromkeys(key[level] for key in keys))
        if factor.order or factor.last or all(isinstance(value, int) for value in values):
            values = factor.sorted(values)
        keys.sort(key=lambda key: values.index(key[level]))
    return keys


def _head(grid: Grid, table: pd.DataFrame, across: Sequence[Key]) -> Head:
    """What the factors across are called, their values, and how many answers are behind each column."""
    axis = ", ".join(factor.label for factor in grid.columns if factor.label)
    heads = [tuple(f.called(key[i]) for key in across) for i, f in enumerate(grid.columns)]
    above = [(axis,) * len(across)] if axis else []
    labels = tuple(f.label or f.name.capitalize() for f in grid.rows)
    counts: tuple[str, ...] = ()
    if "n" in table and "n" not in [factor.name for factor in grid.rows]:
        found: dict[Key, set[int]] = {key: set() for key in across}
        for row in table[(table["source"] == "ours") & table["n"].notna()].to_dict("records"):
            found.setdefault(_key(grid, row), set()).add(int(row["n"]))
        ends = [sorted({min(found[key]), max(found[key])} if found[key] else ()) for key in across]
        counts = tuple("–".join(f"{end:,}" for end in pair) for pair in ends)
    columns = heads[-1] if heads else (grid.head,) * len(across)
    return Head((*above, *heads[:-1]), labels, columns, counts if any(counts) else ())


def _blocks(grid: Grid, table: pd.DataFrame, across: Sequence[Key]) -> Iterator[Block]:
    """Blocks in the table's order."""
    # What tells rows apart, the paper's among them.
    apart = [factor for factor in grid.apart if table[factor.name].nunique() > 1]
    by = dict.fromkeys([*grid.by, *(f.name for f in (*grid.apart, *grid.rows)), "source"])
    for _, part in table.groupby(list(by), sort=False, dropna=False):
        rows = part.to_dict("records")
        cells = {_key(grid, row): _cell(grid, table, row) for row in rows}
        if len(cells) < len(rows):
            raise ValueError(f"Rows of one cell differ in no column of the layout: {rows[0]}.")
        labels = tuple(factor.called(rows[0][factor.name]) for factor in grid.rows)
        kind = ", ".join(word for f in apart if (word := f.called(rows[0][f.name])))
        theirs = rows[0]["source"] == "published"
        unit = rows[0][grid.by[0] if grid.by else grid.rows[0].name]
        own = tuple(cells.get(key) for key in across)
        yield Block(unit, labels, theirs, "paper" if theirs else kind, own)


def _cell(grid: Grid, table: pd.DataFrame, row: Row) -> Cell:
    found = (n for (name, value), n in grid.numbers.items() if str(row.get(name)) == value)
    form, theirs = next(found, grid.number), row["source"] == "published"

    def number(value: Any, paper: bool) -> Written | None:
        if absent(value):
            return None
        text = form.write(value, row, table, paper) if form.write else written(form, value)
        return Written(text, tuple(m for m in grid.marks if m.paper == paper and row[m.where]))

    first = number(row[form.column], theirs)
    value = float(row[form.column]) if first else None
    cell = Cell(first or Written(ABSENT), theirs, value, further=("",) * len(grid.lines))
    if theirs:
        return cell
    if not absent(row.get("low")):
        ends = ", ".join(written(form, row[end]) for end in ("low", "high"))
        # A share without the zero before its point.
        ends = re.sub(r"(?<!\d)0\.", ".", ends) if form.scale == 1 else ends
        cell = replace(cell, interval=f"[{ends}]")
    if paper := number(row.get(form.published), True):
        sign = SIGNS.get(str(row["comparison"]).partition(":")[0], "?")
        cell = replace(cell, paper=paper, sign=sign if form.compared else "")
    further = (
        ", ".join(written(line.number, row[name]) for name in line.columns)
        if row[line.where]
        else ""
        for line in grid.lines
    )
    return replace(cell, further=tuple(further))


def _notes(grid: Grid, table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """What stands below: the grid's own note, what marks mean, what is missing."""
    ours = table[table["source"] == "ours"]
    if grid.note:
        yield "", grid.note
    for mark in grid.marks:
        if table[mark.where].any():
            yield ("Underlined" if mark.underline else mark.sign), f"{mark.note}."
    if "low" in table and ours["low"].notna().any():
        yield "", f"In brackets: 95% intervals over {grid.over}."
    if "published" in table and table["published"].notna().any():
        yield "", PAPER if "low" in table else EXACT
    answers = ours.query(grid.answers) if grid.answers else ours
    for name, sentence in {**MISSING, **grid.counts}.items():
        if name in answers and (total := answers[name].sum()):
            yield "", sentence.replace("{}", f"{int(total):,}")


def written(number: Number, value: Any) -> str:
    """A value in the form of `Number`, without its function `write`."""
    if number.factor is not None:
        return number.factor.called(_value(number.factor, value))
    if abs(value) < number.least:
        return f"<{number.least}"
    return f"{number.scale * value:{'+' if number.signed else ''},.{number.digits}f}"


def _key(grid: Grid, row: Row) -> Key:
    return tuple(row[factor.name] for factor in grid.columns)


def _value(factor: Factor, value: Any) -> Hashable:
    """A value as the factor lists it: whole numbers as such, also where the table holds text."""
    if isinstance(value, str):
        numeric = factor.format in (in_1000, in_1024) or factor.type.startswith("int")
        return int(value) if numeric and value.isdigit() else value
    return "" if absent(value) else value if value != int(value) else int(value)


def absent(value: Any) -> bool:
    """Whether there is no value."""
    # NaN, and NA of pandas, which is not imported here.
    return value is None or str(value) in ("nan", "<NA>")


def grouped(words: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Neighbours that are the same word, with how many they are."""
    for word, group in groupby(words):
        yield word, len(list(group))
