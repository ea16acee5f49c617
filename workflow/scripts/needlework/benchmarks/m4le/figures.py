"""M4LE's figures: the paper's, and its scores by ability, place and number of candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needlework.benchmarks.m4le import paper
from needlework.benchmarks.m4le.factors import (
    ABILITY,
    DOMAIN,
    LANG,
    LENGTH,
    METRIC,
    RANGES,
    TASK,
    TASK_TYPE,
)
from needlework.benchmarks.m4le.rows import studied, with_candidates, with_needle
from needlework.benchmarks.m4le.tables import (
    BY_METRIC,
    LONG,
    NORMALISED,
    RANGE,
    TEXTS,
    at_lengths,
    by_ability,
    normalised,
    table3,
)
from needlework.factor import Factor
from needlework.results.context import Context
from needlework.results.drawings import Bars, Lines, Polar
from needlework.results.result import figure
from needlework.results.tabulate import MODEL, mean, tabulate, where

if TYPE_CHECKING:
    import pandas as pd

GROUP = Factor(
    "group",
    order=("QA", "SUM", "RET"),
    words={"QA": "Question answering", "SUM": "Summarization", "RET": "Retrieval"},
)
PLACE = Factor("place", label="Place of the asked text", words={0: "first", 1: "last"})
CANDIDATES = Factor("at_most", label="Texts to choose from, at most")
# How figures order and name the values of factors and other labels.
CALLED = {
    factor.name: factor
    for factor in (
        *(ABILITY, DOMAIN, LANG, LENGTH, METRIC, TASK, TASK_TYPE),
        *(RANGE, GROUP, PLACE, CANDIDATES, TEXTS),
    )
}
SCORE = "Normalised score"
HALF = "Metric: {metric}; 0.5 equals {reference_name} at 1K."
# The paper's models that were not run are drawn beside either metric.
DRAWN = "metric == '{metric}' or source == 'published'"
NOTHING = "no model answered prompts that can be normalised"


@figure(
    "Normalised scores by length",
    Lines(
        x="column",
        y=SCORE,
        where=f"column != 'average' and ({DRAWN})",
        words=HALF,
        paper="the paper's Table 3, by the released scorer",
        nothing=NOTHING,
        called={str(n * 1000): f"{n}K" for n in (1, 2, 4, 6, 8, 12, 16, 24, 32, 64, 128)},
    ),
    notes=(f"The left half of the paper's figure. {NORMALISED} {LONG}",),
)
def figure3(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return table3(rows, run)


@figure(
    "Slopes of normalised scores over the lengths",
    Bars(
        x="model",
        line="measure",
        horizontal=True,
        y="Slope over the buckets",
        limits=(-0.15, 0.15),
        where=DRAWN,
        words="Metric: {metric}.",
        paper="the paper's Figure 3, by the released scorer",
        nothing="no model answered prompts of two lengths",
    ),
)
def figure3_slopes(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The right half of the paper's Figure 3: least squares over the places 0, 1, ... of the buckets,
    not over their lengths, as the printed slopes are.
    """
    made = tabulate(
        at_lengths(rows, run, paper.PRINTED_METRIC),
        (MODEL, BY_METRIC),
        run,
        measure=normalised("slope"),
        compare=paper.beside_slopes,
        printed=paper.rows_of_slopes(run, rows),
    )
    made.insert(3, "measure", "slope")
    return made


@figure(
    "Normalised scores by ability and length",
    Polar(
        x="ability",
        panel="range",
        y=SCORE,
        where=DRAWN,
        words=HALF,
        paper="the paper's Tables 4 to 6, by the released scorer",
        nothing=NOTHING,
    ),
    notes=(NORMALISED,),
)
def figure4(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return by_ability(rows, run, *(words for words, _ in RANGES.values()))


@figure(
    "Normalised scores by language and length",
    Lines(x="length", panel="lang", y=SCORE, words=HALF, nothing=NOTHING),
    notes=(f"Without tasks of both languages. The paper prints no numbers. {NORMALISED}",),
)
def figure5(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    asked = where(at_lengths(rows, run), "lang in ('en', 'zh')")
    return tabulate(asked, (MODEL, LANG, LENGTH), run, measure=normalised())


@figure(
    "Scores by place of the asked text",
    Lines(
        x="place",
        scaled=True,
        panel="group",
        y="Score",
        words="Mean of the tasks.",
        nothing="no prompt studies places",
    ),
    when=("places",),
)
def figure6(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Mean of the tasks' means: the same texts and question, with the asked text at each place.
    Scores are not normalised. The paper prints no numbers.
    """
    return tabulate(studied(rows, run), (MODEL, GROUP, PLACE), run, measure=mean("task"))


@figure(
    "Ability profile",
    Polar(x="ability", y=SCORE, words=HALF, nothing=NOTHING),
    notes=(f"Mean normalised scores of all lengths by ability. {NORMALISED}",),
)
def profile(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return tabulate(at_lengths(rows, run), (MODEL, ABILITY), run, measure=normalised())


@figure(
    "Scores by place of the asked text, all lengths",
    Lines(
        x="place",
        scaled=True,
        panel="ability",
        y="Score",
        words="Mean of the tasks, by fifths of the texts.",
        nothing="no prompt asks for one of several texts",
    ),
)
def places(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """In fifths of the texts, of all tasks that ask for one of several: mean of the tasks' means,
    not normalised.
    """
    return tabulate(with_needle(rows, run), (MODEL, ABILITY, PLACE), run, measure=mean("task"))


@figure(
    "Scores by number of candidates",
    Lines(
        x="at_most",
        panel="ability",
        y="Score",
        words="Mean of the tasks.",
        nothing="no prompt asks for one of several texts",
    ),
)
def candidates(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The number of texts to choose from, rounded up to a power of two: mean of the tasks' means,
    not normalised.
    """
    asked = with_candidates(rows, run)
    return tabulate(asked, (MODEL, ABILITY, CANDIDATES), run, measure=mean("task"))
