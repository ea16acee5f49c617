"""How mLongRR's figures are drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from needlework.benchmarks.contract import Run
from needlework.benchmarks.drawings import Bars, Drawing, Heatmap, Lines, Polar, StackedBars
from needlework.benchmarks.factor import Factor
from needlework.benchmarks.mlongrr.factors import LANGUAGES, QUESTIONS, VERDICT

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
FACTORS = {
    factor.name: factor
    for factor in (
        Factor("lang", label="Language", order=LANGUAGES, format="language"),
        Factor("length", label="Length", format="1000"),
        Factor("depth", words={depth: f"{depth}%" for depth in range(101)}),
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
        Factor("fertility", label="Tokens a word"),
        replace(VERDICT, words=VERDICTS),
    )
}
LOOKS = dict(
    zip(
        VERDICT.order,
        (
            *("#009E73", "#F0E442", "#E69F00", "#D55E00", "#0072B2"),
            *("#56B4E9", "#88CCEE", "#CC79A7", "#bbbbbb", "#999999", "#555555"),
        ),
        strict=True,
    )
)
CHANCE = ("chance", "a guess among the needles")
NOBODY = "no model answered such prompts"

DEPTHS = Heatmap(
    x="length",
    down="depth",
    panel="model",
    columns=6,
    nothing=NOBODY,
    note="needlework.benchmarks.mlongrr.drawings:guesses",
)
DETAILS = replace(DEPTHS, panel="lang", row=("n_needles",))
DRAWINGS: dict[str, Drawing] = {
    "figure1": replace(
        DEPTHS,
        panel="haystack",
        row=("model",),
        note="",
        words="English, one needle.",
        nothing="no model answered English prompts with one needle",
    ),
    "figure2": Bars(
        x="model",
        line="template",
        words="One needle, all languages, lengths and depths.",
        nothing="no model answered prompts with one needle",
    ),
    "figure3": Polar(
        x="lang",
        panel="n_needles",
        words="All lengths and depths.",
        paper="the abstract's best models",
        level=CHANCE,
        nothing=NOBODY,
    ),
    "figure4": replace(DEPTHS, row=("n_needles",), words="All languages."),
    "figure5": replace(
        DEPTHS,
        panel="lang",
        row=("n_needles",),
        words="Mean over the models that answered, but controls.",
    ),
    "figure6": Bars(
        x="lang",
        line="question",
        panel="n_needles",
        row=("model",),
        level=CHANCE,
        words="All lengths and depths.",
        nothing="no model was asked for numbers and cities",
    ),
    **{f"figure{i}": DETAILS for i in range(7, 12)},
    "details": replace(
        DETAILS, row=("model", "n_needles"), nothing="every model of this run has its own figure"
    ),
    "fertility_slope": Lines(
        x="fertility",
        scaled=True,
        panel="n_needles",
        level=CHANCE,
        words="A point a language.",
        nothing=NOBODY,
    ),
    "verdicts": StackedBars(
        x="model",
        line="verdict",
        panel="n_needles",
        row=("question",),
        looks={name: (colour, "") for name, colour in LOOKS.items()},
        horizontal=True,
        y="Share of prompts",
        words="By the strict metric.",
        nothing=NOBODY,
    ),
}


def guesses(data: pd.DataFrame, run: Run) -> str:
    """How often a guess among the needles is right, of each number of needles that is drawn."""
    drawn = data.loc[data["chance"].notna(), ["n_needles", "chance"]].drop_duplicates()
    said = [
        f"{chance:.0%} of those with {NEEDLES[n]}"
        for n, chance in sorted(drawn.itertuples(index=False))
    ]
    return f"A guess among the needles is right in {' and '.join(said)}." if said else ""
