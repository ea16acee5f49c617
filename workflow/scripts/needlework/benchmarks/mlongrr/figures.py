"""mLongRR's figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.mlongrr.factors import (
    ABSENT,
    DEPTH,
    HAYSTACK,
    LANG,
    LENGTH,
    METRIC,
    N_NEEDLES,
    QUESTION,
    REASONING,
    RETRIEVAL,
    TEMPLATE,
)
from needlework.benchmarks.mlongrr.paper import (
    MEAN,
    abstract,
    by_metric,
    first_prompt,
    first_text,
    usual,
)
from needlework.data.language_names import language_name
from needlework.factor import Factor
from needlework.results.result import Bars, Context, Dots, Heatmap, Run, figure
from needlework.results.tabulate import MODEL, Cell, tabulate

if TYPE_CHECKING:
    import pandas as pd

# The names of languages are not in `factors`, where a further one would build prompts anew.
FACTORS = (replace(LANG, format=language_name),)
CHANCE = ("chance", "a guess among the needles")
NOBODY = "no model answered such prompts"


def chance(cell: Cell) -> float | None:
    """The accuracy of a guess among the needles, which all rows of a cell share."""
    known = cell.part.values("chance")
    return known[0] if known else None


def guesses(data: pd.DataFrame, run: Run) -> str:
    """For each number of needles in the figure, how often a guess among the needles is right."""
    drawn = data.loc[data["chance"].notna(), ["n_needles", "chance"]].drop_duplicates()
    said = [
        f"{chance:.0%} of prompts with {N_NEEDLES.called(n)}"
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
    asked = rows[(rows["task"] == RETRIEVAL) & (rows["lang"] == "en")]
    asked = by_metric(first_prompt(asked, run), run)
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
    asked = rows[(rows["task"] == RETRIEVAL) & (rows["template"] != "translated")]
    asked = by_metric(first_text(asked, run), run)
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
    return of_numbers(rows, run, *by, beside=abstract)


def of_numbers(rows: pd.DataFrame, run: Context, *by: Factor, **more: Any) -> pd.DataFrame:
    """Accuracies and chances of the questions for a number that is in the text."""
    asked = usual(rows[(rows["task"] != ABSENT) & (rows["question"] == "number")], run)
    return tabulate(asked, by, run, measure=MEAN, **more, chance=chance)


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
    return of_numbers(rows, run, MODEL, N_NEEDLES, LENGTH, DEPTH)


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
    return of_numbers(rows, run, N_NEEDLES, LANG, LENGTH, DEPTH, model="all")


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
    asked = usual(rows[rows["task"] == REASONING], run)
    by = (MODEL, N_NEEDLES, QUESTION, LANG)
    return tabulate(asked, by, run, measure=MEAN, chance=chance)


IN_DETAIL = "by depth, length, language and number of needles"
AN_IMAGE = (
    "The model whose key ``published`` has this name. The paper shows an image without numbers.",
)


def detailed(rows: pd.DataFrame, run: Context, name: str = "") -> pd.DataFrame:
    """`of_numbers` of the model with this name in the paper.

    Without a name, of the models that the paper lacks.
    """
    own = rows[rows["model"].map(run.paper_name) == name]
    return of_numbers(own, run, MODEL, N_NEEDLES, LANG, LENGTH, DEPTH)


@figure(f"GPT-4 {IN_DETAIL}", DETAILS, when=("number", "GPT-4"), notes=AN_IMAGE)
def figure7(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return detailed(rows, run, "GPT-4")


@figure(f"Gemini-1.5 {IN_DETAIL}", DETAILS, when=("number", "Gemini-1.5"), notes=AN_IMAGE)
def figure8(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return detailed(rows, run, "Gemini-1.5")


@figure(f"Claude-3 {IN_DETAIL}", DETAILS, when=("number", "Claude-3"), notes=AN_IMAGE)
def figure9(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return detailed(rows, run, "Claude-3")


@figure(f"Llama-3 {IN_DETAIL}", DETAILS, when=("number", "Llama-3"), notes=AN_IMAGE)
def figure10(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return detailed(rows, run, "Llama-3")


@figure(f"GPT-4o {IN_DETAIL}", DETAILS, when=("number", "GPT-4o"), notes=AN_IMAGE)
def figure11(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return detailed(rows, run, "GPT-4o")


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
    return detailed(rows, run)
