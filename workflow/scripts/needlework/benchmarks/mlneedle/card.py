"""MLNeedle on report cards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needlework.benchmarks.mlneedle.factors import DEPTH, LENGTH, NEEDLE
from needlework.benchmarks.mlneedle.tables import exact
from needlework.factor import in_1024
from needlework.results.cards.card import Card, Part
from needlework.results.result import Context
from needlework.results.tabulate import where

if TYPE_CHECKING:
    import pandas as pd


def among_distractors(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of the exact task with distractors."""
    return where(exact(rows), "length > 0")


def asked_in(rows: pd.DataFrame, run: Context) -> pd.Series:
    """The language of the question."""
    return rows["question_lang"].astype(object)


def said_none(rows: pd.DataFrame, run: Context) -> pd.Series:
    """Whether a model answers No to "is the answer there?" although it is."""
    there = (rows["task"] == "existence") & (rows["needle_present"] == True)  # noqa: E712 (or None)
    return rows["verdict"].astype(str).str.fullmatch("no(?::.*)?").astype(object).where(there)


def alone(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of the exact task without distractors."""
    return where(exact(rows), "length == 0")


CARD = Card(
    parts=(
        Part(
            among_distractors,
            held=(
                *("needle_lang", "haystack_lang", "question_lang"),
                *("depth", "length", "retrieval"),
            ),
            length=LENGTH.renamed("length", label="tokens", format=in_1024),
            depth=DEPTH,
            language=NEEDLE.renamed("needle_lang", label="needle"),
        ),
    ),
    asked_in=asked_in,
    said_none=said_none,
    baseline=(alone, ("needle_lang", "question_lang")),
)
