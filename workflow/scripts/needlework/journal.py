"""An append-only store of finished work, keyed by content, that survives a kill at any moment.

A journal is a directory of JSON Lines files, one a writer. Nobody ever appends to another writer's
file, so there is nothing to lock, it works on NFS with many writers at once, and the torn last line
of a killed writer is never glued to a new record. It lives outside Snakemake's outputs, which are
deleted before a rerun.

Two runs may finish the same key. A record counts from its publication, and the one that was published
first is the answer of all runs (`published_records`).
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import secrets
import stat
import sys
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from needlework.errors import UserError
from needlework.folders import entries, unreadable
from needlework.published_records import Publications

Record = dict[str, Any]

# The end of a line with a checksum: of the line without it. Older lines have none.
_CHECK = re.compile(rb',"check":"([0-9a-f]{16})"\}\n\Z')
# The most bytes of a line: a file may end in gigabytes of NULs, as after a loss of power.
LONGEST = 1 << 26
_PART = 1 << 20
# A writer whose file has not changed for this number of seconds counts as ended.
ACTIVE_SECONDS = 600.0


class Journal:
    """The records under `directory`. A record is a JSON object with a string field `key`."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self._file: int | None = None
        self._name = ""
        # How far each writer's file was read.
        self._read: dict[str, int] = {}

    def records(self) -> Iterator[Record]:
        """Every complete record of every writer, in order of the writers' start, one at a time.

        A line that is still being written, or was when its writer died, is left out. So is a line
        elsewhere that is unreadable or does not match its checksum (a damaged disk), with a warning
        that counts them.
        """
        for path in self._files():
            for _, record in self._records_of(path):
                yield record

    def load(
        self,
        keys: Container[str] | None = None,
        holds: Callable[[Record], bool] = lambda record: True,
    ) -> dict[str, Record]:
        """The record that counts for each key (only of `keys`, if given), if one `holds`.

        That is the one published first; of those not published yet, the first of the writer that
        started first. A record takes about 1 KB of memory, so give `keys` if the journal may hold many
        more.
        """
        return self._load(Publications(self.directory), keys, holds)[0]

    def settled(
        self,
        keys: Container[str] | None = None,
        holds: Callable[[Record], bool] = lambda record: True,
    ) -> dict[str, Record]:
        """As `load`, and published: no later run gets another record, whoever writes it.

        If this user may not write in the directory, nothing is published, with a warning.
        """
        while True:
            publications = Publications(self.directory)
            found, complete = self._load(publications, keys, holds)
            # The new records keep their order among themselves, so `found` stands.
            if complete or publications.add(self._read):
                return found

    def _load(
        self,
        publications: Publications,
        keys: Container[str] | None,
        holds: Callable[[Record], bool],
    ) -> tuple[dict[str, Record], bool]:
        """The records that count, and whether all of them are published."""
        found: dict[str, Record] = {}
        ranks: dict[str, float] = {}
        for path in self._files():
            for end, record in self._records_of(path):
                key = record["key"]
                if keys is not None and key not in keys:
                    continue
                rank = publications.rank(path.name, end)
                if (key not in found or rank < ranks[key]) and holds(record):
                    # json makes new strings of the field names for every record: share them.
                    found[key] = {sys.intern(name): value for name, value in record.items()}
                    ranks[key] = rank
        return found, all(rank < float("inf") for rank in ranks.values())

    def news(self) -> Iterator[Record]:
        """The records that other writers have finished since this journal was last read."""
        for path in self._files():
            if path.name != self._name and _stat(path).st_size > self._read.get(path.name, 0):
                for _, record in self._records_of(path, self._read.get(path.name, 0)):
                    yield record

    def _files(self) -> list[Path]:
        """The writers' files, in order of their start.

        Raises UserError if one is not a regular file, or if the directory is there and cannot be listed.
        """
        files = entries(self.directory, ".jsonl")
        for path in files:
            # Opening a FIFO would wait for ever.
            if not stat.S_ISREG(_stat(path).st_mode):
                raise UserError(
                    f"{path}, in the journal, is not a regular file: move it away and run again."
                )
        return files

    def _records_of(self, path: Path, start: int = 0) -> Iterator[tuple[int, Record]]:
        """The complete records of a file from a byte on, each with the byte at which it ends."""
        damaged, end = 0, start
        try:
            with path.open("rb") as lines:
                lines.seek(start)
                for size, line in _lines(lines):
                    end += size
                    record = _record(line)
                    if record is None:
                        damaged += 1
                    else:
                        yield end, record
        except OSError as error:
            raise unreadable(path, error) from None
        self._read[path.name] = end
        if damaged:
            warnings.warn(
                f"{path} holds {damaged} unreadable line(s): what they recorded is lost "
                "and will be done again",
                stacklevel=3,
            )

    def append(self, records: Iterable[Mapping[str, object]]) -> None:
        """Write the records and return when they are on the disk: one write and one sync in all.

        Raises UserError if the disk is full or the directory cannot be written.
        """
        content = b"".join(map(_line, records))
        if not content:
            return
        try:
            if self._file is None:
                self._file = self._create()
            left = memoryview(content)
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError as error:
            # The file may now end in half a line: the next batch, if any, begins another file.
            self.close()
            raise self._unwritable(error) from error

    def begin(self) -> int:
        """Make this writer's file; how many other writers, who started before, seem to be at work.

        Raises UserError as `append` does.
        """
        if self._file is None:
            try:
                self._file = self._create()
            except OSError as error:
                raise self._unwritable(error) from error
        # By the clock of the disk, which other hosts share.
        now = os.fstat(self._file).st_mtime
        earlier = [path for path in self._files() if path.name < self._name]
        return sum(_stat(path).st_mtime > now - ACTIVE_SECONDS for path in earlier)

    def _unwritable(self, error: OSError) -> UserError:
        return UserError(
            f"the journal in {self.directory} cannot be written ({error.strerror}): free some "
            "space or correct the permissions, then run again; finished work is kept"
        )

    def _create(self) -> int:
        """Open a file of this writer's own and make its name durable; the file descriptor."""
        self.directory.mkdir(parents=True, exist_ok=True)
        host = re.sub(r"[^A-Za-z0-9.]+", "_", platform.node()) or "host"
        # The time stands first so that the order of names is the order of the writers' start.
        start = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        self._name = f"{start}-{host}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        file = os.open(
            self.directory / self._name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666
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
            # Dated back, it is that of no writer at work (`begin`).
            ended = os.fstat(self._file).st_mtime - 2 * ACTIVE_SECONDS
            os.utime(self._file, (ended, ended))
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


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The complete lines of a file, each with its bytes; of a line above LONGEST only the beginning."""
    while line := file.readline(LONGEST):
        size, last = len(line), line
        while last and not last.endswith(b"\n"):
            last = file.readline(_PART)
            size += len(last)
        if last:
            yield size, line


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise unreadable(path, error) from None


def _line(record: Mapping[str, object]) -> bytes:
    """A record as it stands in a file, with the checksum of what stands before that."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    # json.loads reads bytes with surrogatepass too, so any str comes back as it was.
    content = text.encode("utf-8", "surrogatepass")
    return content[:-1] + f',"check":"{_checksum(content)}"}}\n'.encode()


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _record(line: bytes) -> Record | None:
    """The record in a line; None if the line is not a record, or is damaged."""
    if (check := _CHECK.search(line)) is not None:
        line = line[: check.start()] + b"}"
        if _checksum(line) != check[1].decode():
            return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    sound = isinstance(record, dict) and isinstance(record.get("key"), str)
    return record if sound else None
