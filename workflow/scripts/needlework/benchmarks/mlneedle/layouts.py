"""How MLNeedle's tables are laid out, and what the table of its prompts counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needlework.benchmarks.factor import Factor
from needlework.benchmarks.layouts import Grid, Layout, Mark, Number, PromptTable, pairs
from needlework.benchmarks.mlneedle.factors import LANGUAGES

if TYPE_CHECKING:
    import pandas as pd

    from needlework.results.latex import Row

LENGTH = Factor(
    "length", "int32", label="Length", format="1024", words={"all": "all", 0: "Baseline"}
)
COLUMN = LENGTH.renamed(
    "column",
    label="",
    order=("claimed_length", "effective_length", "baseline"),
    last=("average",),
    words={
        "claimed_length": "Claimed",
        "effective_length": "Effective",
        "baseline": "Baseline",
        "average": "Avg.",
        "closed_book": "no passage",
    },
)
MODEL = Factor("model", label="Model")
NEEDLE = Factor(
    "needle_lang", label="Needle language", order=("all", *LANGUAGES), last=("multilingual",)
)
HAYSTACK = NEEDLE.renamed("haystack_lang", label="Haystack language")
APART = (Factor("question_lang"), Factor("retrieval"))
TWO = Number(digits=2)


def effective_length(value: float, cell: Row, table: pd.DataFrame, paper: bool) -> str:
    """A length, or that it lies below the shortest one: ours of this model, or the paper's."""
    if value:
        return LENGTH.called(int(value))
    mine = table["published"].notna() if paper else table["model"] == cell["model"]
    shown = [int(n) for n in table.loc[mine, "column"] if str(n).isdigit()]
    return f"$<${LENGTH.called(min(shown))}" if shown else "--"


LAYOUTS: dict[str, Layout] = {
    "table1": (
        Grid(
            rows=(MODEL,),
            columns=(COLUMN,),
            apart=APART,
            numbers={
                ("column", "claimed_length"): Number(factor=LENGTH, compared=False),
                ("column", "effective_length"): Number(
                    hook="needlework.benchmarks.mlneedle.layouts:effective_length", compared=False
                ),
            },
            marks=(
                Mark(
                    "share_of_baseline >= 0.75 - 1e-12",
                    "at least 75% of the baseline",
                    underline=True,
                ),
            ),
            answers="column == 'average'",
        ),
    ),
    "table2": (
        Grid(
            rows=(HAYSTACK,),
            columns=(NEEDLE,),
            apart=APART,
            number=TWO,
            show="length == 'average' or source == 'published'",
            float_per=(MODEL,),
            note="Averaged over the context lengths.",
        ),
    ),
    **dict.fromkeys(
        ("table3", "table4"),
        (pairs((COLUMN,), apart=APART, answers="role != 'delta' and column == 'average'"),),
    ),
    "existence": (
        Grid(
            rows=(MODEL, LENGTH),
            columns=(
                Factor(
                    "needle",
                    label="Needle",
                    order=("present", "absent", "balanced"),
                    words={"balanced": "mean of both"},
                ),
            ),
            apart=APART,
            answers="length == 'all' and needle != 'balanced'",
            empty="no existence prompts",
        ),
    ),
    "closed_book": (
        Grid(
            rows=(
                MODEL,
                COLUMN.renamed(
                    "column",
                    label="Passages",
                    words={"closed_book": "none", "baseline": "needle alone"},
                ),
            ),
            columns=(NEEDLE,),
            apart=APART,
            number=TWO,
            answers="needle_lang == 'all'",
            empty="no closed-book prompts",
        ),
    ),
    "translation_ceiling": (
        Grid(
            rows=(Factor("lang", label="Language"), Factor("n", label="n")),
            head="Survived",
            over="answers",
            empty="nothing was translated",
        ),
    ),
}

PROMPTS = PromptTable(
    by=("needle_lang", "task", "length"),
    counts=(
        ("prompts", "example_id", "size"),
        ("questions", "example_id", "nunique"),
        ("haystacks", "haystack_lang", "nunique"),
        ("tokens_mean", "n_tokens", "mean"),
        ("tokens_max", "n_tokens", "max"),
        ("distractors_mean", "n_distractors", "mean"),
        ("exhausted", "exhausted", "sum"),
    ),
    slice_names=("needle_lang", ""),
)
