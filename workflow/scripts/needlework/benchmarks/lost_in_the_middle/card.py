"""Lost in the Middle on report cards: documents, and pairs of keys and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needlework.benchmarks.lost_in_the_middle.factors import LANG, PAIRS, QA, SIZE
from needlework.factor import Factor
from needlework.results.cards.card import Card, Part
from needlework.results.result import Context

if TYPE_CHECKING:
    import pandas as pd

DEPTH = Factor("depth", "double")


def _with_depth(rows: pd.DataFrame) -> pd.DataFrame:
    """With the place of the document or pair in quarters of the prompt, which all sizes share."""
    last = (rows["n_documents"].astype(float) - 1).clip(lower=1)
    return rows.assign(depth=(rows["gold_index"].astype(float) / last * 4).round() / 4)


def documents(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Questions among documents."""
    return _with_depth(rows[rows["task"] == QA])


def pairs(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Keys among pairs."""
    return _with_depth(rows[rows["task"] == PAIRS])


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
            rows,
            held=HELD,
            name=name,
            length=SIZE.renamed("n_documents", label=name),
            depth=DEPTH,
            language=LANG if rows is documents else None,
        )
        for rows, name in ((documents, "documents"), (pairs, "pairs"))
    ),
    asked_in=asked_in,
)
