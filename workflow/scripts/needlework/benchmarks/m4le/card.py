"""M4LE on report cards: tasks that are right or wrong, those of ROUGE, and those of BLEU."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from needlework.benchmarks.m4le.data.tasks import CONSTRUCTED
from needlework.benchmarks.m4le.factors import LENGTH
from needlework.benchmarks.m4le.rows import by_metric, with_needle
from needlework.factor import Factor
from needlework.results.cards.card import Card, Part
from needlework.results.result import Context

if TYPE_CHECKING:
    import pandas as pd

# The metric of a task, by the part of the card that it is in.
METRICS = {"": ("accuracy", "match", "f1"), "ROUGE": ("rouge",), "BLEU": ("bleu",)}


def of_metrics(rows: pd.DataFrame, run: Context, metrics: tuple[str, ...]) -> pd.DataFrame:
    """The rows of tasks with these metrics.

    An added column has the place of the text asked for, as a fifth of all texts.
    """
    rows = by_metric(rows, run)
    tasks = [name for name, task in CONSTRUCTED.items() if task.metric in metrics]
    rows = rows[rows["task"].isin(tasks) & (rows["length"] > 0)]
    return rows.assign(place=with_needle(rows, run)["place"])


def asked_in(rows: pd.DataFrame, run: Context) -> pd.Series:
    """The language of the task's answer."""
    langs = {name: task.answer_lang for name, task in CONSTRUCTED.items()}
    return rows["task"].map(langs).astype(object)


CARD = Card(
    parts=tuple(
        Part(
            partial(of_metrics, metrics=metrics),
            held=("task", "length"),
            name=name,
            length=LENGTH.renamed("length", label="words"),
            # A summary or a translation is of all that it was asked.
            depth=None if name else Factor("place", "double"),
        )
        for name, metrics in METRICS.items()
    ),
    asked_in=asked_in,
)
