"""Progress bars on a terminal; a line now and then if standard error is not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from threading import Event, Thread
from typing import Any, TextIO, TypeVar

from needlework.printable import printable

T = TypeVar("T")

# Seconds between these lines.
HEARTBEAT_S = 30.0
# Seconds of work before a bar is drawn on a terminal: most jobs are shorter.
DELAY_S = 3.0

_watched: TextIO | None = None
_told: TextIO | None = None
_job = _log = ""


def show_on(terminal: TextIO, job: str = "", log: str = "") -> None:
    """Draw bars on `terminal`, if it is a terminal. A job's standard error is its log file.

    If it is no terminal, bars with `told` print their progress there every HEARTBEAT_S seconds, in lines with
    the `job`'s name and the path of its `log`.
    """
    global _watched, _told, _job, _log
    _watched, _told = (terminal, None) if terminal.isatty() else (None, terminal)
    _job, _log = job, log


def tell(sentence: str) -> None:
    """Print a sentence on the terminal, and in the job's log."""
    sentence = printable(sentence)
    print(sentence, file=sys.stderr, flush=True)
    if terminal := _watched or _told:
        show(f"\n{_job}: {sentence}", terminal)


def show(line: str, terminal: TextIO) -> None:
    """Print a line on a terminal, unless it was closed: the job goes on."""
    with suppress(OSError):
        print(line, file=terminal, flush=True)


def progress(
    items: Iterable[T] | None = None,
    *,
    desc: str,
    total: int | None = None,
    unit: str = "it",
    told: bool = False,
    left: Callable[[], float | None] | None = None,
    **options: object,
) -> Any:
    """Yield `items`, with a bar that says `desc` and counts `unit`s; `options` are tqdm's.

    Use `told` for long work: without a terminal, a line is printed now and then. If units differ in size,
    `left` returns how many seconds are left (None: unknown).
    """
    file = _watched or sys.stderr
    interval = 0.2 if file.isatty() else 10
    if told and _watched:
        desc = f"{_job}: {desc} (log: {_log})"
    if left:
        options["bar_format"] = (
            "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{left}, {rate_fmt}{postfix}]"
        )
    return _bar_class()(
        items,
        told=told,
        left=left,
        delay=DELAY_S if file.isatty() else 0,
        leave=told or not file.isatty(),
        desc=desc,
        total=total,
        unit=unit,
        file=file,
        mininterval=interval,
        **options,
    )


@cache
def _bar_class() -> type:
    """tqdm's bar, with a heartbeat. Imported only when needed: planning works without tqdm."""
    from tqdm import tqdm

    class Bar(tqdm):
        def __init__(
            self,
            *arguments: Any,
            told: bool = False,
            left: Callable[[], float | None] | None = None,
            **options: Any,
        ) -> None:
            self._seconds_left = left
            super().__init__(*arguments, **options)
            self._over = Event()
            if told and _told is not None:
                Thread(target=self._beat, args=[_told], name="heartbeat", daemon=True).start()

        def _beat(self, terminal: TextIO) -> None:
            while not self._over.wait(HEARTBEAT_S):
                show(_line(self), terminal)

        def begin(self) -> None:
            """Start the clock now: what came before is not part of the work."""
            self.start_t = self._time()

        @property
        def format_dict(self) -> Any:
            found = super().format_dict
            return {**found, "left": self._left(found["elapsed"], found["initial"])}

        def _left(self, elapsed: float, initial: float) -> str:
            """The time left, else by the number of units."""
            if self._seconds_left:
                seconds = self._seconds_left()
            else:
                done = (self.n - initial) / max((self.total or self.n) - initial, 1)
                seconds = (1 - done) * elapsed / done if done else None
            return "?" if seconds is None else tqdm.format_interval(seconds)

        def close(self) -> None:
            # tqdm closes bars that were never made, too.
            if hasattr(self, "_over"):
                self._over.set()
            super().close()

    return Bar


def _line(bar: Any) -> str:
    """How far a bar is, in a line."""
    now, scaled = bar.format_dict, bar.format_sizeof if bar.unit_scale else str
    done = scaled(bar.n) if bar.total is None else f"{scaled(bar.n)} of {scaled(bar.total)}"
    parts = [f"{done} {bar.unit}" if bar.unit_scale else f"{done} {bar.unit}s"]
    if rate := bar.n and (bar.n - bar.initial) / max(now["elapsed"], 1e-9):
        parts.append(f"{rate * 60:.3g} a minute" if rate < 1 else f"{scaled(round(rate))} a second")
        if bar.total is not None and now["left"] != "?":
            parts.append(f"{now['left']} left")
    parts += [bar.postfix] if bar.postfix else []
    return f"{_job}: {bar.desc.removesuffix(': ')} {', '.join(parts)} (log: {_log})"
