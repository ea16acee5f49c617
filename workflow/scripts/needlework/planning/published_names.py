"""The names that the papers' tables give to models."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.errors import UserError
from needlework.planning.chosen import models_of
from needlework.planning.layout import ROOT

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration

PUBLISHED = ROOT / "resources/published"


def check_published(config: Configuration) -> list[str]:
    """A sentence for each model of a run whose published name no paper of the run has.

    Raises UserError if no paper at all has it: nothing could be compared.
    """
    notes = []
    for model, entry in models_of(config):
        name = entry.published
        if not name:
            continue
        theirs = {file.stem: _names(file) for file in sorted(PUBLISHED.glob("*.csv"))}
        key = f"models.{model}.published"
        if not any(name in names for names in theirs.values()):
            raise UserError(
                f"{key} is {name!r}, which is in no paper's table: "
                f"{_meant(name, theirs)}or leave it out, if no paper has this model."
            )
        if not any(name in theirs.get(benchmark, ()) for benchmark in config.run.benchmarks):
            asked = {b: theirs.get(b, frozenset()) for b in config.run.benchmarks}
            notes.append(
                f"{key} is {name!r}, which is in no table of {' or '.join(asked)}: its numbers will not be "
                f"compared; {_meant(name, asked)}or leave it so."
            )
    return notes


def _meant(name: str, theirs: Mapping[str, frozenset[str]]) -> str:
    known = sorted(set().union(*theirs.values()))
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}? Correct it, " if near else "correct it, "


@lru_cache
def _names(file: Path) -> frozenset[str]:
    """What stands in a table's rows and columns, where a name may be one of several parts."""
    with file.open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    return frozenset(
        part
        for row in rows
        for key in ("row", "column")
        for part in (row[key], *row[key].split("/"))
    )
