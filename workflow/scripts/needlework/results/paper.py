"""A cell beside the paper's number: which number it is, and whether a comparison counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.columns import COMPARISON
from needlework.benchmarks.contract import Labels
from needlework.benchmarks.result import AllModels, Decoding, Over, Paper, Place, Requirement, Same
from needlework.hooks import load_hook
from needlework.results import cells
from needlework.results.context import Cell, Context, model_order
from needlework.results.published import Number

if TYPE_CHECKING:
    import pandas as pd

# What the paper's text says of some numbers, instead of them (the end of their column).
BOUNDS = {"at_least": "above", "at_most": "below"}
# A value that a prompt without distractors has, whatever the factor: it matters to no comparison.
WITHOUT = "none"


def columns(paper: Paper) -> list[str]:
    """The columns that a comparison adds."""
    source = ["published_source"] if paper.tell_source else []
    return [*(["bound"] if paper.bounds else []), *COMPARISON, *source]


def compared(paper: Paper, cell: Cell) -> dict[str, Any]:
    """The values of `columns` for a cell, and of those that other papers have."""
    place = find(paper, cell.labels)
    if place is None:
        return {} if paper.silent else cells.compared(cell.values, None, None)
    why = load_hook(place.check)(cell, place) if place.check else None
    requires = (*place.requires, *paper.requires)
    number, bound = (None, None) if why is True else _number(paper, place, requires, cell)
    why = obstacle(requires, cell, None if why is True else why)
    row = cells.compared(cell.values, number, why, place.digits)
    if bound and row["comparison"] == BOUNDS[bound]:
        # An interval that lies wholly on the right side of a bound agrees with it.
        row["comparison"] = "covers"
    return {**row, "bound": bound, "published_source": number and number.source}


def find(paper: Paper, labels: Labels) -> Place | None:
    """The first place that is one of a cell with these labels."""
    return next((place for place in paper.places if _is_of(place, labels)), None)


def _is_of(place: Place, labels: Labels) -> bool:
    return all(
        name not in labels or labels[name] in (wanted if isinstance(wanted, tuple) else (wanted,))
        for name, wanted in place.when.items()
    )


def _number(
    paper: Paper, place: Place, requires: Iterable[Requirement], cell: Cell
) -> tuple[Number | None, str | None]:
    """The number of a cell's place, and which bound it is, if any."""
    context = cell.context
    if any(isinstance(wanted, AllModels) for wanted in requires) and not context.run.get(
        "published"
    ):
        return None, None
    words = {**cell.labels, "paper": context.paper_name(cell.labels.get("model", ""))}
    line = context.line(place.table, place.row.format(**words))
    if not place.column:
        return _mean(line), None
    column = place.column.format(**words)
    for bound in (None, *(BOUNDS if paper.bounds else ())):
        if found := line.get(f"{column}/{bound}" if bound else column):
            return found, bound
    return None, None


def _mean(line: Mapping[str, Number]) -> Number | None:
    """The mean of all numbers in a row of the paper's table."""
    numbers = list(line.values())
    if not numbers:
        return None
    value = sum(number.value for number in numbers) / len(numbers)
    return Number(value, None, numbers[0].source)


def obstacle(requires: Iterable[Requirement], cell: Cell, last: str | None = None) -> str | None:
    """Why a cell answers another question than the paper's number, or None; `last` where nothing else is."""
    own = [reason for wanted in requires for reason in unmet(wanted, cell)]
    return "; ".join(own) or last


def unmet(wanted: Requirement, cell: Cell) -> Iterator[str]:
    """Where a cell does not meet a requirement, in words."""
    run = cell.context.run
    if isinstance(wanted, Same):
        yield from cells.differences(run.get("setup", {}), wanted.settings)
    elif isinstance(wanted, Decoding):
        yield from dict.fromkeys(_otherwise_decoded(wanted, cell))
    elif isinstance(wanted, AllModels):
        names = run.get("published", {})
        if {names.get(model) for model in cell.part.values("model")} != set(wanted.names):
            yield "other models"
    elif isinstance(wanted, Over):
        models = "model" in cell.part.table.frame
        parts = cell.part.split("model").values() if models else [cell.part]
        present = [set(part.values(wanted.column)) - {WITHOUT} for part in parts]
        if any(values and values != set(wanted.values) for values in present):
            yield wanted.words
    elif reason := load_hook(wanted)(cell):
        yield reason


def _otherwise_decoded(wanted: Decoding, cell: Cell) -> Iterator[str]:
    run = cell.context.run
    used = run.get("decoding", {})
    for model in model_order(cell.part.values("model"), run):
        name = cell.context.paper_name(model)
        if model in used and (name or wanted.ours_too):
            usual = wanted.named.get(name, wanted.usual)
            yield from cells.differences({"decoding": used[model]}, {"decoding": usual})


def published_rows(
    paper: Paper, rows: pd.DataFrame, chosen: pd.DataFrame, context: Context
) -> list[dict[str, Any]]:
    """The paper's numbers of models that were not run, as rows.

    `rows` are all of the run, `chosen` those of the view: what the paper has of other sizes is not shown.
    """
    run = {context.paper_name(model) for model in set(rows["model"])} if "model" in rows else set()
    made: list[dict[str, Any]] = []
    for place in paper.places:
        if not _is_asked(place, chosen, context):
            continue
        lines = context.tables.get(place.table, {})
        # The released code's lines only where the paper has none.
        papers = {
            line for line, own in lines.items() if any(n.source == "paper" for n in own.values())
        }
        for line in (line for line in lines if line in papers or not papers):
            labels = _read(place.row.replace("{paper}", "{model}"), line)
            if labels is not None and labels.get("model") not in run:
                made += _published_line(place, line, labels, context)
    return made


def _is_asked(place: Place, chosen: pd.DataFrame, context: Context) -> bool:
    """Whether rows of ours have what a place's numbers are of, and the run the settings that it requires."""
    setup = context.run.get("setup", {})
    same = [wanted for wanted in place.requires if isinstance(wanted, Same)]
    if any(cells.differences(setup, wanted.settings) for wanted in same):
        return False
    return all(
        name not in chosen
        or chosen[name].isin(wanted if isinstance(wanted, tuple) else [wanted]).any()
        for name, wanted in place.when.items()
    )


def published_pair(paper: Paper, run: set[str], context: Context) -> list[dict[str, Any]]:
    """Those lines of the paper's own pair that stand beside no line of ours."""
    place = paper.places[0]
    names = list(context.tables.get(place.table, {}))
    pair = "|".join(names[:2])
    return [
        row
        for role, line in zip(("first", "second", "delta"), names, strict=False)
        if line not in run
        for row in _published_line(
            place, line, {"pair": pair, "role": role, "model": line}, context
        )
    ]


def _published_line(
    place: Place, line: str, read: Mapping[str, Any], context: Context
) -> Iterator[dict[str, Any]]:
    """A row for each number that the paper's table has in a line, or for their mean."""
    numbers = context.line(place.table, line)
    cells_of = numbers if place.column else {"": _mean(numbers)}
    for column, number in cells_of.items():
        own = _read(place.column, column)
        if own is None or number is None:
            continue
        when = {k: v for k, v in place.when.items() if not isinstance(v, tuple)}
        labels = {**when, **place.labels, **read, **own}
        if place.complete:
            labels |= load_hook(place.complete)(labels, context)
        value = {"value": number.value, "n": number.n}
        theirs = {"published": number.value, "published_n": number.n}
        yield {
            **labels,
            "source": "published",
            **value,
            **theirs,
            "published_source": number.source,
        }


def _read(template: str, text: str) -> dict[str, Any] | None:
    """The labels of which a template makes this text; None where it makes no such text."""
    pattern = re.sub(r"\\\{(\w+)\\\}", lambda m: f"(?P<{m[1]}>.+)", re.escape(template))
    found = re.fullmatch(pattern, text)
    return None if found is None else dict(found.groupdict())
