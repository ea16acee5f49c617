"""Which program wrote a file, by its ending and its first line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from needlework.errors import UserError
from needlework.models.logs import every_eval_ever, inspect_ai, lm_eval, openai_batch, own
from needlework.models.logs.files import ENDINGS
from needlework.models.logs.logged import LARGEST, About, Logged

Read = Callable[[Path, About], Iterator[Logged]]
# Of JSON Lines, by two keys that each line has.
_LINES: tuple[tuple[set[str], Read], ...] = (
    ({"doc", "resps"}, lm_eval.read),
    ({"custom_id", "response"}, openai_batch.read),
    ({"schema_version", "sample_id"}, every_eval_ever.read),
)


def reader_of(path: Path) -> Read:
    """The function that reads a file of answers. UserError if no program's files end so, or it is absent."""
    if path.suffix not in ENDINGS:
        raise UserError(
            f"the answers to replay in {path} (a model's key `answers`) must be a "
            f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} file: convert it."
        )
    if not path.is_file():
        raise UserError(
            f"the answers to replay in {path} (a model's key `answers`) do not exist: correct the path."
        )
    if path.suffix in (".eval", ".json"):
        return inspect_ai.read
    return own.read if path.suffix == ".parquet" else _of_lines(path)


def _of_lines(path: Path) -> Read:
    """By the first line that is not empty; what is no JSON is told when it is read."""
    with path.open("rb") as file:
        while (line := file.readline(LARGEST)) and not line.strip():
            pass
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return own.read
    keys = row.keys() if isinstance(row, dict) else set()
    return next((read for wanted, read in _LINES if wanted <= keys), own.read)
