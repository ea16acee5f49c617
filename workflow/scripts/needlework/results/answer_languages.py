"""In which language models answered: in the one that was asked for, in another, or undecided."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from needlework.factor import Factor
from needlework.results.context import Context
from needlework.results.layouts import PERCENT, Grid
from needlework.results.tabulate import MODEL, tabulate

if TYPE_CHECKING:
    import pandas as pd

ANSWERED = Factor(
    "answered", label="Answered in", order=("the language asked for", "another", "undecided")
)
MODELS = Factor("model", label="Model")


def of_language(column: str) -> str:
    """The display name of a column of languages, such as "context language" of `context_lang`."""
    return column.removesuffix("lang").replace("_", " ") + "language"


def answers_grid(*languages: Factor) -> Grid:
    """The layout of `answer_languages`: a line a model and languages, accuracy by language of the answer."""
    named = [
        replace(factor, label=factor.label or of_language(factor.name).capitalize())
        for factor in languages
    ]
    return Grid(
        rows=(MODELS, *named),
        columns=(ANSWERED,),
        number=PERCENT,
        note="Accuracy in % of the answers in each language; the CSV has their share of all answers.",
    )


def answer_languages(
    rows: pd.DataFrame, run: Context, *languages: Factor, asked: pd.Series[str] | str
) -> pd.DataFrame:
    """Accuracy and share of answers by their language, for each model and value of `languages`.

    `asked` is the language that each row asks for, or the column that has it. An answer of one metric is
    one row. Its language (`answered_in` of scores) is told from its letters and commonest words: names,
    numbers and short answers are undecided.
    """
    import numpy as np

    from needlework.results import cells

    wanted = (rows[asked] if isinstance(asked, str) else asked).astype(object)
    # Scores of earlier versions lack the column.
    said = rows["answered_in"].astype(object) if "answered_in" in rows else None
    decided = np.zeros(len(rows), bool) if said is None else said.notna().to_numpy()
    same = np.zeros(len(rows), bool) if said is None else (said == wanted).to_numpy(bool)
    answered, other, undecided = map(str, ANSWERED.order)
    kind = np.where(decided, np.where(same, answered, other), undecided)
    made = tabulate(
        cells.kept(rows.assign(answered=kind), cells.judged(rows)),
        (MODEL, *languages, ANSWERED),
        run,
    )
    by = ["model", *(factor.name for factor in languages)]
    return made.assign(share=made["n"] / made.groupby(by, dropna=False)["n"].transform("sum"))
