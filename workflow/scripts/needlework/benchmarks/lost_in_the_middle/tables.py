"""Lost in the Middle's tables: the numbers of `table_data`, laid out in LaTeX as the paper's.

Below each percentage stands its interval, and below that the paper's number in italics.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from needlework import latex, tabular
from needlework.benchmarks.lost_in_the_middle import table_data
from needlework.benchmarks.lost_in_the_middle.factors import (
    ENGLISH,
    PAIRS,
    QA,
    QA_TABLES,
    languages,
)
from needlework.tabular import Body, Row, Table

if TYPE_CHECKING:
    import pandas as pd

HEADS = {"closed_book": "Closed-Book", "oracle": "Oracle"}
# What the other tasks put into a prompt.
THINGS = {QA: "documents", PAIRS: "pairs", "open_domain": "retrieved documents"}
# An inference: the closed-book prompts have 15.3 tokens without one (docs/fidelity.md).
CHAT_FORMATS = (
    "The paper's counts of MPT-30B and LongChat-13B (16K) seem to include these models' chat formats: "
    "nothing of ours can be compared with them."
)


def accuracy(label: str, heading: str, table: pd.DataFrame, title: str) -> str:
    """Models down; settings, or indices of the gold document, across."""
    several = table.loc[table["source"] == "ours", "lang"].nunique() > 1
    blocks = []
    for (lang, model, source), lines in table.groupby(["lang", "model", "source"], sort=False):
        blocks.append((f"{model} ({lang})" if several and source == "ours" else str(model), lines))
    return _percentages(label, heading, table, title, blocks)


def every_cell(table: pd.DataFrame, title: str) -> str:
    """A table a task and number of documents or pairs: models, languages and ablations down."""
    made = []
    size = table["n_documents"].astype("Int64").astype("string")
    for task, one in THINGS.items():
        mine = table[table["task"] == task]
        placed = task in (QA, PAIRS)
        for n, part in mine.groupby("n_documents" if placed else "task"):
            column = part["gold_index"].astype("string") if placed else size[part.index]
            what = f"{n} {one}" if placed else one
            made.append(
                _slice(part.assign(column=column), what, title, "Index" if placed else "k =")
            )
    levels = table[table["task"].isin(list(HEADS))]
    if len(levels) or not made:
        what = "without documents, and with the gold document alone"
        made.insert(0, _slice(levels.assign(column=levels["task"]), what, title, ""))
    return "\n".join(made)


def _slice(table: pd.DataFrame, what: str, title: str, heading: str) -> str:
    """One of the tables of `every_cell`."""
    blocks = []
    by = ["model", "lang", "keys", "variant"]
    for (model, lang, keys, variant), lines in table.groupby(by, sort=False):
        kind = {"none": lang, "uuid": "UUIDs", "words": f"words, {lang}"}[keys]
        more = "" if variant == "main" else f", {variant.replace('_', ' ')}"
        blocks.append((f"{model} ({kind}{more})", lines))
    label = f"accuracy-{tabular.slug(what)}"
    return _percentages(label, heading, table, f"{title}: {what}", blocks)


def _percentages(
    label: str,
    heading: str,
    table: pd.DataFrame,
    title: str,
    blocks: Iterable[tuple[str, pd.DataFrame]],
) -> str:
    """`blocks` down, each a name and rows of `table`; what stands in their column `column` across."""
    columns = [name for name in HEADS if name in set(table["column"])]
    columns += _numbers(name for name in table["column"] if name.isdigit())
    shown = dict.fromkeys(columns, tabular.percentage)
    body: Body = []
    for name, lines in blocks:
        source = lines["source"].iloc[0]
        row = {str(line["column"]): line for line in tabular.records(lines)}
        block = tabular.lines(latex.escape(name), row, columns, shown, digits=1, scale=100)
        if source == "ours" and lines[["n_skipped", "n_error"]].to_numpy().any():
            block[-1:] = [[r"\quad skipped, failed", *(_lost(row.get(c)) for c in columns)], None]
        body += block
    ours = tabular.records(table[table["source"] == "ours"])
    counts = [tabular.spread(row for row in ours if row["column"] == name) for name in columns]
    return latex.table(
        [
            ["Model", *(HEADS.get(name) or f"{heading} {name}" for name in columns)],
            ["{$n$}", *counts],
        ],
        body or [["no scores", *[""] * len(columns)]],
        columns="l" + "c" * len(columns),
        caption=f"{latex.escape(title)}.",
        label=f"tab:lost-in-the-middle-{label}",
        note=r"Accuracy in \%. " + tabular.LEGEND + _released(table) + tabular.missing(ours),
        wide=True,
    )


def tokens(label: str, heading: str, table: pd.DataFrame, title: str) -> str:
    """Tokenizers down; for each setting mean and deviation, and maximum across."""
    columns = [name for name in HEADS if name in set(table["column"])]
    columns += _numbers(name for name in table["column"] if name.isdigit())
    langs = languages(table.loc[table["source"] == "ours", "lang"].dropna())
    body: Body = []
    for (tokenizer, source, keys, lang), lines in table.groupby(
        ["tokenizer", "source", "keys", "lang"], sort=False, dropna=False
    ):
        row = {str(line["column"]): line for line in tabular.records(lines)}
        name = latex.escape(str(tokenizer))
        if source == "published":
            cells = [cell for c in columns for cell in _counts(row.get(c), "published_")]
            body += [[rf"\textit{{{name}}} (paper)", *map(_italic, cells)], None]
            continue
        if keys == "words" or (keys == "none" and langs not in ([], [ENGLISH])):
            name += f" ({'words, ' if keys == 'words' else ''}{latex.escape(str(lang))})"
        body.append([name, *(cell for c in columns for cell in _counts(row.get(c)))])
        if any(not math.isnan(_float(line["published_mean"])) for line in row.values()):
            body.append([r"\quad\textit{paper}", *(x for c in columns for x in _paper(row.get(c)))])
        body.append(None)
    ours = tabular.records(table[table["source"] == "ours"])
    return latex.table(
        [
            [
                "",
                *(
                    f"\\multicolumn{{2}}{{c}}{{{HEADS.get(c) or f'{c} {heading}'}}}"
                    for c in columns
                ),
            ],
            ["Tokenizer", *[r"avg $\pm$ stdev", "max"] * len(columns)],
        ],
        body or [["no prompts", *[""] * 2 * len(columns)]],
        columns="l" + "rr" * len(columns),
        caption=f"{latex.escape(title)}.",
        label=f"tab:lost-in-the-middle-{label}",
        note=f"Tokens of the prompts, without a chat template; {tabular.counted(ours).rstrip(' .')}, over "
        "examples. In italics: the paper's numbers, and whether ours are equal to their last digit ($=$), "
        r"or not ($\neq$), or that this cannot be told ($?$; the CSV says why). " + CHAT_FORMATS,
        wide=True,
    )


def _released(table: pd.DataFrame) -> str:
    """A sentence on the models whose published numbers are not the paper's, or ""."""
    names = dict.fromkeys(table.loc[table["published_source"] == "repository", "model"])
    listed = ", ".join(latex.escape(str(name)) for name in names)
    return f" Those of {listed} are of the released code's EXPERIMENTS.md." if names else ""


def _lost(row: Row | None) -> str:
    return (
        "" if row is None else f"{tabular.count(row['n_skipped'])}, {tabular.count(row['n_error'])}"
    )


def _numbers(names: Iterable[str]) -> list[str]:
    return [str(number) for number in sorted({int(name) for name in names})]


def _counts(row: Row | None, prefix: str = "") -> tuple[str, str]:
    if row is None:
        return "--", "--"
    mean, stdev, largest = (_float(row[f"{prefix}{name}"]) for name in table_data.STATISTICS)
    if math.isnan(mean):
        return "", ""
    spread = "--" if math.isnan(stdev) else f"{stdev:.1f}"
    return rf"{mean:.1f} $\pm$ {spread}", f"{largest:.0f}"


def _paper(row: Row | None) -> Sequence[str]:
    if row is None or math.isnan(_float(row["published_mean"])):
        return "", ""
    comparison = str(row["comparison"])
    mark = {"equals": "=", "differs": r"\neq"}.get(comparison.partition(":")[0], "?")
    mean, largest = _counts(row, "published_")
    return _italic(mean), _italic(largest) + rf"\textsuperscript{{${mark}$}}"


def _float(value: object) -> float:
    return math.nan if value is None else float(str(value))


def _italic(text: str) -> str:
    return rf"\textit{{{text}}}" if text else ""


TABLES: dict[str, Table] = {
    "table1": Table(
        "Accuracy without documents, and with the gold document alone",
        table_data.table1,
        partial(accuracy, "table1", ""),
    ),
    "table2": Table(
        "Tokens of closed-book and oracle prompts",
        table_data.table2,
        partial(tokens, "table2", ""),
    ),
    "table3": Table(
        "Tokens of multi-document prompts",
        table_data.table3,
        partial(tokens, "table3", "docs"),
    ),
    "table4": Table(
        "Tokens of key-value prompts",
        table_data.table4,
        partial(tokens, "table4", "KV pairs"),
    ),
    **{
        name: Table(
            f"Accuracy among {n} documents by the gold document's index",
            partial(table_data.by_index, n),
            partial(accuracy, name, "Index"),
        )
        for n, name in QA_TABLES.items()
    },
    "accuracy": Table("Accuracy of every cell", table_data.accuracy, every_cell),
}
