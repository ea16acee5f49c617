"""MLNeedle's figures 1 and 3 to 8: the numbers of each; `drawings` says how they are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from needlework.benchmarks.mlneedle import figure_data
from needlework.benchmarks.mlneedle.drawings import DRAWINGS, FACTORS
from needlework.figures import Plot

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DRAWINGS", "FACTORS", "FIGURES", "of_run"]

FIGURES: dict[str, Plot] = {
    "figure1": Plot("Accuracy by language, needle and haystack alike", figure_data.figure1),
    "figure3": Plot("Effect of the needle's language", figure_data.figure3),
    "figure4": Plot("Effect of the needle's position", figure_data.figure4),
    "figure5": Plot("Accuracy of growing samples", figure_data.figure5),
    "figure6": Plot(
        "Exact and existence accuracy by position and needle language", figure_data.figure6
    ),
    "figure7": Plot("Exact and existence accuracy by haystack language", figure_data.figure7),
    "figure8": Plot("Greedy decoding and sampling", figure_data.figure8),
}


def of_run(rows: pd.DataFrame) -> dict[str, Any]:
    """What the drawings say of a run, as far as its scores tell."""
    langs = sorted(set(rows.loc[rows["length"] > 0, "needle_lang"]))
    return {"needle_languages": langs, "unit_of_length": "tokens"}
