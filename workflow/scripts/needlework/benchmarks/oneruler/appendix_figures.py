"""ONERULER's figures of the appendix: errors, reasoning, common words and tokenizers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from needlework.benchmarks.oneruler import paper
from needlework.benchmarks.oneruler.factors import (
    GROUP,
    LENGTH,
    TASK,
)
from needlework.benchmarks.oneruler.figures import (
    BOUNDED,
    BY_METRIC,
    CALLED,
    DRAWN,
    EACH,
    ERRORS_BY_LANGUAGE,
    GROUP_LOOKS,
    HEAT,
    NEEDLES,
    NO_NEEDLES,
    NO_WORDS,
    SINGLE,
    WORDS,
)
from needlework.benchmarks.oneruler.measures import ACCURACY, SHARE, mean_of
from needlework.benchmarks.oneruler.rows import (
    behind_endpoints,
    best_first,
    cut_answers,
    drawn,
    equal_text,
    grouped,
    long_contexts,
    none_allowed,
    own,
    reasoned,
    with_errors,
    wrong_words,
)
from needlework.benchmarks.oneruler.tables import (
    BY_CONTEXT,
    BY_ERROR,
)
from needlework.benchmarks.oneruler.text_lengths import text_lengths
from needlework.factor import Factor
from needlework.results.context import Context, Run
from needlework.results.figures.style import COLOURS
from needlework.results.result import Lines, Points, figure
from needlework.results.tabulate import MODEL, arranged, tabulate, where

if TYPE_CHECKING:
    import pandas as pd

# How figures order and name the values of factors and other labels.


@figure(
    "Accuracy by model and length",
    Lines(x="length", y="NIAH accuracy", words="All languages.", nothing=NO_NEEDLES),
    when=("needles",),
)
def figure17(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """All needle tasks and languages."""
    return tabulate(drawn(rows, run, NEEDLES), (MODEL, LENGTH), run, measure=ACCURACY)


def errors_by_language(rows: pd.DataFrame, run: Context, closed: bool) -> pd.DataFrame:
    """Shares of errors in long contexts by language, of models behind endpoints or of the others."""
    asked = long_contexts(with_errors(drawn(rows, run, SINGLE, "strict")))
    asked = behind_endpoints(asked, run, closed)
    return tabulate(asked, (MODEL, BY_CONTEXT, BY_ERROR), run, measure=SHARE)


@figure(
    "Errors in long contexts, models behind endpoints",
    ERRORS_BY_LANGUAGE,
    when=("single", "endpoint"),
)
def figure18(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Shares of all S-NIAH prompts in long contexts (64K and 128K, or a run's two longest lengths), by
    the strict rules, of models behind endpoints. The paper draws stacked bars.
    """
    return errors_by_language(rows, run, closed=True)


@figure(
    "Errors in long contexts, open models",
    replace(ERRORS_BY_LANGUAGE, nothing="no model but those behind endpoints answered S-NIAH"),
    when=("single", "open"),
)
def figure19(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Shares of all S-NIAH prompts in long contexts (64K and 128K, or a run's two longest lengths), by
    the strict rules, of models with open weights. The paper draws stacked bars.
    """
    return errors_by_language(rows, run, closed=False)


@figure(
    "Reasoning tokens of right and wrong answers",
    Lines(
        x="length",
        panel="model",
        line="answer",
        line_title="{answer} answers",
        looks={"right": (COLOURS[2], "o"), "wrong": (COLOURS[1], "s")},
        limits=None,
        y="Reasoning tokens, mean",
        words="NIAH tasks.",
        nothing="no model reported reasoning tokens",
    ),
    when=("needles", "reasoning"),
)
def figure20(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The needle tasks, for models that report them. Answers that the limit cut before any text are
    left out.
    """
    by = (MODEL, Factor("answer"), LENGTH)
    return tabulate(
        reasoned(drawn(rows, run, NEEDLES)), by, run, measure=mean_of("reasoning_tokens")
    )


@figure(
    "Answers cut by the output limit",
    Points(
        x="length",
        panel="model",
        line="task",
        value="n_cut",
        n="n_all",
        unit="answers",
        limits=None,
        columns=4,
        y="Answers cut by the limit",
        nothing=NO_WORDS,
    ),
    when=("words", "reasoning"),
)
def figure21(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The tasks of common words, of the models that ``comparisons.reasoning`` names, or of all
    models if the run has none of these.
    """
    asked = cut_answers(drawn(rows, run, WORDS), run)
    return tabulate(asked, (MODEL, TASK, LENGTH), run, measure=ACCURACY)


@figure(
    "Common words by length",
    Lines(x="length", panel="task", where=DRAWN, words="All languages.", nothing=NO_WORDS),
    when=("words",),
)
def figure22(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Both tasks over all languages; answers that the limit cut before any text are wrong. The CSV has
    the paper's bounds.
    """
    return tabulate(
        own(rows, run, WORDS),
        (BY_METRIC, MODEL, TASK, LENGTH),
        run,
        measure=ACCURACY,
        beside=paper.figure22,
        compared=BOUNDED,
    )


@figure(
    "Right words in wrong answers",
    Lines(
        x="length",
        row=("task",),
        panel="model",
        line="group",
        looks=GROUP_LOOKS,
        limits=(0, 10),
        y="Right words of ten",
        words="Wrong answers only.",
        nothing="no wrong answer to a task of common words was given",
    ),
    when=("words",),
)
def figure23(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """How many of the ten common words, by the resources of the language. Answers without text are
    left out.
    """
    asked = grouped(wrong_words(drawn(rows, run, WORDS, "strict")), run)
    return tabulate(asked, (MODEL, TASK, GROUP, LENGTH), run, measure=mean_of("found"))


def which_text(data: pd.DataFrame, run: Run) -> str:
    """What the texts are that all tokenizers count."""
    length = CALLED["length"].called(data["length"].max())
    measured_in = data["measured_in"].iloc[0]
    return f"Texts of {length} tokens of {measured_in}, room for the answer among them."


@figure(
    "One text in several tokenizers",
    Points(
        x="context_lang",
        line="tokenizer",
        value="n_tokens",
        unit="texts",
        limits=None,
        y="Tokens of the same text",
        needs="tokenizer != tokenizer.min()",
        note=which_text,
        nothing="texts are counted in fewer than two tokenizers",
    ),
    needs="token_counts",
)
def figure24(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The longest text of each language; no model is needed. The texts are NIAH's prompts, measured in
    the first of ``run.tokenizers``, or else in the first model's tokenizer (``measured_in``). The
    paper's numbers, for Tamil, are from its text; they stand beside released texts of 128,000
    tokens of cl100k_base alone.
    """
    return text_lengths(rows, run)


@figure(
    "Equal text by language and length",
    replace(
        HEAT,
        words="Mean of all NIAH tasks; every model reads the same text.",
        nothing="no pair of models is named in comparisons.equal_text",
    ),
    when=("equal_text",),
)
def figure25(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Figure 3 where all models read the same text, its length measured in a common tokenizer."""
    asked = none_allowed(equal_text(where(rows, NEEDLES), run))
    made = tabulate(asked, EACH, run, measure=ACCURACY, beside=paper.FIGURE25)
    return arranged(best_first(made), run, BY_METRIC, MODEL)
