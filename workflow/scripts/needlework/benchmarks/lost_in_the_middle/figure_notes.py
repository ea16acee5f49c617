"""What the figures of Lost in the Middle say below themselves, and what they draw in another way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needlework.benchmarks.lost_in_the_middle.factors import (
    LEAST_ANSWERED,
    LEVELS,
    NOTHING_SHARED,
    PAIRS,
    QA,
    QA_TABLES,
)
from needlework.results.context import Run

if TYPE_CHECKING:
    import pandas as pd


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
