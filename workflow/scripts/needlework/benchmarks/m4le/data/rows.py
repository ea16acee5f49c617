"""The table of every source of M4LE: a row is a finished prompt with its pieces and answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from needlework.benchmarks.m4le.data.frames import Piece
from needlework.errors import UserError

PIECE = pa.struct([("role", pa.string()), ("start", pa.int32()), ("end", pa.int32())])

# `passage_id` is task, bucket and number. `text` is the whole prompt, which `pieces` cover; `gold` are the
# places of the needles among `n_items` items; `length` is that of prompt and answer in the task's own unit.
ROWS = pa.schema(
    [
        ("passage_id", pa.string()),
        ("task", pa.string()),
        ("text", pa.string()),
        ("pieces", pa.list_(PIECE)),
        ("answers", pa.list_(pa.string())),
        ("bucket", pa.int32()),
        ("length", pa.int32()),
        ("gold", pa.list_(pa.int32())),
        ("n_items", pa.int32()),
    ]
)


class Row(NamedTuple):
    """A row of ROWS, but for its id."""

    task: str
    text: str
    pieces: list[Piece]
    answers: Sequence[str]
    bucket: int
    length: int
    gold: Sequence[int]
    n_items: int


def rows_table(rows: Iterable[Row], what: str) -> pa.Table:
    """ROWS in the given order; UserError if there is none."""
    columns: dict[str, list[Any]] = {name: [] for name in ROWS.names}
    counts: Counter[tuple[str, int]] = Counter()
    for row in rows:
        number = counts[row.task, row.bucket]
        counts[row.task, row.bucket] += 1
        columns["passage_id"].append(f"{row.task}-{row.bucket:06d}-{number:04d}")
        columns["pieces"].append([piece._asdict() for piece in row.pieces])
        for name in ("task", "text", "answers", "bucket", "length", "gold", "n_items"):
            columns[name].append(getattr(row, name))
    if not counts:
        raise UserError(
            f"{what} has no row of the wanted lengths: correct benchmarks.m4le.lengths."
        )
    return pa.table([pa.array(columns[f.name], f.type) for f in ROWS], schema=ROWS)
