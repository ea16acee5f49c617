"""The languages of models' answers: the language that was asked for, another, or undecided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from needlework.factor import Factor
from needlework.results.result import (
    PERCENT,
    Context,
    Grid,
    Result,
    table,
)
from needlework.results.tabulate import MODEL, tabulate

if TYPE_CHECKING:
    import pandas as pd

ANSWERED = Factor(
    "answered", label="Answered in", order=("the language asked for", "another", "undecided")
)


def of_language(column: str) -> str:
    """The display name of a column of languages, such as "context language" of `context_lang`."""
    return column.removesuffix("lang").replace("_", " ") + "language"


def answered_in(
    *languages: Factor,
    asked: str,
    of: Callable[[pd.DataFrame, Context], pd.DataFrame] = lambda rows, run: rows,
    when: tuple[str, ...] = (),
) -> Result:
    """A benchmark's table of accuracy and share of answers by their language, per model and `languages`.

    `asked` is the column with the language that a row asks for. `of` returns the rows of scores that count,
    one per answer. An answer's language (`answered_in` of scores) is told from its letters and commonest
    words.
    """
    named = [
        replace(factor, label=factor.label or of_language(factor.name).capitalize())
        for factor in languages
    ]
    grid = Grid(
        rows=(MODEL, *named),
        columns=(ANSWERED,),
        number=PERCENT,
        note="Accuracy in % of the answers in each language. The CSV has their share of all answers.",
    )

    @table("Accuracy by the language of the answers", grid, when=when)
    def answered_in(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
        """Whether a model answers in the language that the prompt asks for. Undecided: short texts, names,
        ids, numbers and words of many languages.
        """
        return _by_language(of(rows, run), run, languages, asked)

    return answered_in


def _by_language(
    rows: pd.DataFrame, run: Context, languages: Sequence[Factor], asked: str
) -> pd.DataFrame:
    import numpy as np

    from needlework.results import cells

    # Scores of earlier versions lack the column.
    said = rows["answered_in"].astype(object) if "answered_in" in rows else None
    decided = np.zeros(len(rows), bool) if said is None else said.notna().to_numpy()
    same = np.zeros(len(rows), bool)
    if said is not None:
        same = (said == rows[asked].astype(object)).to_numpy(bool)
    answered, other, undecided = map(str, ANSWERED.order)
    kind = np.where(decided, np.where(same, answered, other), undecided)
    made = tabulate(
        cells.kept(rows.assign(answered=kind), cells.judged(rows)),
        (MODEL, *languages, ANSWERED),
        run,
    )
    by = ["model", *(factor.name for factor in languages)]
    return made.assign(share=made["n"] / made.groupby(by, dropna=False)["n"].transform("sum"))
