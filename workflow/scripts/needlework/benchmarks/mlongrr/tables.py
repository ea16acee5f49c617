"""mLongRR's tables of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needlework.benchmarks.mlongrr.factors import (
    LANG,
    LANGUAGES,
    METRIC,
    N_NEEDLES,
    NAMES,
    QUESTION,
    QUESTIONS,
)
from needlework.benchmarks.mlongrr.paper import abstract
from needlework.benchmarks.mlongrr.rows import (
    MEAN,
    by_drawn_metric,
    first_prompt,
    first_text,
    usual,
)
from needlework.factor import Factor
from needlework.results.answer_languages import answered_in as by_answers_language
from needlework.results.context import Context
from needlework.results.result import PERCENT, Grid, Mark, table
from needlework.results.tabulate import MODEL, By, tabulate

if TYPE_CHECKING:
    import pandas as pd

# How factors are called in tables.
MODELS = Factor("model", label="Model")
LANGS = Factor("lang", label="Language", order=("all", *LANGUAGES), words={**NAMES, "all": "All"})
NEEDLES = Factor("n_needles", "int32", label="Needles")
ASKED = Factor("question", label="Asked", order=QUESTIONS)
METRICS = Factor("metric", label="Metric", order=METRIC.order)
EXHAUSTED = Mark(
    "n_exhausted > 0", "some prompts are shorter than the length, as the text ran out before it"
)


@table(
    "Accuracy by language and number of needles",
    Grid(
        rows=(MODELS, NEEDLES, ASKED, METRICS),
        columns=(LANGS,),
        number=PERCENT,
        answers="metric == 'strict' and lang == 'all'",
        marks=(EXHAUSTED,),
        note="Accuracy in %, over all lengths and depths.",
    ),
)
def accuracy(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """By the strict rules (exactly the gold number, or city), by the notebooks' (the gold digits stand in
    the answer; with several needles, in any answer of the file), and by that of Claude's notebook. The
    abstract prints four accuracies of its best models, by the notebooks' rules.
    """
    asked = first_prompt(first_text(rows[rows["task"] != "absent"], run), run)
    by = (MODEL, N_NEEDLES, QUESTION, METRIC, By(LANG, margin="all"))
    return tabulate(asked, by, run, measure=MEAN, beside=abstract)


@table(
    "Questions without a needle that are refused",
    Grid(
        rows=(MODELS, NEEDLES, ASKED),
        columns=(LANGS,),
        number=PERCENT,
        answers="lang == 'all'",
        marks=(EXHAUSTED,),
        note="Questions without an answer in the text that were refused, in %.",
    ),
    when=("absent",),
)
def absent(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The prompt asks for UNANSWERABLE where the text has no answer; the paper has no such question."""
    asked = usual(rows[rows["task"] == "absent"], run)
    by = (MODEL, N_NEEDLES, QUESTION, By(LANG, margin="all"))
    return tabulate(asked, by, run, measure=MEAN)


answered_in = by_answers_language(LANG, asked="lang", of=by_drawn_metric)
