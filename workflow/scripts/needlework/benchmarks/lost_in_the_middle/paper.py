"""Lost in the Middle's cells beside the paper's numbers, and when a comparison counts."""

from __future__ import annotations

from collections.abc import Iterator

from needlework.benchmarks.lost_in_the_middle.factors import (
    ENGLISH,
    LEVELS,
    PAIRS,
    QA,
    QA_TABLES,
)
from needlework.models.engine_arguments import GREEDY
from needlework.results.columns import COMPARISON
from needlework.results.published import Number
from needlework.results.tabulate import (
    Cell,
    Place,
    other_entries,
    other_settings,
    other_values,
    own_instructions,
    printed,
)

# The paper's settings that move its numbers: of its questions, and of its answers (the released code's).
SETUP = {"corpus": "nq_open"}
ANSWERS = {"max_new_tokens": 100, "metric": "best_subspan_em"}
# Columns: the released code's EXPERIMENTS.md has numbers that the paper lacks.
COMPARED = (*COMPARISON, "published_source")
# The column of the lines in the paper's text (section 5.2).
ALL_PAIRS = "300_pairs/query_aware"


def other_questions(cell: Cell) -> Iterator[str]:
    """Reasons why a cell is not of the paper's questions."""
    yield from other_settings(cell.run, SETUP)
    yield from other_values(cell, "lang", (ENGLISH,), "questions in another language")


def other_answers(cell: Cell) -> Iterator[str]:
    """Reasons why models did not answer as in the paper (section 3.2).

    Drawn pairs count as the released ones.
    """
    yield from other_settings(cell.run, ANSWERS)
    yield from own_instructions(cell, "lang")
    yield from other_entries(cell, GREEDY)


def _of_cells(cell: Cell, number: Number) -> Iterator[str]:
    if cell.labels["task"] != PAIRS:
        yield from other_questions(cell)
    yield from other_answers(cell)


_UUIDS = {"task": PAIRS, "keys": "uuid"}
# Tables 1 and 5 to 7, the repository's 140 pairs, and section 5.2.
CELLS = printed(
    *(Place("table1", column=task, labels={"task": task}, settings=SETUP) for task in LEVELS),
    *(
        Place(
            table,
            column="{gold_index:d}",
            labels={"task": QA, "variant": "main", "n_documents": n},
            settings=SETUP,
        )
        for n, table in QA_TABLES.items()
    ),
    Place(
        "figure10",
        column="{gold_index:d}",
        labels={**_UUIDS, "variant": "main", "n_documents": 140},
    ),
    Place(
        "text", column=ALL_PAIRS, labels={**_UUIDS, "variant": "query_aware", "n_documents": 300}
    ),
    reasons=_of_cells,
    more=lambda run, own: {"position": own["gold_index"] + 1} if "gold_index" in own else {},
)


def _of_table(cell: Cell, number: Number) -> Iterator[str]:
    yield from other_questions(cell)
    yield from other_answers(cell)


# Tables that have a row a model.
TABLES = {
    name: printed(Place(name), reasons=_of_table, also={"lang": ENGLISH})
    for name in ("table1", *QA_TABLES.values())
}
