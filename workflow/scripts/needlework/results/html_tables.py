"""Tables as HTML, laid out as `layouts` describes: a fragment of the page of results."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

from needlework.results.laid_out import ABSENT, Block, Cell, Part, Written, grouped, parts_of
from needlework.results.layouts import Layout

if TYPE_CHECKING:
    import pandas as pd

# Rows of a table that the page shows; its CSV has all.
MOST_ROWS = 300
_SIGNS = {r"\dag": "†", r"\ddag": "‡"}


def html_table(table: pd.DataFrame, layout: Layout, title: str, asked: str = "") -> str:
    """The parts of a table, each as a table of HTML with its notes; `asked` as in `latex.lay_out`.

    Rows have a cell for each column, so that they can be sorted by what `data-v` holds, or by their text.
    """
    left, written, cut = MOST_ROWS, [], 0
    for part in parts_of(table, layout):
        shown = list(islice(part.blocks, max(left, 0)))
        left -= len(shown)
        cut += len(part.blocks) - len(shown)
        if shown or not part.blocks:
            written.append(_part(part, shown, title))
    notes = [f"{cut:,} more rows are in the CSV."] if cut else []
    notes += [asked] if asked else []
    written += [f'<p class="soft">{escape(note)}</p>\n' for note in notes]
    return "".join(written)


def _part(part: Part, blocks: list[Block], title: str) -> str:
    name = f"{title}: {part.words}" if part.words else title
    heading = f"<h4>{escape(part.words)}</h4>\n" if part.words else ""
    wide = len(part.head.labels) + len(part.across)
    rows = [_row(part, block) for block in blocks]
    if not rows:
        rows = [f'<tr><td colspan="{wide}">{escape(part.grid.empty)}</td></tr>']
    notes = " ".join(
        f"{_SIGNS.get(sign, sign)}: {escape(text)}" if sign else escape(text)
        for sign, text in part.notes
    )
    return (
        f'{heading}<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}">\n'
        f'<table class="laid">\n<thead>\n{"".join(_head(part))}</thead>\n<tbody>\n'
        + "\n".join(rows)
        + "\n</tbody>\n</table>\n</div>\n"
        + (f'<p class="soft">{notes}</p>\n' if notes else "")
    )


def _head(part: Part) -> Iterator[str]:
    """Rows above the blocks; those of the last are named by the column that they head."""
    head, n = part.head, len(part.head.labels)
    empty = f'<td colspan="{n}"></td>'
    for words in head.above:
        cells = "".join(
            f'<th scope="colgroup" colspan="{wide}">{escape(word)}</th>'
            for word, wide in grouped(words)
        )
        yield f"<tr>{empty}{cells}</tr>\n" if cells else ""
    names = [*head.labels, *head.columns]
    counts = ["" for _ in head.labels] + [*(head.counts or ("" for _ in head.columns))]
    cells = "".join(
        f'<th scope="col">{escape(name)}{f"<small>n {escape(n)}</small>" if n else ""}</th>'
        for name, n in zip(names, counts, strict=True)
    )
    yield f"<tr>{cells}</tr>\n"


def _row(part: Part, block: Block) -> str:
    first, *labels = block.labels
    kind = f" <small>({escape(block.kind)})</small>" if block.kind else ""
    label = f"<i>{escape(first)}</i>" if block.theirs else escape(first)
    cells = [f'<th scope="row">{label}{kind}</th>']
    cells += [f"<td>{escape(label)}</td>" for label in labels]
    cells += [_cell(part, cell) for cell in block.cells]
    return f"<tr>{''.join(cells)}</tr>"


def _cell(part: Part, cell: Cell | None) -> str:
    """Our number, then its interval, the paper's number and further lines, each in a line of its own."""
    if cell is None:
        return "<td>–</td>"
    value = "" if cell.value is None else f' data-v="{cell.value:.6g}"'
    lines = [_number(cell.number, cell.theirs)]
    if cell.interval:
        lines.append(f"<small>{escape(cell.interval)}</small>")
    if cell.paper:
        sign = f"<sup>{escape(cell.sign)}</sup>" if cell.sign else ""
        lines.append(f"{_number(cell.paper, True)}{sign}")
    lines += [
        f"<small>{escape(line.label)}: {escape(text)}</small>"
        for line, text in zip(part.grid.lines, cell.further, strict=False)
        if text
    ]
    return f"<td{value}>{'<br>'.join(lines)}</td>"


def _number(number: Written, theirs: bool) -> str:
    text = "–" if number.text == ABSENT else escape(number.text)
    text = f"<u>{text}</u>" if number.underlined else text
    text = f"<i>{text}</i>" if theirs and number.text != ABSENT else text
    return text + "".join(f"<sup>{_SIGNS.get(sign, escape(sign))}</sup>" for sign in number.signs)
