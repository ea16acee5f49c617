"""A cell beside the paper's number: the number, and the reasons why a comparison does not count.

A reason is a sentence. The functions that look for them yield none if the cell is what the paper's number
is of. Planning imports results, so pandas is imported inside functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from string import Formatter
from typing import TYPE_CHECKING, Any, NamedTuple

from needlework.results.context import Context, model_order
from needlework.results.published import Line, Number
from needlework.results.tabulate import SOURCE, Beside, Cell

if TYPE_CHECKING:
    import pandas as pd

# What the paper's text says of some numbers, instead of them (the end of their column).
BOUNDS = {"at_least": "above", "at_most": "below"}
# A value that a prompt without distractors has, whatever the factor: it matters to no comparison.
WITHOUT = "none"


def against(
    cell: Cell,
    number: Number | None,
    reasons: Iterable[str] = (),
    last: str | None = None,
    digits: int | None = None,
    bound: str | None = None,
) -> dict[str, Any]:
    """COMPARISON of a cell with the paper's number, whose it is (`published_source`), and its bound.

    It cannot be compared if there are `reasons`, or `last`, which is said after them. digits: the number is
    no share of answers but a fact; ours equals it to so many digits, rounded or cut, or differs. bound: a
    key of BOUNDS; an interval wholly on the right side of it covers it.
    """
    from needlework.results import cells

    why = [*reasons, *([last] if last else [])]
    row = cells.compared(cell.values, number, "; ".join(why) or None, digits)
    if bound and row["comparison"] == BOUNDS[bound]:
        row["comparison"] = "covers"
    return {**row, "bound": bound, "published_source": number and number.source}


# Of cells of which the paper prints no number.
UNPUBLISHED = Beside(lambda cell: against(cell, None))


class Place(NamedTuple):
    """A table of the published CSV, and how the labels of a result's cells name its lines and columns.

    line, column: templates of labels; "{model}" is the paper's name of the model, "{n:d}" a whole number.
    labels: what all cells of the table are of. settings: those of a run beside which models that were not run
    are shown.
    """

    table: str
    line: str = "{model}"
    column: str = "{column}"
    labels: Mapping[str, Any] = {}
    settings: Mapping[str, Any] = {}

    def holds(self, cell: Cell) -> bool:
        """Whether a cell is of this table."""
        return all(cell.labels.get(name, value) == value for name, value in self.labels.items())

    def number(self, cell: Cell) -> Number | None:
        """The paper's number of a cell."""
        labels = {**cell.labels, "model": cell.paper_name}
        return cell.run.find(self.table, *(t.format_map(labels) for t in (self.line, self.column)))

    def read(self, line: str, column: str) -> dict[str, Any] | None:
        """The labels of a printed number; None if it is no cell of the result."""
        found: dict[str, Any] = {}
        for template, text in ((self.line, line), (self.column, column)):
            fields = list(Formatter().parse(template))
            pattern = "".join(
                re.escape(literal)
                + (f"(?P<{name}>{'.+' if name == 'model' else '[^/]+'})" if name else "")
                for literal, name, *_ in fields
            )
            if (match := re.fullmatch(pattern, text)) is None:
                return None
            whole = {name for _, name, spec, _ in fields if spec == "d"}
            found |= {n: int(v) if n in whole else v for n, v in match.groupdict().items()}
        return found


def printed(
    *places: Place,
    reasons: Callable[[Cell, Number], Iterable[str]],
    last: Callable[[Cell], str | None] = lambda cell: None,
    also: Mapping[str, Any] = {},
    more: Callable[[Context, dict[str, Any]], Mapping[str, Any]] = lambda run, labels: {},
) -> Beside:
    """The numbers of these tables beside a result; `reasons` and `last` as in `against`, of a printed number.

    also, more: further labels of rows of models that were not run (`more` of their own labels).
    """

    def compare(cell: Cell) -> dict[str, Any]:
        place = next((place for place in places if place.holds(cell)), None)
        number = place.number(cell) if place else None
        if number is None:
            return against(cell, None)
        return against(cell, number, reasons(cell, number), last(cell))

    return Beside(compare, rows_of(*places, also=also, more=more))


def rows_of(
    *places: Place,
    also: Mapping[str, Any] = {},
    more: Callable[[Context, dict[str, Any]], Mapping[str, Any]] = lambda run, labels: {},
) -> Callable[[Context, pd.DataFrame, pd.DataFrame], Iterator[dict[str, Any]]]:
    """The rows of models that were not run, of the tables of which there are rows of ours."""

    def rows(run: Context, models: pd.DataFrame, shown: pd.DataFrame) -> Iterator[dict[str, Any]]:
        import numpy as np

        from needlework.results import cells

        for place in places:
            if cells.differences(run.run.get("setup", {}), place.settings):
                continue
            wanted = [shown[name] == value for name, value in place.labels.items()]
            if wanted and not np.logical_and.reduce(wanted).any():
                continue
            for row in published_rows(run, models, place.table, place.read):
                yield {**also, **place.labels, **more(run, row), **row}

    return rows


def bounded_number(line: Line, column: str) -> tuple[Number | None, str | None]:
    """The number of a column, or the bound that the paper prints instead, and which of BOUNDS it is."""
    for bound in (None, *BOUNDS):
        if found := line.get(f"{column}/{bound}" if bound else column):
            return found, bound
    return None, None


def mean_of_line(line: Line) -> Number | None:
    """The mean of all numbers in a line of the paper's table."""
    numbers = list(line.values())
    if not numbers:
        return None
    return Number(sum(each.value for each in numbers) / len(numbers), None, numbers[0].source)


def other_settings(run: Context, wanted: Mapping[str, Any]) -> Iterator[str]:
    """Where the run's settings are not these."""
    from needlework.results import cells

    yield from cells.differences(run.run.get("setup", {}), wanted)


def other_decoding(
    cell: Cell, usual: str, named: Mapping[str, str] | None = None, *, ours_too: bool = True
) -> Iterator[str]:
    """Where a model decodes in another way than `named` says of its name in the paper, or than usual.

    Models that the paper lacks are looked at only if `ours_too`.
    """
    from needlework.results import cells

    used, found = cell.run.run.get("decoding", {}), []
    for model in model_order(cell.part.values("model"), cell.run.run):
        name = cell.run.paper_name(model)
        if model in used and (name or ours_too):
            wanted = (named or {}).get(name, usual)
            found += cells.differences({"decoding": used[model]}, {"decoding": wanted})
    yield from dict.fromkeys(found)


def other_values(cell: Cell, column: str, values: Sequence[Any], words: str = "") -> Iterator[str]:
    """`words` if a model's rows lack one of these values of a column, or have others than them and "none"."""
    models = "model" in cell.part.table.frame
    parts = cell.part.split("model").values() if models else [cell.part]
    present = [set(part.values(column)) - {WITHOUT} for part in parts]
    if any(found and found != set(values) for found in present):
        yield words or f"other values of {column}"


def own_instructions(cell: Cell, *columns: str) -> Iterator[str]:
    """Whether prompts have instructions of the user's; one of `columns` has what the run says has them."""
    own = set(cell.run.run.get("instructions", ()))
    if own and any(own.intersection(cell.part.values(column)) for column in columns):
        yield "instructions of the user's own"


def other_models(cell: Cell, names: Sequence[str]) -> Iterator[str]:
    """Whether the cell is of other models than these of the paper."""
    published = cell.run.run.get("published", {})
    if {published.get(model) for model in cell.part.values("model")} != set(names):
        yield "other models"


def published_rows(
    run: Context,
    rows: pd.DataFrame,
    table: str,
    labels: Callable[[str, str], Mapping[str, Any] | None],
) -> Iterator[dict[str, Any]]:
    """The paper's numbers of models that were not run, as rows of the source "published".

    `labels(line, column)` says which cell a number is of (None: of none that is shown). Lines of the
    released code are taken only where the paper has none.
    """
    lines = run.tables.get(table, {})
    mine = {run.paper_name(model) for model in set(rows["model"])} if "model" in rows else set()
    papers = {name for name, own in lines.items() if any(n.source == "paper" for n in own.values())}
    for name in (name for name in lines if name in papers or not papers):
        for column, number in lines[name].items():
            found = labels(name, column)
            if found is not None and found.get("model") not in mine:
                yield published_row(number, **found)


def published_row(number: Number, **labels: Any) -> dict[str, Any]:
    """A row of the paper's number alone."""
    return {
        **labels,
        SOURCE: "published",
        "value": number.value,
        "n": number.n,
        "published": number.value,
        "published_n": number.n,
        "published_cell": number.cell,
        "published_source": number.source,
    }
