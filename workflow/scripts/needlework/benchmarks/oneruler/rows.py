"""Selections of rows, and measures of cells, that several of ONERULER's results share."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from needlework.benchmarks.oneruler.factors import ARTICLES, HIGH_RESOURCE, LONG, NIAH
from needlework.benchmarks.oneruler.paper import SETUP
from needlework.contract import Run
from needlework.results.columns import MEASURES
from needlework.results.result import Context
from needlework.results.tabulate import Cell, Measure, where

if TYPE_CHECKING:
    import pandas as pd

    from needlework.results.cells import Part

ONE_LANGUAGE = "instruction_lang == context_lang"
NEEDLE_TASKS = f"task in {tuple(NIAH)}"
# The verdict of an answer that the output limit cut off before any text, as happens to models that
# reason. The paper leaves it out of the needle tasks and counts it as wrong in the others (footnote 10).
# An answer that ended without text is wrong in all, as in the released rules.
UNFINISHED = "length"


def selected(rows: pd.DataFrame, run: Context, condition: str) -> pd.DataFrame:
    """The rows with `condition` that allow "none", of models measured in their own tokenizers."""
    return none_allowed(measured(where(rows, condition), run))


def metrics(present: Collection[str], run: Context) -> list[str]:
    """The metric of the figures, then the paper's metric if that differs."""
    return list(dict.fromkeys((run.run.get("metric", "strict"), str(SETUP["metric"]))))


def of_metric(rows: pd.DataFrame, run: Context, metric: str = "") -> pd.DataFrame:
    """The rows by one metric: `metric`, or the metric of the figures."""
    from needlework.results import cells

    return cells.kept(rows, rows["metric"] == (metric or run.run.get("metric", "strict")))


def measured(rows: pd.DataFrame, run: Context, *, common: bool = False) -> pd.DataFrame:
    """The rows of models whose prompts are measured in their own tokenizers, or in a `common` one."""
    from needlework.results import cells

    equal_text = {pair[1] for pair in run.run.get("equal_text", ())}
    return cells.kept(rows, rows["model"].isin(equal_text) == common)


def none_allowed(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, without needle prompts that do not allow "none".

    If there are no other rows, all rows.
    """
    from needlework.results import cells

    needles = rows["task"].isin(list(NIAH))
    offered = rows["none_option"].astype(bool)
    return cells.kept(rows, ~needles | (offered == bool((needles & offered).any())))


def long_contexts(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the paper's long contexts; if there are none, of the two longest lengths."""
    from needlework.results import cells

    lengths = sorted(set(rows["length"]))
    longest = [n for n in lengths if n in LONG] or lengths[-2:]
    return cells.kept(rows, rows["length"].isin(longest))


def verdict_classes(rows: pd.DataFrame) -> pd.Series:
    """For each verdict, the text before its first colon."""
    # There are a few of them, for a million rows.
    classes = {verdict: verdict.split(":")[0] for verdict in set(rows["verdict"])}
    return rows["verdict"].map(classes).astype(object)


def with_errors(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the error of each strict verdict, or "correct"."""
    from needlework.results import cells

    classes = verdict_classes(rows).replace({UNFINISHED: "no_answer"})
    return rows.assign(error=classes.mask(~cells.judged(rows), "lost"))


def dropped(rows: pd.DataFrame) -> pd.Series:
    """Whether the paper leaves an answer out.

    It leaves out answers to needle tasks that the limit cut before any text.
    """
    return (rows["verdict"] == UNFINISHED) & rows["task"].isin(list(NIAH))


# Languages


def articles(lang: str, run: Run) -> int | None:
    """The number of articles in a language's Wikipedia; None if neither the paper nor the run has it."""
    found: int | None = run.get("wikipedia_articles", {}).get(lang, ARTICLES.get(lang))
    return found


def resources(lang: str, run: Run) -> str:
    """The key of `factors.GROUPS` that a language belongs to."""
    number = articles(lang, run)
    if lang == "en" or number is None:
        return "english" if lang == "en" else "unknown"
    return "high" if number >= HIGH_RESOURCE else "low"


def grouped(data: pd.DataFrame, run: Run) -> pd.DataFrame:
    """The rows with a column `group`: the resource group of the context's language."""
    groups = {lang: resources(lang, run) for lang in set(data["context_lang"])}
    return data.assign(group=data["context_lang"].map(groups))


def by_articles(present: Collection[str], run: Context) -> list[str]:
    """Languages sorted by the number of articles in their Wikipedias; "all" is first.

    Languages without a known number come last, sorted by code.
    """

    def place(lang: str) -> tuple[bool, int, str]:
        return lang != "all", -(articles(lang, run.run) or 0), lang

    return sorted(set(present), key=place)


def largest_first(data: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows in the order of `by_articles`."""
    place = by_articles(data["context_lang"], run).index
    return data.sort_values("context_lang", key=lambda langs: langs.map(place), kind="stable")


# Measures


def _accuracy(cell: Cell) -> Mapping[str, float]:
    from needlework.results import cells

    part = cell.part
    out = part.array("dropped", dropped)
    given = part.array("given", cells.judged)
    value = part.array("value", lambda frame: frame["value"].astype(float))
    return {
        **part.measure(counted=part.where(given & ~out)),
        "n_dropped": int(out.sum()),
        "value_all": float(value.mean()) if len(part) else math.nan,
        "n_all": len(part),
        "n_exhausted": exhausted(part),
    }


def exhausted(part: Part) -> int:
    """How many prompts are shorter than their length, because the vocabulary ran out."""
    return int(part.array("exhausted", lambda frame: frame["exhausted"].astype(bool)).sum())


def _share(cell: Cell) -> Mapping[str, float]:
    from needlework.results import stats

    part = cell.part
    here = part.array("error", lambda frame: frame["error"]) == cell.labels["error"]
    clusters = part.table.codes("example_id")[0][part.places]
    found = vars(stats.estimate(here.astype("float64"), clusters))
    return {"n_errors": int(here.sum()), **found, "n_exhausted": exhausted(part)}


# The mean and its certainty as the paper counts, how many answers were dropped for that, the share of
# right answers among all prompts, and how many prompts ended before their length because the vocabulary did.
ACCURACY = Measure((*MEASURES, "n_dropped", "value_all", "n_all", "n_exhausted"), _accuracy)
# How many answers have a cell's error, and what share of all prompts.
SHARE = Measure(
    ("n_errors", "value", "n", "ci_low", "ci_high", "n_questions", "n_exhausted"), _share
)
