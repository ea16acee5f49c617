"""An append-only store of finished work, keyed by content, that survives a kill at any moment.

A journal is a directory of JSON Lines files, one a writer. Nobody ever appends to another writer's
file, so there is nothing to lock, it works on NFS with many writers at once, and the torn last line
of a killed writer is never glued to a new record. It lives outside Snakemake's outputs, which are
deleted before a rerun.
"""

from __future__ import annotations

import json
import os
import platform
import re
import secrets
import sys
import time
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from needlework.errors import UserError

Record = dict[str, Any]


class Journal:
    """The records under `directory`. A record is a JSON object with a string field `key`."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self._file: int | None = None

    def records(self) -> Iterator[Record]:
        """Every complete record of every writer, in order of the writers' start, one at a time.

        The same key can come twice when two writers worked at once: the first is to be believed.
        A line that is still being written, or was when its writer died, is left out. So is an
        unreadable line elsewhere (a damaged disk), with a warning that counts them.
        """
        for path in sorted(self.directory.glob("*.jsonl")):
            unreadable = 0
            with path.open("rb") as lines:
                for line in lines:
                    if not line.endswith(b"\n"):
                        break
                    try:
                        record = json.loads(line)
                    except (ValueError, RecursionError):
                        record = None
                    if isinstance(record, dict) and isinstance(record.get("key"), str):
                        yield record
                    else:
                        unreadable += 1
            if unreadable:
                warnings.warn(
                    f"{path} holds {unreadable} unreadable line(s): what they recorded is lost "
                    "and will be done again",
                    stacklevel=2,
                )

    def load(
        self,
        keys: Container[str] | None = None,
        holds: Callable[[Record], bool] = lambda record: True,
    ) -> dict[str, Record]:
        """The first complete record of each key (of `keys` alone, where given) that still `holds`.

        What is kept is about 1 KB a record, so give `keys` where the journal may hold much more
        than is wanted.
        """
        found: dict[str, Record] = {}
        for record in self.records():
            key = record["key"]
            if key not in found and (keys is None or key in keys) and holds(record):
                # json makes new strings of the field names for every record: share them.
                found[key] = {sys.intern(name): value for name, value in record.items()}
        return found

    def append(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write the records and return when they are on the disk: one write and one sync in all.

        Raises UserError where the disk is full or the directory cannot be written.
        """
        text = "".join(
            json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
            for record in records
        )
        if not text:
            return
        try:
            if self._file is None:
                self._file = self._create()
            # json.loads reads bytes with surrogatepass too, so any str comes back as it was.
            left = memoryview(text.encode("utf-8", "surrogatepass"))
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError as error:
            # The file may now end in half a line: the next batch, if any, begins another file.
            self.close()
            raise UserError(
                f"the journal in {self.directory} cannot be written ({error.strerror}): free some "
                "space or correct the permissions, then run again; finished work is kept"
            ) from error

    def _create(self) -> int:
        """Open a file of this writer's own and make its name durable; the file descriptor."""
        self.directory.mkdir(parents=True, exist_ok=True)
        host = re.sub(r"[^A-Za-z0-9.]+", "_", platform.node()) or "host"
        # The time stands first so that the order of names is the order of the writers' start.
        start = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        name = f"{start}-{host}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        file = os.open(
            self.directory / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666
        )
        folder = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return file

    def close(self) -> None:
        """Close this writer's file; a later `append` begins another."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
