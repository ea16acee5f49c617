"""Progress bars: on the terminal where somebody watches it, a line now and then in the log otherwise."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TextIO, TypeVar

T = TypeVar("T")

_watched: TextIO | None = None


def show_on(terminal: TextIO) -> None:
    """Draw further bars on `terminal` if it is one; a job's standard error is its log file."""
    global _watched
    _watched = terminal if terminal.isatty() else None


def progress(
    items: Iterable[T] | None = None,
    *,
    desc: str,
    total: int | None = None,
    unit: str = "it",
    **options: object,
) -> Iterable[T]:
    """`items`, with a bar that says `desc` and counts `unit`s; `options` are tqdm's."""
    from tqdm import tqdm

    file = _watched or sys.stderr
    interval = 0.2 if file.isatty() else 10
    return tqdm(
        items, desc=desc, total=total, unit=unit, file=file, mininterval=interval, **options
    )
