"""Lost in the Middle's cells beside the paper's numbers, and when a comparison counts."""

from __future__ import annotations

from collections.abc import Iterator

from needlework.benchmarks.lost_in_the_middle.factors import ENGLISH, LEVELS, PAIRS, QA, QA_TABLES
from needlework.models.engine_arguments import GREEDY
from needlework.results.columns import COMPARISON
from needlework.results.published import PrintedNumber
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


def other_questions(cell: Cell) -> Iterator[str]:
    """Reasons why a cell is not of the paper's questions."""
    yield from other_settings(cell.run, SETUP)
    yield from other_values(cell, "lang", (ENGLISH,), "questions in another language")


def reasons(cell: Cell, number: PrintedNumber) -> Iterator[str]:
    """Reasons why a cell's accuracy is not of the paper's prompts and answers (section 3.2).

    Drawn pairs are treated as released ones.
    """
    if cell.labels.get("task") != PAIRS:
        yield from other_questions(cell)
    yield from other_settings(cell.run, ANSWERS)
    yield from own_instructions(cell, "lang")
    yield from other_entries(cell, GREEDY)


_MAIN = {"task": QA, "variant": "main"}
_UUIDS = {"task": PAIRS, "keys": "uuid"}
# Tables 1 and 5 to 7, the repository's 140 pairs, and section 5.2.
CELLS = printed(
    *(Place("table1", column=task, labels={"task": task}, settings=SETUP) for task in LEVELS),
    *(
        Place(table, "{model}", "{gold_index:d}", {**_MAIN, "n_documents": n}, SETUP)
        for n, table in QA_TABLES.items()
    ),
    Place("figure10", "{model}", "{gold_index:d}", {**_MAIN, **_UUIDS, "n_documents": 140}),
    Place(
        "text",
        column="300_pairs/query_aware",
        labels={**_UUIDS, "variant": "query_aware", "n_documents": 300},
    ),
    reasons=reasons,
    more=lambda run, own: {"position": own["gold_index"] + 1} if "gold_index" in own else {},
)
# Tables that have a row a model.
TABLES = {
    name: printed(Place(name), reasons=reasons, also={"lang": ENGLISH})
    for name in ("table1", *QA_TABLES.values())
}
