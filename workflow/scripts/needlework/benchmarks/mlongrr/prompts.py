"""What the prompts are like, before any model reads them: how many, how full, and where needles stand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from needlework.records import read_notes, read_table

CELL = ["haystack", "lang", "template", "task", "n_needles", "question", "length"]


def describe(files: Iterable[str | Path]) -> pd.DataFrame:
    """Counts of a tokenizer's prompts by text, prompt, task and length.

    `fill` is the mean share of the length that prompt and room for the answer take together; `off`
    the most percent points between a needle's depth and its real one; `exhausted` counts prompts whose
    text ran out before the length. Rows whose task begins with "counted" are what `construct.build`
    counts of a slice.
    """
    tables, counted = [], []
    columns = [*CELL, "depth", "real_depth", "n_tokens", "max_new_tokens", "exhausted"]
    for file in files:
        tables.append(read_table(file, columns).to_pandas())
        for what, count in read_notes(file)["left_out"].items():
            if count:
                lang, _, haystack = Path(file).stem.partition("-")
                row = {"haystack": haystack.replace("-", "_"), "lang": lang, "prompts": count}
                counted.append({**row, "task": f"counted: {what}"})
    prompts = pd.concat(tables)
    prompts["fill"] = (prompts["n_tokens"] + prompts["max_new_tokens"]) / prompts["length"]
    prompts["off"] = (prompts["depth"] - prompts["real_depth"]).abs()
    described = (
        prompts.groupby(CELL)
        .agg(
            prompts=("n_tokens", "size"),
            tokens_mean=("n_tokens", "mean"),
            tokens_max=("n_tokens", "max"),
            fill=("fill", "mean"),
            off=("off", "max"),
            exhausted=("exhausted", "sum"),
        )
        .reset_index()
        .round({"tokens_mean": 1, "fill": 4, "off": 1})
    )
    described = pd.concat([described, pd.DataFrame(counted)], ignore_index=True)
    whole = ["n_needles", "length", "prompts", "tokens_max", "exhausted"]
    return described.astype(dict.fromkeys(whole, "Int64"))
