r"""Tables as LaTeX with booktabs, laid out as `layouts` describes, in floats that fit a page.

A tidy table has a column `value` and, where there are such things, `source` ("ours" or "published"),
`n`, an interval (`ci_low_clustered` and `ci_high_clustered`, or `ci_low` and `ci_high`), `published`,
`comparison`, and counts of missing answers.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.columns import MARKED
from needlework.benchmarks.factor import Factor
from needlework.benchmarks.layouts import INCOMPLETE, MISSING, Grid, Layout, Line, Mark, Number
from needlework.hooks import load_hook

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]
Key = tuple[Hashable, ...]
# A unit, which shares a page, and lines of cells, the labels first.
Block = tuple[Hashable, list[list[str]]]

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
PAPERS = r"\textit{paper}"
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


def lay_out(table: pd.DataFrame, layout: Layout, name: str, title: str, asked: str = "") -> str:
    r"""A tidy table as floats, each complete with caption, notes and \label{tab:<name>...}.

    `asked` says what models were asked, the end of the notes.
    Grids that show no row are left out, if another one does. ValueError if two rows are of one cell.
    """
    if {"lowest", "n_skipped"} <= set(table):
        layout = tuple(_with_bounds(grid) for grid in layout)
    shown = [(grid, _shown(grid, table)) for grid in layout]
    floats: list[str] = []
    for grid, rows in [(grid, rows) for grid, rows in shown if len(rows)] or shown[:1]:
        per = [factor.name for factor in grid.float_per]
        for key, part in rows.groupby(per, sort=False) if per and len(rows) else [((), rows)]:
            words = " ".join(f.called(v) for f, v in zip(grid.float_per, key, strict=False))
            slug = re.sub(r"[\W_]+", "-", f"{name} {words}".lower()).strip("-")
            floats += _floats(grid, part, slug, f"{title}: {words}" if words else title, asked)
    return "\n".join(floats)


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
    table = load_hook(grid.prepare)(table) if grid.prepare else table
    table = table if "source" in table else table.assign(source="ours")
    table = (table.query(grid.show) if grid.show else table).reset_index(drop=True)
    kind = "_clustered" if "ci_low_clustered" in table else ""
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


def _floats(grid: Grid, table: pd.DataFrame, slug: str, caption: str, asked: str) -> list[str]:
    """Floats of these rows, as many as it takes to fit a page."""
    across, note = _across(grid, table), " ".join(filter(None, (_note(grid, table), escape(asked))))
    blocks = _blocks(grid, table, across)
    n, wide = len(grid.rows), len(grid.rows) + len(across) > NARROW
    used = 8 + 2 * len(grid.columns) + (len(caption) + len(note)) / CHARACTERS[wide]
    units, sizes = [unit for unit, _ in blocks], [len(lines) + 0.5 for _, lines in blocks]
    parts = [
        (places, down)
        for places in _packed([key[:1] for key in across], [1] * len(across), ACROSS - n)
        for down in _packed(units, sizes, DOWN - used)
    ]
    floats = []
    for i, (places, down) in enumerate(parts):
        body = _head(grid, table, [across[j] for j in places])
        for above, (_, lines) in zip([None, *down], (blocks[j] for j in down), strict=False):
            # Of several labels, the first is not repeated.
            again = n > 1 and above is not None and blocks[above][1][0][0] == lines[0][0]
            for line in [["", *lines[0][1:]] if again else lines[0], *lines[1:]]:
                body.append(_row([*line[:n], *(line[n + j] for j in places)]))
            body.append(r"\addlinespace")
        if not blocks:
            body.append(_row([escape(grid.empty), *[""] * (n + len(places) - 1)]))
        environment, part = "table*" if wide else "table", f" (part {i + 1} of {len(parts)})"
        written = [
            r"% \usepackage{booktabs,graphicx}",
            rf"\begin{{{environment}}}[t]",
            r"\centering\small\setlength{\tabcolsep}{4pt}",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{'l' * n}{'c' * len(places)}}}",
            r"\toprule",
            *body,
            r"\bottomrule",
            r"\end{tabular}}",
            rf"\caption{{{escape(caption)}{part if len(parts) > 1 else ''}.}}",
            rf"\label{{tab:{slug}{f'-{i + 1}' if i else ''}}}",
            *([rf"\par\smallskip\footnotesize {note}"] if note else []),
            rf"\end{{{environment}}}",
        ]
        floats.append("\n".join(written) + "\n")
    return floats


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


def _head(grid: Grid, table: pd.DataFrame, across: Sequence[Key]) -> list[str]:
    """What the factors across are called, their values, and how many answers are behind each column."""
    n, axis = len(grid.rows), ", ".join(factor.label for factor in grid.columns if factor.label)
    heads = [[escape(f.called(key[i])) for key in across] for i, f in enumerate(grid.columns)]
    lines = []
    for words in [[escape(axis)] * len(across) if axis else [], *heads[:-1]]:
        cells, rules, end = [""] * n, "", n
        for word, group in groupby(words):
            start, end = end + 1, end + len(list(group))
            cells.append(rf"\multicolumn{{{end - start + 1}}}{{c}}{{{word}}}")
            rules += rf"\cmidrule(lr){{{start}-{end}}}"
        lines += [_row(cells), rules] if rules else []
    labels = [escape(f.label or f.name.capitalize()) for f in grid.rows]
    lines.append(_row([*labels, *(heads[-1] if heads else [escape(grid.head)] * len(across))]))
    if "n" in table and "n" not in [factor.name for factor in grid.rows]:
        found: dict[Key, set[int]] = {key: set() for key in across}
        for row in table[(table["source"] == "ours") & table["n"].notna()].to_dict("records"):
            found.setdefault(_key(grid, row), set()).add(int(row["n"]))
        ends = [sorted({min(found[key]), max(found[key])} if found[key] else ()) for key in across]
        counts = ["--".join(_written(Number(0), end) for end in pair) for pair in ends]
        lines += [_row(["{$n$}", *[""] * (n - 1), *counts])] if any(counts) else []
    return [*lines, r"\midrule"]


def _blocks(grid: Grid, table: pd.DataFrame, across: Sequence[Key]) -> list[Block]:
    """Blocks in the table's order."""
    # What tells rows apart, the paper's among them.
    apart = [factor for factor in grid.apart if table[factor.name].nunique() > 1]
    by = dict.fromkeys([*grid.by, *(f.name for f in (*grid.apart, *grid.rows)), "source"])
    starts = [rf"\quad {text}" for text in (PAPERS, *(escape(line.label) for line in grid.lines))]
    blocks = []
    for _, part in table.groupby(list(by), sort=False, dropna=False):
        rows = part.to_dict("records")
        cells = {_key(grid, row): _texts(grid, table, row) for row in rows}
        if len(cells) < len(rows):
            raise ValueError(f"Rows of one cell differ in no column of the layout: {rows[0]}.")
        labels = [escape(factor.called(rows[0][factor.name])) for factor in grid.rows]
        kind = ", ".join(word for f in apart if (word := f.called(rows[0][f.name])))
        if rows[0]["source"] == "published":
            labels, kind = [rf"\textit{{{label}}}" for label in labels], "paper"
        labels[0] += f" ({escape(kind)})" if kind else ""
        texts = [cells.get(key, ["--", *[""] * (len(starts) + 1)]) for key in across]
        lines = [[*labels, *(text[0] for text in texts)]]
        for i, start in enumerate(["", *starts], 1):
            if any(text[i] for text in texts):
                lines.append([start, *[""] * (len(labels) - 1), *(text[i] for text in texts)])
        blocks.append((rows[0][grid.by[0] if grid.by else grid.rows[0].name], lines))
    return blocks


def _texts(grid: Grid, table: pd.DataFrame, row: Row) -> list[str]:
    """What stands in a cell, line by line: number, interval, the paper's number, further lines."""
    found = (n for (name, value), n in grid.numbers.items() if str(row.get(name)) == value)
    form, theirs = next(found, grid.number), row["source"] == "published"

    def number(value: Any, paper: bool) -> str:
        if _absent(value):
            return ""
        if form.hook:
            text = load_hook(form.hook)(value, row, table, paper)
        else:
            text = _written(form, value)
        text = rf"\textit{{{text}}}" if paper else text
        for mark in grid.marks:
            if mark.paper == paper and row[mark.where]:
                text = rf"\underline{{{text}}}" if mark.underline else text + _sign(mark)
        return text

    texts = [number(row["value"], theirs) or "--", *[""] * (2 + len(grid.lines))]
    if theirs:
        return texts
    if not _absent(row.get("low")):
        ends = ", ".join(_written(form, row[end]) for end in ("low", "high"))
        # A share without the zero before its point.
        ends = re.sub(r"(?<!\d)0\.", ".", ends) if form.scale == 1 else ends
        texts[1] = rf"{{\scriptsize[{ends}]}}"
    if paper := number(row.get("published"), True):
        sign = SIGNS.get(str(row["comparison"]).partition(":")[0], "?")
        texts[2] = paper + (rf"\textsuperscript{{${sign}$}}" if form.compared else "")
    for i, line in enumerate(grid.lines, 3):
        if row[line.where]:
            texts[i] = ", ".join(_written(line.number, row[name]) for name in line.columns)
    return texts


def _note(grid: Grid, table: pd.DataFrame) -> str:
    """What stands below: the grid's own note, what marks mean, what is missing."""
    ours, notes = table[table["source"] == "ours"], [escape(grid.note)] if grid.note else []
    for mark in grid.marks:
        if table[mark.where].any():
            sign = "Underlined" if mark.underline else _sign(mark)
            notes.append(f"{sign}: {escape(mark.note)}.")
    if "low" in table and ours["low"].notna().any():
        notes.append(rf"In brackets: 95\% intervals over {escape(grid.over)}.")
    if "published" in table and table["published"].notna().any():
        notes.append(PAPER if "low" in table else EXACT)
    answers = ours.query(grid.answers) if grid.answers else ours
    for name, sentence in {**MISSING, **grid.counts}.items():
        if name in answers and (total := answers[name].sum()):
            notes.append(escape(sentence).replace(r"\{\}", _written(Number(0), total)))
    return " ".join(notes)


def _sign(mark: Mark) -> str:
    return rf"\textsuperscript{{{mark.sign}}}"


def _written(number: Number, value: Any) -> str:
    """A value as described, without a hook."""
    if number.factor is not None:
        return escape(number.factor.called(_value(number.factor, value)))
    if abs(value) < number.least:
        return f"$<${number.least}"
    text = f"{number.scale * value:{'+' if number.signed else ''},.{number.digits}f}"
    return f"${text}$" if text[0] in "+-" else text.replace(",", "{,}")


def _row(cells: Sequence[str]) -> str:
    # A bracket at the start of a row would be read as the length argument of the \\ before it.
    return ("{}" if cells[0].startswith(("[", "*")) else "") + " & ".join(cells) + r" \\"


def _packed(units: Sequence[Hashable], sizes: Sequence[float], room: float) -> list[list[int]]:
    """Places in parts that fit; those of one unit share a part, unless they need more than one."""
    parts: list[list[int]] = [[]]
    for _, unit in groupby(range(len(units)), key=units.__getitem__):
        places = list(unit)
        whole = sum(sizes[i] for i in places) <= room
        for piece in [places] if whole else [[i] for i in places]:
            if parts[-1] and sum(sizes[i] for i in (*parts[-1], *piece)) > room:
                parts.append([])
            parts[-1] += piece
    return parts


def _key(grid: Grid, row: Row) -> Key:
    return tuple(row[factor.name] for factor in grid.columns)


def _value(factor: Factor, value: Any) -> Hashable:
    """A value as the factor lists it: whole numbers as such, also where the table holds text."""
    if isinstance(value, str):
        numeric = factor.format in ("1024", "1000") or factor.type.startswith("int")
        return int(value) if numeric and value.isdigit() else value
    return "" if _absent(value) else value if value != int(value) else int(value)


def _absent(value: Any) -> bool:
    # NaN, and NA of pandas, which is not imported here.
    return value is None or str(value) in ("nan", "<NA>")
