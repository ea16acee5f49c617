"""MLNeedle's tables: the numbers of `table_data`, laid out in LaTeX as the paper's.

Below each number stands its interval, and below that the paper's number in italics.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from needlework import latex, tabular
from needlework.benchmarks.mlneedle import factors, table_data
from needlework.cells import length_label
from needlework.tabular import Body, Row, Table

if TYPE_CHECKING:
    import pandas as pd


def table1(table: pd.DataFrame, title: str) -> str:
    """Models down, lengths across; underlined: at least 75% of the baseline."""
    fixed = ["claimed_length", "effective_length", "baseline"]
    columns = _columns(table["column"], fixed)
    shortest = length_label(min((int(c) for c in columns if c.isdigit()), default=0))
    shown = dict.fromkeys(columns, _numeral)
    shown |= dict.fromkeys(fixed[:2], partial(_tokens, none=f"$<${shortest}"))
    body: Body = []
    for _, lines in _blocks(table, ["model", "source"]):
        row = {str(line["column"]): line for line in lines}
        body += tabular.lines(_name(lines[0], table), row, columns, shown, digits=3)
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
        note=r"Underlined: at least 75\% of the baseline. "
        + tabular.LEGEND
        + _missing(table, "column"),
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
    needles = factors.languages(str(line["needle_lang"]) for line in lines)
    body: Body = []
    for haystack in factors.languages(str(line["haystack_lang"]) for line in lines):
        row = {
            str(line["needle_lang"]): line
            for line in lines
            if line["haystack_lang"] == haystack
            and (line["length"] == "average" or line["source"] == "published")
        }
        shown = dict.fromkeys(needles, _numeral)
        body += tabular.lines(latex.escape(haystack), row, needles, shown, digits=2)
    name = _name(lines[0], table)
    ours = [line for line in lines if line["length"] == "average"]
    counted = (
        f" Averaged over the context lengths, $n$ = {tabular.spread(ours)} a cell." if ours else ""
    )
    return latex.table(
        [[r"$H \backslash N$", *map(latex.escape, needles)]],
        body,
        columns="l" + "c" * len(needles),
        caption=f"{latex.escape(title)}: {name}.",
        label=f"tab:mlneedle-table2-{tabular.slug(str(lines[0]['model']))}",
        note=r"$H$: haystack, $N$: needle."
        + counted
        + " "
        + tabular.LEGEND
        + tabular.missing(ours),
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
            body += tabular.lines(name, row, columns, dict.fromkeys(columns, _signed), digits=3)
            if lines[0]["source"] == "ours":
                body[-1:] = [
                    [r"\quad McNemar's $p$", *(_p(row.get(column)) for column in columns)],
                    None,
                ]
        else:
            body += tabular.lines(_name(lines[0], table), row, columns, shown, digits=3)
    models = table[table["role"] != "delta"] if len(table) else table
    return latex.table(
        [
            ["Model", *("Avg." if column == "average" else _heading(column) for column in columns)],
            ["{$n$}", *_counts(models, "column", columns)],
        ],
        body or [["no pair was run", *[""] * len(columns)]],
        columns="l" + "c" * len(columns),
        caption=f"{latex.escape(title)}.",
        label=f"tab:mlneedle-{tabular.slug(title)}",
        note=tabular.LEGEND + _missing(models, "column"),
        wide=True,
    )


def existence(table: pd.DataFrame, title: str) -> str:
    """Models and lengths down; needle present, absent, and the mean of both across."""
    kinds = ["present", "absent", "balanced"]
    every = tabular.records(table[(table["length"] == "all") & (table["needle"] != "balanced")])
    body: Body = []
    for _, lines in _blocks(table, ["model", "length"]):
        row = {str(line["needle"]): line for line in lines}
        length = str(lines[0]["length"])
        label = f"{_name(lines[0], table)} & {'all' if length == 'all' else _heading(length)}"
        body += tabular.lines(label, row, kinds, dict.fromkeys(kinds, _numeral), digits=3, labels=2)
    return latex.table(
        [["Model", "Length", "Needle present", "Needle absent", "Mean of both"]],
        body or [["no existence prompts", *[""] * 4]],
        columns="llccc",
        caption=f"{latex.escape(title)}.",
        label="tab:mlneedle-existence",
        note=tabular.counted(tabular.records(table)) + tabular.INTERVALS + tabular.missing(every),
    )


def closed_book(table: pd.DataFrame, title: str) -> str:
    """Models down, languages across, without passages and with the needle alone."""
    langs = ["all", *factors.languages(set(table["needle_lang"]) - {"all"})]
    names = {"closed_book": "no passage", "baseline": "needle alone"}
    every = tabular.records(table[table["needle_lang"] == "all"])
    body: Body = []
    for _, lines in _blocks(table, ["model", "column"]):
        row = {str(line["needle_lang"]): line for line in lines}
        label = f"{_name(lines[0], table)} & {names[str(lines[0]['column'])]}"
        body += tabular.lines(label, row, langs, dict.fromkeys(langs, _numeral), digits=2, labels=2)
    return latex.table(
        [["Model", "Passages", *map(latex.escape, langs)]],
        body or [["no closed-book prompts", *[""] * (len(langs) + 1)]],
        columns="ll" + "c" * len(langs),
        caption=f"{latex.escape(title)}.",
        label="tab:mlneedle-closed-book",
        note=tabular.counted(tabular.records(table)) + tabular.INTERVALS + tabular.missing(every),
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
        for row in tabular.records(table)
    ]
    return latex.table(
        [["Language", "$n$", "Survived", r"95\% interval"]],
        body or [["nothing was translated", "", "", ""]],
        columns="lrcc",
        caption=f"{latex.escape(title)}.",
        label="tab:mlneedle-translation-ceiling",
    )


def _numeral(row: Row, digits: int) -> str:
    share = row.get("share_of_baseline", math.nan)
    kept = share is not None and float(share) >= 0.75 - 1e-12
    number = tabular.numeral(row, digits)
    return rf"\underline{{{number}}}" if kept and number != "--" else number


def _signed(row: Row, digits: int) -> str:
    value = float(row["value"])
    return "--" if math.isnan(value) else f"${value:+.{digits}f}$"


def _tokens(row: Row, digits: int, none: str) -> str:
    value = float(row["value"])
    if math.isnan(value):
        return "--"
    return length_label(int(value)) if value else none


def _p(row: Row | None) -> str:
    if row is None or math.isnan(float(row["p_mcnemar"])):
        return ""
    p = float(row["p_mcnemar"])
    return "$<$0.001" if p < 0.001 else f"{p:.3f}"


def _blocks(table: pd.DataFrame, by: Sequence[str]) -> list[tuple[object, list[Row]]]:
    """The rows of each group of `by`, variants apart, in the table's order."""
    keys = ["question_lang", "retrieval", *by]
    return [(key, tabular.records(group)) for key, group in table.groupby(keys, sort=False)]


def _columns(found: Iterable[str], fixed: Sequence[str]) -> list[str]:
    """`fixed`, the lengths in ascending order, and the average."""
    lengths = sorted({int(column) for column in found if column.isdigit()})
    return [*fixed, *map(str, lengths), "average"]


def _heading(column: str) -> str:
    return length_label(int(column)) if column.isdigit() else column.capitalize()


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
    return [tabular.spread(tabular.records(ours[ours[column] == name])) for name in columns]


def _missing(table: pd.DataFrame, column: str) -> str:
    """`tabular.missing` of the rows that hold all answers of a model."""
    return tabular.missing(
        tabular.records(table[(table["source"] == "ours") & (table[column] == "average")])
    )


TABLES: dict[str, Table] = {
    "table1": Table("Accuracy by context length", table_data.table1, table1),
    "table2": Table("Accuracy by needle and haystack language", table_data.table2, table2),
    "table3": Table("Base and instruction-tuned models", table_data.table3, pairs),
    "table4": Table("Greedy decoding and sampling", table_data.table4, pairs),
    "existence": Table(
        "Existence accuracy with and without the needle", table_data.existence, existence
    ),
    "closed_book": Table("Accuracy without passages", table_data.closed_book, closed_book),
    "translation_ceiling": Table(
        "Gold answers that survive translation",
        table_data.translation_ceiling,
        translation_ceiling,
    ),
}
