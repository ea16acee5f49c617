"""What the prompts are like, before any model reads them: how many, how full, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from needlework.records import read_notes, read_table

COLUMNS = (
    "needle_lang",
    "haystack_lang",
    "task",
    "length",
    "example_id",
    "n_tokens",
    "n_distractors",
    "exhausted",
)


def describe(files: Iterable[str | Path]) -> pd.DataFrame:
    """Counts of a tokenizer's prompts by needle language, task and length in tokens (0: no haystack).

    `exhausted` counts prompts whose list of distractors ended before the budget. Rows whose task
    begins with "left out" count what could not be built and why (see `construct.build`).
    """
    tables, left_out = [], []
    for file in files:
        tables.append(read_table(file, COLUMNS).to_pandas())
        needle = Path(file).stem.partition("-")[0]
        for reason, count in read_notes(file)["left_out"].items():
            left_out.append(
                {"needle_lang": needle, "task": f"left out: {reason}", "prompts": count}
            )
    prompts = pd.concat(tables)
    described = (
        prompts.groupby(["needle_lang", "task", "length"])
        .agg(
            prompts=("example_id", "size"),
            questions=("example_id", "nunique"),
            haystacks=("haystack_lang", "nunique"),
            tokens_mean=("n_tokens", "mean"),
            tokens_max=("n_tokens", "max"),
            distractors_mean=("n_distractors", "mean"),
            exhausted=("exhausted", "sum"),
        )
        .reset_index()
    )
    missing = pd.DataFrame(left_out).groupby(["needle_lang", "task"], as_index=False).sum()
    described = pd.concat([described, missing[missing["prompts"] > 0]], ignore_index=True)
    whole = ["length", "prompts", "questions", "haystacks", "tokens_max", "exhausted"]
    return described.round(1).astype(dict.fromkeys(whole, "Int64"))
