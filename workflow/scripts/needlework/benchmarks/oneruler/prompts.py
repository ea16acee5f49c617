"""What the prompts are like, before any model reads them: how many, how full, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from needlework.benchmarks.oneruler.plan import slice_languages
from needlework.records import read_notes, read_table

CELL = ["instruction_lang", "context_lang", "task", "none_option", "length"]


def describe(files: Iterable[str | Path]) -> pd.DataFrame:
    """Counts of a tokenizer's prompts by languages, task and length.

    `fill` is the mean share of the length that prompt and room for the answer take together;
    `exhausted` counts prompts whose words ran out before the length. Rows whose task begins with
    "left out" count what could not be built and why (see `construct.build`).
    """
    tables, left_out = [], []
    for file in files:
        table = read_table(file, [*CELL, "n_tokens", "max_new_tokens", "exhausted"])
        tables.append(table.to_pandas())
        instruction, context = slice_languages(Path(file).stem)
        for reason, count in read_notes(file)["left_out"].items():
            if count:
                left_out.append(
                    {
                        "instruction_lang": instruction,
                        "context_lang": context,
                        "task": f"left out: {reason}",
                        "prompts": count,
                    }
                )
    prompts = pd.concat(tables)
    prompts["fill"] = (prompts["n_tokens"] + prompts["max_new_tokens"]) / prompts["length"]
    described = (
        prompts.groupby(CELL)
        .agg(
            prompts=("n_tokens", "size"),
            tokens_mean=("n_tokens", "mean"),
            tokens_max=("n_tokens", "max"),
            fill=("fill", "mean"),
            exhausted=("exhausted", "sum"),
        )
        .reset_index()
        .round({"tokens_mean": 1, "fill": 4})
    )
    described = pd.concat([described, pd.DataFrame(left_out)], ignore_index=True)
    return described.astype(
        dict.fromkeys(["length", "prompts", "tokens_max", "exhausted"], "Int64")
    )
