"""A paper's printed numbers, and comparisons of our numbers with them."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from needlework.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("paper", "table", "row", "column", "value", "n", "source", "note")
KEY = ("paper", "table", "row", "column", "source")
SOURCES = ("paper", "repository")


UNPUBLISHED = "cannot tell: no published number"
# What `equal` and `compare` say of two numbers that can be compared. COVERED: ours is the paper's number, as
# far as both are known.
COVERED = ("covers", "equals")
JUDGED = (*COVERED, "below", "above", "differs")


@dataclass(frozen=True)
class PrintedNumber:
    """A published number."""

    value: float
    # The number of answers behind it, if that can be derived.
    n: int | None
    source: str = "paper"
    # The table, row and column of a printed number; None for a number computed from several.
    cell: str | None = None


def cell_name(table: str, row: str, column: str) -> str:
    """The name of a printed number, in the column `published_cell`."""
    return " | ".join((table, row, column))


# Of a line of a table: its numbers by column.
PrintedLine: TypeAlias = dict[str, PrintedNumber]


def load(path: str | Path) -> pd.DataFrame:
    """The published numbers of `resources/published/<benchmark>.csv`: one per row.

    Columns: paper, table, row, column (text: which number), value (float), n (Int64, missing where
    it cannot be derived), source ("paper": as printed; "repository": from the paper's released
    results) and note. Raises UserError naming file, line and column of what is wrong.
    """
    import pandas as pd

    path = Path(path)
    rows: list[dict[str, object]] = []
    seen: dict[tuple[str, ...], int] = {}
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.reader(file)
            header = next(reader, [])
            if tuple(header) != COLUMNS:
                raise UserError(
                    f"{path}, line 1: the columns are {', '.join(header) or 'missing'}; "
                    f"make them {', '.join(COLUMNS)}."
                )
            for fields in reader:
                line = reader.line_num
                if len(fields) != len(COLUMNS):
                    raise UserError(
                        f"{path}, line {line}: {len(fields)} columns instead of {len(COLUMNS)}; "
                        "quote a text that holds a comma."
                    )
                row = _parse(path, line, dict(zip(COLUMNS, fields, strict=True)))
                key = tuple(str(row[name]) for name in KEY)
                if key in seen:
                    raise UserError(
                        f"{path}, line {line}: the columns {', '.join(KEY)} repeat line "
                        f"{seen[key]}; keep one of the two."
                    )
                seen[key] = line
                rows.append(row)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: restore it from the repository.") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text: save it as UTF-8.") from None
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: {error}; correct it.") from None
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({"value": "float64", "n": "Int64"})


def none() -> pd.DataFrame:
    """An empty table of published numbers, for a benchmark without any."""
    import pandas as pd

    return pd.DataFrame(columns=list(COLUMNS))


def _parse(path: Path, line: int, fields: dict[str, str]) -> dict[str, object]:
    def wrong(column: str, expected: str) -> UserError:
        return UserError(
            f"{path}, line {line}, column {column}: {fields[column]!r} is not {expected}; correct it."
        )

    for column in KEY:
        if not fields[column].strip():
            raise wrong(column, "a name")
    if fields["source"] not in SOURCES:
        raise wrong("source", f"one of {', '.join(SOURCES)}")
    try:
        value = float(fields["value"])
    except ValueError:
        raise wrong("value", "a number") from None
    if not math.isfinite(value):
        raise wrong("value", "a finite number")
    n = fields["n"]
    if n and not (n.isascii() and n.isdigit() and int(n) > 0):
        raise wrong("n", "empty or a whole number above 0")
    return {**fields, "value": value, "n": int(n) if n else None}


def tables(published: pd.DataFrame) -> dict[str, dict[str, PrintedLine]]:
    """The numbers by table, line and column, in the file's order; the paper's before the released code's."""
    import pandas as pd

    found: dict[str, dict[str, PrintedLine]] = {}
    for row in published.itertuples():
        line = found.setdefault(row.table, {}).setdefault(row.row, {})
        if row.column not in line or row.source == "paper":
            n = None if pd.isna(row.n) else int(row.n)
            cell = cell_name(row.table, row.row, row.column)
            line[row.column] = PrintedNumber(float(row.value), n, row.source, cell)
    return found


def equal(
    value: float, published: PrintedNumber | None, digits: int, obstacle: str | None = None
) -> str:
    """Whether our number equals the published number to so many digits, rounded or cut: papers print either.

    "equals", "differs", or "cannot tell: <reason>" as `compare` says it.
    """
    if published is None:
        return UNPUBLISHED
    if math.isnan(value):
        return "cannot tell: no answer of ours to judge"
    if obstacle:
        return f"cannot tell: {obstacle}"
    cut = math.floor(value * 10**digits + 1e-9) / 10**digits
    printed = f"{published.value:.{digits}f}"
    return "equals" if printed in (f"{value:.{digits}f}", f"{cut:.{digits}f}") else "differs"


def compare(
    value: float,
    ci_low: float,
    ci_high: float,
    published: float | None,
    obstacle: str | None = None,
) -> str:
    """Whether our interval covers a published number.

    Returns "covers", or "below" or "above" if our whole interval lies there. Returns "cannot tell: <reason>"
    if nothing was published or nothing was measured, or if there is an `obstacle`, such as other settings
    than the paper's, that makes the numbers answers to different questions.
    """
    if published is None or math.isnan(published):
        return UNPUBLISHED
    if math.isnan(value):
        return "cannot tell: no answer of ours to judge"
    if math.isnan(ci_low) or math.isnan(ci_high):
        return "cannot tell: our number has no interval"
    if obstacle:
        return f"cannot tell: {obstacle}"
    if ci_high < published:
        return "below"
    if ci_low > published:
        return "above"
    return "covers"
