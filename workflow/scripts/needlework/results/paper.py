"""A cell beside the paper's number: which number it is, and whether a comparison counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.columns import COMPARISON
from needlework.benchmarks.result import AllModels, Decoding, Over, Paper, Place, Requirement, Same
from needlework.hooks import load_hook
from needlework.results import cells
from needlework.results import published as publications
from needlework.results.context import Cell, Context, model_order

if TYPE_CHECKING:
    import pandas as pd

# What the paper's text says of some numbers, instead of them (the end of their column).
BOUNDS = {"at_least": "above", "at_most": "below"}


def columns(paper: Paper) -> list[str]:
    """The columns that a comparison adds."""
    more = ["published_source"] if paper.tell_source else []
    return [*(["bound"] if paper.bounds else []), *COMPARISON, *more]


def compared(paper: Paper, cell: Cell) -> dict[str, Any]:
    """The values of `columns` for a cell."""
    place = find(paper, cell.labels)
    if place is None and paper.silent:
        return {}
    found = bound = why = None
    if place is not None:
        why = load_hook(place.check)(cell, place) if place.check else None
        if why is not True:
            found, bound = _number(paper, place, cell)
    requires = (*(place.requires if place else ()), *paper.requires)
    why = obstacle(requires, cell, None if why is True else why)
    if place is not None and place.digits is not None:
        row: dict[str, Any] = {
            "published": None if found is None else found.value,
            "published_n": None if found is None else found.n,
            "comparison": publications.equal(cell.values["value"], found, place.digits, why),
        }
    else:
        row = dict(cells.compared(cell.values, found, why))
    if row["comparison"] == BOUNDS.get(bound or ""):
        # An interval that lies wholly on the right side of a bound agrees with it.
        row["comparison"] = "covers"
    if paper.bounds:
        row["bound"] = bound
    if paper.tell_source:
        row["published_source"] = None if found is None else found.source
    return row


def find(paper: Paper, labels: Mapping[str, Any]) -> Place | None:
    """The first place that is one of a cell with these labels."""
    return next((place for place in paper.places if _is_of(place, labels)), None)


def _is_of(place: Place, labels: Mapping[str, Any]) -> bool:
    return all(
        name not in labels or labels[name] in (wanted if isinstance(wanted, tuple) else (wanted,))
        for name, wanted in place.when.items()
    )


def _number(
    paper: Paper, place: Place, cell: Cell
) -> tuple[publications.Number | None, str | None]:
    if paper.run_only and not cell.context.run.get("published"):
        return None, None
    name = cell.context.paper_name(cell.labels.get("model", ""))
    words = {**cell.labels, "paper": name}
    row, column = place.row.format(**words), place.column.format(**words)
    if place.mean:
        return mean(paper, place, row, cell.context), None
    if found := cell.context.find(place.table, row, column, paper.sources):
        return found, None
    for bound in BOUNDS if paper.bounds else ():
        bounded = cell.context.find(place.table, row, f"{column}/{bound}", paper.sources)
        if bounded:
            return bounded, bound
    return None, None


def mean(paper: Paper, place: Place, row: str, context: Context) -> publications.Number | None:
    """The mean of all numbers in a row of the paper's table."""
    lines = context.published
    columns = lines.loc[(lines["table"] == place.table) & (lines["row"] == row), "column"]
    found = [context.find(place.table, row, c, paper.sources) for c in dict.fromkeys(columns)]
    numbers = [number for number in found if number is not None]
    if not numbers:
        return None
    value = sum(number.value for number in numbers) / len(numbers)
    return publications.Number(value, None, numbers[0].source)


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
        parts = cell.part.split("model").values() if wanted.per_model else [cell.part]
        for part in parts:
            present = set(part.values(wanted.column)).difference(wanted.exempt)
            other = present != set(wanted.values) if wanted.whole else present - set(wanted.values)
            if present and other:
                yield wanted.words
                break
    else:
        reason = load_hook(wanted.reason)(cell)
        if reason:
            yield reason


def _otherwise_decoded(wanted: Decoding, cell: Cell) -> Iterator[str]:
    run = cell.context.run
    used = run.get("decoding", {})
    for model in model_order(cell.part.values("model"), run):
        name = cell.context.paper_name(model)
        if model in used and (name or wanted.ours_too):
            usual = wanted.named.get(name, wanted.usual)
            yield from cells.differences({"decoding": used[model]}, {"decoding": usual})


def printed(
    paper: Paper, rows: pd.DataFrame, chosen: pd.DataFrame, context: Context
) -> list[dict[str, Any]]:
    """The paper's numbers of models that were not run, as rows.

    `rows` are all of the run, `chosen` those of the view: what the paper has of other sizes is not shown.
    """
    run = {context.paper_name(model) for model in set(rows["model"])} if "model" in rows else set()
    made = []
    for place in paper.places:
        if not place.printed or not _is_asked(place, chosen, context):
            continue
        lines = context.published[context.published["table"] == place.table]
        shown = set(lines.loc[lines["source"].isin(place.printed), "row"])
        for line, own in lines.groupby("row", sort=False):
            read = _read(place.row.replace("{paper}", "{model}"), str(line))
            if read is None or read.get("model") in run or line not in shown:
                continue
            if place.mean:
                cells_of: list[tuple[dict[str, Any] | None, publications.Number | None]]
                cells_of = [({}, mean(paper, place, str(line), context))]
            else:
                cells_of = [
                    (
                        _read(place.column, column),
                        context.find(place.table, str(line), column, paper.sources),
                    )
                    for column in dict.fromkeys(own["column"])
                ]
            made += [
                _printed_row(paper, place, {**read, **labels}, found, context)
                for labels, found in cells_of
                if labels is not None and found is not None
            ]
    return made


def _is_asked(place: Place, chosen: pd.DataFrame, context: Context) -> bool:
    """Whether rows of ours have what a place's numbers are of, and the run the settings that it requires."""
    setup = context.run.get("setup", {})
    same = [wanted for wanted in place.requires if isinstance(wanted, Same)]
    if any(cells.differences(setup, wanted.settings) for wanted in same):
        return False
    return all(
        isinstance(wanted, tuple) or name not in chosen or (chosen[name] == wanted).any()
        for name, wanted in place.when.items()
    )


def printed_pair(paper: Paper, run: set[str], context: Context) -> list[dict[str, Any]]:
    """Those lines of the paper's own pair that stand beside no line of ours."""
    place = paper.places[0]
    lines = context.published[context.published["table"] == place.table]
    names = list(dict.fromkeys(lines["row"]))
    made = []
    for role, line in zip(("first", "second", "delta"), names, strict=False):
        for column in dict.fromkeys(lines.loc[lines["row"] == line, "column"]):
            found = context.find(place.table, line, column, paper.sources)
            if line not in run and found is not None:
                labels = {
                    "pair": "|".join(names[:2]),
                    "role": role,
                    "model": line,
                    "column": column,
                }
                made.append(_printed_row(paper, place, labels, found, context))
    return made


def _printed_row(
    paper: Paper, place: Place, read: dict[str, Any], found: publications.Number, context: Context
) -> dict[str, Any]:
    labels = {
        **{k: v for k, v in place.when.items() if not isinstance(v, tuple)},
        **place.labels,
        **read,
    }
    if place.complete:
        labels |= load_hook(place.complete)(labels, context)
    value = {"value": found.value, "n": found.n, "published": found.value, "published_n": found.n}
    source = {"published_source": found.source} if paper.tell_source else {}
    return {**labels, "source": "published", **value, **source}


def _read(template: str, text: str) -> dict[str, Any] | None:
    """The labels of which a template makes this text; None where it makes no such text."""
    pattern = re.sub(r"\\\{(\w+)\\\}", lambda m: f"(?P<{m[1]}>.+)", re.escape(template))
    found = re.fullmatch(pattern, text)
    return None if found is None else dict(found.groupdict())
