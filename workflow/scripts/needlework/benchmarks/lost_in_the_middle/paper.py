"""Lost in the Middle's cells beside the paper's numbers, and when a comparison counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.lost_in_the_middle.factors import (
    ENGLISH,
    LEVELS,
    PAIRS,
    QA,
    QA_TABLES,
)
from needlework.models.decoding import GREEDY
from needlework.results.beside import (
    against,
    mean_of_line,
    other_decoding,
    other_settings,
    other_values,
    own_instructions,
    published_row,
    published_rows,
)
from needlework.results.columns import COMPARISON
from needlework.results.context import Context
from needlework.results.published import Number
from needlework.results.tabulate import Cell

if TYPE_CHECKING:
    import pandas as pd

# The paper's settings that move its numbers: of its questions, and of its answers (the released code's).
SETUP = {"corpus": "nq_open", "gold_without_answer": "keep"}
# Columns: the released code's EXPERIMENTS.md has numbers that the paper lacks.
COMPARED = (*COMPARISON, "published_source")
# The column of the lines in the paper's text (section 5.2).
ALL_PAIRS = "300_pairs/query_aware"


def other_questions(cell: Cell) -> Iterator[str]:
    """Where a cell is not of the paper's questions."""
    yield from other_settings(cell.run, SETUP)
    yield from other_values(cell, "lang", (ENGLISH,), "questions in another language")


def other_answers(cell: Cell) -> Iterator[str]:
    """Where models do not answer as in the paper (section 3.2). Drawn pairs are as hard as released ones."""
    yield from other_settings(cell.run, {"max_new_tokens": 100})
    yield from own_instructions(cell, "lang")
    yield from other_decoding(cell, GREEDY)


def beside(cell: Cell) -> dict[str, Any]:
    """The paper's number of a cell: Tables 1 and 5 to 7, section 5.2, and the repository's 140 pairs."""
    place = _place(cell.labels)
    if place is None:
        return against(cell, None)
    table, column = place

    def reasons() -> Iterator[str]:
        if table not in ("figure10", "text"):
            yield from other_questions(cell)
        yield from other_answers(cell)

    return against(cell, cell.run.find(table, cell.paper_name, column), reasons())


def _place(own: Mapping[str, Any]) -> tuple[str, str] | None:
    """The table and the column of a cell with these labels."""
    task, n, index = own["task"], own.get("n_documents"), str(own.get("gold_index"))
    if task in LEVELS:
        return "table1", task
    main = own["variant"] == "main"
    if task == QA and main and n in QA_TABLES:
        return QA_TABLES[n], index
    if task == PAIRS and own.get("keys", "uuid") == "uuid":
        if main and n == 140:
            return "figure10", index
        if own["variant"] == "query_aware" and n == 300:
            return "text", ALL_PAIRS
    return None


def rows_of_paper(
    run: Context, rows: pd.DataFrame, chosen: pd.DataFrame
) -> Iterator[dict[str, Any]]:
    """The models of the paper that were not run, at the settings of which `chosen` has rows."""
    from needlework.results import cells

    def numbered(line: str, column: str) -> Mapping[str, Any]:
        index = int(column)
        return {"model": line, "gold_index": index, "position": index + 1}

    same = not cells.differences(run.run.get("setup", {}), SETUP)
    main = chosen["variant"] == "main"
    if same and chosen["task"].isin(LEVELS).any():
        yield from published_rows(
            run, rows, "table1", lambda line, column: {"model": line, "task": column}
        )
    asked = [
        (QA, n, table, same and (chosen["task"] == QA).any() and main.any())
        for n, table in QA_TABLES.items()
    ]
    uuids = (chosen["task"] == PAIRS).any() and (chosen["keys"] == "uuid").any()
    asked.append((PAIRS, 140, "figure10", uuids and main.any()))
    for task, n, table, there in asked:
        if there and (chosen["n_documents"] == n).any():
            for row in published_rows(run, rows, table, numbered):
                keys = {"keys": "uuid"} if task == PAIRS else {}
                yield {"task": task, "variant": "main", "n_documents": n, **keys, **row}


def beside_means(cell: Cell) -> dict[str, Any]:
    """The mean of all positions of a table."""
    table = QA_TABLES.get(cell.labels["n_documents"])
    if table is None:
        return against(cell, None)
    line = cell.run.line(table, cell.paper_name)

    def reasons() -> Iterator[str]:
        yield from other_questions(cell)
        yield from other_answers(cell)

    same = set(line) == set(map(str, cell.part.values("gold_index")))
    return against(cell, mean_of_line(line), reasons(), None if same else "other positions")


def rows_of_means(
    run: Context, rows: pd.DataFrame, chosen: pd.DataFrame
) -> Iterator[dict[str, Any]]:
    """The means of the paper's models that were not run, of the sizes that `chosen` has."""
    from needlework.results import cells

    if cells.differences(run.run.get("setup", {}), SETUP):
        return
    for n, table in QA_TABLES.items():
        if not (chosen["n_documents"] == n).any() or not (chosen["task"] == QA).any():
            continue
        lines = dict.fromkeys(
            row["model"]
            for row in published_rows(run, rows, table, lambda line, column: {"model": line})
        )
        for line in lines:
            if number := mean_of_line(run.line(table, line)):
                yield published_row(number, task=QA, n_documents=n, model=line)


def beside_table(cell: Cell, table: str) -> dict[str, Any]:
    """A table that has a row a model and these columns."""

    def reasons() -> Iterator[str]:
        yield from other_questions(cell)
        yield from other_answers(cell)

    number: Number | None = cell.run.find(table, cell.paper_name, cell.labels["column"])
    return against(cell, number, reasons())


def rows_of_table(run: Context, rows: pd.DataFrame, table: str) -> Iterator[dict[str, Any]]:
    """The models of a table that were not run."""
    return published_rows(
        run,
        rows,
        table,
        lambda line, column: {"lang": ENGLISH, "model": line, "column": column},
    )
