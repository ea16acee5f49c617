"""How the tables of Lost in the Middle are laid out, and what the table of its prompts counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from needlework.benchmarks.factor import Factor
from needlework.benchmarks.layouts import LOST, PERCENT, Grid, Layout, Mark, Number, PromptTable
from needlework.benchmarks.lost_in_the_middle.factors import PAIRS, QA, TASKS

if TYPE_CHECKING:
    import pandas as pd

HEADS = {"closed_book": "Closed-Book", "oracle": "Gold alone"}
MODEL = Factor("model", label="Model")
INDEX = Factor("gold_index", "int32", label="Gold document's index")
COLUMN = Factor("column", "int32", order=tuple(HEADS), words=HEADS)
LANG = Factor("lang")
KEYS = Factor("keys", words={"none": "", "uuid": "UUIDs"})
VARIANT = Factor(
    "variant",
    words={
        "main": "",
        "query_aware": "query aware",
        "random_distractors": "random distractors",
        "random_order": "random order",
    },
)
STATISTICS = ("mean", "stdev", "max")
REPOSITORY = Mark(
    "published_source == 'repository'", "from the released code's EXPERIMENTS.md", paper=True
)
ABOVE: dict[str, Any] = {
    "lines": (LOST,),
    "marks": (REPOSITORY,),
    "number": PERCENT,
    "note": "Accuracy in %.",
}
# An inference: the closed-book prompts have 15.3 tokens without one (docs/fidelity.md).
CHAT_FORMATS = (
    "The paper's counts of MPT-30B and LongChat-13B (16K) seem to include these models' chat formats: "
    "nothing of ours can be compared with them."
)


def statistics(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each statistic, instead of a column."""
    import pandas as pd

    parts = []
    for name in STATISTICS:
        part = table.assign(statistic=name, value=table[name], published=table[f"published_{name}"])
        listed = part["comparison"].fillna("")
        same = listed.str.startswith("differs") & ~listed.str.contains(name)
        parts.append(part.assign(comparison=listed.mask(same, "equals")))
    return pd.concat(parts)


def _accuracy(label: str) -> Layout:
    column = COLUMN.renamed("column", label=label)
    return (Grid(rows=(MODEL,), columns=(column,), apart=(LANG,), **ABOVE),)


def _tokens(label: str) -> Layout:
    return (
        Grid(
            rows=(Factor("tokenizer", label="Tokenizer"),),
            columns=(
                COLUMN.renamed("column", label=label),
                Factor("statistic", order=STATISTICS, words={"mean": "avg", "stdev": "± stdev"}),
            ),
            apart=(KEYS, LANG),
            number=Number(digits=1),
            numbers={("statistic", "max"): Number(digits=0)},
            prepare="needlework.benchmarks.lost_in_the_middle.layouts:statistics",
            note="Tokens of the prompts, without a chat template; n: examples. " + CHAT_FORMATS,
            empty="no prompts",
        ),
    )


def _cells(show: str, **more: Any) -> Grid:
    return Grid(rows=(MODEL,), apart=(KEYS, LANG, VARIANT), show=show, **ABOVE, **more)


LAYOUTS: dict[str, Layout] = {
    "table1": _accuracy(""),
    "table2": _tokens(""),
    "table3": _tokens("Documents"),
    "table4": _tokens("Pairs"),
    **dict.fromkeys(("table5", "table6", "table7"), _accuracy(INDEX.label)),
    "accuracy": (
        _cells(
            f"task in {list(HEADS)}",
            columns=(Factor("task", order=TASKS, words=HEADS),),
        ),
        _cells(
            f"task in {[QA, PAIRS]}",
            columns=(INDEX.renamed("gold_index", label="Index of the gold document or pair"),),
            float_per=(
                Factor("n_documents", "int32"),
                Factor("task", words={QA: "documents", PAIRS: "pairs"}),
            ),
        ),
        _cells(
            "task == 'open_domain'",
            columns=(Factor("n_documents", "int32", label="Retrieved documents"),),
            float_per=(Factor("task", words={"open_domain": "retrieved documents"}),),
        ),
    ),
}

PROMPTS = PromptTable(
    # What the prompts of one row have in common.
    by=("task", "lang", "n_documents", "query_aware", "order", "distractors", "keys"),
    counts=(
        ("prompts", "example_id", "size"),
        ("questions", "example_id", "nunique"),
        ("places", "gold_index", "nunique"),
        ("tokens_mean", "n_tokens", "mean"),
        ("tokens_max", "n_tokens", "max"),
    ),
    slice_names=("lang",),
    # `gold_without_answer` depends on the switch (see `construct.build`).
    kept=(
        "answer_of_punctuation",
        "distractors_with_answer",
        "unknown_questions",
        "unusable_words",
    ),
    sorted=False,
)
