r"""Tables as LaTeX with booktabs, laid out as `layouts` describes, in floats that fit a page."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from needlework.results.laid_out import ABSENT, Block, Cell, Part, Written, grouped, parts_of
from needlework.results.layouts import Layout

if TYPE_CHECKING:
    import pandas as pd

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
    **{"−": "$-$", "±": r"$\pm$", "Δ": r"$\Delta$", "τ": r"$\tau$", "≠": r"$\neq$", "–": "--"},
}
PAPERS = r"\textit{paper}"


def escape(text: str) -> str:
    """Text as LaTeX prints it: special characters escaped, line breaks turned into spaces."""
    return "".join(_SPECIAL.get(character, character) for character in " ".join(text.split()))


def lay_out(table: pd.DataFrame, layout: Layout, name: str, title: str, asked: str = "") -> str:
    r"""A tidy table as floats, each complete with caption, notes and \label{tab:<name>...}.

    `asked` says what models were asked, the end of the notes.
    Grids that show no row are left out, if another one does. ValueError if two rows are of one cell.
    """
    floats: list[str] = []
    for part in parts_of(table, layout):
        slug = re.sub(r"[\W_]+", "-", f"{name} {part.words}".lower()).strip("-")
        caption = f"{title}: {part.words}" if part.words else title
        floats += _floats(part, slug, caption, asked)
    return "\n".join(floats)


def _floats(part: Part, slug: str, caption: str, asked: str) -> list[str]:
    """Floats of these rows, as many as it takes to fit a page."""
    grid, across = part.grid, part.across
    note = " ".join(filter(None, (_note(part), escape(asked))))
    blocks = [_lines(part, block) for block in part.blocks]
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
        body = _head(part, places)
        for above, lines in zip([None, *down], (blocks[j] for j in down), strict=False):
            # Of several labels, the first is not repeated.
            again = n > 1 and above is not None and blocks[above][0][0] == lines[0][0]
            for line in [["", *lines[0][1:]] if again else lines[0], *lines[1:]]:
                body.append(_row([*line[:n], *(line[n + j] for j in places)]))
            body.append(r"\addlinespace")
        if not blocks:
            body.append(_row([escape(grid.empty), *[""] * (n + len(places) - 1)]))
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


def _head(part: Part, places: Sequence[int]) -> list[str]:
    """The lines above the blocks, of these columns."""
    head, n = part.head, len(part.grid.rows)
    lines = []
    for words in head.above:
        cells, rules, end = [""] * n, "", n
        for word, wide in grouped([words[place] for place in places]):
            start, end = end + 1, end + wide
            cells.append(rf"\multicolumn{{{wide}}}{{c}}{{{escape(word)}}}")
            rules += rf"\cmidrule(lr){{{start}-{end}}}"
        lines += [_row(cells), rules] if rules else []
    columns = [escape(head.columns[place]) for place in places]
    lines.append(_row([*map(escape, head.labels), *columns]))
    counts = [_number(head.counts[place]) for place in places] if head.counts else []
    lines += [_row(["{$n$}", *[""] * (n - 1), *counts])] if any(counts) else []
    return [*lines, r"\midrule"]


def _lines(part: Part, block: Block) -> list[list[str]]:
    """A block's lines of cells, the labels first."""
    labels = [escape(label) for label in block.labels]
    if block.theirs:
        labels = [rf"\textit{{{label}}}" for label in labels]
    labels[0] += f" ({escape(block.kind)})" if block.kind else ""
    starts = [rf"\quad {text}" for text in (PAPERS, *(escape(o.label) for o in part.grid.lines))]
    texts = [_texts(cell) if cell else [ABSENT, *[""] * (len(starts) + 1)] for cell in block.cells]
    lines = [[*labels, *(text[0] for text in texts)]]
    for i, start in enumerate(["", *starts], 1):
        if any(text[i] for text in texts):
            lines.append([start, *[""] * (len(labels) - 1), *(text[i] for text in texts)])
    return lines


def _texts(cell: Cell) -> list[str]:
    """What stands in a cell, line by line: number, interval, the paper's number, further lines."""
    ends = ", ".join(map(_number, cell.interval.strip("[]").split(", ")))
    paper = _marked(cell.paper, True) if cell.paper else ""
    return [
        _marked(cell.number, cell.theirs and cell.number.text != ABSENT),
        rf"{{\scriptsize[{ends}]}}" if cell.interval else "",
        paper + (rf"\textsuperscript{{${_SIGNS.get(cell.sign, cell.sign)}$}}" if cell.sign else ""),
        *(", ".join(map(_number, text.split(", "))) if text else "" for text in cell.further),
    ]


_SIGNS = {"≠": r"\neq"}


def _marked(number: Written, theirs: bool) -> str:
    """A number, in italics where it is the paper's, with its marks in order."""
    text = rf"\textit{{{_number(number.text)}}}" if theirs else _number(number.text)
    for mark in number.marks:
        text = rf"\underline{{{text}}}" if mark.underline else text + _sign(mark.sign)
    return text


def _number(text: str) -> str:
    """A number, or what stands in its place, as LaTeX prints it."""
    if text.startswith("<"):
        return f"$<${escape(text[1:])}"
    if text[:1] in ("+", "-") and text != ABSENT:
        return f"${text}$"
    return escape(text).replace(",", "{,}")


def _note(part: Part) -> str:
    """What stands below."""
    said = [
        f"{sign if sign == 'Underlined' else _sign(sign)}: {escape(text)}" if sign else escape(text)
        for sign, text in part.notes
    ]
    return " ".join(said)


def _sign(sign: str) -> str:
    return rf"\textsuperscript{{{sign}}}"


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
