"""Which record of a journal counts if several have one key: the record that was published first.

Before a run ends, it publishes what it has read of the journal: the lengths of all writers' files, as a
publication with the next number. Files are only appended to, so lengths identify records. A record's rank is
the number of its first publication. So a published record stays first, even if a run that started earlier, or
on a machine with another clock, writes later.

Several runs may want the same number. A rename onto a directory that holds something fails on every POSIX
file system, NFS too, so only one run gets the number. The others read what was published before they take the
next one.

A publication also has the number of the last line of each file, so that records that a file has lost since
are counted.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import stat
import time
import warnings
from bisect import bisect_left
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from needlework.errors import UserError
from needlework.folders import content, entries, mode

LENGTHS = "lengths.json"
# Behind the name of a file, the number of its last line. An older version takes it for another file's name.
_LINES = " lines"
# The bytes of a line where nothing is known of its file.
_USUAL_LINE = 1000
# How long a network file system may hide a publication that exists.
VISIBLE_S = 120.0
# A publication that was begun and not finished for this number of seconds is a killed run's.
STALE_S = 86400.0
# Without the right to write, a run can only read.
READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}


class Publications:
    """The publications of the journal in `directory`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "published"
        self._count = 0
        # Of each writer's file: the lengths published, ascending, and the publications' numbers.
        self._lengths: dict[str, list[int]] = {}
        self._numbers: dict[str, list[int]] = {}
        # The number of each file's last line, by the latest publication that has it.
        self._lines: dict[str, int] = {}
        if stat.S_ISREG(mode(self._directory) or 0):
            raise UserError(
                f"{self._directory}, in the journal, is not a directory: move it away and run again."
            )
        # If the folder cannot be listed, no number in it is known to be free.
        entries(self._directory)
        while (lengths := self._published(self._count + 1)) is not None:
            self._count += 1
            for name, length in lengths.items():
                if name.endswith(_LINES):
                    self._lines[name.removesuffix(_LINES)] = length
                elif length > self._length(name):
                    self._lengths.setdefault(name, []).append(length)
                    self._numbers.setdefault(name, []).append(self._count)

    def rank(self, name: str, end: int) -> float:
        """The number of the publication that has the record ending at this byte of a file.

        Infinity if no publication has it.
        """
        lengths = self._lengths.get(name, [])
        place = bisect_left(lengths, end)
        return self._numbers[name][place] if place < len(lengths) else float("inf")

    def names(self) -> list[str]:
        """The files of which some lines are published."""
        return list(self._lengths)

    def missing(self, name: str, end: int, lines: int) -> tuple[int, bool]:
        """How many published records a file has lost, and whether this number is exact.

        The file now has `end` bytes and `lines` lines. The number is not exact if an older publication has no
        number of lines.
        """
        if name in self._lines:
            return max(0, self._lines[name] - lines), True
        bytes_lost = max(0, self._length(name) - end)
        size = end / lines if lines else _USUAL_LINE
        return (max(1, round(bytes_lost / size)) if bytes_lost else 0), not bytes_lost

    def add(self, files: Mapping[str, tuple[int, int]]) -> bool:
        """Publish files up to these lengths and lines.

        False if another run was first: then read its publication before the next try. Lines that a file has
        lost since its last publication no longer count as missing.

        Raises UserError if the disk is full, or if the number that was taken stays invisible.
        """
        now = {**dict.fromkeys(self._lengths, (0, 0)), **files}
        new = {name: end for name, (end, _) in sorted(now.items()) if end > self._length(name)}
        new |= {
            f"{name}{_LINES}": lines
            for name, (_, lines) in sorted(now.items())
            if lines != self._lines.get(name, 0 if self._length(name) == 0 else None)
        }
        temporary = self._directory / f"{secrets.token_hex(8)}.part"
        try:
            temporary.mkdir(parents=True)
            with (temporary / LENGTHS).open("w", encoding="utf-8") as file:
                json.dump(new, file)
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(self._path(self._count + 1))
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                self._await(self._count + 1)
                return False
            if error.errno in READ_ONLY:
                warnings.warn(
                    f"the journal in {self._directory.parent} cannot be written: what is read there is not "
                    "published, so a later run may be given other answers to the same requests",
                    stacklevel=3,
                )
                return True
            raise UserError(
                f"the journal in {self._directory.parent} cannot be written ({error.strerror}): free some "
                "space or correct the permissions, then run again; finished work is kept"
            ) from None
        self._remove_left_overs()
        return True

    def _remove_left_overs(self) -> None:
        """Remove what runs that were killed had begun to publish."""
        for part in entries(self._directory, ".part"):
            with suppress(OSError):
                if part.stat().st_mtime < time.time() - STALE_S:
                    shutil.rmtree(part)

    def _length(self, name: str) -> int:
        return self._lengths[name][-1] if name in self._lengths else 0

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:06d}"

    def _published(self, number: int) -> dict[str, int] | None:
        """The lengths of a publication; None if the number is free. Raises UserError if it cannot be read."""
        path = self._path(number) / LENGTHS
        read = content(path)
        if read is None:
            return None
        try:
            found = json.loads(read)
            if all(isinstance(length, int) for length in found.values()):
                return found
        except (ValueError, AttributeError, RecursionError):
            pass
        warnings.warn(f"{path} is unreadable: what it published is ranked anew", stacklevel=4)
        return {}

    def _await(self, number: int) -> None:
        """Return when a publication that exists can be read."""
        end = time.monotonic() + VISIBLE_S
        while self._published(number) is None:
            if time.monotonic() > end:
                raise UserError(
                    f"{self._path(number)}, in the journal, holds no {LENGTHS}: move it away and run "
                    "again."
                )
            time.sleep(0.1)
