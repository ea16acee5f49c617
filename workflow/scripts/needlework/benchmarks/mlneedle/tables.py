"""MLNeedle's tables: the numbers of `table_data`, laid out in LaTeX as the paper's.

Below each number stands its interval, and below that the paper's number in italics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from needlework import latex
from needlework.benchmarks.mlneedle import cells, table_data
from needlework.benchmarks.mlneedle.cells import Settings

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
    """A table of this benchmark.

    `function(data, published, settings)` makes the tidy table, from the scores of all models or, for
    `source="ceilings"`, from rows (lang, n, n_survived). `layout(table, title)` makes LaTeX of it.
    """

    title: str
    source: Literal["scores", "ceilings"]
    function: Callable[[pd.DataFrame, pd.DataFrame, Settings], pd.DataFrame]
    layout: Callable[[pd.DataFrame, str], str]


def table1(table: pd.DataFrame, title: str) -> str:
    """Models down, lengths across; underlined: at least 75% of the baseline."""
    fixed = ["claimed_length", "effective_length", "baseline"]
    columns = _columns(table["column"], fixed)
    shortest = cells.length_label(min((int(c) for c in columns if c.isdigit()), default=0))
    shown = dict.fromkeys(columns, _numeral)
    shown |= dict.fromkeys(fixed[:2], partial(_tokens, none=f"$<${shortest}"))
    body: Body = []
    for _, lines in _blocks(table, ["model", "source"]):
        row = {str(line["column"]): line for line in lines}
        body += _lines(_name(lines[0], table), row, columns, shown, digits=3)
    heads = {"claimed_length": "Claimed", "effective_length": "Effective", "average": "Avg."}
    return latex.table(
        [
            ["Model", *(heads.get(column) or _heading(column) for column in columns)],
            ["{$n$}", *_counts(table, "column", columns)],
        ],
        body,
        columns="l" + "c" * len(columns),
        caption=f"{latex.escape(title)}.",
        label="tab:mlneedle-table1",
        note=r"Underlined: at least 75\% of the baseline. " + LEGEND + _missing(table, "column"),
        wide=True,
    )


def table2(table: pd.DataFrame, title: str) -> str:
    """One float a model: haystack languages down, needle languages across."""
    return "\n".join(_matrix(lines, table, title) for _, lines in _blocks(table, ["model"])) or (
        latex.table(
            [["Model"]],
            [["no scores"]],
            columns="l",
            caption=f"{latex.escape(title)}.",
            label="tab:mlneedle-table2",
        )
    )


def _matrix(lines: Sequence[Row], table: pd.DataFrame, title: str) -> str:
    needles = cells.languages(str(line["needle_lang"]) for line in lines)
    body: Body = []
    for haystack in cells.languages(str(line["haystack_lang"]) for line in lines):
        row = {
            str(line["needle_lang"]): line
            for line in lines
            if line["haystack_lang"] == haystack
            and (line["length"] == "average" or line["source"] == "published")
        }
        shown = dict.fromkeys(needles, _numeral)
        body += _lines(latex.escape(haystack), row, needles, shown, digits=2)
    name = _name(lines[0], table)
    ours = [line for line in lines if line["length"] == "average"]
    counted = f" Averaged over the context lengths, $n$ = {_range(ours)} a cell." if ours else ""
    return latex.table(
        [[r"$H \backslash N$", *map(latex.escape, needles)]],
        body,
        columns="l" + "c" * len(needles),
        caption=f"{latex.escape(title)}: {name}.",
        label=f"tab:mlneedle-table2-{_slug(str(lines[0]['model']))}",
        note=r"$H$: haystack, $N$: needle." + counted + " " + LEGEND + _missing_of(ours),
        wide=True,
    )


def pairs(table: pd.DataFrame, title: str) -> str:
    """Two models and their difference, lengths across."""
    columns = _columns(table["column"], ["baseline"])
    shown = dict.fromkeys(columns, _numeral)
    body: Body = []
    for _, lines in _blocks(table, ["pair", "role", "source"]):
        row = {str(line["column"]): line for line in lines}
        if lines[0]["role"] == "delta":
            name = r"$\Delta$ second $-$ first"
            body += _lines(name, row, columns, dict.fromkeys(columns, _signed), digits=3)
            if lines[0]["source"] == "ours":
                body[-1:] = [
                    [r"\quad McNemar's $p$", *(_p(row.get(column)) for column in columns)],
                    None,
                ]
        else:
            body += _lines(_name(lines[0], table), row, columns, shown, digits=3)
    models = table[table["role"] != "delta"] if len(table) else table
    return latex.table(
        [
            ["Model", *("Avg." if column == "average" else _heading(column) for column in columns)],
            ["{$n$}", *_counts(models, "column", columns)],
        ],
        body or [["no pair was run", *[""] * len(columns)]],
        columns="l" + "c" * len(columns),
        caption=f"{latex.escape(title)}.",
        label=f"tab:mlneedle-{_slug(title)}",
        note=LEGEND + _missing(models, "column"),
        wide=True,
    )


def existence(table: pd.DataFrame, title: str) -> str:
    """Models and lengths down; needle present, absent, and the mean of both across."""
    kinds = ["present", "absent", "balanced"]
    every = _rows(table[(table["length"] == "all") & (table["needle"] != "balanced")])
    body: Body = []
    for _, lines in _blocks(table, ["model", "length"]):
        row = {str(line["needle"]): line for line in lines}
        length = str(lines[0]["length"])
        label = f"{_name(lines[0], table)} & {'all' if length == 'all' else _heading(length)}"
        body += _lines(label, row, kinds, dict.fromkeys(kinds, _numeral), digits=3, labels=2)
    return latex.table(
        [["Model", "Length", "Needle present", "Needle absent", "Mean of both"]],
        body or [["no existence prompts", *[""] * 4]],
        columns="llccc",
        caption=f"{latex.escape(title)}.",
        label="tab:mlneedle-existence",
        note=f"$n$ = {_range(_rows(table))} a cell. " + INTERVALS + _missing_of(every),
    )


def closed_book(table: pd.DataFrame, title: str) -> str:
    """Models down, languages across, without passages and with the needle alone."""
    langs = ["all", *cells.languages(set(table["needle_lang"]) - {"all"})]
    names = {"closed_book": "no passage", "baseline": "needle alone"}
    every = _rows(table[table["needle_lang"] == "all"])
    body: Body = []
    for _, lines in _blocks(table, ["model", "column"]):
        row = {str(line["needle_lang"]): line for line in lines}
        label = f"{_name(lines[0], table)} & {names[str(lines[0]['column'])]}"
        body += _lines(label, row, langs, dict.fromkeys(langs, _numeral), digits=2, labels=2)
    return latex.table(
        [["Model", "Passages", *map(latex.escape, langs)]],
        body or [["no closed-book prompts", *[""] * (len(langs) + 1)]],
        columns="ll" + "c" * len(langs),
        caption=f"{latex.escape(title)}.",
        label="tab:mlneedle-closed-book",
        note=f"$n$ = {_range(_rows(table))} a cell. " + INTERVALS + _missing_of(every),
        wide=True,
    )


def translation_ceiling(table: pd.DataFrame, title: str) -> str:
    """Languages down."""
    body: Body = [
        [
            latex.escape(str(row["lang"])),
            f"{row['n']:,}",
            _numeral(row, 3),
            f"[{float(row['ci_low']):.3f}, {float(row['ci_high']):.3f}]",
        ]
        for row in _rows(table)
    ]
    return latex.table(
        [["Language", "$n$", "Survived", r"95\% interval"]],
        body or [["nothing was translated", "", "", ""]],
        columns="lrcc",
        caption=f"{latex.escape(title)}.",
        label="tab:mlneedle-translation-ceiling",
    )


def _lines(
    label: str,
    row: Mapping[str, Row],
    columns: Sequence[str],
    shown: Mapping[str, Callable[[Row, int], str]],
    *,
    digits: int,
    labels: int = 1,
) -> Body:
    """The lines of one block: numbers, intervals, the paper's numbers; then a little space.

    `label` fills the first `labels` columns.
    """
    pad = [""] * (labels - 1)
    source = next(iter(row.values())).get("source", "ours")
    if source == "published":
        numbers = [_italic(shown[c](row[c], digits)) if c in row else "--" for c in columns]
        return [[rf"\textit{{{label}}} (paper)", *numbers], None]
    lines: Body = [[label, *(shown[c](row[c], digits) if c in row else "--" for c in columns)]]
    intervals = [_interval(row[c], digits) if c in row else "" for c in columns]
    if any(intervals):
        lines.append(["", *pad, *intervals])
    paper = [_paper(row[c], shown[c], digits) if c in row else "" for c in columns]
    if any(paper):
        lines.append([r"\quad\textit{paper}", *pad, *paper])
    return [*lines, None]


def _numeral(row: Row, digits: int) -> str:
    value = float(row["value"])
    if math.isnan(value):
        return "--"
    number = f"{value:.{digits}f}"
    share = row.get("share_of_baseline", math.nan)
    kept = share is not None and float(share) >= 0.75 - 1e-12
    return rf"\underline{{{number}}}" if kept else number


def _signed(row: Row, digits: int) -> str:
    value = float(row["value"])
    return "--" if math.isnan(value) else f"${value:+.{digits}f}$"


def _tokens(row: Row, digits: int, none: str) -> str:
    value = float(row["value"])
    if math.isnan(value):
        return "--"
    return cells.length_label(int(value)) if value else none


def _interval(row: Row, digits: int) -> str:
    low, high = float(row["ci_low_clustered"]), float(row["ci_high_clustered"])
    if math.isnan(low):
        return ""
    ends = (f"{end:.{digits}f}".replace("0.", ".", 1).replace("-", "$-$") for end in (low, high))
    return rf"{{\scriptsize[{', '.join(ends)}]}}"


def _paper(row: Row, shown: Callable[[Row, int], str], digits: int) -> str:
    value = row.get("published", math.nan)
    if value is None or math.isnan(float(value)):
        return ""
    number = _italic(shown({"value": value}, digits))
    # Lengths in tokens are not estimates: they are only set side by side.
    return number + ("" if value > 1 or not value else rf"\textsuperscript{{${_mark(row)}$}}")


def _mark(row: Row) -> str:
    return MARKS.get(row["comparison"], "?")


def _italic(text: str) -> str:
    return text if text.startswith("$") else rf"\textit{{{text}}}"


def _p(row: Row | None) -> str:
    if row is None or math.isnan(float(row["p_mcnemar"])):
        return ""
    p = float(row["p_mcnemar"])
    return "$<$0.001" if p < 0.001 else f"{p:.3f}"


def _rows(table: pd.DataFrame) -> list[Row]:
    return table.to_dict("records")


def _blocks(table: pd.DataFrame, by: Sequence[str]) -> list[tuple[object, list[Row]]]:
    """The rows of each group of `by`, variants apart, in the table's order."""
    keys = ["question_lang", "retrieval", *by]
    return [(key, _rows(group)) for key, group in table.groupby(keys, sort=False)]


def _columns(found: Iterable[str], fixed: Sequence[str]) -> list[str]:
    """`fixed`, the lengths in ascending order, and the average."""
    lengths = sorted({int(column) for column in found if column.isdigit()})
    return [*fixed, *map(str, lengths), "average"]


def _heading(column: str) -> str:
    return cells.length_label(int(column)) if column.isdigit() else column.capitalize()


def _name(row: Row, table: pd.DataFrame) -> str:
    """The model, with its variant where the table has several."""
    ours = table[table["source"] == "ours"]
    name = latex.escape(str(row["model"]))
    if (
        row["source"] == "published"
        or len(ours[["question_lang", "retrieval"]].drop_duplicates()) < 2
    ):
        return name
    return (
        f"{name} ({latex.escape(str(row['question_lang']))}, {latex.escape(str(row['retrieval']))})"
    )


def _counts(table: pd.DataFrame, column: str, columns: Sequence[str]) -> list[str]:
    ours = table[table["source"] == "ours"]
    return [_range(_rows(ours[ours[column] == name])) for name in columns]


def _range(rows: Iterable[Row]) -> str:
    """The smallest and largest n of these rows, as one number where they are the same."""
    counts = sorted({int(str(row["n"])) for row in rows if str(row["n"]).isdigit()})
    if not counts:
        return ""
    ends = [_count(count) for count in (counts[0], counts[-1])]
    return ends[0] if counts[0] == counts[-1] else "--".join(ends)


def _count(count: int) -> str:
    return f"{count:,}".replace(",", "{,}")


def _missing(table: pd.DataFrame, column: str) -> str:
    """`_missing_of` the rows that hold all answers of a model."""
    return _missing_of(_rows(table[(table["source"] == "ours") & (table[column] == "average")]))


def _missing_of(rows: Sequence[Row]) -> str:
    """A sentence on the answers that were skipped, failed or cut, where there are any."""
    words = {
        "n_skipped": "were skipped (longer than the model's context)",
        "n_error": "failed",
        "n_cut": "were cut at the token limit",
    }
    counts = {key: sum(int(row[key]) for row in rows) for key in words}
    found = [f"{_count(counts[key])} {words[key]}" for key in words if counts[key]]
    return f" Of all answers {', '.join(found)}." if found else ""


def _slug(text: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


TABLES: dict[str, Table] = {
    "table1": Table("Accuracy by context length", "scores", table_data.table1, table1),
    "table2": Table(
        "Accuracy by needle and haystack language", "scores", table_data.table2, table2
    ),
    "table3": Table("Base and instruction-tuned models", "scores", table_data.table3, pairs),
    "table4": Table("Greedy decoding and sampling", "scores", table_data.table4, pairs),
    "existence": Table(
        "Existence accuracy with and without the needle", "scores", table_data.existence, existence
    ),
    "closed_book": Table(
        "Accuracy without passages", "scores", table_data.closed_book, closed_book
    ),
    "translation_ceiling": Table(
        "Gold answers that survive translation",
        "ceilings",
        table_data.translation_ceiling,
        translation_ceiling,
    ),
}
