"""How Lost in the Middle's figures are drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.contract import Run
from needlework.benchmarks.drawings import Drawing, Lines
from needlework.benchmarks.factor import Factor
from needlework.benchmarks.lost_in_the_middle.factors import (
    LEAST_ANSWERED,
    NOTHING_SHARED,
    PAIRS,
    QA,
    QA_TABLES,
)
from needlework.results.figures.style import COLOURS

if TYPE_CHECKING:
    import pandas as pd

LEVELS = ("closed_book", "oracle")
FACTORS = {
    factor.name: factor
    for factor in (
        Factor(
            "task",
            order=(QA, PAIRS),
            words={
                QA: "documents",
                PAIRS: "pairs",
                "closed_book": "closed book",
                "oracle": "gold alone",
            },
        ),
        Factor("position", label="Position in the prompt"),
        Factor("n_documents", label="Documents in the prompt"),
        Factor("lang", order=("en",), last=("uuid",), format="language", words={"uuid": "UUIDs"}),
        Factor("architecture", order=("encoder-decoder", "decoder-only")),
    )
}
HERE = "needlework.benchmarks.lost_in_the_middle.drawings"
NO_DOCUMENTS = "no model answered English questions with documents"
SIZE = "{n_documents} {task}"
CHANGED = (COLOURS[0], "o")

CURVES = Lines(
    x="position",
    scaled=True,
    panel="n_documents",
    panel_title="{n_documents} documents",
    limits=None,
    sides=("task", *LEVELS),
    paper=f"{HERE}:origin",
    nothing=NO_DOCUMENTS,
)
ALONE = replace(CURVES, sides=())
BY_MODEL = replace(
    ALONE, panel="model", panel_title="", row=("task", "n_documents"), row_title=SIZE
)


def _ablation(variant: str, changed: str, plain: str, nothing: str, **more: Any) -> Lines:
    """A panel a model, a row a size: the line with a change (blue) and the one without (grey)."""
    return replace(
        BY_MODEL,
        line="variant",
        looks={variant: CHANGED, "main": ("#777777", "s")},
        called={variant: changed, "main": plain},
        nothing=nothing,
        **more,
    )


DRAWINGS: dict[str, Drawing] = {
    "figure1": replace(
        ALONE,
        panel="model",
        panel_title="",
        row=("n_documents",),
        row_title="{n_documents} documents",
        line="task",
        called={QA: "with documents"},
    ),
    "figure5": CURVES,
    "figure6": Lines(
        x="n_documents",
        limits=None,
        y="Accuracy, all positions",
        paper=f"{HERE}:means",
        nothing=NO_DOCUMENTS,
    ),
    "figure10": replace(
        CURVES,
        panel_title="{n_documents} pairs",
        prepare=f"{HERE}:lowest_as_level",
        counted="variant != 'lowest'",
        nothing="no model was asked for the values of UUIDs",
    ),
    "figure11": replace(
        ALONE,
        row=("architecture",),
        nothing="no encoder-decoder model answered English questions with documents",
    ),
    "figure12": _ablation(
        "query_aware",
        "query before and after",
        "query after",
        "no English prompt has the query before its documents, and none of UUIDs before its pairs",
    ),
    "figure13": replace(
        ALONE,
        row=("pair",),
        row_title="",
        suffix="role",
        nothing="no base model and its instruction-tuned variant answered English questions",
    ),
    "figure14": replace(
        ALONE,
        x="n_documents",
        panel="",
        y="Recall, accuracy",
        where="task != 'gain'",
        called={"": "retriever recall"},
        looks={"": ("#333333", "*")},
        prepare=f"{HERE}:recall_named",
        counted="task == 'open_domain'",
        words="Recall: the share of questions for which a document holds an accepted answer.",
        nothing="no model answered questions with retrieved documents (open_domain)",
    ),
    "figure15": _ablation(
        "unambiguous",
        "unambiguous questions",
        "all questions",
        "no list says which English questions are unambiguous",
        counted="variant == 'main'",
        note=f"{HERE}:unambiguous",
    ),
    "figure16": _ablation(
        "random_distractors",
        "random distractors",
        "retrieved distractors",
        "no English prompt has random distractors",
    ),
    "figure17": _ablation(
        "random_order",
        "random order, and said so",
        "order of relevance",
        "no English prompt has its distractors in random order",
    ),
    "figure18": replace(ALONE, why="absent", note=f"{HERE}:shared"),
    "languages": replace(
        BY_MODEL,
        line="lang",
        needs="lang != 'en'",
        nothing="no model answered questions with documents in a language but English",
    ),
    "key_value_words": replace(
        BY_MODEL,
        line="lang",
        looks={"uuid": ("#333333", "*")},
        needs="lang != 'uuid'",
        nothing="no model was asked for words (key_value, keys: words)",
    ),
}


def lowest_as_level(data: pd.DataFrame, run: Run) -> pd.DataFrame:
    """The paper's lowest number of a curve as a level; ours is a point of the curve already."""
    lowest = data["variant"] == "lowest"
    ours = data["value"].mask(lowest & (data["source"] == "ours"))
    return data.assign(value=ours, position=data["position"].mask(lowest))


def recall_named(data: pd.DataFrame, run: Run) -> pd.DataFrame:
    """Recall as a line, though it is no model's."""
    return data.assign(model=data["model"].fillna(""))


def unambiguous(data: pd.DataFrame, run: Run) -> str:
    """How many of the questions are unambiguous: they are counted among the others."""
    some = data.loc[(data["variant"] == "unambiguous") & (data["n"] > 0), "n_questions"]
    return f"Unambiguous: {some.min():,.0f} of the questions." if len(some) else ""


def shared(data: pd.DataFrame, run: Run) -> str:
    """How many questions the models of each panel share, and which models are left out of it."""
    counts, out = [], []
    for size, part in data.groupby("n_documents"):
        counts.append(f"{part['n_questions'].max():,} ({size} documents)")
        few = part[~part["absent"].fillna("").isin(["", NOTHING_SHARED])]
        out += [f"{', '.join(few['model'])} ({size} documents)"] if len(few) else []
    words = f"Questions that all models of a panel answered at every position: {', '.join(counts)}."
    less = f"Left out, having answered less than {LEAST_ANSWERED:.0%} of the prompts"
    return words + (f" {less}: {'; '.join(out)}." if out else "")


def means(data: pd.DataFrame, run: Run) -> str:
    """`origin` of means over positions."""
    return f"means of the numbers in {origin(data, run)}"


def origin(data: pd.DataFrame, run: Run) -> str:
    """Where the published numbers of a figure are printed."""
    both = data[data["published"].notna()]
    paper = both[both["published_source"] == "paper"]
    sizes = sorted(set(paper.loc[paper["task"] == QA, "n_documents"]))
    tables = ["1"] if paper["task"].isin(LEVELS).any() else []
    tables += [QA_TABLES[size].removeprefix("table") for size in sizes]
    names = (
        f"Tables {', '.join(tables[:-1])} and {tables[-1]}"
        if tables[1:]
        else "Table " + "".join(tables)
    )
    text = "a number in its section 5.2" if tables else "the paper's section 5.2"
    text += " (level: the lowest of all positions)" if (paper["variant"] == "lowest").any() else ""
    released = ", ".join(dict.fromkeys(both.loc[both["published_source"] == "repository", "model"]))
    found = {
        f"the paper's {names}": tables,
        text: (paper["task"] == PAIRS).any(),
        f"the released code's EXPERIMENTS.md ({released})": released,
    }
    return " and ".join(words for words, there in found.items() if there)
