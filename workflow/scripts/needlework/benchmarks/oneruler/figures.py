"""ONERULER's figures: the numbers of each; `drawings` says how they are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from needlework.benchmarks.oneruler import factors, figure_data
from needlework.benchmarks.oneruler.drawings import DRAWINGS, FACTORS
from needlework.figures import Plot

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DRAWINGS", "FACTORS", "FIGURES", "of_run"]

FIGURES: dict[str, Plot] = {
    "figure1a": Plot("Languages with large and small Wikipedias", figure_data.figure1a),
    "figure1b": Plot("With and without the option none", figure_data.figure1b),
    "figure3": Plot("Accuracy by language and length", figure_data.figure3),
    "figure4a": Plot("Long contexts by model", figure_data.figure4a),
    "figure4b": Plot("Long contexts by language", figure_data.figure4b),
    "figure5": Plot("Accuracy by task", figure_data.figure5),
    "figure6a": Plot("Cross-lingual accuracy", figure_data.figure6a),
    "figure6b": Plot("Errors with a single needle", figure_data.figure6b),
    "figure17": Plot("Accuracy by model and length", figure_data.figure17),
    "figure18": Plot("Errors in long contexts, models behind endpoints", figure_data.figure18),
    "figure19": Plot("Errors in long contexts, open models", figure_data.figure19),
    "figure20": Plot("Reasoning tokens of right and wrong answers", figure_data.figure20),
    "figure21": Plot("Answers cut by the output limit", figure_data.figure21),
    "figure22": Plot("Common words by length", figure_data.figure22),
    "figure23": Plot("Right words in wrong answers", figure_data.figure23),
    "figure24": Plot("One text in several tokenizers", figure_data.figure24),
    "figure25": Plot("Equal text by language and length", figure_data.figure25),
}


def of_run(rows: pd.DataFrame) -> dict[str, Any]:
    """What the drawings say of a run, as far as its rows tell: what counts as a long context."""
    lengths = map(factors.length_label, factors.long(rows))
    return {"long_contexts": f"contexts of {' and '.join(lengths)}"}
