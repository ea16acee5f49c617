"""ONERULER's tables: the numbers of `table_data`, laid out in LaTeX, in percent.

Below each number stands its interval, and below that the paper's number in italics.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from needlework import latex, tabular
from needlework.benchmarks.oneruler import table_data
from needlework.benchmarks.oneruler.factors import GROUPS, TASKS, length_label
from needlework.benchmarks.oneruler.figure_data import ERRORS
from needlework.benchmarks.oneruler.table_data import METRICS
from needlework.tabular import Body, Row, Table

if TYPE_CHECKING:
    import pandas as pd

DAGGER = r"\textsuperscript{\dag}"


def accuracy(table: pd.DataFrame, title: str) -> str:
    """Models and tasks down, lengths across by both metrics, over all languages."""
    every = table[table["context_lang"] == "all"]
    needles = every["task"].isin(["niah", *TASKS]) & ~every["task"].str.startswith("cwe")
    every = every[~needles | every["none_option"].astype(bool)]
    lengths = sorted(set(every["length"]))
    columns = [f"{length}/{metric}" for length in lengths for metric in METRICS]
    body: Body = []
    for (model, task), part in every.groupby(["model", "task"], sort=False):
        row = {f"{line['length']}/{line['metric']}": line for line in tabular.records(part)}
        body += _block(_task(str(task), str(model)), row, columns)
    heads = [_pair(length_label(length)) for length in lengths]
    records = tabular.records(every[every["metric"] == METRICS[0]])
    note = (
        "All languages, instructions in the context's. Per length: by the strict rules, and by the "
        f"released ones. {tabular.INTERVALS} $n$ = {tabular.spread(records)} answers a number."
        + _left_out(_apart(records))
    )
    return latex.table(
        [["", *heads], ["", *(METRICS * len(lengths))]],
        body,
        columns="l" + "r" * len(columns),
        caption=latex.escape(title),
        label=f"tab:oneruler-{tabular.slug(title)}",
        note=note + tabular.missing(_apart(records)) + _exhausted(records),
        wide=True,
    )


def languages(table: pd.DataFrame, title: str) -> str:
    """Languages down, best first; all models and each model across, by both metrics."""
    models = list(dict.fromkeys(table["model"]))
    columns = [f"{model}/{metric}" for model in models for metric in METRICS]
    body: Body = []
    for _, part in table.groupby("context_lang", sort=False):
        row = {f"{line['model']}/{line['metric']}": line for line in tabular.records(part)}
        first = next(iter(row.values()))
        ranks = [_rank(row.get(f"{first['model']}/{metric}")) for metric in METRICS]
        cells = [*ranks, GROUPS[first["resources"]].lower()]
        lines = _block(latex.escape(str(first["language"])), row, columns, labels=4)
        lines[0] = [lines[0][0], *cells, *lines[0][1:]]
        body += lines
    records = tabular.records(table[table["metric"] == METRICS[0]])
    names = [_pair(latex.escape("All models" if m == "all" else m)) for m in models]
    note = (
        "NIAH tasks in long contexts. Per model: by the strict rules, and by the released ones. In "
        f"brackets after the rank: the paper's. {tabular.LEGEND} "
        f"$n$ = {tabular.spread(records)} answers a number."
        + _left_out([row for row in records if row["model"] != "all"])
    )
    return latex.table(
        [
            ["", _pair("Rank"), "", *names],
            ["Language", *METRICS, "Resources", *(METRICS * len(models))],
        ],
        body,
        columns="lrrl" + "r" * len(columns),
        caption=latex.escape(title),
        label=f"tab:oneruler-{tabular.slug(title)}",
        note=note,
        wide=True,
    )


def lengths_tau(table: pd.DataFrame, title: str) -> str:
    """Pairs of models by each metric down, lengths across."""
    columns = list(dict.fromkeys(table["length"]))
    body: Body = []
    for (metric, model, other), part in table.groupby(["metric", "model", "other"], sort=False):
        row = {str(line["length"]): line for line in tabular.records(part)}
        label = "All pairs" if model == "all" else latex.escape(f"{model} and {other}")
        body += tabular.lines(
            f"{label}, {metric}", row, columns, dict.fromkeys(columns, tabular.numeral), digits=2
        )
    heads = ["All" if column == "all" else length_label(int(column)) for column in columns]
    note = (
        r"Kendall's $\tau$ between the accuracies of languages with equal tokens and with equal text. "
        r"In brackets: 95\% intervals over languages. In italics: the paper's, over all of its models."
    )
    return latex.table(
        [["Models", *heads]],
        body,
        columns="l" + "r" * len(columns),
        caption=latex.escape(title),
        label=f"tab:oneruler-{tabular.slug(title)}",
        note=note,
    )


def errors(table: pd.DataFrame, title: str) -> str:
    """Models and tasks down, errors across, in long contexts over all languages."""
    long = table[(table["length"] == "long") & (table["context_lang"] == "all")]
    columns = [
        error for error in ERRORS if (long.loc[long["error"] == error, "n_errors"] > 0).any()
    ]
    shown = dict.fromkeys(columns, tabular.percentage)
    body: Body = []
    for (model, task), part in long.groupby(["model", "task"], sort=False):
        row = {str(line["error"]): line for line in tabular.records(part)}
        label = _task(str(task), str(model))
        body += tabular.lines(label, row, columns, shown, digits=1, scale=100)
    records = tabular.records(long)
    note = (
        "Share of prompts in percent, by the strict rules, in long contexts. "
        f"{tabular.INTERVALS} $n$ = {tabular.spread(records)} prompts a row."
    )
    return latex.table(
        [["", *(latex.escape(ERRORS[error]) for error in columns)]],
        body,
        columns="l" + "r" * len(columns),
        caption=latex.escape(title),
        label=f"tab:oneruler-{tabular.slug(title)}",
        note=note,
        wide=True,
    )


def _task(task: str, model: str) -> str:
    """A row's label: the model in the first row of its block, the task in the others."""
    if task in ("niah", "all"):
        return latex.escape(f"{model}: all NIAH" if task == "niah" else model)
    return rf"\quad {TASKS[task]}"


def _block(label: str, row: Mapping[str, Row], columns: Sequence[str], labels: int = 1) -> Body:
    """The lines of one block, and another of all prompts where a number leaves any out."""
    shown = dict.fromkeys(columns, _percent)
    lines = tabular.lines(label, row, columns, shown, digits=1, labels=labels, scale=100)[:-1]
    if any(cell["n_all"] != cell["n"] for cell in row.values()):
        numbers = [_all(row[column]) if column in row else "--" for column in columns]
        lines.append([r"\quad{\scriptsize all prompts}", *[""] * (labels - 1), *numbers])
    return [*lines, None]


def _percent(row: Row, digits: int) -> str:
    return tabular.percentage(row, digits) + (DAGGER if row.get("n_exhausted") else "")


def _all(row: Row) -> str:
    value = float(row["value_all"])
    return "--" if math.isnan(value) else rf"{{\scriptsize {100 * value:.1f}}}"


def _pair(label: str) -> str:
    """The head above a number by each metric."""
    return rf"\multicolumn{{{len(METRICS)}}}{{c}}{{{label}}}"


def _rank(row: Row | None) -> str:
    """The rank, the paper's in brackets beside that by the released metric."""
    if row is None:
        return ""
    paper = row["published_rank"]
    printed = row["metric"] == "released" and str(paper).isdigit()
    return f"{row['rank']} ({paper})" if printed else str(row["rank"])


def _left_out(records: Sequence[Row]) -> str:
    """A sentence on the answers that these rows leave out as the paper does, or ""."""
    dropped = sum(int(row["n_dropped"]) for row in records)
    if not dropped:
        return ""
    return (
        f" As in the paper, {tabular.count(dropped)} answers to tasks with needles that the output "
        "limit cut before any text are left out; below, all prompts count."
    )


def _apart(records: Sequence[Row]) -> list[Row]:
    """The rows of single tasks: every answer once."""
    return [row for row in records if row["task"] != "niah"]


def _exhausted(records: Sequence[Row]) -> str:
    if not any(row["n_exhausted"] for row in records):
        return ""
    return rf" {DAGGER}: some prompts are shorter than the length, as the vocabulary ran out before it."


TABLES: dict[str, Table] = {
    "accuracy": Table("Accuracy by task and length", table_data.accuracy, accuracy),
    "languages": Table("Accuracy by language", table_data.languages, languages),
    "lengths_tau": Table(
        "Rank agreement of equal tokens and equal text", table_data.lengths_tau, lengths_tau
    ),
    "errors": Table("Errors where the answer is in the text", table_data.errors, errors),
}
