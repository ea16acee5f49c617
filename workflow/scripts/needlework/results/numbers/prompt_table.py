"""Numbers on prompts, before any model reads them: how many, how full, and what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.results.result import PromptTable

if TYPE_CHECKING:
    import pandas as pd


def describe(spec: PromptTable, files: Iterable[str | Path]) -> pd.DataFrame:
    """One row per setting, then one row per slice and reason for notes on omissions and findings."""
    import pandas as pd

    from needlework.records import read_notes, read_table

    wanted = {*spec.by, *(column for _, column, _ in spec.counts)}
    wanted |= {name for text in spec.computed.values() for name in re.findall(r"\w+", text)}
    names = [name for name in spec.slice_names if name]
    tables, notes = [], []
    for file in map(Path, files):
        tables.append(read_table(file, sorted(wanted.difference(spec.computed))).to_pandas())
        parts = file.stem.split("-", len(spec.slice_names) - 1)
        labels = {name: part for name, part in zip(spec.slice_names, parts, strict=True) if name}
        for reason, count in read_notes(file)["left_out"].items():
            kept = reason in spec.kept or reason.endswith("_kept")
            task = f"{'found' if kept else 'left out'}: {reason.removesuffix('_kept')}"
            notes.append({**labels, "task": task, "prompts": count})
    prompts = pd.concat(tables)
    for name, expression in spec.computed.items():
        prompts[name] = prompts.eval(expression)
    counts = {name: (column, how) for name, column, how in spec.counts}
    described = prompts.groupby(list(spec.by), sort=spec.sorted).agg(**counts).reset_index()
    whole = described.select_dtypes("integer").columns
    means = {name: 1 for name, _, how in spec.counts if how == "mean"} | dict(spec.digits)
    found = pd.DataFrame(notes, columns=[*names, "task", "prompts"])
    found = found.groupby([*names, "task"], sort=spec.sorted, as_index=False).sum()
    described = pd.concat([described.round(means), found[found["prompts"] > 0]], ignore_index=True)
    return described.astype(dict.fromkeys(whole, "Int64"))
