"""Which of Lost in the Middle's scores belong together, and what the paper's settings are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from needlework import cells

if TYPE_CHECKING:
    import pandas as pd

ENGLISH = "en"
# The paper's settings that move its numbers. Those of a run are compared with them name by name.
PAPER_SETUP = {"corpus": "nq_open", "gold_without_answer": "keep"}
# The paper's table of each number of documents.
QA_TABLES = {10: "table5", 20: "table6", 30: "table7"}
# What an ablation changes, one thing at a time. "main" is the paper's setting.
VARIANTS = ("main", "query_aware", "random_distractors", "random_order", "unambiguous")


class Settings(cells.Settings, total=False):
    """What the tables and figures of Lost in the Middle need to know of a run.

    instruction_tuning: pairs [base, instruction-tuned]. encoder_decoder: models of that architecture.
    tokenizers: all tokenizers, in the order of rows. published_tokenizers: tokenizer to its row in the
    paper's Tables 2 to 4. setup: the run's values of the keys of PAPER_SETUP.
    """

    instruction_tuning: Sequence[Sequence[str]]
    encoder_decoder: Sequence[str]
    tokenizers: Sequence[str]
    published_tokenizers: Mapping[str, str]


def languages(present: Iterable[str]) -> list[str]:
    """English first, then the others by code."""
    return sorted(set(present), key=lambda lang: (lang != ENGLISH, lang))


def variant(rows: pd.DataFrame, task: str, name: str = "main") -> pd.DataFrame:
    """The rows of a task in one of VARIANTS, in all languages; key-value pairs are UUIDs.

    `rows` has the benchmark's factors. Without an ablation the query follows the documents or pairs,
    the distractors are retrieved and stand in the order of relevance.
    """
    chosen = (rows["task"] == task) & rows["query_aware"].eq(name == "query_aware")
    if task == "key_value":
        return rows[chosen & (rows["keys"] == "uuid")]
    if task == "multi_document_qa":
        if name == "random_distractors":
            return rows[chosen & (rows["distractors"] == "random")]
        order = "random" if name == "random_order" else "relevance"
        chosen &= (rows["distractors"] == "retrieved") & (rows["order"] == order)
    if name == "unambiguous":
        # Null where there is no list of such questions.
        chosen &= rows["unambiguous"].eq(True)
    return rows[chosen]


def english(rows: pd.DataFrame, task: str, name: str = "main") -> pd.DataFrame:
    """`variant`, in English where the task has a language at all."""
    found = variant(rows, task, name)
    return found if task == "key_value" else found[found["lang"] == ENGLISH]


def obstacle(settings: Settings, lang: str = ENGLISH) -> str | None:
    """Why answers to questions in this language tell nothing about the paper's numbers, or None."""
    reasons = cells.differences(settings.get("setup", {}), PAPER_SETUP)
    if lang != ENGLISH:
        reasons.append("questions in another language")
    return "; ".join(reasons) or None
