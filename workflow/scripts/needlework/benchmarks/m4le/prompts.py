"""What the prompts are like, before any model reads them: how many, how long, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from needlework.records import read_table

CELL = ["ability", "task_type", "task", "lang", "length"]


def describe(files: Iterable[str | Path]) -> pd.DataFrame:
    """Counts of a tokenizer's prompts by task and bucket, with their candidates and lengths in tokens."""
    columns = [*CELL, "n_tokens", "candidates", "max_new_tokens"]
    prompts = pd.concat([read_table(file, columns).to_pandas() for file in files])
    return (
        prompts.groupby(CELL, sort=False)
        .agg(
            prompts=("n_tokens", "size"),
            candidates=("candidates", "mean"),
            tokens_mean=("n_tokens", "mean"),
            tokens_max=("n_tokens", "max"),
            max_new_tokens=("max_new_tokens", "max"),
        )
        .reset_index()
        .round({"tokens_mean": 1, "candidates": 1})
    )
