"""How ONERULER's tables are laid out, in percent, and what the table of its prompts counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needlework.benchmarks.factor import Factor
from needlework.benchmarks.layouts import PERCENT, Grid, Layout, Line, Mark, Number, PromptTable
from needlework.benchmarks.oneruler.drawings import FACTORS
from needlework.benchmarks.oneruler.factors import CWE, LONG_CONTEXTS, METRIC, TASKS

if TYPE_CHECKING:
    import pandas as pd

LENGTH = Factor("length", "int32", order=("all",), words={"all": "All"}, format="1000")
MODEL = Factor("model", label="Model", words={"all": "All models"})
TASK = Factor("task", words={**TASKS, "niah": "all NIAH", "all": "all"})
ERROR = FACTORS["error"]
ALL_PROMPTS = Line("all prompts", ("value_all",), PERCENT, "n_all != n")
LEFT_OUT = {
    "n_dropped": "As in the paper, {} answers to tasks with needles that the output limit cut before "
    "any text are left out; the line 'all prompts' counts them as wrong."
}
EXHAUSTED = Mark(
    "n_exhausted > 0",
    "some prompts are shorter than the length, as the vocabulary ran out before it",
)


def ranks(table: pd.DataFrame) -> pd.DataFrame:
    """The ranks of a language by both metrics over all models, the paper's in brackets, as columns."""
    every = table[table["model"] == "all"].set_index(["context_lang", "metric"])
    ours, paper = every["rank"].to_dict(), every["published_rank"].dropna().to_dict()
    theirs = {key: f" ({rank:.0f})" for key, rank in paper.items() if key[1] == "released"}
    texts = {
        f"rank_{metric}": [
            f"{ours.get((lang, metric), '')}{theirs.get((lang, metric), '')}"
            for lang in table["context_lang"]
        ]
        for metric in METRIC.order
    }
    return table.assign(**texts)


LAYOUTS: dict[str, Layout] = {
    "accuracy": (
        Grid(
            rows=(MODEL, TASK),
            columns=(LENGTH, METRIC),
            number=PERCENT,
            show=f"context_lang == 'all' and (none_option == True or task in {list(CWE)})",
            lines=(ALL_PROMPTS,),
            marks=(EXHAUSTED,),
            answers="metric == 'strict' and task != 'niah'",
            counts=LEFT_OUT,
            note="Accuracy in %, all languages, instructions in the context's; by the strict rules, and "
            "by the released ones.",
        ),
    ),
    "languages": (
        Grid(
            rows=(
                Factor("language"),
                Factor("rank_strict", label="Rank (strict)"),
                Factor("rank_released", label="(released)"),
                Factor("resources", words={"english": "English"}),
            ),
            columns=(Factor("model", words=MODEL.words), METRIC),
            number=PERCENT,
            prepare="needlework.benchmarks.oneruler.layouts:ranks",
            lines=(ALL_PROMPTS,),
            marks=(EXHAUSTED,),
            answers="metric == 'strict' and model != 'all'",
            counts=LEFT_OUT,
            note=f"Accuracy in % over the NIAH tasks in {LONG_CONTEXTS}, by the strict rules, and by the "
            "released ones. After a rank, in brackets: the paper's.",
        ),
    ),
    "lengths_tau": (
        Grid(
            rows=(
                Factor("model", label="Models", words={"all": "All pairs"}),
                Factor("other", label="and", words={"all": ""}),
                METRIC,
            ),
            columns=(LENGTH,),
            number=Number(digits=2),
            over="languages",
            note="Kendall's τ between the accuracies of languages with equal tokens and with equal text; "
            "n: languages. The paper's is over all of its models.",
            empty="no pair was run",
        ),
    ),
    "errors": (
        Grid(
            rows=(MODEL, TASK),
            columns=(ERROR,),
            number=PERCENT,
            show="length == 'long' and context_lang == 'all'",
            without="n_errors == 0",
            note=f"Share of prompts in %, by the strict rules, in {LONG_CONTEXTS}.",
        ),
    ),
    "table4": (
        Grid(
            rows=(Factor("context_lang", label="Language", format="language"),),
            columns=(Factor("tokenizer", label="Tokenizer"),),
            number=Number(digits=0),
            note="Tokens of each book.",
            empty="no books",
        ),
    ),
}

PROMPTS = PromptTable(
    by=("instruction_lang", "context_lang", "task", "none_option", "length"),
    counts=(
        ("prompts", "n_tokens", "size"),
        ("tokens_mean", "n_tokens", "mean"),
        ("tokens_max", "n_tokens", "max"),
        ("fill", "fill", "mean"),
        ("exhausted", "exhausted", "sum"),
    ),
    slice_names=("instruction_lang", "context_lang"),
    # The share of the length that prompt and room for the answer take together.
    computed={"fill": "(n_tokens + max_new_tokens) / length"},
    digits={"fill": 4},
)
