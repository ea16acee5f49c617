"""Selections of rows for mLongRR's tables and figures, and measures of their cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from needlework.results.columns import MEASURES
from needlework.results.result import Context
from needlework.results.tabulate import Cell, Measure

if TYPE_CHECKING:
    import pandas as pd


def first_text(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of the run's first haystack."""
    return rows[rows["haystack"] == run.run["haystack"]]


def first_prompt(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of the prompt that is nearest to the paper's."""
    return rows[rows["template"] == run.run["template"]]


def by_drawn_metric(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows by the metric of figures."""
    return rows[rows["metric"] == run.run["metric"]]


def usual(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of Figures 3 to 11: the first text and prompt, by the metric of figures."""
    return by_drawn_metric(first_prompt(first_text(rows, run), run), run)


def asked_numbers(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of `usual` whose questions ask for a number that is in the text."""
    return usual(rows[(rows["task"] != "absent") & (rows["question"] == "number")], run)


def with_paper_model(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows with a column `paper_model`: the paper's model that uses the row's tokenizer, if any."""
    return rows.assign(paper_model=rows["tokenizer"].map(run.run["counted_as"]))


def _mean_and_exhausted(cell: Cell) -> Mapping[str, float]:
    exhausted = cell.part.array("exhausted", lambda frame: frame["exhausted"].astype(bool))
    return {**cell.part.measure(), "n_exhausted": int(exhausted.sum())}


# The mean, and how many prompts are shorter than their length because the text ran out.
MEAN = Measure((*MEASURES, "n_exhausted"), _mean_and_exhausted)


def chance(cell: Cell) -> float | None:
    """The accuracy of a guess among the needles, which all rows of a cell share."""
    known = cell.part.values("chance")
    return known[0] if known else None
