"""M4LE's figures and report cards."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from needlework.benchmarks.m4le import paper
from needlework.benchmarks.m4le.data.tasks import CONSTRUCTED
from needlework.benchmarks.m4le.factors import (
    GROUP,
    LANG,
    LENGTH,
    METRIC,
    PLACE,
    POSITION,
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
from needlework.results.cards.card import Card, Part
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


# Report cards: tasks that are right or wrong, those of ROUGE, and those of BLEU.

# The metrics of tasks, by the part of the card that they are in.
ON_CARD = {"": ("accuracy", "match", "f1"), "ROUGE": ("rouge",), "BLEU": ("bleu",)}


def of_metrics(rows: pd.DataFrame, run: Context, metrics: tuple[str, ...]) -> pd.DataFrame:
    """The rows of tasks with these metrics at lengths.

    A further column `place` has the fifth of the texts, from 0 to 1, that holds the one that is asked for.
    """
    tasks = [name for name, task in CONSTRUCTED.items() if task.metric in metrics]
    rows = by_metric(rows, run)
    rows = rows[rows["task"].isin(tasks) & (rows["length"] > 0)]
    # News Commentary asks for one too, though the paper calls it "global".
    several = rows["ability"].isin(["explicit_multiple", "semantic_multiple"])
    fifth = (rows["position"].astype(float) * 5).clip(upper=4.999) // 1 / 4
    return rows.assign(place=fifth.mask(several))


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
            depth=None if name else POSITION.renamed("place"),
        )
        for name, metrics in ON_CARD.items()
    ),
    asked_in=asked_in,
)
