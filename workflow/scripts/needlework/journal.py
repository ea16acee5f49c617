"""An append-only store of finished work, keyed by content, that survives a kill at any moment.

A journal is a directory of JSON Lines files, one per writer. Nobody appends to another writer's file. So
there is nothing to lock, it works on NFS with many writers at once, and the torn last line of a killed writer
is never glued to a new record. A journal is no output of Snakemake, since outputs are deleted before a rerun.

Two runs may finish the same key. A record counts from its publication, and the record that was published
first is the answer of all runs (`published_records`).

Each line has its number in its file, and publications have the last number. So if a disk has damaged or cut a
file, the number of lost records is known.
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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple

from needlework.errors import UserError
from needlework.folders import entries, unreadable
from needlework.published_records import Publications

Record = dict[str, Any]

# The end of a line with a checksum: of the line without it. Older lines have none.
_CHECK = re.compile(rb',"check":"([0-9a-f]{16})"\}\n\Z')
# The number of a line in its file, before the checksum. Older lines have none.
_NUMBER = re.compile(rb',"line":([0-9]+)\}\Z')
# The beginning of a line, by which its key is known before it is parsed.
_KEY = re.compile(rb'\{"key":"([0-9A-Za-z]+)"')
# The most bytes of a line: a file may end in gigabytes of NULs, as after a loss of power.
LONGEST = 1 << 26
_PART = 1 << 20
# A writer whose file has not changed for this number of seconds counts as ended.
ACTIVE_SECONDS = 600.0


class ReadState(NamedTuple):
    """How far a writer's file was read."""

    # The byte, and the number of the line.
    end: int = 0
    number: int = 0
    # How many lines are unreadable.
    unreadable: int = 0
    # How many records should stand in place of the unreadable lines.
    lost: int = 0
    # "" if `lost` is exact.
    sure: str = ""


_UNREAD = ReadState()


class Journal:
    """The records under `directory`. A record is a JSON object with a string field `key`.

    `older` are folders that get no new records. Keys that `directory` lacks are searched in them, in order.
    """

    def __init__(
        self, directory: str | os.PathLike[str], older: Sequence[str | os.PathLike[str]] = ()
    ) -> None:
        self.directory = Path(directory)
        self.older = [Path(folder) for folder in older]
        self._file: int | None = None
        self._name = ""
        # How many lines this writer's file has.
        self._written = 0
        self._read: dict[str, ReadState] = {}
        # By the key of a record that counts: the day on which its writer started (ISO; "" if unknown).
        self.days: dict[str, str] = {}
        # What is lost of a file, by its name, in a sentence.
        self.losses: dict[str, str] = {}

    def records(self) -> Iterator[Record]:
        """Every complete record of every writer, in order of the writers' start, one at a time.

        The last line of a file is left out if it is still being written, or was when its writer died. Any
        other line is left out if it is unreadable or does not match its checksum (a damaged disk); a warning
        counts them. The records of `older` come last.
        """
        for path in self._files():
            for _, record in self._records_of(path):
                yield record
            self._tell_loss(path.name)
        for folder in self.older:
            yield from Journal(folder).records()

    def load(
        self,
        keys: Collection[str] | None = None,
        holds: Callable[[Record], bool] = lambda record: True,
    ) -> dict[str, Record]:
        """The record that counts for each key (only of `keys`, if given), if one `holds`.

        This is the record that was published first. If none is published yet, it is the first record of the
        writer that started first. A record takes about 1 KB of memory, so give `keys` if the journal may hold
        many more.
        """
        found = self._load(Publications(self.directory), keys, holds)[0]
        return self._with_older(found, keys, holds)

    def settled(
        self,
        keys: Collection[str] | None = None,
        holds: Callable[[Record], bool] = lambda record: True,
    ) -> dict[str, Record]:
        """The records of `load`, and published: no later run gets other records, whoever writes them.

        If this user may not write in the directory, nothing is published, and a warning is logged.
        """
        while True:
            publications = Publications(self.directory)
            found, complete = self._load(publications, keys, holds)
            # The new records keep their order among themselves, so `found` stands.
            if complete or publications.add({name: read[:2] for name, read in self._read.items()}):
                return self._with_older(found, keys, holds)

    def _load(
        self,
        publications: Publications,
        keys: Collection[str] | None,
        holds: Callable[[Record], bool],
    ) -> tuple[dict[str, Record], bool]:
        """The records that count, and whether all of them are published."""
        found: dict[str, Record] = {}
        ranks: dict[str, float] = {}
        self._read = {}
        files = self._files()
        for path in files:
            day = _day(path.name)
            for end, record in self._records_of(path, keys=keys):
                key = record["key"]
                if keys is not None and key not in keys:
                    continue
                rank = publications.rank(path.name, end)
                if (key not in found or rank < ranks[key]) and holds(record):
                    # json makes new strings of the field names for every record: share them.
                    found[key] = {sys.intern(name): value for name, value in record.items()}
                    ranks[key], self.days[key] = rank, day
        for name in dict.fromkeys([path.name for path in files] + publications.names()):
            self._tell_loss(name, publications)
        return found, all(rank < float("inf") for rank in ranks.values())

    def _with_older(
        self,
        found: dict[str, Record],
        keys: Collection[str] | None,
        holds: Callable[[Record], bool],
    ) -> dict[str, Record]:
        """The records, and for keys that have none that of the first older folder with one."""
        for folder in self.older:
            left = None if keys is None else {key for key in keys if key not in found}
            if left == set():
                break
            other = Journal(folder)
            more = other.load(left, holds)
            self.days |= {key: other.days[key] for key in more}
            self.losses |= other.losses
            found = more | found
        return found

    def news(self) -> Iterator[Record]:
        """The records that other writers have finished since this journal was last read."""
        for path in self._files():
            before = self._read.get(path.name, _UNREAD)
            if path.name != self._name and _stat(path).st_size > before.end:
                for _, record in self._records_of(path, before):
                    yield record
                if self._read[path.name].unreadable > before.unreadable:
                    self._tell_loss(path.name)

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

    def _records_of(
        self, path: Path, before: ReadState = _UNREAD, keys: Collection[str] | None = None
    ) -> Iterator[tuple[int, Record]]:
        """The complete records of a file from where it was read to, each with the byte at which it ends.

        Sound lines whose key is not among `keys` may be left out: they are not parsed.
        """
        end, number, n_unreadable, lost, sure = before
        # Of unreadable lines since the last sound one, and of all: lines, bytes.
        damaged, bytes_damaged, all_damaged = 0, 0, 0
        try:
            with path.open("rb") as lines:
                lines.seek(end)
                for size, line in _lines(lines):
                    end += size
                    content, own, whole = _checked(line)
                    key = None if own is None or keys is None else _KEY.match(content)
                    passed_over = key is not None and key[1].decode() not in (keys or ())
                    record = None if passed_over else _record(content)
                    readable = record is not None or passed_over
                    if not (whole and readable):
                        damaged += 1
                        bytes_damaged += size - len(content) * readable
                    if not readable:
                        continue
                    missing = damaged
                    if own is not None:
                        missing = max(0, own - number - 1)
                    elif damaged:
                        # Older lines have no numbers, and their ends may be damaged too.
                        usual = (end - before.end - all_damaged - bytes_damaged) / (number + 1)
                        missing, sure = max(damaged, round(bytes_damaged / usual)), "about "
                    number = number + missing + 1 if own is None else own
                    lost, n_unreadable = lost + missing, n_unreadable + damaged
                    all_damaged += bytes_damaged
                    damaged = bytes_damaged = 0
                    if record is not None:
                        yield end, record
        except OSError as error:
            raise unreadable(path, error) from None
        if damaged:
            sure = "at least "
        self._read[path.name] = ReadState(
            end, number + damaged, n_unreadable + damaged, lost + damaged, sure
        )

    def _tell_loss(self, name: str, publications: Publications | None = None) -> None:
        """Warn if a file holds less than was written, as its lines and its publications say."""
        read, path = self._read.get(name, _UNREAD), self.directory / name
        missing, exact = 0, True
        if publications is not None:
            missing, exact = publications.missing(name, read.end, read.number)
        if not read.unreadable and not read.lost and not missing:
            return
        said = [f"holds {read.unreadable} unreadable line(s)"] if read.unreadable else []
        said += ["lacks lines"] if read.lost and not read.unreadable else []
        sure = read.sure
        if missing:
            said += ["is shorter than was published" if read.end else "is missing"]
            sure = "" if exact and sure == "at least " else sure if exact else "about "
        self.losses[name] = (
            f"{path} {' and '.join(said)}: {sure}{read.lost + missing:,} record(s) are lost, and their work "
            "is done again"
        )
        warnings.warn(self.losses[name], stacklevel=4)

    def append(self, records: Iterable[Mapping[str, object]]) -> None:
        """Write the records and return when they are on the disk: one write and one sync in all.

        Raises UserError if the disk is full or the directory cannot be written.
        """
        lines = [_line(record, n) for n, record in enumerate(records, self._written + 1)]
        if not lines:
            return
        try:
            if self._file is None:
                self._file = self._create()
            left = memoryview(b"".join(lines))
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
            self._written += len(lines)
        except OSError as error:
            # The file may now end in half a line: the next batch, if any, begins another file.
            self.close()
            raise self._unwritable(error) from error

    def begin(self) -> int:
        """Make this writer's file; return how many other writers, who started before, seem to be at work.

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
            self._file, self._written = None, 0

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


def _line(record: Mapping[str, object], number: int = 1) -> bytes:
    """A record as it stands in a file, with the line's number and the checksum of what stands before that."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    # json.loads reads bytes with surrogatepass too, so any str comes back as it was.
    content = text.encode("utf-8", "surrogatepass")[:-1] + f',"line":{number}}}'.encode()
    return content[:-1] + f',"check":"{_checksum(content)}"}}\n'.encode()


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _checked(line: bytes) -> tuple[bytes, int | None, bool]:
    """A line's record as JSON (b"" if it is damaged), the line's number (None: it has none), and whether all
    of the line is sound.

    Damage may have taken the ends of lines before, so that it is glued to a record, which is kept.
    """
    check = _CHECK.match(line, max(0, len(line) - 29))
    if check is None:
        return line, None, True
    start = 0
    # In a string, JSON would escape the quotation marks.
    for start in (0, line.rfind(b'{"key":')):
        content = line[max(start, 0) : check.start()] + b"}"
        if _checksum(content) == check[1].decode():
            break
    else:
        return b"", None, False
    number = _NUMBER.search(content, max(0, len(content) - 30))
    if number is None:
        return content, None, start <= 0
    return content[: number.start()] + b"}", int(number[1]), start <= 0


def _record(content: bytes) -> Record | None:
    """The record in a line without number and checksum; None if there is none."""
    try:
        record = json.loads(content)
    except (ValueError, RecursionError):
        return None
    sound = isinstance(record, dict) and isinstance(record.get("key"), str)
    return record if sound else None


def _day(name: str) -> str:
    """The day on which a writer started, by the name of its file: ISO, "" if that has none."""
    day = re.match(r"([0-9]{4})([0-9]{2})([0-9]{2})T", name)
    return "-".join(day.groups()) if day else ""
