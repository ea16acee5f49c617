"""What the prompts are like, before any model reads them: how many, how full, and what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PromptTable:
    """A table of a tokenizer's prompts, and below it what could not be built or is in the data all the same.

    by: factors whose values have a row each. counts: name of a column, what it is of, and how it is
    counted (an aggregation of pandas: size, nunique, mean, max, sum). slice_names: the columns that
    the parts of a slice's name, between hyphens, stand in beside a note ("": none; the last takes the
    rest). computed: columns as expressions of others. digits: of means, where not 1, and of others. kept:
    notes that count what is not left out, as do those that end with "_kept". sorted: rows by their factors,
    not as the files have them; also_notes: those of notes too.
    """

    by: tuple[str, ...]
    counts: tuple[tuple[str, str, str], ...]
    slice_names: tuple[str, ...]
    computed: Mapping[str, str] = field(default_factory=dict)
    digits: Mapping[str, int] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    sorted: bool = True


def describe(spec: PromptTable, files: Iterable[str | Path]) -> pd.DataFrame:
    """One row a setting, and one a slice and reason of the notes on what was left out or found."""
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
