"""mLongRR on report cards."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from needlework.benchmarks.mlongrr.factors import ABSENT, DEPTH, LANG, LENGTH, N_NEEDLES
from needlework.benchmarks.mlongrr.paper import usual
from needlework.results.cards.card import Card, Part
from needlework.results.result import Context

if TYPE_CHECKING:
    import pandas as pd


def with_needles(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of questions about present needles, with the first needle's place from 0 to 1."""
    rows = usual(rows[rows["task"] != ABSENT], run)
    return rows.assign(depth=rows["depth"].astype(float) / 100)


def asked_in(rows: pd.DataFrame, run: Context) -> pd.Series:
    """The language of the text."""
    return rows["lang"].astype(object)


def said_none(rows: pd.DataFrame, run: Context) -> pd.Series:
    """Whether the answer says that the needle is missing, although it is there."""
    said = (rows["verdict"].astype(str) == "unanswerable").astype(object)
    return said.where((rows["task"] != ABSENT) & rows["metric"].isin(["strict", "careful"]))


CARD = Card(
    parts=(
        Part(
            with_needles,
            held=("lang", "length", "n_needles", "question", "depth"),
            length=replace(LENGTH, label="tokens"),
            depth=replace(DEPTH, type="double", label="", format=None),
            needles=replace(N_NEEDLES, label="", words={}),
            language=replace(LANG, label=""),
        ),
    ),
    asked_in=asked_in,
    said_none=said_none,
)
