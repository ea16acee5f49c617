"""What tests are made of, a module per benchmark: scores that no model gave, and tables of real files.

Each has `golden()`, the rows and the run of its golden run (golden_runs.py): small, and with every kind of
answer, variant and model that changes what a result does with a row.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

# Ways to lose an answer: why it ended, and what became of it.
LOST = (
    *(("skipped", "answered"), ("error", "answered"), ("error", "refused")),
    *(("error", "prompt_cut"), ("length", "answered"), ("stop", "empty")),
)


def losing(rows: pd.DataFrame, model: str, every: int = 9) -> pd.DataFrame:
    """The rows, with one of so many answers of a model lost, in each way in turn."""
    rows = rows.assign(outcome="answered").reset_index(drop=True)
    lost = rows.index[rows["model"] == model][::every]
    for i, place in enumerate(lost):
        reason, outcome = LOST[i % len(LOST)]
        rows.loc[place, ["finish_reason", "outcome"]] = reason, outcome
        rows.loc[place, "value"] = rows.loc[place, "value"] if reason == "length" else 0.0
    return rows


def answering(rows: pd.DataFrame, asked: str, seed: int = 5) -> pd.DataFrame:
    """The rows with the language of each answer: the one asked for, English, or undecided."""
    draw = np.random.default_rng(seed).random(len(rows))
    language = np.where(draw < 0.7, rows[asked].astype(str), "en")
    return rows.assign(answered_in=pd.Series(language, rows.index).mask(draw > 0.85))
