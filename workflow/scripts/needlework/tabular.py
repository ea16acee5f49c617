r"""How the tables of all benchmarks look in LaTeX: a number, its interval below, the paper's below that.

A row of a tidy table is a mapping with the columns of `cells.MEASURES` and `cells.COMPARISON`, and
`source`, "ours" or "published".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]
Body = list[Sequence[str] | None]

LEGEND = (
    r"In brackets: 95\% intervals over questions. In italics: the paper's numbers, and whether our "
    "interval covers them ($=$), lies below ($<$) or above them ($>$), or that this cannot be told "
    "($?$; the CSV says why)."
)
INTERVALS = r"In brackets: 95\% intervals over questions."
MARKS = {"covers": "=", "below": "<", "above": ">"}


@dataclass(frozen=True)
class Table:
    """A table of a benchmark.

    `function(rows, published, settings)` makes the tidy table, `layout(table, title)` LaTeX of it.
    What `rows` are, the benchmark's plan says (`contract.Result.needs`).
    """

    title: str
    function: Callable[[pd.DataFrame, pd.DataFrame, Any], pd.DataFrame]
    layout: Callable[[pd.DataFrame, str], str]


def lines(
    label: str,
    row: Mapping[str, Row],
    columns: Sequence[str],
    shown: Mapping[str, Callable[[Row, int], str]],
    *,
    digits: int,
    labels: int = 1,
    scale: float = 1,
) -> Body:
    """The lines of one block: numbers, intervals, the paper's numbers; then a little space.

    `row` has a row of the tidy table for each of `columns` that is not empty; `shown` says how the
    value of a column is written, with so many `digits`. `label` fills the first `labels` columns.
    Intervals are multiplied by `scale`: 100 where the values are written as percentages.
    """
    pad = [""] * (labels - 1)
    source = next(iter(row.values())).get("source", "ours")
    if source == "published":
        numbers = [_italic(shown[c](row[c], digits)) if c in row else "--" for c in columns]
        return [[rf"\textit{{{label}}} (paper)", *pad, *numbers], None]
    body: Body = [[label, *(shown[c](row[c], digits) if c in row else "--" for c in columns)]]
    intervals = [interval(row[c], digits, scale) if c in row else "" for c in columns]
    if any(intervals):
        body.append(["", *pad, *intervals])
    paper = [_paper(row[c], shown[c], digits) if c in row else "" for c in columns]
    if any(paper):
        body.append([r"\quad\textit{paper}", *pad, *paper])
    return [*body, None]


def numeral(row: Row, digits: int) -> str:
    """A value as it is; "--" where there is none."""
    value = float(row["value"])
    return "--" if math.isnan(value) else f"{value:.{digits}f}"


def percentage(row: Row, digits: int) -> str:
    """A share as a percentage, without its sign; "--" where there is none."""
    return numeral({"value": 100 * float(row["value"])}, digits)


def interval(row: Row, digits: int, scale: float = 1) -> str:
    """The interval over questions, small, in brackets; "" where there is none."""
    low, high = float(row["ci_low_clustered"]), float(row["ci_high_clustered"])
    if math.isnan(low):
        return ""
    ends = [f"{scale * end:.{digits}f}" for end in (low, high)]
    if scale == 1:
        ends = [end.replace("0.", ".", 1) for end in ends]
    return rf"{{\scriptsize[{', '.join(end.replace('-', '$-$') for end in ends)}]}}"


def _paper(row: Row, shown: Callable[[Row, int], str], digits: int) -> str:
    value = row.get("published", math.nan)
    if value is None or math.isnan(float(value)):
        return ""
    number = _italic(shown({"value": value}, digits))
    # Lengths in tokens are not estimates: they are only set side by side.
    estimated = 0 < value <= 1 or not math.isnan(float(row["ci_low_clustered"]))
    return number + (rf"\textsuperscript{{${_mark(row)}$}}" if estimated else "")


def _mark(row: Row) -> str:
    return MARKS.get(row["comparison"], "?")


def _italic(text: str) -> str:
    return text if text.startswith("$") else rf"\textit{{{text}}}"


def records(table: pd.DataFrame) -> list[Row]:
    """The rows of a table."""
    return table.to_dict("records")


def spread(rows: Iterable[Row], column: str = "n") -> str:
    """The smallest and largest count of these rows, as one number where they are the same."""
    counts = sorted({int(str(row[column])) for row in rows if str(row[column]).isdigit()})
    if not counts:
        return ""
    ends = [count(n) for n in (counts[0], counts[-1])]
    return ends[0] if counts[0] == counts[-1] else "--".join(ends)


def counted(rows: Iterable[Row]) -> str:
    """A sentence on how many answers are behind a cell."""
    return f"$n$ = {spread(rows)} a cell. "


def count(n: int) -> str:
    """A whole number with groups of three digits."""
    return f"{n:,}".replace(",", "{,}")


def missing(rows: Sequence[Row]) -> str:
    """A sentence on the answers of these rows that were skipped, failed or cut, or ""."""
    words = {
        "n_skipped": "were skipped (longer than the model's context)",
        "n_error": "failed",
        "n_cut": "were cut at the token limit",
    }
    counts = {key: sum(int(row[key]) for row in rows) for key in words}
    found = [f"{count(counts[key])} {words[key]}" for key in words if counts[key]]
    return f" Of all answers {', '.join(found)}." if found else ""


def slug(text: str) -> str:
    """A text as part of a label."""
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())
