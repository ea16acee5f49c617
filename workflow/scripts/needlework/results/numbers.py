"""The numbers of a result, as its description says: a tidy frame, one cell a row."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from needlework.benchmarks.columns import MCNEMAR, MEASURES
from needlework.benchmarks.contract import Labels
from needlework.benchmarks.result import MODEL, By, Computed, Numbers, Pairs, View, views
from needlework.hooks import load_hook
from needlework.results import cells, paper
from needlework.results.context import Cell, Context, model_order
from needlework.results.parts import Part, Table, difference

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

# How many prompts both sides have an answer to, and McNemar's test.
PAIRED = ("n_both", *MCNEMAR)
# Two answers are of one question where these agree.
SAME_QUESTION = ("example_id", "sample")


def frame(numbers: Numbers, rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The tidy frame of these numbers."""
    import pandas as pd

    if isinstance(numbers, Computed):
        return load_hook(numbers.hook)(rows, context, **numbers.arguments)
    if isinstance(numbers, View):
        return _view(numbers, rows, context)
    if isinstance(numbers, Pairs):
        return _pairs(numbers, rows, context)
    parts = [frame(each, rows, context) for each in numbers.parts]
    if numbers.only_with_first and not (parts[0]["source"] == "ours").any():
        parts = [part.iloc[:0] for part in parts]
    made = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    shown = views(numbers)
    levels = [level for view in shown for level in view.ordered]
    return _sorted(_typed(made, levels), shown[0].sort, levels, context)


def _view(view: View, rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    import pandas as pd

    asked = load_hook(view.prepare)(rows, context) if view.prepare else rows
    if view.where:
        asked = cells.kept(asked, asked.eval(view.where, engine="python"))
    chosen = asked
    for hook in view.select:
        chosen = load_hook(hook)(chosen, context)
    if all(by.factor.name != MODEL.name for by in view.levels):
        chosen = cells.kept(chosen, counted_models(chosen, context))
    others: dict[tuple[Any, ...], Part] | None = None
    if view.beside:
        table = Table(load_hook(view.beside)(rows, context))
        others = {
            tuple(labels.values()): part
            for labels, part, _, _ in walk(view.levels, table.all(), context)
        }
    made = []
    for labels, part, above, contrast in walk(view.levels, Table(chosen).all(), context):
        values = _measured(view, part, contrast, labels, context)
        row = {**view.const, "source": "ours", **labels, **values}
        row |= {
            name: load_hook(hook)(part, labels, context)
            for name, hook in view.derive.items()
            if hook
        }
        if others is not None and (other := others.get(tuple(labels.values()))) is not None:
            both = cells.paired(other.frame, part.frame, SAME_QUESTION)
            row |= {"n_both": len(both), **cells.mcnemar(both)}
        if view.paper:
            row |= paper.compared(
                view.paper, Cell({**view.const, **labels}, part, above, context, values)
            )
        made.append(row)
    if view.paper and view.paper.show_published:
        made += paper.published_rows(view.paper, rows, chosen, context)
    data = _typed(pd.DataFrame(made, columns=columns(view)), view.ordered)
    if view.finish:
        data = load_hook(view.finish)(data, view, context, asked)
    return _sorted(data, view.sort, view.ordered, context)


def _pairs(pairs: Pairs, rows: pd.DataFrame, context: Context) -> pd.DataFrame:

    chosen = rows.query(pairs.where, engine="python") if pairs.where else rows
    made: list[dict[str, Any]] = []
    lines: set[str] = set()
    for first, second in context.run.get(pairs.setting, ()):
        named = load_hook(pairs.names)(first, second, chosen, pairs.paper.places[0].table, context)
        lines |= set(named.values())
        models = {"first": first, "second": second, "delta": "delta"}
        both = Table(chosen[chosen["model"].isin([first, second])])
        for outer, part, _, _ in walk(pairs.outer, both.all(), context):
            own = part.split("model")
            one, two = (own.get(model, part.where(part.places < 0)) for model in (first, second))
            shared = Table(cells.paired(one.frame, two.frame, pairs.same)).all()
            sides = {"both": part, "first": one, "second": two, "delta": shared}
            found = {
                role: {tuple(step[0].values()): step for step in walk(pairs.by, side, context)}
                for role, side in sides.items()
            }
            for role, model in models.items():
                for key, (labels, among, above, _) in found[role].items():
                    if role == "delta":
                        less, more = (found[side][key][1] for side in ("first", "second"))
                        values = difference(less, more, among.frame, pairs.strata)
                        among = found["both"][key][1]
                    else:
                        values = among.measure(pairs.strata)
                    pair = {"pair": f"{first}|{second}", "role": role, "model": model}
                    row = {**outer, **pair, **labels, "source": "ours", **values}
                    line = {"line": named.get(role, ""), "second_line": named.get("second", "")}
                    cell = Cell({**outer, **pair, **labels, **line}, among, above, context, values)
                    made.append(row | paper.compared(pairs.paper, cell))
    made += paper.published_pair(pairs.paper, lines, context)
    over, under = ([by.factor.name for by in levels] for levels in (pairs.outer, pairs.by))
    labelled = [*over, "pair", "role", "model", "source", *under]
    shown = [*labelled, *MEASURES, *MCNEMAR, *paper.columns(pairs.paper)]
    return cells.frame(made, shown)


def columns(view: View) -> list[str]:
    """The columns of a view's frame."""
    measures = view.measure.columns or MEASURES
    compared = paper.columns(view.paper) if view.paper else ()
    labels = view.columns or _labels(view)
    return [*labels, *measures, *compared, *view.also, *(PAIRED if view.beside else ())]


def _labels(view: View) -> list[str]:
    """The labels in the order of the levels, `source` behind the model, then what is derived."""
    levels = [by.factor.name for by in view.levels]
    if MODEL.name in levels:
        levels.insert(levels.index(MODEL.name) + 1, "source")
    more = [name for name in (*view.const, *view.derive) if name not in view.also]
    return list(dict.fromkeys([*levels, *more]))


def _measured(
    view: View,
    part: Part,
    contrast: tuple[Part, Part] | None,
    labels: Labels,
    context: Context,
) -> dict[str, Any]:
    def measure(rows: Part) -> dict[str, Any]:
        if view.measure.hook:
            return load_hook(view.measure.hook)(rows, context, labels)
        return rows.measure(view.strata)

    if contrast is None:
        return measure(part)
    return cells.contrast(*map(measure, contrast))


_Step = tuple[Labels, Part, Mapping[str, Part], "tuple[Part, Part] | None"]


def walk(by: Sequence[By], part: Part, context: Context) -> Iterator[_Step]:
    """Labels and rows of every cell, the rows of each level above it, and the two sides of a contrast."""
    if len(part):
        yield from _level(by, {}, {}, part, context)


def _level(
    levels: Sequence[By],
    labels: Labels,
    above: Mapping[str, Part],
    rows: Part,
    context: Context,
) -> Iterator[_Step]:
    if not levels:
        yield labels, rows, above, None
        return
    by, *rest = levels
    name, parts = by.factor.name, _split(by, rows, context)
    if by.contrast and len(parts) < 2:
        return
    margin = by.margin and not (by.several and len(parts) < 2)
    whole = [(by.margin, rows)] if margin else []
    if whole and name == MODEL.name:
        whole = [(by.margin, rows.where(counted_models(rows.column("model").to_frame(), context)))]
    cut = [] if by.only_margin else [(_label(by, value), part) for value, part in parts.items()]
    for value, part in [*cut, *whole] if by.last else [*whole, *cut]:
        yield from _level(rest, {**labels, name: value}, {**above, name: part}, part, context)
    if by.contrast:
        called, value, less = by.contrast
        yield {**labels, name: called}, rows, above, (parts[less], parts[value])


def _split(by: By, part: Part, context: Context) -> dict[Any, Part]:
    """The part of each value, in order."""
    if by.shares:
        return dict.fromkeys(by.factor.order, part)
    found = part.split(by.column or by.factor.name)
    missing = found.pop(None, None)
    shared = found.pop(by.factor.shared, None) if by.factor.shared is not None else None
    order = _ordered(by, found, context)
    parts = {value: found[value] for value in order if value in found}
    if shared is not None:
        for value, own in parts.items():
            parts[value] = own.joined(shared)
        parts = parts or {by.factor.shared: shared}
    if missing is not None and by.nullable:
        parts[None] = missing
    return parts


def _label(by: By, value: Any) -> Any:
    if value is None:
        return None
    value = by.factor.words.get(value, value) if by.text else value
    return str(value) if by.text else value


def counted_models(rows: pd.DataFrame, context: Context) -> npt.NDArray[np.bool_]:
    """Which rows are in a mean over models: not those of controls, unless there are no others."""
    if "model" not in rows:
        return np.ones(len(rows), dtype=bool)
    control = rows["model"].isin(list(context.run.get("controls", ()))).to_numpy(dtype=bool)
    return control if control.all() else ~control


def _typed(data: pd.DataFrame, levels: Sequence[By] = ()) -> pd.DataFrame:
    """Counts and whole-numbered factors are whole numbers, missing where there are none."""
    whole = {by.factor.name for by in levels if by.factor.type.startswith("int")} & set(data)
    texts = {name for name in whole if data[name].map(type).eq(str).any()}
    return cells.counted(data).astype(dict.fromkeys(whole - texts, "Int64"))


def _sorted(
    data: pd.DataFrame, names: Sequence[str], levels: Sequence[By], context: Context
) -> pd.DataFrame:
    """Rows by these columns, each in its factor's order or else by value; as they are without any."""
    if not names:
        return data
    known = {by.factor.name: by for by in (By(MODEL), *levels)}

    def rank(column: pd.Series) -> pd.Series:
        by = known.get(str(column.name))
        if by is None:
            return column
        margin = [by.margin] if by.margin else []
        order = _ordered(by, set(column.dropna()).difference(margin), context)
        order = [*order, *margin] if by.last else [*margin, *order]
        return column.map({value: i for i, value in enumerate(order)}).astype("float64")

    columns = [name.removeprefix("-") for name in names]
    ascending = [not name.startswith("-") for name in names]
    data = data.sort_values(columns, key=rank, ascending=ascending, kind="stable")
    return data.reset_index(drop=True)


def _ordered(by: By, present: Collection[Any], context: Context) -> list[Any]:
    if by.values:
        return load_hook(by.values)(list(present), context)
    if by.factor.name == MODEL.name:
        return model_order(present, context.run)
    return by.factor.sorted(present)
