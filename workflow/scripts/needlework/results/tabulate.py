"""From rows to cells, and the paper's numbers beside them: functions for tables and figures.

`tabulate` makes a row for each combination of factors, `model_pairs` compares two models, `stacked` puts
frames one below the other, and `arranged` sorts them. `printed` puts the paper's numbers beside a result. If
a comparison does not count, the reason is a sentence. Planning imports results, so pandas and NumPy are
imported inside functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from needlework.factor import Factor
from needlework.results.columns import COMPARISON, MCNEMAR, MEASURES
from needlework.results.published import PrintedLine, PrintedNumber
from needlework.results.result import Context, Labels, model_order

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from needlework.results.cells import Part

MODEL = Factor("model", label="Model")
# How many prompts both sides have an answer to, and McNemar's test.
PAIRED = ("n_both", *MCNEMAR)
# Two answers are of one question where these agree.
SAME_QUESTION = ("example_id", "sample")
SOURCE = "source"


@dataclass(frozen=True)
class By:
    """One level of a table: a cell for each value of a factor."""

    factor: Factor
    # The column of the rows; by default the factor's name.
    column: str = ""
    # The name of a further cell over all values. The cell comes first.
    margin: str = ""
    # The margin comes last.
    last: bool = False
    # The margin exists only if there are at least two values.
    several: bool = False
    # The margin is the only cell.
    only_margin: bool = False
    # Function that sorts the values present, in place of the factor's order.
    order: Callable[[Collection[Any], Context], list[Any]] | None = None
    # Values are written as text.
    text: bool = False
    # Rows without a value get a cell of their own.
    nullable: bool = False
    # (name, a, b) adds a cell for value a less value b, with Newcombe's interval, if both values occur. For
    # the last level only.
    contrast: tuple[str, Any, Any] | None = None
    # Each cell has all rows, and its measure says how many have the value.
    shares: bool = False

    def sorted(self, present: Collection[Any], run: Context) -> list[Any]:
        """The values in `present`, sorted and without repeats. Models are in the run's order."""
        if self.order is not None:
            return self.order(list(present), run)
        if self.factor.name == MODEL.name:
            return model_order(present, run.run)
        return self.factor.sorted(present)


Levels: TypeAlias = Sequence[By | Factor]


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    # The value of each factor.
    labels: Labels
    # The rows.
    part: Part
    # For each factor, the rows of the outer cell with this factor's value.
    above: Mapping[str, Part]
    run: Context
    # The measures, once they are computed.
    values: Mapping[str, float] = field(default_factory=dict)
    # Only of a contrast: the rows to subtract and the rows to subtract from.
    sides: tuple[Part, Part] | None = None

    @property
    def paper_name(self) -> str:
        """The paper's name of the cell's model; "" if the paper lacks the model."""
        return self.run.paper_name(self.labels.get("model", ""))


class Measure(NamedTuple):
    """Columns of a cell, and the function that gives their values."""

    columns: tuple[str, ...]
    of: Callable[[Cell], Mapping[str, float]]


Rows: TypeAlias = Iterable[Mapping[str, object]]


def _no_rows(run: Context, models: pd.DataFrame, rows: pd.DataFrame) -> Rows:
    return ()


@dataclass(frozen=True)
class Beside:
    """The paper's numbers of a result."""

    # Function that returns the columns COMPARISON of a cell, and further columns.
    compare: Callable[[Cell], Mapping[str, object]]
    # Function that returns rows for the paper's models that were not run, from the rows of all models and the
    # tabulated rows.
    rows: Callable[[Context, pd.DataFrame, pd.DataFrame], Rows] = _no_rows


def mean(strata: str = "") -> Measure:
    """The columns MEASURES of the mean of values.

    With `strata`, of the mean of the means per value of that column.
    """
    return Measure(MEASURES, lambda cell: cell.part.measure(strata))


def where(rows: pd.DataFrame, condition: str) -> pd.DataFrame:
    """The rows for which a condition in pandas' query syntax holds."""
    from needlework.results import cells

    return cells.kept(rows, rows.eval(condition, engine="python"))


def tabulate(
    rows: pd.DataFrame,
    by: Levels,
    run: Context,
    *,
    measure: Measure | None = None,
    beside: Beside | None = None,
    compared: Sequence[str] = COMPARISON,
    models: pd.DataFrame | None = None,
    tested_against: pd.DataFrame | None = None,
    **labels: Any,
) -> pd.DataFrame:
    """One row per combination of values that occurs, then the rows of the paper's models that were not run.

    The columns are: the factors (with `source` behind the model), the `labels`, the measure's columns (by
    default `mean()`), and COMPARISON if `beside` has numbers of the paper. A label is a value, or a function
    of the cell.

    `tested_against` are rows of another model or setting: the columns PAIRED compare each cell with their
    cell of the same labels.

    `models` are the rows of all models that were run. Without them, the paper's other models have no rows.

    Without the level `model`, controls are left out, unless there are no other models.
    """
    import pandas as pd

    from needlework.results import cells
    from needlework.results.cells import Table

    levels, measure = _levels(by), measure or mean()
    printed = beside.rows(run, models, rows) if beside and models is not None else ()
    if all(level.factor.name != MODEL.name for level in levels):
        rows = cells.kept(rows, counted_models(rows, run))
    others: dict[tuple[Any, ...], Part] = {}
    if tested_against is not None:
        others = {_key(cell): cell.part for cell in walk(tested_against, levels, run)}
    constant = {name: value for name, value in labels.items() if not callable(value)}
    made: list[Mapping[str, object]] = []
    for cell in walk(Table(rows).all(), levels, run):
        other = others.get(_key(cell))
        cell = measured(replace(cell, labels={**constant, **cell.labels}), measure)
        own = {name: value(cell) for name, value in labels.items() if callable(value)}
        row = {SOURCE: "ours", **cell.labels, **own, **cell.values}
        if other is not None:
            both = cells.paired(other.frame, cell.part.frame, SAME_QUESTION)
            row |= {"n_both": len(both), **cells.mcnemar(both)}
        made.append({**row, **(beside.compare(cell) if beside else {})})
    columns = [*labelled(levels), *labels, *measure.columns, *(compared if beside else ())]
    columns += PAIRED if tested_against is not None else ()
    frame = pd.DataFrame([*made, *printed], columns=list(dict.fromkeys(columns)))
    return typed(frame, *levels)


def labelled(by: Levels) -> list[str]:
    """The columns of the levels, with `source` behind the model."""
    names = [level.factor.name for level in _levels(by)]
    if MODEL.name in names:
        names.insert(names.index(MODEL.name) + 1, SOURCE)
    return names


def measured(cell: Cell, measure: Measure) -> Cell:
    """The cell with its values.

    The values of a contrast are the difference of its two sides.
    """
    from needlework.results import cells

    if cell.sides is None:
        return replace(cell, values=measure.of(cell))
    less, more = (measure.of(replace(cell, part=side)) for side in cell.sides)
    return replace(cell, values=cells.contrast(less, more))


def walk(rows: pd.DataFrame | Part, by: Levels, run: Context) -> Iterator[Cell]:
    """Every cell that has rows, by the outer level first."""
    from needlework.results.cells import Part, Table

    part = rows if isinstance(rows, Part) else Table(rows).all()
    if len(part):
        yield from _walk(_levels(by), Cell({}, part, {}, run))


def _walk(levels: Sequence[By], cell: Cell) -> Iterator[Cell]:
    if not levels:
        yield cell
        return
    by, *rest = levels
    name, rows, parts = by.factor.name, cell.part, _split(by, cell)
    if by.contrast and len(parts) < 2:
        return
    whole = [(by.margin, rows)] if by.margin and not (by.several and len(parts) < 2) else []
    if whole and name == MODEL.name:
        counted = counted_models(rows.column("model").to_frame(), cell.run)
        whole = [(by.margin, rows.where(counted))]
    cut = [] if by.only_margin else [(_label(by, value), part) for value, part in parts.items()]
    for value, part in [*cut, *whole] if by.last else [*whole, *cut]:
        labels, above = {**cell.labels, name: value}, {**cell.above, name: part}
        yield from _walk(rest, replace(cell, labels=labels, part=part, above=above))
    if by.contrast:
        called, value, less = by.contrast
        yield replace(cell, labels={**cell.labels, name: called}, sides=(parts[less], parts[value]))


def _split(by: By, cell: Cell) -> dict[Any, Part]:
    """The part of each value, in order."""
    if by.shares:
        return dict.fromkeys(by.factor.order, cell.part)
    found = cell.part.split(by.column or by.factor.name)
    missing = found.pop(None, None)
    shared = found.pop(by.factor.shared, None) if by.factor.shared is not None else None
    parts = {value: found[value] for value in by.sorted(found, cell.run) if value in found}
    if shared is not None:
        for value, own in parts.items():
            parts[value] = own.joined(shared)
        parts = parts or {by.factor.shared: shared}
    if missing is not None and by.nullable:
        parts[None] = missing
    return parts


def _label(by: By, value: Any) -> Any:
    if value is None or not by.text:
        return value
    return str(by.factor.words.get(value, value))


def _levels(by: Levels) -> list[By]:
    return [level if isinstance(level, By) else By(level) for level in by]


def _key(cell: Cell) -> tuple[Any, ...]:
    return tuple(cell.labels.values())


def counted_models(rows: pd.DataFrame, run: Context) -> npt.NDArray[np.bool_]:
    """Which rows are in a mean over models: rows of controls only if there are no other models."""
    import numpy as np

    if "model" not in rows:
        return np.ones(len(rows), dtype=bool)
    control = rows["model"].isin(list(run.run.get("controls", ()))).to_numpy(dtype=bool)
    return control if control.all() else ~control


def model_pairs(
    rows: pd.DataFrame,
    pairs: Iterable[Sequence[str]],
    outer: Levels,
    by: Levels,
    run: Context,
    *,
    same: Sequence[str],
    strata: str = "",
    beside: Beside,
) -> pd.DataFrame:
    """Both models of each pair, and the second less the first on the prompts that both answered.

    For every combination of `outer`, there are rows of the roles first, second and delta, each by `by`. Two
    answers are to one prompt if the columns `same` are equal.
    """
    from needlework.results import cells
    from needlework.results.cells import Table, difference

    made: list[Mapping[str, object]] = []
    for first, second in pairs:
        both = rows[rows["model"].isin([first, second])]
        for whole in walk(Table(both).all(), outer, run):
            own = whole.part.split("model")
            one, two = (
                own.get(model, whole.part.where(whole.part.places < 0)) for model in (first, second)
            )
            shared = Table(cells.paired(one.frame, two.frame, same)).all()
            sides = {"both": whole.part, "first": one, "second": two, "delta": shared}
            found = {
                role: {_key(cell): cell for cell in walk(part, by, run)}
                for role, part in sides.items()
            }
            for role, model in (("first", first), ("second", second), ("delta", "delta")):
                for key, cell in found[role].items():
                    values: Mapping[str, float]
                    if role == "delta":
                        less, more = (found[side][key].part for side in ("first", "second"))
                        values = difference(less, more, cell.part.frame, strata)
                        cell = replace(cell, part=found["both"][key].part)
                    else:
                        values = cell.part.measure(strata)
                    pair = {"pair": f"{first}|{second}", "role": role, "model": model}
                    labels = {**whole.labels, **pair, **cell.labels}
                    cell = replace(cell, labels=labels, values=values)
                    made.append({**labels, SOURCE: "ours", **values, **beside.compare(cell)})
    columns = [*labelled(outer), "pair", "role", "model", SOURCE, *labelled(by)]
    return cells.frame(
        [*made, *beside.rows(run, rows, rows)], [*columns, *MEASURES, *MCNEMAR, *COMPARISON]
    )


def stacked(*frames: pd.DataFrame) -> pd.DataFrame:
    """The rows of all frames, one below the other, with the columns of all."""
    import pandas as pd

    columns = dict.fromkeys(column for frame in frames for column in frame)
    parts = [frame for frame in frames if len(frame)] or list(frames[:1])
    return typed(pd.concat(parts, ignore_index=True).reindex(columns=list(columns)))


def typed(frame: pd.DataFrame, *by: By | Factor) -> pd.DataFrame:
    """The frame with whole numbers in counts and in the columns of whole-numbered factors without text."""
    from needlework.results import cells

    whole = {level.factor.name for level in _levels(by) if level.factor.type.startswith("int")}
    texts = {name for name in whole & set(frame) if frame[name].map(type).eq(str).any()}
    return cells.counted(frame).astype(dict.fromkeys(whole & set(frame) - texts, "Int64"))


def arranged(frame: pd.DataFrame, run: Context, *by: str | Factor | By) -> pd.DataFrame:
    """Rows sorted by the levels, factors and columns in `by`.

    A level or factor has its own order, with a level's margin first (or last). A column is sorted by value. A
    name that begins with "-" sorts in descending order. Columns of factors with whole numbers become whole
    numbers.
    """
    levels = _levels([level for level in by if not isinstance(level, str)])
    known = {level.factor.name: level for level in [By(MODEL), *levels]}
    names = [
        level
        if isinstance(level, str)
        else (level if isinstance(level, Factor) else level.factor).name
        for level in by
    ]

    def rank(column: pd.Series) -> pd.Series:
        level = known.get(str(column.name))
        if level is None:
            return column
        margin = [level.margin] if level.margin else []
        order = level.sorted(set(column.dropna()).difference(margin), run)
        order = [*order, *margin] if level.last else [*margin, *order]
        return column.map({value: i for i, value in enumerate(order)}).astype("float64")

    columns = [name.removeprefix("-") for name in names]
    ascending = [not name.startswith("-") for name in names]
    frame = typed(frame, *levels)
    frame = frame.sort_values(columns, key=rank, ascending=ascending, kind="stable")
    return frame.reset_index(drop=True)


# What the paper's text says of some numbers, instead of them (the end of their column).
BOUNDS = {"at_least": "above", "at_most": "below"}
# A value that a prompt without distractors has, whatever the factor: it matters to no comparison.
WITHOUT = "none"


def against(
    cell: Cell,
    number: PrintedNumber | None,
    reasons: Iterable[str] = (),
    last: str | None = None,
    digits: int | None = None,
    bound: str | None = None,
) -> dict[str, Any]:
    """COMPARISON of a cell with the paper's number, and who printed the number (`published_source`).

    - `reasons`, `last`: why the comparison does not count; `last` comes after all reasons.
    - `digits`: the number is a fact and no share of answers. Ours is equal if it agrees to this many digits,
      rounded or cut.
    - `bound`: a key of BOUNDS, if the paper prints a bound. An interval wholly on the right side covers it.
    """
    from needlework.results import cells

    why = [*reasons, *([last] if last else [])]
    row = cells.compared(cell.values, number, "; ".join(why) or None, digits)
    if bound and row["comparison"] == BOUNDS[bound]:
        row["comparison"] = "covers"
    return {**row, "bound": bound, "published_source": number.source if number else None}


# Of cells of which the paper prints no number.
UNPUBLISHED = Beside(lambda cell: against(cell, None))


class Place(NamedTuple):
    """A table of the published CSV, and templates that place a result's cells in it."""

    table: str
    # Templates, filled with the labels of a cell. "{model}" is the paper's name of the model, "{n:d}" a whole
    # number.
    line: str = "{model}"
    column: str = "{column}"
    # Labels that all cells of the table share.
    labels: Mapping[str, object] = {}
    # If a run has other settings, the paper's models that were not run have no rows.
    settings: Mapping[str, object] = {}

    def holds(self, cell: Cell) -> bool:
        """Whether a cell is of this table."""
        return all(cell.labels.get(name, value) == value for name, value in self.labels.items())

    def number(self, cell: Cell) -> PrintedNumber | None:
        """The paper's number of a cell."""
        labels = {**cell.labels, "model": cell.paper_name}
        return cell.run.find(self.table, *(t.format_map(labels) for t in (self.line, self.column)))

    def read(self, line: str, column: str) -> Labels | None:
        """The labels of a printed number; None if it is no cell of the result."""
        found: dict[str, int | str] = {}
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
    reasons: Callable[[Cell, PrintedNumber], Iterable[str]],
    last: Callable[[Cell], str | None] = lambda cell: None,
    also: Mapping[str, object] = {},
    more: Callable[[Context, Labels], Labels] = lambda run, labels: {},
) -> Beside:
    """The numbers of the paper's tables beside a result. `reasons` and `last` are as in `against`.

    Rows of models that were not run get further labels: `also`, and `more`, which is made from the row's own
    labels.
    """

    def compare(cell: Cell) -> Mapping[str, object]:
        place = next((place for place in places if place.holds(cell)), None)
        number = place.number(cell) if place else None
        if number is None:
            return against(cell, None)
        return against(cell, number, reasons(cell, number), last(cell))

    return Beside(compare, rows_of(*places, also=also, more=more))


def rows_of(
    *places: Place,
    also: Mapping[str, object] = {},
    more: Callable[[Context, Labels], Labels] = lambda run, labels: {},
) -> Callable[[Context, pd.DataFrame, pd.DataFrame], Iterator[Labels]]:
    """The paper's rows of models that were not run, from tables of which this run has rows."""

    def rows(run: Context, models: pd.DataFrame, shown: pd.DataFrame) -> Iterator[Labels]:
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


def bounded_number(line: PrintedLine, column: str) -> tuple[PrintedNumber | None, str | None]:
    """The number of a column, or the bound that the paper prints instead, with its key in BOUNDS."""
    for bound in (None, *BOUNDS):
        if found := line.get(f"{column}/{bound}" if bound else column):
            return found, bound
    return None, None


def other_settings(run: Context, wanted: Mapping[str, object]) -> Iterator[str]:
    """A sentence for each setting of the run that differs from `wanted`."""
    from needlework.results import cells

    yield from cells.differences(run.run.get("setup", {}), wanted)


def other_entries(
    cell: Cell, usual: str, named: Mapping[str, str] | None = None, *, ours_too: bool = True
) -> Iterator[str]:
    """Differences of a model from the paper: decoding, texts that its entry adds, the unit of its lengths.

    The decoding is compared with `named`, by the model's name in the paper; if that has none, with `usual`.
    If not `ours_too`, models that the paper lacks are left out.
    """
    from needlework.results import cells

    used, found = cell.run.run.get("decoding", {}), []
    added = cell.run.run.get("added", {})
    for model in model_order(cell.part.values("model"), cell.run.run):
        name = cell.run.paper_name(model)
        if model in used and (name or ours_too):
            wanted = (named or {}).get(name, usual)
            found += cells.differences({"decoding": used[model]}, {"decoding": wanted})
            found += added.get(model, ())
    yield from dict.fromkeys(found)


def other_values(cell: Cell, column: str, values: Sequence[Any], words: str = "") -> Iterator[str]:
    """`words` if a model's rows lack one of `values` in a column, or have other values (except "none")."""
    models = "model" in cell.part.table.frame
    parts = cell.part.split("model").values() if models else [cell.part]
    present = [set(part.values(column)) - {WITHOUT} for part in parts]
    if any(found and found != set(values) for found in present):
        yield words or f"other values of {column}"


def own_instructions(cell: Cell, *columns: str) -> Iterator[str]:
    """A reason if the cell has prompts with a user's instructions, by the values of `columns`."""
    own = set(cell.run.run.get("instructions", ()))
    if own and any(own.intersection(cell.part.values(column)) for column in columns):
        yield "instructions of the user's own"


def other_models(cell: Cell, names: Sequence[str]) -> Iterator[str]:
    """A reason if the cell's models are not exactly `names`, models of the paper."""
    published = cell.run.run.get("published", {})
    if {published.get(model) for model in cell.part.values("model")} != set(names):
        yield "other models"


def published_rows(
    run: Context,
    rows: pd.DataFrame,
    table: str,
    labels: Callable[[str, str], Labels | None],
) -> Iterator[dict[str, Any]]:
    """The paper's numbers of models that were not run, as rows of the source "published".

    `labels(line, column)` returns the labels of a number's cell (None: the number is not shown). Lines of the
    released code are taken only if the paper has none.
    """
    lines = run.tables.get(table, {})
    mine = {run.paper_name(model) for model in set(rows["model"])} if "model" in rows else set()
    papers = {name for name, own in lines.items() if any(n.source == "paper" for n in own.values())}
    for name in (name for name in lines if name in papers or not papers):
        for column, number in lines[name].items():
            found = labels(name, column)
            if found is not None and found.get("model") not in mine:
                yield published_row(number, **found)


def published_row(number: PrintedNumber, **labels: Any) -> dict[str, Any]:
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
