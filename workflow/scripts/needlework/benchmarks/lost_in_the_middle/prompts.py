"""What the prompts are like, before any model reads them: how many, how long, and what there is to know."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from needlework.records import read_notes, read_table

# What the prompts of one row of the table have in common.
SETTING = ("task", "lang", "n_documents", "query_aware", "order", "distractors", "keys")
# Counts of `construct.build` that leave nothing out; `gold_without_answer` depends on the switch.
KEPT = ("answer_of_punctuation", "distractors_with_answer", "unknown_questions", "unusable_words")


def describe(files: Iterable[str | Path]) -> pd.DataFrame:
    """Counts of a tokenizer's prompts by task, language, number of documents (or pairs) and ablation.

    `places` is how many indices the gold document or the pair that is asked for stands at. Rows whose
    task begins with "left out" or "found" count, for a slice (in `lang`), what could not be built or
    what is in the data all the same (see `construct.build`).
    """
    tables, notes = [], []
    for file in files:
        columns = (*SETTING, "gold_index", "example_id", "n_tokens")
        tables.append(read_table(file, columns).to_pandas())
        for reason, count in read_notes(file)["left_out"].items():
            kept = reason in KEPT or reason.endswith("_kept")
            what = f"{'found' if kept else 'left out'}: {reason.removesuffix('_kept')}"
            notes.append({"task": what, "lang": Path(file).stem, "prompts": count})
    described = (
        pd.concat(tables)
        .groupby(list(SETTING), sort=False)
        .agg(
            prompts=("example_id", "size"),
            questions=("example_id", "nunique"),
            places=("gold_index", "nunique"),
            tokens_mean=("n_tokens", "mean"),
            tokens_max=("n_tokens", "max"),
        )
        .reset_index()
    )
    found = pd.DataFrame(notes, columns=["task", "lang", "prompts"])
    described = pd.concat([described, found[found["prompts"] > 0]], ignore_index=True)
    whole = ["n_documents", "prompts", "questions", "places", "tokens_max"]
    return described.round(1).astype(dict.fromkeys(whole, "Int64"))
