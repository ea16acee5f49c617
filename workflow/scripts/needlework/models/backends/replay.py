"""Answers from a user's file: those of another harness, or of a person."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from needlework.entry import Entry
from needlework.errors import UserError
from needlework.models.backends.base import Answer, Backend, Request
from needlework.records import file_digest

logger = logging.getLogger("needlework")

FINISH_REASONS = ("stop", "length")


class Replay(Backend):
    """Answers from the file under the model's key `answers`.

    JSON Lines (`.jsonl`) or Parquet (`.parquet`) with the columns `instance_id` and `text`, and
    optionally `sample` (0 if absent) and `finish_reason` (`stop` if absent). One file may answer
    several benchmarks; a job sees one of them.
    """

    def __init__(self, config: Entry) -> None:
        super().__init__(config)
        if not config.get("answers"):
            raise UserError("a model with `backend: replay` needs the key `answers`: give a file.")
        self.path = Path(config["answers"])
        if self.path.suffix not in (".jsonl", ".parquet"):
            raise UserError(
                f"the answers to replay in {self.path} (a model's key `answers`) must be a .jsonl "
                "or .parquet file: convert it."
            )
        if not self.path.is_file():
            raise UserError(
                f"the answers to replay in {self.path} (a model's key `answers`) do not exist: "
                "correct the path."
            )
        self._answers: dict[tuple[str, int], Answer] = {}

    def identity(self) -> Mapping[str, object]:
        """The content of the file."""
        return {"backend": "replay", "answers": file_digest(self.path)}

    def depends_on(self, request: Request) -> str:
        """The name under which the file holds the answer."""
        return request.instance_id

    def check(self, known: Set[tuple[str, int]], asked: Set[tuple[str, int]]) -> None:
        """Raise UserError if the file lacks answers; answers to other requests are only counted."""
        self.load()
        unknown = self._answers.keys() - known
        others = f"answers {len(unknown)} request(s) outside the benchmark ({_first(unknown)})"
        missing = asked - self._answers.keys()
        if missing:
            raise UserError(
                f"{self.path} lacks the answers to {len(missing)} of {len(asked)} request(s) "
                f"({_first(missing)}){f', and {others}' if unknown else ''}: add them, or narrow the "
                "configuration to what it answers."
            )
        if unknown:
            logger.info("%s %s.", self.path, others)

    def load(self) -> None:
        """Read the file. Raises UserError on an unreadable or doubled answer."""
        if self._answers:
            return
        for place, row in _rows(self.path):
            key, answer = _parse(self.path, place, row)
            if key in self._answers:
                raise UserError(
                    f"{self.path}, {place}: a second answer to {_first([key])}; keep one of them."
                )
            self._answers[key] = answer

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        """The file's answer to each request."""
        return (self._answers[request.instance_id, request.sample] for request in batch)


def _first(keys: Iterable[tuple[str, int]]) -> str:
    """The first three keys in words."""
    ordered = sorted(keys)
    shown = ", ".join(f"{instance} sample {sample}" for instance, sample in ordered[:3])
    return shown + (", ..." if len(ordered) > 3 else "")


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    """The file's rows, each with its place in words."""
    if path.suffix == ".jsonl":
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise UserError(
                        f"{path}, line {number}: not JSON ({error}): correct the line."
                    ) from None
                yield f"line {number}", row
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        table.validate(full=True)
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{path} cannot be read as Parquet ({error}): write it again.") from None
    rows = (row for batch in table.to_batches(max_chunksize=1024) for row in batch.to_pylist())
    for number, row in enumerate(rows, 1):
        yield f"row {number}", row


def _parse(path: Path, place: str, row: Any) -> tuple[tuple[str, int], Answer]:
    """A row's (instance_id, sample) and answer."""

    def need(holds: bool, what: str) -> None:
        if not holds:
            raise UserError(f"{path}, {place}: {what}: correct it.")

    need(isinstance(row, dict), "not an object")
    # A column that other rows have is null in this one: the same as absent.
    row = {name: value for name, value in row.items() if value is not None}
    need(isinstance(row.get("instance_id"), str), "`instance_id` must be a string")
    need(isinstance(row.get("text"), str), "`text` must be a string")
    sample, reason = row.get("sample", 0), row.get("finish_reason", "stop")
    need(type(sample) is int and sample >= 0, "`sample` must be a number from 0")
    need(reason in FINISH_REASONS, f"`finish_reason` must be one of {', '.join(FINISH_REASONS)}")
    return (row["instance_id"], sample), Answer(row["text"], reason)


BACKEND = Replay
