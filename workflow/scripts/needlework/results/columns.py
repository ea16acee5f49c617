"""Groups of number columns, and the meaning of each column (resources/columns.csv).

Descriptions name them, so this needs the standard library alone.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypedDict

from needlework.errors import UserError

# What every cell of every table says beside its labels.
MEASURES = (
    "value",
    "n",
    "n_questions",
    "ci_low",
    "ci_high",
    "se_independent",
    "ci_low_independent",
    "ci_high_independent",
    "n_skipped",
    "n_error",
    "n_cut",
    "n_empty",
    "n_prompt_cut",
    "n_refused",
    "lowest",
    "highest",
)
# The share of skipped and failed requests above which a cell is marked: as pandas' query on a table.
MARKED = "n_skipped + n_error > 0.01 * (n + n_skipped + n_error)"
# A mean of fewer answers is no finding: no line, bar, colour, card or first screen shows it.
LEAST_ANSWERS = 10


class Compared(TypedDict):
    """A published number, and how our number compares with it, in words."""

    published: float | None
    published_n: int | None
    published_cell: str | None
    comparison: str


COMPARISON = tuple(Compared.__annotations__)
# What a paired comparison adds: how many prompts only one side has right, and McNemar's exact p.
MCNEMAR = ("n_first_only", "n_second_only", "p_mcnemar")


def read_meanings(path: str | Path) -> dict[str, str]:
    """Meanings by column; a name may end with "*". Raises UserError if a line is wrong."""
    found: dict[str, str] = {}
    with Path(path).open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows, None)
        for number, row in enumerate(rows, 2):
            if len(row) != 2 or not all(row) or row[0] in found:
                raise UserError(
                    f"{path}, line {number}: it must have a column's name, which no other line has, and "
                    "its meaning; quote a text that holds a comma."
                )
            found[row[0]] = row[1]
    return found


def meaning(column: str, meanings: Mapping[str, str]) -> str:
    """A column's meaning; "" if it has no description."""
    if column in meanings:
        return meanings[column]
    starts = (name for name in meanings if name.endswith("*") and column.startswith(name[:-1]))
    start = max(starts, key=len, default="")
    return meanings[start].replace("{}", column.removeprefix(start[:-1])) if start else ""


def described(
    files: Iterable[tuple[str, str]], meanings: Mapping[str, str], own: Mapping[str, str]
) -> list[tuple[str, str, str]]:
    """One row (file, column, meaning) per column of the CSV `files`.

    Each file comes with a description of its column `value`.
    `own` has the meanings of columns of a user's own benchmark; they count if there is no other meaning.
    """
    made = []
    for file, title in files:
        with Path(file).open(encoding="utf-8", newline="") as text:
            head = next(csv.reader(text), [])
        for column in head:
            said = meaning(column, meanings) or own.get(column, "")
            made.append((file, column, f"{said}: {title}" if column == "value" else said))
    return made
