"""How M4LE's tables are laid out."""

from __future__ import annotations

from needlework.benchmarks.factor import Factor
from needlework.benchmarks.layouts import PERCENT, Grid, Layout, Number, PromptTable
from needlework.benchmarks.m4le.factors import ABILITY, DOMAIN, LANG, LENGTH, METRIC, TASK

MODEL = Factor("model", label="Model")
COLUMN = LENGTH.renamed("column", last=("average",), words={"average": "Average"})
TEXTS = Factor("texts")
TWO = Number(digits=2)

LAYOUTS: dict[str, Layout] = {
    "table2": (
        Grid(rows=(ABILITY, TASK, LANG), head="Mean length", number=Number(0), empty="no prompts"),
    ),
    "table3": (Grid(rows=(MODEL,), columns=(COLUMN,), number=TWO),),
    "abilities": (Grid(rows=(MODEL,), columns=(ABILITY,), number=TWO),),
    "tasks": (
        Grid(
            rows=(MODEL, METRIC),
            columns=(LENGTH,),
            number=PERCENT,
            show="source == 'ours'",
            float_per=(TASK,),
        ),
    ),
    "languages": (Grid(rows=(MODEL, LANG), columns=(LENGTH,), number=TWO),),
    "closed_book": (Grid(rows=(MODEL, TASK), columns=(TEXTS,), number=PERCENT),),
    "domains": (Grid(rows=(MODEL, DOMAIN), columns=(LENGTH,), number=TWO),),
}

PROMPTS = PromptTable(
    by=("ability", "task_type", "task", "lang", "length"),
    counts=(
        ("prompts", "example_id", "size"),
        ("candidates", "candidates", "mean"),
        ("units_mean", "units", "mean"),
        ("tokens_mean", "n_tokens", "mean"),
        ("tokens_max", "n_tokens", "max"),
        ("max_new_tokens", "max_new_tokens", "max"),
    ),
    slice_names=("",),
    sorted=False,
)
