"""Lost in the Middle's figures: the numbers of each; `drawings` says how they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.lost_in_the_middle import figure_data
from needlework.benchmarks.lost_in_the_middle.drawings import DRAWINGS, FACTORS
from needlework.benchmarks.lost_in_the_middle.factors import PAIRS, QA
from needlework.figures import Plot

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DRAWINGS", "FACTORS", "FIGURES", "of_run"]


def _ablation(title: str, variant: str, tasks: Sequence[str] = (QA,)) -> Plot:
    data: Callable[..., pd.DataFrame] = partial(figure_data.ablation, tasks, variant)
    return Plot(title, data)


FIGURES: dict[str, Plot] = {
    "figure1": Plot("The U-shaped curve", figure_data.figure1),
    "figure5": Plot("Accuracy by the gold document's position", figure_data.figure5),
    "figure6": Plot("Accuracy by the number of documents", figure_data.figure6),
    "figure10": Plot("Key-value retrieval by position", figure_data.figure10),
    "figure11": Plot("Encoder-decoder models", figure_data.figure11),
    "figure12": _ablation(
        "Query before and after the documents or pairs", "query_aware", (QA, PAIRS)
    ),
    "figure13": Plot("Base and instruction-tuned models", figure_data.figure13),
    "figure14": Plot("Retriever recall and reader accuracy", figure_data.figure14),
    "figure15": _ablation("Unambiguous questions", "unambiguous"),
    "figure16": _ablation("Random distractors", "random_distractors"),
    "figure17": _ablation("Distractors in random order", "random_order"),
    "figure18": Plot("All models on the questions that all answered", figure_data.figure18),
    "languages": Plot("Languages of the questions", figure_data.languages),
    "key_value_words": Plot("Words instead of UUIDs", figure_data.key_value_words),
}


def of_run(rows: pd.DataFrame) -> dict[str, Any]:
    """Nothing: the drawings say nothing of a run that the figures' numbers do not."""
    return {}
