r"""Tables as LaTeX with booktabs, laid out as `layouts` describes, in floats that fit a page.

A tidy table has a column `value` and, where there are such things, `source` ("ours" or "published"),
`n`, an interval (`ci_low_clustered` and `ci_high_clustered`, or `ci_low` and `ci_high`), `published`,
`comparison`, and counts of missing answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.factor import Factor
from needlework.results.layouts import MISSING, Grid, Layout, Number

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]
Key = tuple[Hashable, ...]

# What a page holds, labels and heads included. A table that is too wide is scaled down to the page.
ACROSS, DOWN = 12, 58
# A table of more columns spans a page of two columns; characters a line of its notes.
NARROW, CHARACTERS = 4, {False: 45, True: 95}

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{"−": "$-$", "±": r"$\pm$", "Δ": r"$\Delta$", "τ": r"$\tau$"},
}
DAGGER = r"\textsuperscript{\dag}"
PAPER = (
    "In italics: the paper's numbers, and whether our interval covers them ($=$), lies below ($<$) or "
    "above them ($>$), or that this cannot be told ($?$; the CSV says why)."
)
EXACT = (
    r"In italics: the paper's numbers, and whether ours equal them to the last digit ($=$) or not "
    r"($\neq$), or that this cannot be told ($?$; the CSV says why)."
)
SIGNS = {"covers": "=", "below": "<", "above": ">", "equals": "=", "differs": r"\neq"}


def escape(text: str) -> str:
    """Text as LaTeX prints it: special characters escaped, line breaks turned into spaces."""
    return "".join(_SPECIAL.get(character, character) for character in " ".join(text.split()))


def lay_out(table: pd.DataFrame, layout: Layout, name: str, title: str) -> str:
    r"""A tidy table as floats, each complete with caption, notes and \label{tab:<name>...}.

    Grids that show no row are left out, if another one does. ValueError if two rows are of one cell.
    """
    shown = [(grid, _shown(grid, table)) for grid in layout]
    floats: list[str] = []
    for grid, rows in [(grid, rows) for grid, rows in shown if len(rows)] or shown[:1]:
        per = [factor.name for factor in grid.float_per]
        for key, part in rows.groupby(per, sort=False) if per and len(rows) else [((), rows)]:
            words = " ".join(f.called(v) for f, v in zip(grid.float_per, key, strict=False))
            slug = re.sub(r"[\W_]+", "-", f"{name} {words}".lower()).strip("-")
            floats += _floats(grid, part, slug, f"{title}: {words}" if words else title)
    return "\n".join(floats)


def _shown(grid: Grid, table: pd.DataFrame) -> pd.DataFrame:
    """The rows that a grid shows; under the text of each of its conditions, whether it holds."""
    table = _hook(grid.prepare)(table) if grid.prepare else table
    table = table if "source" in table else table.assign(source="ours")
    table = (table.query(grid.show) if grid.show else table).reset_index(drop=True)
    conditions = [part.where for part in (*grid.marks, *grid.lines)] + [grid.without or "index < 0"]
    holds = {where: table.index.isin(table.query(where).index) for where in conditions}
    factors = (*grid.rows, *grid.columns, *grid.apart, *grid.float_per)
    values = {f.name: [_value(f, value) for value in table[f.name]] for f in factors}
    return table.assign(**holds, **values)


def _floats(grid: Grid, table: pd.DataFrame, slug: str, caption: str) -> list[str]:
    """Floats of these rows, as many as it takes to fit a page."""
    across, labels = (
        _across(grid, table),
        [escape(f.label or f.name.capitalize()) for f in grid.rows],
    )
    blocks, counts = _blocks(grid, table, across), _counts(grid, table, across)
    note, wide = _note(grid, table), len(labels) + len(across) > NARROW
    heads = 8 + 2 * len(grid.columns) + (len(caption) + len(note)) / CHARACTERS[wide]
    parts = [
        (places, down)
        for places in _packed([key[:1] for key in across], [1] * len(across), ACROSS - len(labels))
        for down in _packed(
            [unit for unit, _ in blocks], [len(lines) + 0.5 for _, lines in blocks], DOWN - heads
        )
    ]
    floats = []
    for i, (places, down) in enumerate(parts):
        body = _head(grid, labels, [across[j] for j in places])
        if any(counts):
            body.append(_row(["{$n$}", *[""] * (len(labels) - 1), *(counts[j] for j in places)]))
        body.append(r"\midrule")
        above = ""
        for _, lines in (blocks[j] for j in down):
            for line in lines:
                # A label that the block above has is not repeated, but where it is the only one.
                first = "" if len(labels) > 1 and line[0] == above else line[0]
                body.append(
                    _row([first, *line[1 : len(labels)], *(line[len(labels) + j] for j in places)])
                )
            body.append(r"\addlinespace")
            above = lines[0][0]
        if not blocks:
            body.append(_row([escape(grid.empty), *[""] * (len(labels) + len(places) - 1)]))
        environment = "table*" if wide else "table"
        part = f" (part {i + 1} of {len(parts)})" if len(parts) > 1 else ""
        lines = [
            r"% \usepackage{booktabs,graphicx}",
            rf"\begin{{{environment}}}[t]",
            r"\centering\small\setlength{\tabcolsep}{4pt}",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{'l' * len(labels)}{'c' * len(places)}}}",
            r"\toprule",
            *body,
            r"\bottomrule",
            r"\end{tabular}}",
            rf"\caption{{{escape(caption + part)}.}}",
            rf"\label{{tab:{slug}{f'-{i + 1}' if i else ''}}}",
            *([rf"\par\smallskip\footnotesize {note}"] if note else []),
            rf"\end{{{environment}}}",
        ]
        floats.append("\n".join(lines) + "\n")
    return floats


def _across(grid: Grid, table: pd.DataFrame) -> list[Key]:
    """What goes across, in the factors' order, or as it comes where they have none."""
    table = table[~table[grid.without]] if grid.without else table
    keys = list(dict.fromkeys(_key(grid, row) for row in table.to_dict("records")))
    for level, factor in reversed(list(enumerate(grid.columns))):
        values = list(dict.fromkeys(key[level] for key in keys))
        if factor.order or factor.last or _numeric(factor):
            values = factor.sorted(values)
        keys.sort(key=lambda key: values.index(key[level]))
    return keys


def _head(grid: Grid, labels: Sequence[str], across: Sequence[Key]) -> list[str]:
    """The lines above the numbers: what the factors across are called, then their values."""
    names = [escape(", ".join(filter(None, [factor.label for factor in grid.columns])))]
    lines = []
    for level in range(len(grid.columns)):
        words, rules, end = [], "", len(labels)
        for key, group in groupby(key[:level] for key in across):
            start, end = end + 1, end + len(list(group))
            word = escape(grid.columns[level - 1].called(key[-1])) if key else names[0]
            words.append(rf"\multicolumn{{{end - start + 1}}}{{c}}{{{word}}}")
            rules += rf"\cmidrule(lr){{{start}-{end}}}"
        lines += [_row([*[""] * len(labels), *words]), rules] if level or names[0] else []
    last = [escape(grid.columns[-1].called(key[-1]) if key else grid.head) for key in across]
    return [*lines, _row([*labels, *last])]


def _blocks(
    grid: Grid, table: pd.DataFrame, across: Sequence[Key]
) -> list[tuple[Hashable, list[list[str]]]]:
    """Lines that stay together, the labels first in each, and before them the block's unit."""
    # What tells rows apart, the paper's among them.
    apart = [factor for factor in grid.apart if table[factor.name].nunique() > 1]
    names = [factor.name for factor in (*grid.apart, *grid.rows)]
    by = list(dict.fromkeys([*grid.by, *names, "source"]))
    blocks = []
    for _, part in table.groupby(by, sort=False, dropna=False):
        rows = part.to_dict("records")
        cells = {_key(grid, row): _texts(grid, table, row) for row in rows}
        if len(cells) < len(rows):
            raise ValueError(f"Rows of one cell differ in no column of the layout: {rows[0]}.")
        labels = [escape(factor.called(rows[0][factor.name])) for factor in grid.rows]
        kind = ", ".join(filter(None, [factor.called(rows[0][factor.name]) for factor in apart]))
        if rows[0]["source"] == "published":
            labels, kind = [_italic(label) for label in labels], "paper"
        labels[0] += f" ({escape(kind)})" if kind else ""
        pad = [""] * (len(labels) - 1)
        further = [_italic("paper"), *(escape(line.label) for line in grid.lines)]
        starts = [labels, [""], *([rf"\quad {label}"] for label in further)]
        none = ["--", *[""] * (len(starts) - 1)]
        texts = [cells.get(key, none) for key in across]
        lines = [
            [*(start + pad)[: len(labels)], *(text[i] for text in texts)]
            for i, start in enumerate(starts)
        ]
        made = [line for line in lines if line is lines[0] or any(line[len(labels) :])]
        blocks.append((rows[0][by[0] if grid.by else grid.rows[0].name], made))
    return blocks


def _texts(grid: Grid, table: pd.DataFrame, row: Row) -> list[str]:
    """What stands in a cell, line by line: number, interval, the paper's number, further lines."""
    found = (n for (name, value), n in grid.numbers.items() if str(row.get(name)) == value)
    form, theirs = next(found, grid.number), row["source"] == "published"

    def number(value: Any, paper: bool) -> str:
        if _absent(value):
            return ""
        text = _hook(form.hook)(value, row, table, paper) if form.hook else _written(form, value)
        text = _italic(text) if paper else text
        for mark in grid.marks:
            if mark.paper == paper and row[mark.where]:
                text = rf"\underline{{{text}}}" if mark.underline else text + DAGGER
        return text

    ends = (
        []
        if theirs
        else [_end(form, row[end]) for end in _interval(table) if not _absent(row[end])]
    )
    paper = "" if theirs else number(row.get("published"), paper=True)
    if paper and form.compared:
        sign = SIGNS.get(str(row["comparison"]).partition(":")[0], "?")
        paper += rf"\textsuperscript{{${sign}$}}"
    return [
        number(row["value"], paper=theirs) or "--",
        rf"{{\scriptsize[{', '.join(ends)}]}}" if ends else "",
        paper,
        *(
            ", ".join(_written(line.number, row[name]) for name in line.columns)
            if row[line.where] and not theirs
            else ""
            for line in grid.lines
        ),
    ]


def _counts(grid: Grid, table: pd.DataFrame, across: Sequence[Key]) -> list[str]:
    """How many answers are behind the numbers of each column: the fewest and the most."""
    found: dict[Key, set[int]] = {key: set() for key in across}
    if "n" in table and "n" not in [factor.name for factor in grid.rows]:
        for row in table[(table["source"] == "ours") & table["n"].notna()].to_dict("records"):
            found.setdefault(_key(grid, row), set()).add(int(row["n"]))
    ends = [sorted({min(found[key]), max(found[key])}) if found[key] else [] for key in across]
    return ["--".join(_written(Number(0), n) for n in pair) for pair in ends]


def _note(grid: Grid, table: pd.DataFrame) -> str:
    """What stands below: the grid's own note, what marks mean, what is missing."""
    ours, notes = table[table["source"] == "ours"], [escape(grid.note)]
    for mark in grid.marks:
        sign = "Underlined" if mark.underline else DAGGER
        notes.append(f"{sign}: {escape(mark.note)}." if table[mark.where].any() else "")
    if ours[_interval(table)].notna().to_numpy().any():
        notes.append(rf"In brackets: 95\% intervals over {escape(grid.over)}.")
    if "published" in table and table["published"].notna().any():
        notes.append(PAPER if _interval(table) else EXACT)
    answers = ours.query(grid.answers) if grid.answers else ours
    for name, sentence in {**MISSING, **grid.counts}.items():
        if name in answers and (total := answers[name].sum()):
            notes.append(escape(sentence).replace(r"\{\}", _written(Number(0), total)))
    return " ".join(filter(None, notes))


def _interval(table: pd.DataFrame) -> list[str]:
    """The columns of the interval: over questions, where the table has one."""
    clustered = "_clustered" if "ci_low_clustered" in table else ""
    return [end for end in (f"ci_low{clustered}", f"ci_high{clustered}") if end in table]


def _written(number: Number, value: Any) -> str:
    """A value as described, without a hook."""
    if number.factor is not None:
        return escape(number.factor.called(_value(number.factor, value)))
    if abs(value) < number.least:
        return f"$<${number.least}"
    text = f"{number.scale * value:{'+' if number.signed else ''},.{number.digits}f}"
    return f"${text}$" if text[0] in "+-" else text.replace(",", "{,}")


def _end(number: Number, value: float) -> str:
    """An end of an interval; a share without the zero before its point."""
    text = f"{number.scale * value:.{number.digits}f}".replace("-", "$-$")
    return text if number.scale != 1 else re.sub(r"(^|\$)0\.", r"\1.", text)


def _row(cells: Sequence[str]) -> str:
    # A bracket at the start of a row would be read as the length argument of the \\ before it.
    row = " & ".join(cells)
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"


def _packed(units: Sequence[Hashable], sizes: Sequence[float], room: float) -> list[list[int]]:
    """Places in parts that fit; those of one unit share a part, unless they need more than one."""
    parts: list[list[int]] = [[]]
    left = room
    for _, unit in groupby(range(len(units)), key=units.__getitem__):
        places = list(unit)
        whole = sum(sizes[i] for i in places)
        for piece in [places] if whole <= room else [[i] for i in places]:
            needed = sum(sizes[i] for i in piece)
            if parts[-1] and needed > left:
                parts.append([])
                left = room
            parts[-1] += piece
            left -= needed
    return parts


def _key(grid: Grid, row: Row) -> Key:
    return tuple(row[factor.name] for factor in grid.columns)


def _value(factor: Factor, value: Any) -> Hashable:
    """A value as the factor lists it: whole numbers as such, also where the table holds text."""
    if _absent(value):
        return ""
    whole = value.isdigit() and _numeric(factor) if isinstance(value, str) else value == int(value)
    return int(value) if whole and not isinstance(value, bool) else value


def _numeric(factor: Factor) -> bool:
    return factor.format in ("1024", "1000") or factor.type.startswith("int")


def _absent(value: Any) -> bool:
    # NaN, and NA of pandas, which is not imported here.
    return value is None or str(value) in ("nan", "<NA>")


def _hook(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def _italic(text: str) -> str:
    return text if not text or text.startswith("$") else rf"\textit{{{text}}}"
