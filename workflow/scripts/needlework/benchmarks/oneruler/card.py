"""ONERULER on report cards: needles, and lists of words."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from needlework.benchmarks.oneruler.factors import CONTEXT_CODE, CWE, LENGTH, N_NEEDLES, PRESENT
from needlework.benchmarks.oneruler.rows import ONE_LANGUAGE, dropped, none_allowed, of_metric
from needlework.results.cards.card import Card, Part
from needlework.results.result import Context
from needlework.results.tabulate import where

if TYPE_CHECKING:
    import pandas as pd


def of_tasks(rows: pd.DataFrame, run: Context, tasks: tuple[str, ...]) -> pd.DataFrame:
    """Prompts in one language, of the given tasks, including models whose prompts have equal text."""
    found = none_allowed(where(of_metric(rows, run), f"{ONE_LANGUAGE} and task in {tasks}"))
    return found[~dropped(found)]


def asked_in(rows: pd.DataFrame, run: Context) -> pd.Series:
    """The language of the instruction."""
    return rows["instruction_lang"].astype(object)


def said_none(rows: pd.DataFrame, run: Context) -> pd.Series:
    """Whether the answer is "none" though there are needles."""
    there = rows["task"].isin(PRESENT) & (rows["none_option"] == True)  # noqa: E712 (or None)
    said = rows["verdict"].astype(str).isin(["none_error", "none"])
    return said.astype(object).where(there & rows["metric"].isin(["strict", "careful"]))


def _part(name: str, tasks: tuple[str, ...]) -> Part:
    return Part(
        partial(of_tasks, tasks=tasks),
        held=("task", "context_lang", "length"),
        name=name,
        length=replace(LENGTH, label="tokens"),
        language=CONTEXT_CODE,
    )


CARD = Card(
    parts=(
        _part("present needles", PRESENT),
        _part("words", tuple(CWE)),
        Part(
            partial(of_tasks, tasks=("niah_single", "niah_multikey")),
            held=("context_lang", "length"),
            name="single key",
            needles=N_NEEDLES,
        ),
    ),
    asked_in=asked_in,
    said_none=said_none,
)
