"""mLongRR's tables of answers: accuracies, the tests that the paper leaves out, and what they leave open."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from needlework.benchmarks.mlongrr import certainty as open_questions
from needlework.benchmarks.mlongrr.factors import (
    LANG,
    LANGUAGES,
    METRIC,
    N_NEEDLES,
    NAMES,
    QUESTION,
    QUESTIONS,
)
from needlework.benchmarks.mlongrr.pairs import beside_figure1, in_pairs
from needlework.benchmarks.mlongrr.paper import beside_abstract
from needlework.benchmarks.mlongrr.rows import (
    MEAN,
    by_drawn_metric,
    first_prompt,
    first_text,
    usual,
)
from needlework.factor import Factor
from needlework.results.answer_languages import answer_languages, answers_grid
from needlework.results.context import Context
from needlework.results.layouts import PERCENT, Grid, Line, Mark, Number
from needlework.results.result import table
from needlework.results.tabulate import MODEL, By, tabulate

if TYPE_CHECKING:
    import pandas as pd

# How factors are called in tables.
MODELS = Factor("model", label="Model", words={"all": "All models"})
LANGS = Factor("lang", label="Language", order=("all", *LANGUAGES), words={**NAMES, "all": "All"})
NEEDLES = Factor("n_needles", "int32", label="Needles")
ASKED = Factor("question", label="Asked", order=QUESTIONS)
METRICS = Factor("metric", label="Metric", order=METRIC.order)
CHANGE = Number(digits=1, scale=100, signed=True)
TEST = Line("Holm's p", ("p_holm",), Number(3, least=0.001), "p_holm == p_holm")
FIRST = Factor("first", label="From", words=NAMES)
SECOND = FIRST.renamed("second", label="to")
EXHAUSTED = Mark(
    "n_exhausted > 0", "some prompts are shorter than the length, as the text ran out before it"
)
PAIRS = Grid(
    rows=(MODELS, FIRST, SECOND),
    columns=(ASKED, NEEDLES),
    number=CHANGE,
    float_per=(Factor("kind"),),
    lines=(TEST,),
    note="The second less the first in percent points, over prompts that both answered.",
    empty="nothing to pair",
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
    return tabulate(asked, by, run, measure=MEAN, compare=beside_abstract)


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


@table(
    "Numbers of needles, languages and models in pairs",
    replace(
        PAIRS,
        show="kind == 'needles'",
        rows=(MODELS, FIRST.renamed("first", label="Needles"), SECOND),
        columns=(ASKED,),
    ),
    replace(PAIRS, show="kind == 'languages'"),
    replace(PAIRS, show="kind == 'models'", rows=(FIRST.renamed("first", label="Model"), SECOND)),
)
def mcnemar(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """McNemar's exact test, corrected by Holm's method for all tests of a kind. Prompts of one length,
    depth and example pair up. In constructed ones the needles are the same in every language, and the
    first of those of more; released ones of two languages or numbers of needles have different ones.
    """
    return in_pairs(rows, run, "needles", "languages", "models")


@table(
    "Haystacks in pairs",
    Grid(
        rows=(MODELS, LANGS, FIRST, SECOND),
        columns=(ASKED, NEEDLES),
        number=CHANGE,
        lines=(
            TEST,
            Line("McNemar's p", ("p_mcnemar",), Number(3, least=0.001), "p_holm == p_holm"),
            Line(
                "the paper's p",
                ("published_p_mcnemar",),
                Number(1),
                "published_p_mcnemar == published_p_mcnemar",
            ),
        ),
        note=PAIRS.note,
    ),
    when=("texts",),
)
def texts(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """McNemar's exact test; in the paper p = 1.0 for GPT-4 with English news and essays (Figure 1)."""
    data = in_pairs(rows, run, "texts")
    made = [beside_figure1(row, run) for row in data.to_dict("records")]
    names = ("published_p_mcnemar", "published_cell_p_mcnemar", "comparison")
    return data.assign(**{name: [row[name] for row in made] for name in names})


@table(
    "Translated prompts",
    Grid(
        rows=(MODELS, LANGS),
        columns=(ASKED, NEEDLES),
        number=CHANGE,
        lines=(TEST,),
        note="Translated prompts less English ones, in percent points.",
        empty="no prompt was asked in both languages",
    ),
    when=("translated",),
)
def translated(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Prompts in the haystack's language less the same in English, with McNemar's exact test. The
    paper says that English was better but in Swahili.
    """
    return in_pairs(rows, run, "prompts")


@table(
    "Slope of accuracy on tokens per word",
    Grid(
        rows=(MODELS,),
        columns=(ASKED, NEEDLES),
        number=CHANGE,
        over="(model, language)",
        note="Percent points of accuracy for a token a word more; n: pairs of model and language.",
    ),
    over_models=True,
)
def slope(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The paper's section 4.4 says that languages of more tokens a word are harder, without a test.
    Over all models each has a level of its own; controls are left out. With so few languages, tokens a
    word and resources cannot be told apart.
    """
    return open_questions.slopes(rows, run)


@table(
    "What one answer a cell leaves open",
    Grid(
        rows=(NEEDLES, Factor("level", label="Mean over")),
        head="Width",
        number=PERCENT,
        lines=(
            Line("answers", ("answers",), Number(1), "answers > 0"),
            Line("with 20 a cell", ("twenty",), PERCENT, "twenty > 0"),
        ),
        note="How wide 95% intervals (Wilson) are on average, in percent points.",
    ),
    when=("number",),
    over_models=True,
)
def certainty(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The mean width of intervals of a cell of Figures 7 to 11, of Figure 4, of a point of Figure 3, and
    of a model; and with 20 examples a cell of which as many are right. The paper has one.
    """
    return open_questions.widths(rows, run)


@table("Accuracy by the language of the answers", answers_grid(LANG))
def answered_in(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Whether a model answers in the language of its question, in another, or in a text that is too short to
    tell. Names, numbers and words of many languages are undecided.
    """
    return answer_languages(by_drawn_metric(rows, run), run, LANG, asked="lang")
