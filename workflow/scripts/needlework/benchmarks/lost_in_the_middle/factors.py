"""Which of Lost in the Middle's scores belong together, and what the paper's settings are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from needlework import cells
from needlework import published as publications
from needlework.decoding import GREEDY

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

ENGLISH = "en"
QA, PAIRS = "multi_document_qa", "key_value"
TASKS = ("closed_book", "oracle", QA, PAIRS, "open_domain")
# The paper's settings that move its numbers. Those of a run are compared with them name by name.
PAPER_SETUP = {"corpus": "nq_open", "gold_without_answer": "keep"}
# Those that move its answers, but not its prompts (the released code's).
PAPER_ANSWERS = {"max_new_tokens": 100}
# Section 3.2 of the paper.
PAPER_DECODING = GREEDY
# The paper's table of each number of documents.
QA_TABLES = {10: "table5", 20: "table6", 30: "table7"}
# The number of pairs of which the released repository prints numbers.
REPOSITORY_PAIRS = 140
# What an ablation changes, one thing at a time. "main" is the paper's setting.
VARIANTS = ("main", "query_aware", "random_distractors", "random_order", "unambiguous")
# COMPARISON, and whose number it is: "paper", or "repository" (the released code's EXPERIMENTS.md).
COMPARISON = (*cells.COMPARISON, "published_source")


class Settings(cells.Settings, total=False):
    """What the tables and figures of Lost in the Middle need to know of a run.

    instruction_tuning: pairs [base, instruction-tuned]. encoder_decoder: models of that architecture.
    tokenizers: all tokenizers, in the order of rows. published_tokenizers: tokenizer to its row in the
    paper's Tables 2 to 4. setup: the run's values of the keys of PAPER_SETUP and PAPER_ANSWERS, and
    `source`, from which key-value pairs are.
    """

    instruction_tuning: Sequence[Sequence[str]]
    encoder_decoder: Sequence[str]
    tokenizers: Sequence[str]
    published_tokenizers: Mapping[str, str]


@dataclass(frozen=True)
class Printed(publications.Number):
    """A published number and its source."""

    source: str


def languages(present: Iterable[str]) -> list[str]:
    """English first, then the others by code."""
    return sorted(set(present), key=lambda lang: (lang != ENGLISH, lang))


def variants(rows: pd.DataFrame) -> npt.NDArray[np.str_]:
    """What each row's prompt changes, one of VARIANTS; unambiguous questions are among those of "main".

    `rows` has the benchmark's factors. Without an ablation the query follows the documents or pairs,
    the distractors are retrieved and stand in the order of relevance.
    """
    changes = {
        "query_aware": rows["query_aware"].eq(True),
        "random_distractors": rows["distractors"] == "random",
        "random_order": rows["order"] == "random",
    }
    return np.select(list(changes.values()), list(changes), "main")


def variant(rows: pd.DataFrame, task: str, name: str = "main") -> pd.DataFrame:
    """The rows of a task in one of VARIANTS, in all languages; key-value pairs are UUIDs."""
    rows = rows[rows["task"] == task]
    found = rows[variants(rows) == ("main" if name == "unambiguous" else name)]
    if task == PAIRS:
        return found[found["keys"] == "uuid"]
    # Null where there is no list of such questions.
    return found[found["unambiguous"].eq(True)] if name == "unambiguous" else found


def english(rows: pd.DataFrame, task: str, name: str = "main") -> pd.DataFrame:
    """`variant`, in English where the task has a language at all."""
    found = variant(rows, task, name)
    return found if task == PAIRS else found[found["lang"] == ENGLISH]


def obstacle(settings: Settings, model: str | None = None, lang: str = ENGLISH) -> str | None:
    """Why answers to questions in this language tell nothing about the paper's numbers, or None.

    Without a model: why the prompts do not.
    """
    reasons = cells.differences(settings.get("setup", {}), PAPER_SETUP)
    if lang != ENGLISH:
        reasons.append("questions in another language")
    return "; ".join(reasons + _answers(settings, model)) or None


def pairs_obstacle(settings: Settings, model: str) -> str | None:
    """`obstacle` of key-value retrieval, which is of no corpus and in no language.

    Pairs that were drawn are as hard as the released ones.
    """
    return "; ".join(_answers(settings, model)) or None


def drawn_pairs(settings: Settings) -> str | None:
    """Why the lengths of key-value prompts are not the paper's to the last digit, or None."""
    released = settings.get("setup", {}).get("source", "released") == "released"
    return None if released else "pairs are drawn, in the paper released"


def _answers(settings: Settings, model: str | None) -> list[str]:
    """Where a model's answers were not asked for as the paper's were."""
    if model is None:
        return []
    used = settings.get("decoding", {}).get(model, PAPER_DECODING)
    return [
        *cells.differences(settings.get("setup", {}), PAPER_ANSWERS),
        *cells.differences({"decoding": used}, {"decoding": PAPER_DECODING}),
    ]


def number(published: pd.DataFrame, table: str, row: str, column: str) -> Printed | None:
    """A number that the paper prints, or else the released repository."""
    for source in publications.SOURCES:
        if found := publications.lookup(published, table, row, column, source):
            return Printed(found.value, found.n, source)
    return None


def cell_number(
    published: pd.DataFrame, model: str, task: str, name: str, size: int, index: int | None
) -> Printed | None:
    """`number` of one cell (Tables 1 and 5 to 7, section 5.2; the repository's 140 pairs).

    `model` is as the paper calls it, `name` one of VARIANTS, `size` how many documents or pairs of UUIDs
    there are, `index` the place of the one that is asked for.
    """
    if task in ("closed_book", "oracle"):
        return number(published, "table1", model, task)
    if task == QA and name == "main":
        return number(published, QA_TABLES.get(size, ""), model, str(index))
    if task == PAIRS and name == "main" and size == REPOSITORY_PAIRS:
        return number(published, "figure10", model, str(index))
    if task == PAIRS and name == "query_aware" and size == 300:
        return number(published, "text", model, "300_pairs/query_aware")
    return None


def printed(published: pd.DataFrame, table: str, row: str) -> list[tuple[str, dict[str, object]]]:
    """(column, cell) of all of a row's numbers as `number` finds them, for tables of ours."""
    columns = published.loc[(published["table"] == table) & (published["row"] == row), "column"]
    found = [(column, number(published, table, row, column)) for column in dict.fromkeys(columns)]
    return [
        (
            column,
            {"source": "published", "value": one.value, "n": one.n, "published": one.value}
            | {"published_n": one.n, "published_source": one.source},
        )
        for column, one in found
        if one is not None
    ]


def compared(
    cell: Mapping[str, float | int], found: Printed | None, reason: str | None
) -> dict[str, object]:
    """`cells.compared`, and whose number it is."""
    source = None if found is None else found.source
    return cells.compared(cell, found, reason) | {"published_source": source}


def not_run(
    published: pd.DataFrame, table: str, settings: Settings, scores: pd.DataFrame
) -> list[str]:
    """The paper's models that have no scores of ours: not those of its repository alone."""
    return cells.not_run(published[published["source"] == "paper"], table, settings, scores)
