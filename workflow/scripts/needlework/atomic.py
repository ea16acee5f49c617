"""Atomic writing: a file gets its name only when it is complete. Also CSV that is safe in spreadsheets."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

# Temporary files of another machine, or an older version, are kept for this number of seconds.
STALE_S = 86400.0
# What follows a file's name while it is written: host, process, and a name of this writing.
_LEFT_OVER = re.compile(r"(?:([0-9a-f]{8})-(\d+)-)?[0-9a-f]{8}\.part")

# The beginning of a formula, also in wide forms; and text that is only a number or a dash.
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\n]")
_NUMBER = re.compile(r"[-+]?[\d.,]*(?:[eE][-+]?\d+)?%?")


def inert(value: object) -> object:
    """Text that is safe in a cell of a CSV file.

    An apostrophe is put before text that a spreadsheet would run as a formula. A carriage return becomes a
    line feed, since no writer of CSV quotes it and it would begin a new cell.
    """
    if not isinstance(value, str):
        return value
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def write_csv(frame: pd.DataFrame, path: str | Path, float_format: str | None = None) -> None:
    """Write a table as CSV, without its index. Texts of models and data are made `inert`."""
    made = frame.rename(columns=inert)
    for name in made.select_dtypes(exclude="number"):
        made[name] = made[name].map(inert)
    with atomic_write(path) as part:
        made.to_csv(part, index=False, lineterminator="\n", float_format=float_format)


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """A temporary path to write a file to, which is then moved to `path`. The folder of `path` is made.

    If the block raises, the temporary file is removed. So are the temporary files that killed jobs have left
    of this file. The temporary name is unique to this writer, since a job that its scheduler reports as dead
    may still write the same file.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_left_overs(path)
    part = path.with_name(f"{path.name}.{host()}-{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        yield part
        part.replace(path)
    finally:
        # Where nothing could be written, nothing can be removed, and the first error says why.
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _remove_left_overs(path: Path) -> None:
    """Remove what killed jobs have written of a file."""
    begun = f"{path.name}."
    with os.scandir(path.parent) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(begun)]
    for name in names:
        found = _LEFT_OVER.fullmatch(name, len(begun))
        if not found:
            continue
        part = path.with_name(name)
        # Another writer may remove it first.
        with suppress(OSError):
            ended = found[1] == host() and not runs(int(found[2]))
            if ended or part.stat().st_mtime < time.time() - STALE_S:
                part.unlink()


def host() -> str:
    """This machine, as names of temporary files have it."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def runs(pid: int) -> bool:
    """Whether a process of this machine is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
