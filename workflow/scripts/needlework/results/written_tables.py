"""Tidy tables in print: cells of text with markup, written as HTML and as LaTeX.

The markup is that of HTML: `<i>` for the paper's numbers, `<u>`, `<sup>` for signs, `<small>` for intervals.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice, zip_longest
from typing import TYPE_CHECKING, Any

from needlework.factor import Factor, in_1000, in_1024
from needlework.results.columns import MARKED
from needlework.results.result import ABSENT, INCOMPLETE, MISSING, FurtherLine, Grid, Layout, Number

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]
Key = tuple[Hashable, ...]
Words = tuple[str, ...]

# Of a comparison's verdict: the sign at the paper's number, and what it means.
SIGNS = {
    "covers": ("=", "our interval covers it"),
    "below": ("<", "our interval lies below it"),
    "above": (">", "our interval lies above it"),
    "equals": ("=", "ours equals it to the last digit"),
    "differs": ("≠", "ours differs from it"),
    "cannot tell": ("?", "the two cannot be compared; the CSV has the reason"),
}


@dataclass(frozen=True)
class WrittenCell:
    """A cell in markup."""

    # Our number, its interval, the paper's number, then further lines (`Grid.lines`): each markup or "".
    lines: tuple[str, ...]
    # The number, to sort by.
    value: float | None = None


@dataclass(frozen=True)
class LabelledLines:
    """Lines with one label."""

    # Lines of one unit share a page.
    unit: Hashable
    labels: tuple[str, ...]
    theirs: bool
    kind: str
    # A cell for each column, or None.
    cells: tuple[WrittenCell | None, ...]


@dataclass(frozen=True)
class TableFloat:
    """One float of a table: the rows of a grid that have one value of `Grid.float_per`."""

    grid: Grid
    # Names the value of `Grid.float_per`.
    words: str
    across: tuple[Key, ...]
    # Words over the columns, from the outermost.
    above: tuple[tuple[str, ...], ...]
    # The heads of the columns of labels, and of the other columns.
    labels: tuple[str, ...]
    columns: tuple[str, ...]
    # The number of answers behind each column.
    counts: tuple[str, ...]
    blocks: tuple[LabelledLines, ...]
    # Markup.
    notes: str


def floats_of(table: pd.DataFrame, layout: Layout) -> Iterator[TableFloat]:
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
            # Without a column, as of errors that nobody made, no row has anything to show.
            blocks = tuple(_blocks(grid, part, across)) if across else ()
            notes = " ".join(_notes(grid, part))
            yield TableFloat(grid, words, tuple(across), *_head(grid, part, across), blocks, notes)


def _with_bounds(grid: Grid) -> Grid:
    """The same grid, with a mark and the bounds of the mean at cells that lack answers."""
    bounds = FurtherLine(
        "if wrong, if right", ("lowest", "highest"), grid.number, f"{MARKED} and lowest == lowest"
    )
    return replace(grid, marks=(*grid.marks, INCOMPLETE), lines=(*grid.lines, bounds))


def _shown(grid: Grid, table: pd.DataFrame) -> pd.DataFrame:
    """The rows that a grid shows; under the text of each of its conditions, whether it holds.

    The interval, over questions where there is such a one, is in `low` and `high`.
    """
    table = grid.prepare(table) if grid.prepare else table
    table = table if "source" in table else table.assign(source="ours")
    table = (table.query(grid.where) if grid.where else table).reset_index(drop=True)
    kind = "" if "ci_low" in table else "_independent"
    conditions = [
        *(m.where for m in grid.marks),
        *(one.where for one in grid.lines),
        grid.without,
    ]
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


def _head(
    grid: Grid, table: pd.DataFrame, across: Sequence[Key]
) -> tuple[tuple[Words, ...], Words, Words, Words]:
    """Of a part `above`, `labels`, `columns` and `counts`."""
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
    return (*above, *heads[:-1]), labels, columns, counts if any(counts) else ()


def _blocks(grid: Grid, table: pd.DataFrame, across: Sequence[Key]) -> Iterator[LabelledLines]:
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
        yield LabelledLines(unit, labels, theirs, "paper" if theirs else kind, own)


def _cell(grid: Grid, table: pd.DataFrame, row: Row) -> WrittenCell:
    found = (n for (name, value), n in grid.numbers.items() if str(row.get(name)) == value)
    form, theirs = next(found, grid.number), row["source"] == "published"

    def number(value: Any, paper: bool) -> str:
        if absent(value):
            return ""
        text = form.write(value, row, table, paper) if form.write else written(form, value)
        marked = html.escape(text)
        marked = f"<i>{marked}</i>" if paper and text != ABSENT else marked
        for mark in grid.marks:
            if mark.paper == paper and row[mark.where]:
                marked = f"<u>{marked}</u>" if mark.underline else marked + _sign(mark.sign)
        return marked

    first = number(row[form.column], theirs)
    value = float(row[form.column]) if first else None
    first, interval, paper = first or ABSENT, "", ""
    if theirs:
        return WrittenCell((first,), value)
    if not absent(row.get("low")):
        ends = ", ".join(written(form, row[end]) for end in ("low", "high"))
        # A share without the zero before its point.
        ends = re.sub(r"(?<!\d)0\.", ".", ends) if form.scale == 1 else ends
        interval = f"<small>[{html.escape(ends)}]</small>"
    if paper := number(row.get(form.published), True):
        paper += _sign(SIGNS[_verdict(row["comparison"])][0]) if form.compared else ""
    further = (
        html.escape(", ".join(written(line.number, row[name]) for name in line.columns))
        if row[line.where]
        else ""
        for line in grid.lines
    )
    return WrittenCell((first, interval, paper, *further), value)


def _verdict(comparison: Any) -> str:
    verdict = str(comparison).partition(":")[0]
    return verdict if verdict in SIGNS else "cannot tell"


def _sign(sign: str) -> str:
    return f"<sup>{html.escape(sign)}</sup>"


def _notes(grid: Grid, table: pd.DataFrame) -> Iterator[str]:
    """What stands below: the grid's own note, what marks mean, what is missing."""
    ours = table[table["source"] == "ours"]
    if grid.note:
        yield html.escape(grid.note)
    for mark in grid.marks:
        if table[mark.where].any():
            sign = "Underlined" if mark.underline else _sign(mark.sign)
            yield f"{sign}: {html.escape(mark.note)}."
    if "low" in table and ours["low"].notna().any():
        yield html.escape(f"Brackets: 95% intervals over {grid.over}.")
    if "published" in table and table["published"].notna().any():
        yield html.escape("Italics: the paper's number.")
        found = set(map(_verdict, ours.loc[ours["published"].notna(), "comparison"]))
        for verdict in [verdict for verdict in SIGNS if verdict in found]:
            yield html.escape("{}: {}.".format(*SIGNS[verdict]))
    answers = ours.query(grid.answers) if grid.answers else ours
    for name, sentence in {**MISSING, **grid.counts}.items():
        if name in answers and (total := answers[name].sum()):
            yield html.escape(sentence.replace("{}", f"{int(total):,}"))


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


# What a page holds, labels and heads included. A table that is too wide is scaled down to the page.
ACROSS, DOWN = 12, 55
# A table of more columns spans a page of two columns; characters a line of its notes.
NARROW, CHARACTERS = 4, {False: 45, True: 95}

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{"†": r"\dag", "‡": r"\ddag"},
    **{"−": "$-$", "±": r"$\pm$", "Δ": r"$\Delta$", "τ": r"$\tau$", "≠": r"$\neq$", "–": "--"},
}


def escape(text: str) -> str:
    """Text as LaTeX prints it: special characters escaped, line breaks turned into spaces."""
    return "".join(_SPECIAL.get(character, character) for character in " ".join(text.split()))


def _tex_number(text: str) -> str:
    """A number, or what stands in its place, as LaTeX prints it; of several, separated by ", ", each."""
    if ", " in text:
        return ", ".join(map(_tex_number, text.split(", ")))
    if text.startswith("["):
        return f"[{_tex_number(text[1:])}"
    if text.startswith("<"):
        return f"$<${escape(text[1:])}"
    if text[:1] in ("+", "-") and text != ABSENT:
        number, end = text.removesuffix("]"), "]" * text.endswith("]")
        return f"${number}${end}"
    return escape(text).replace(",", "{,}")


_TAGS = {
    "i": r"\textit{",
    "u": r"\underline{",
    "sup": r"\textsuperscript{",
    "small": r"{\scriptsize",
}
# Signs behind the paper's numbers.
_MATH = {"≠": r"$\neq$", **{sign: f"${sign}$" for sign in "=<>?"}}


def latex_of(markup: str, write: Callable[[str], str] = _tex_number) -> str:
    """Markup as LaTeX; `write` writes the text between tags."""
    made = []
    for closing, tag, text in re.findall(r"<(/?)(\w+)>|([^<]+)", markup):
        plain = html.unescape(text)
        made.append(("}" if closing else _TAGS[tag]) if tag else _MATH.get(plain) or write(plain))
    return "".join(made)


def lay_out(table: pd.DataFrame, layout: Layout, name: str, title: str, asked: str = "") -> str:
    r"""A tidy table as floats, each complete with caption, notes and \label{tab:<name>...}.

    `asked` says what models were asked, the end of the notes.
    Grids that show no row are left out, if another one does. ValueError if two rows are of one cell.
    """
    floats: list[str] = []
    for part in floats_of(table, layout):
        slug = re.sub(r"[\W_]+", "-", f"{name} {part.words}".lower()).strip("-")
        caption = f"{title}: {part.words}" if part.words else title
        floats += _floats(part, slug, caption, asked)
    return "\n".join(floats)


def _floats(part: TableFloat, slug: str, caption: str, asked: str) -> list[str]:
    """Floats of these rows, as many as it takes to fit a page."""
    grid, across = part.grid, part.across
    note = " ".join(filter(None, (latex_of(part.notes, _spaced), escape(asked))))
    blocks = [_tex_lines(part, block) for block in part.blocks]
    n, wide = len(grid.rows), len(grid.rows) + len(across) > NARROW
    used = 8 + 2 * len(grid.columns) + (len(caption) + len(note)) / CHARACTERS[wide]
    units, sizes = [block.unit for block in part.blocks], [len(lines) + 0.5 for lines in blocks]
    parts = [
        (places, down)
        for places in _packed([key[:1] for key in across], [1] * len(across), ACROSS - n)
        for down in _packed(units, sizes, DOWN - used)
    ]
    floats = []
    for i, (places, down) in enumerate(parts):
        body = _tex_head(part, places)
        for above, lines in zip([None, *down], (blocks[j] for j in down), strict=False):
            # Of several labels, the first is not repeated.
            again = n > 1 and above is not None and blocks[above][0][0] == lines[0][0]
            for line in [["", *lines[0][1:]] if again else lines[0], *lines[1:]]:
                body.append(_tex_row([*line[:n], *(line[n + j] for j in places)]))
            body.append(r"\addlinespace")
        if not blocks:
            body.append(_tex_row([escape(grid.empty), *[""] * (n + len(places) - 1)]))
        environment, of = "table*" if wide else "table", f" (part {i + 1} of {len(parts)})"
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
            rf"\caption{{{escape(caption)}{of if len(parts) > 1 else ''}.}}",
            rf"\label{{tab:{slug}{f'-{i + 1}' if i else ''}}}",
            *([rf"\par\smallskip\footnotesize {note}"] if note else []),
            rf"\end{{{environment}}}",
        ]
        floats.append("\n".join(written) + "\n")
    return floats


def _tex_head(part: TableFloat, places: Sequence[int]) -> list[str]:
    """The lines above the blocks, of these columns."""
    n = len(part.grid.rows)
    lines = []
    for words in part.above:
        cells, rules, end = [""] * n, "", n
        for word, wide in grouped([words[place] for place in places]):
            start, end = end + 1, end + wide
            cells.append(rf"\multicolumn{{{wide}}}{{c}}{{{escape(word)}}}")
            rules += rf"\cmidrule(lr){{{start}-{end}}}"
        lines += [_tex_row(cells), rules] if rules else []
    columns = [escape(part.columns[place]) for place in places]
    lines.append(_tex_row([*map(escape, part.labels), *columns]))
    counts = [_tex_number(part.counts[place]) for place in places] if part.counts else []
    lines += [_tex_row(["{$n$}", *[""] * (n - 1), *counts])] if any(counts) else []
    return [*lines, r"\midrule"]


def _tex_lines(part: TableFloat, block: LabelledLines) -> list[list[str]]:
    """A block's lines of cells, the labels first."""
    labels = [escape(label) for label in block.labels]
    if block.theirs:
        labels = [rf"\textit{{{label}}}" for label in labels]
    labels[0] += f" ({escape(block.kind)})" if block.kind else ""
    further = ["", r"\quad \textit{paper}", *(rf"\quad {escape(o.label)}" for o in part.grid.lines)]
    starts = [labels, *([start, *[""] * (len(labels) - 1)] for start in further)]
    cells = [cell.lines if cell else (ABSENT,) for cell in block.cells]
    texts = zip_longest(*([latex_of(line) for line in cell] for cell in cells), fillvalue="")
    return [
        [*start, *line]
        for i, (start, line) in enumerate(zip(starts, texts, strict=False))
        if not i or any(line)
    ]


def _spaced(text: str) -> str:
    """Text between tags, with the spaces around it."""
    inner = escape(text)
    return f"{' ' * text.startswith(' ')}{inner}{' ' * (text.endswith(' ') and bool(inner))}"


def _tex_row(cells: Sequence[str]) -> str:
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


# Rows of a table that the page shows; its CSV has all.
MOST_ROWS = 300


def html_table(table: pd.DataFrame, layout: Layout, title: str) -> str:
    """A table in HTML: for each of its parts a table and its notes.

    Each column has one cell per row, so that rows can be sorted: by `data-v`, or by the cell's text.
    """
    left, written, cut = MOST_ROWS, [], 0
    for part in floats_of(table, layout):
        shown = list(islice(part.blocks, max(left, 0)))
        left -= len(shown)
        cut += len(part.blocks) - len(shown)
        if shown or not part.blocks:
            written.append(_part(part, shown, title))
    written += [f'<p class="soft">{cut:,} more rows are in the CSV.</p>\n'] if cut else []
    return "".join(written)


def _part(part: TableFloat, blocks: list[LabelledLines], title: str) -> str:
    name = f"{title}: {part.words}" if part.words else title
    heading = f"<h4>{html.escape(part.words)}</h4>\n" if part.words else ""
    wide = len(part.labels) + len(part.across)
    rows = [_html_row(part, block) for block in blocks]
    if not rows:
        rows = [f'<tr><td colspan="{wide}">{html.escape(part.grid.empty)}</td></tr>']
    return (
        f'{heading}<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(name)}">\n'
        f'<table class="laid">\n<thead>\n{"".join(_html_head(part))}</thead>\n<tbody>\n'
        + "\n".join(rows)
        + "\n</tbody>\n</table>\n</div>\n"
        + (f'<p class="soft">{part.notes}</p>\n' if part.notes else "")
    )


def _html_head(part: TableFloat) -> Iterator[str]:
    """Rows above the blocks; those of the last are named by the column that they part."""
    empty = f'<td colspan="{len(part.labels)}"></td>'
    for words in part.above:
        cells = "".join(
            f'<th scope="colgroup" colspan="{wide}">{html.escape(word)}</th>'
            for word, wide in grouped(words)
        )
        yield f"<tr>{empty}{cells}</tr>\n" if cells else ""
    names = [*part.labels, *part.columns]
    counts = ["" for _ in part.labels] + [*(part.counts or ("" for _ in part.columns))]
    cells = "".join(
        f'<th scope="col">{html.escape(name)}{f"<small>n {html.escape(n)}</small>" if n else ""}</th>'
        for name, n in zip(names, counts, strict=True)
    )
    yield f"<tr>{cells}</tr>\n"


def _html_row(part: TableFloat, block: LabelledLines) -> str:
    first, *labels = block.labels
    kind = f" <small>({html.escape(block.kind)})</small>" if block.kind else ""
    label = f"<i>{html.escape(first)}</i>" if block.theirs else html.escape(first)
    cells = [f'<th scope="row">{label}{kind}</th>']
    cells += [f"<td>{html.escape(label)}</td>" for label in labels]
    cells += [_html_cell(part, cell) for cell in block.cells]
    return f"<tr>{''.join(cells)}</tr>"


def _html_cell(part: TableFloat, cell: WrittenCell | None) -> str:
    """Our number, then its interval, the paper's number and further lines, each in a line of its own."""
    if cell is None:
        return "<td>–</td>"
    heads = ["", "", "", *(f"{html.escape(line.label)}: " for line in part.grid.lines)]
    lines = [
        f"<small>{head}{line}</small>" if head else line.replace(ABSENT, "–")
        for head, line in zip(heads, cell.lines, strict=False)
        if line
    ]
    value = "" if cell.value is None else f' data-v="{cell.value:.6g}"'
    return f"<td{value}>{'<br>'.join(lines)}</td>"
