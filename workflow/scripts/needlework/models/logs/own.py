"""Files of needlework's own form: JSON Lines or Parquet with a row for each answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from needlework.data.budgets import Budget
from needlework.errors import UserError
from needlework.models.logs.logged import About, Logged, ended, lines

FINISH_REASONS = ("stop", "length")


def read(path: Path, about: About) -> Iterator[Logged]:
    """The answers in a file: columns `instance_id`, `text`, and perhaps `sample` and `finish_reason`."""
    rows = lines(path) if path.suffix == ".jsonl" else _rows(path)
    return (_parse(path, place, row) for place, row in rows)


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """The rows of a Parquet file, each with its place in words."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            # Declared and not decompressed: one text repeated is as large as it is written.
            about = file.metadata
            groups = [about.row_group(number) for number in range(about.num_row_groups)]
        size = sum(group.total_byte_size for group in groups)
        budget = Budget([path], path.stat().st_size, "the answers to replay")
        budget.declared(size)
        table = pq.read_table(path, read_dictionary=["text"])
        table.validate(full=True)
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{path} cannot be read as Parquet ({error}): write it again.") from None
    rows = (row for batch in table.to_batches(max_chunksize=64) for row in batch.to_pylist())
    for number, row in enumerate(rows):
        budget.take(number, row)
        yield f"row {number + 1}", row


def _parse(path: Path, place: str, row: Any) -> Logged:
    """The answer in a row."""

    def need(holds: bool, what: str) -> None:
        if not holds:
            raise UserError(f"{path}, {place}: {what}: correct it.")

    need(isinstance(row, dict), "not an object")
    # A column that other rows have is null in this one: the same as absent.
    row = {name: value for name, value in row.items() if value is not None}
    need(isinstance(row.get("instance_id"), str), "`instance_id` must be a string")
    need(isinstance(row.get("text"), str), "`text` must be a string")
    sample, reason = row.get("sample", 0), row.get("finish_reason")
    need(type(sample) is int and sample >= 0, "`sample` must be a number from 0")
    known = reason is None or reason in FINISH_REASONS
    need(known, f"`finish_reason` must be one of {', '.join(FINISH_REASONS)}")
    return Logged(row["instance_id"], sample, ended(row["text"], reason), place=place)
