"""mLongRR's figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.mlongrr.factors import (
    DEPTH,
    HAYSTACK,
    LANG,
    LANGUAGES,
    LENGTH,
    METRIC,
    N_NEEDLES,
    QUESTION,
    QUESTIONS,
    TEMPLATE,
    VERDICT,
)
from needlework.benchmarks.mlongrr.paper import abstract
from needlework.benchmarks.mlongrr.rows import (
    MEAN,
    asked_numbers,
    by_drawn_metric,
    chance,
    first_prompt,
    first_text,
    usual,
)
from needlework.data.language_names import language_name
from needlework.factor import Factor, in_1000
from needlework.results.result import Bars, Context, Dots, Heatmap, Run, figure
from needlework.results.tabulate import MODEL, tabulate

if TYPE_CHECKING:
    import pandas as pd

# As many as a task can have.
NEEDLES = {n: f"{n} needles" for n in range(1, 21)}
NEEDLES |= {1: "one needle", 2: "two needles", 3: "three needles"}
VERDICTS = {
    "correct": "right",
    "several": "several needles",
    "other_needle": "another needle",
    "wrong_number": "number of no needle",
    "unanswerable": "UNANSWERABLE",
    "no_number": "no number",
    "no_city": "no city",
    "no_refusal": "no refusal",
    "no_answer": "no answer",
    "length": "cut before an answer",
    "lost": "skipped or failed",
}
FACTORS = (
    Factor("lang", label="Language", order=LANGUAGES, format=language_name),
    Factor("length", label="Length ({unit_of_length})", format=in_1000),
    Factor(
        "depth", label="Depth in the prompt", words={depth: f"{depth}%" for depth in range(101)}
    ),
    Factor("n_needles", "int32", words=NEEDLES),
    Factor("question", order=QUESTIONS, words={"number": "the number", "city": "its city"}),
    Factor(
        "haystack",
        order=("mlongrr_articles", "paul_graham_essays"),
        words={
            "mlongrr_articles": "news articles",
            "paul_graham_essays": "Paul Graham's essays",
            "oneruler_books": "ONERULER's books",
            "sample_books": "the sample's books",
        },
    ),
    Factor("template", words={"paper": "prompt 1", "prompt2": "prompt 2"}),
    replace(VERDICT, words=VERDICTS),
)
CHANCE = ("chance", "a guess among the needles")
NOBODY = "no model answered such prompts"


def guesses(data: pd.DataFrame, run: Run) -> str:
    """For each number of needles in the figure, how often a guess among the needles is right."""
    drawn = data.loc[data["chance"].notna(), ["n_needles", "chance"]].drop_duplicates()
    said = [
        f"{chance:.0%} of prompts with {NEEDLES[n]}"
        for n, chance in sorted(drawn.itertuples(index=False))
    ]
    return f"A guess among the needles is right in {' and '.join(said)}." if said else ""


DEPTHS = Heatmap(
    x="length",
    down="depth",
    panel="model",
    columns=6,
    nothing=NOBODY,
    note=guesses,
)
DETAILS = replace(DEPTHS, panel="lang", row=("n_needles",))


@figure(
    "News or essays",
    replace(
        DEPTHS,
        panel="haystack",
        row=("model",),
        note=None,
        words="English, one needle.",
        nothing="no model answered English prompts with one needle",
    ),
    when=("one", "texts", "english"),
)
def figure1(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The paper shows an image of GPT-4's accuracy."""
    asked = rows[(rows["task"] == "retrieval") & (rows["lang"] == "en")]
    asked = by_drawn_metric(first_prompt(asked, run), run)
    return tabulate(asked, (MODEL, HAYSTACK, LENGTH, DEPTH), run, measure=MEAN)


@figure(
    "Two prompts",
    Bars(
        x="model",
        line="template",
        words="One needle, all languages, lengths and depths.",
        nothing="no model answered prompts with one needle",
    ),
    when=("one", "prompts"),
)
def figure2(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """One needle. The paper shows an image without numbers."""
    asked = rows[(rows["task"] == "retrieval") & (rows["template"] != "translated")]
    asked = by_drawn_metric(first_text(asked, run), run)
    return tabulate(asked, (MODEL, TEMPLATE), run, measure=MEAN)


@figure(
    "Accuracy by language",
    Dots(
        x="lang",
        panel="n_needles",
        words="All lengths and depths.",
        paper="the abstract's best models",
        level=CHANCE,
        nothing=NOBODY,
    ),
    when=("number",),
)
def figure3(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """All lengths and depths. The paper draws a radar without numbers; the abstract prints four."""
    by = (MODEL, N_NEEDLES, QUESTION, METRIC, LANG)
    asked = asked_numbers(rows, run)
    return tabulate(asked, by, run, measure=MEAN, beside=abstract, chance=chance)


@figure(
    "Accuracy by depth and length",
    replace(
        DEPTHS,
        row=("n_needles",),
        words="All languages.",
    ),
    when=("number",),
)
def figure4(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """All languages. The paper shows an image without numbers."""
    by = (MODEL, N_NEEDLES, LENGTH, DEPTH)
    return tabulate(asked_numbers(rows, run), by, run, measure=MEAN, chance=chance)


def by_language(rows: pd.DataFrame, run: Context, *by: Factor, **labels: Any) -> pd.DataFrame:
    """Accuracies by number of needles, language, length and depth."""
    by = (*by, N_NEEDLES, LANG, LENGTH, DEPTH)
    return tabulate(asked_numbers(rows, run), by, run, measure=MEAN, **labels, chance=chance)


@figure(
    "Accuracy by depth, length and language",
    replace(
        DETAILS,
        words="Mean over the models that answered, without controls.",
    ),
    when=("number",),
    over_models=True,
)
def figure5(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Mean over all models without controls. The paper shows an image without numbers."""
    return by_language(rows, run, model="all")


@figure(
    "Share that names the largest number, and its city",
    Bars(
        x="lang",
        line="question",
        panel="n_needles",
        row=("model",),
        level=CHANCE,
        words="All lengths and depths.",
        nothing="no model was asked for numbers and cities",
    ),
    when=("city",),
)
def figure6(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The paper shows an image of Gemini-1.5's accuracy."""
    asked = usual(rows[rows["task"] == "reasoning"], run)
    by = (MODEL, N_NEEDLES, QUESTION, LANG)
    return tabulate(asked, by, run, measure=MEAN, chance=chance)


def of_paper(rows: pd.DataFrame, run: Context, name: str) -> pd.DataFrame:
    """`by_language` of the model with this name in the paper. "" selects the models not in the paper."""
    return by_language(rows[rows["model"].map(run.paper_name) == name], run, MODEL)


IN_DETAIL = "by depth, length, language and number of needles"
AN_IMAGE = (
    "The model whose key ``published`` has this name. The paper shows an image without numbers.",
)


@figure(f"GPT-4 {IN_DETAIL}", DETAILS, when=("number", "GPT-4"), notes=AN_IMAGE)
def figure7(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return of_paper(rows, run, "GPT-4")


@figure(f"Gemini-1.5 {IN_DETAIL}", DETAILS, when=("number", "Gemini-1.5"), notes=AN_IMAGE)
def figure8(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return of_paper(rows, run, "Gemini-1.5")


@figure(f"Claude-3 {IN_DETAIL}", DETAILS, when=("number", "Claude-3"), notes=AN_IMAGE)
def figure9(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return of_paper(rows, run, "Claude-3")


@figure(f"Llama-3 {IN_DETAIL}", DETAILS, when=("number", "Llama-3"), notes=AN_IMAGE)
def figure10(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return of_paper(rows, run, "Llama-3")


@figure(f"GPT-4o {IN_DETAIL}", DETAILS, when=("number", "GPT-4o"), notes=AN_IMAGE)
def figure11(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return of_paper(rows, run, "GPT-4o")


@figure(
    f"Other models {IN_DETAIL}",
    replace(
        DETAILS,
        row=("model", "n_needles"),
        nothing="every model of this run has its own figure",
    ),
    when=("number",),
)
def details(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Models that the paper lacks, drawn like its Figures 7 to 11."""
    return of_paper(rows, run, "")
