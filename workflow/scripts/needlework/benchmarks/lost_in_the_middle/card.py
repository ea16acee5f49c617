"""Lost in the Middle on report cards: documents, and pairs of keys and values."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from needlework.benchmarks.lost_in_the_middle.factors import LANG, PAIRS, QA, SIZE
from needlework.factor import Factor
from needlework.results.cards.card import Card, Part
from needlework.results.result import Context

if TYPE_CHECKING:
    import pandas as pd


def of_task(rows: pd.DataFrame, run: Context, task: str) -> pd.DataFrame:
    """The rows of a task, with the depth of the gold document or pair in quarters, which all sizes share."""
    rows = rows[rows["task"] == task]
    last = (rows["n_documents"].astype(float) - 1).clip(lower=1)
    return rows.assign(depth=(rows["gold_index"].astype(float) / last * 4).round() / 4)


def asked_in(rows: pd.DataFrame, run: Context) -> pd.Series:
    """The language of the question; None for keys and values, which are in no language."""
    return rows["lang"].astype(object).where(rows["task"] != PAIRS)


HELD = (
    *("lang", "n_documents", "depth", "distractors", "order"),
    *("query_aware", "answer_present", "keys"),
)
CARD = Card(
    parts=tuple(
        Part(
            partial(of_task, task=task),
            held=HELD,
            name=name,
            length=SIZE.renamed("n_documents", label=name),
            depth=Factor("depth", "double"),
            language=language,
        )
        for task, name, language in ((QA, "documents", LANG), (PAIRS, "pairs", None))
    ),
    asked_in=asked_in,
)
