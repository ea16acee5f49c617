"""M4LE's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needlework.benchmarks.m4le import paper
from needlework.benchmarks.m4le.factors import (
    GROUP,
    LANG,
    LENGTH,
    METRIC,
    PLACE,
    RANGE,
    RANGES,
    TASK,
)
from needlework.benchmarks.m4le.tables import (
    BY_METRIC,
    LONG,
    NORMALISED,
    at_lengths,
    by_ability,
    by_metric,
    normalised,
    table3,
)
from needlework.results.result import Bars, Context, Dots, Lines, figure
from needlework.results.tabulate import MODEL, mean, tabulate, where

if TYPE_CHECKING:
    import pandas as pd

# How figures order and name the values of columns that are no factors of prompts.
FACTORS = (METRIC, TASK, RANGE, GROUP, PLACE, LENGTH.renamed("column"))
SCORE = "Normalised score"
HALF = "0.5 equals {reference_name} at 1K."
# The paper's models that were not run are drawn beside either metric.
DRAWN = "metric == '{metric}' or source == 'published'"
NOTHING = "no model answered prompts that can be normalised"


@figure(
    "Normalised scores by length",
    Lines(
        x="column",
        axis=SCORE,
        unit="",
        where=f"column != 'average' and ({DRAWN})",
        words=HALF,
        paper="the paper's Table 3, by the released scorer",
        nothing=NOTHING,
    ),
    notes=(f"The left half of the paper's figure. {NORMALISED} {LONG}",),
)
def figure3(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return table3(rows, run)


@figure(
    "Slopes of normalised scores over the lengths",
    Bars(
        x="model",
        line="model",
        horizontal=True,
        axis="Slope",
        unit="normalised score per length step",
        limits=None,
        where=DRAWN,
        paper="the paper's Figure 3, by the released scorer",
        nothing="no model answered prompts of two lengths",
    ),
)
def figure3_slopes(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The right half of the paper's Figure 3. As in the paper, slopes are fitted by least squares over the
    places 0, 1, ... of the lengths, not over the lengths.
    """
    made = tabulate(
        at_lengths(rows, run, paper.PRINTED_METRIC),
        (MODEL, BY_METRIC),
        run,
        measure=normalised("slope"),
        beside=paper.SLOPES,
        models=rows,
    )
    made.insert(3, "measure", "slope")
    return made


@figure(
    "Normalised scores by ability and length",
    Dots(
        x="ability",
        panel="range",
        axis=SCORE,
        unit="",
        where=DRAWN,
        words=HALF,
        paper="the paper's Tables 4 to 6, by the released scorer",
        nothing=NOTHING,
    ),
    notes=(f"The paper draws radars. {NORMALISED}",),
)
def figure4(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return by_ability(rows, run, *(words for words, _ in RANGES.values()))


@figure(
    "Normalised scores by language and length",
    Lines(
        x="length",
        panel="lang",
        axis=SCORE,
        unit="",
        words=HALF,
        nothing=NOTHING,
    ),
    notes=(f"Leaves out tasks in two languages. The paper prints no numbers. {NORMALISED}",),
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
        axis="Score",
        words="Mean of the tasks.",
        nothing="no prompt studies places",
    ),
    when=("places",),
)
def figure6(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Mean over the tasks of their mean scores, not normalised. At each place of the asked text, texts and
    question are the same. The paper prints no numbers.
    """
    rows = where(by_metric(rows, run), "length == 0 and position.notna()")
    groups = [
        next((kind for kind in ("SUM", "QA") if kind in task_type), "RET")
        for task_type in rows["task_type"]
    ]
    # The intended place: actual places differ a little if the number of documents is no multiple.
    steps = max(1, run.run["places"] - 1)
    rows = rows.assign(group=groups, place=(rows["position"] * steps).round() / steps)
    return tabulate(rows, (MODEL, GROUP, PLACE), run, measure=mean("task"))
