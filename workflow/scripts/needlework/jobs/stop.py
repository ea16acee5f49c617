"""How a run is stopped: by SIGTERM, by Ctrl-C (SIGINT), and by SIGHUP, as when its terminal closes.

After a SIGTERM, Snakemake waits for its jobs, and a job may ask a model for hours. So Snakemake's process
writes the signal's name into a file of the run, and jobs look there. A job that asks a model then sends
nothing more, waits for the answers under way, and fails.

Each run has its own file, in its folder, which all nodes of a cluster see. The file exists from the start,
since NFS shows a new file later than a change.

Only the standard library: Snakemake's own process and all jobs import it.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any

# The path of the run's file, in the environment of jobs.
FILE = "NEEDLEWORK_STOP"
# Seconds between two looks into it.
LOOK_S = 0.5
_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)

_signal = ""
_next_look = 0.0


class Stopped(BaseException):
    """The run is being stopped. Not an Exception: code that goes on after errors must end as well."""


# What a job does


def stopping() -> str:
    """The name of the signal that stops this run; "" if none has come.

    A signal is seen at most half a second late.
    """
    global _signal, _next_look
    now = time.monotonic()
    if not _signal and now >= _next_look:
        _next_look = now + LOOK_S
        with suppress(OSError):
            _signal = Path(os.environ.get(FILE) or os.devnull).read_text(encoding="ascii")
    return _signal


def check_stop() -> None:
    """Raise Stopped if this run is being stopped."""
    if name := stopping():
        raise Stopped(f"stopped by {name}; what is finished is kept, and the same command goes on")


def rest(seconds: float) -> None:
    """Sleep for so long; raise Stopped as soon as this run is being stopped."""
    end = time.monotonic() + seconds
    check_stop()
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, LOOK_S))
        check_stop()


@contextmanager
def finishing() -> Iterator[None]:
    """At the first signal to this process, stop it as a signal to Snakemake would; at the second, end it.

    Terminals and some schedulers signal all processes of a run. Use it only in the main thread.
    """
    before: dict[int, Any] = {}

    def hear(number: int, frame: object) -> None:
        global _signal
        _signal = signal.Signals(number).name
        restore()
        if number == signal.SIGHUP:
            # A closed terminal's comes twice: from the kernel and from the shell.
            signal.signal(number, signal.SIG_IGN)

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    if current_thread() is main_thread():
        before |= _handle(hear, _SIGNALS)
    try:
        yield
    finally:
        restore()


def _handle(handler: Callable[[int, Any], object], signals: tuple[int, ...]) -> dict[int, Any]:
    """Handle the signals that are not ignored, as nohup ignores SIGHUP; the handlers before."""
    before = {number: signal.getsignal(number) for number in signals}
    # None is a library's in C.
    heard = {n: own for n, own in before.items() if own not in (signal.SIG_IGN, None)}
    for number in heard:
        signal.signal(number, handler)
    return heard


# What Snakemake's process does


@cache
def stop_at_signals(scheduler: Any, say: Callable[[str], object]) -> None:
    """Make this Snakemake end its jobs at a signal. `scheduler` is the class of its schedulers.

    A signal before the first job ends Snakemake at once, and it leaves no lock. `say` prints a sentence.
    """
    if current_thread() is not main_thread():
        return
    schedule = scheduler.schedule

    def listening(own: Any) -> Any:
        return schedule(own) if own.dryrun else _schedule(own, schedule, say)

    scheduler.schedule = listening
    _handle(_leave, (signal.SIGHUP, signal.SIGTERM))


def _leave(number: int, frame: object) -> None:
    raise SystemExit(f"Stopped by {signal.Signals(number).name}, before the first job.")


def _schedule(scheduler: Any, schedule: Callable[[Any], Any], say: Callable[[str], object]) -> Any:
    """Run the jobs with `schedule`; a signal that comes meanwhile stops them."""
    number, name = tempfile.mkstemp(prefix="stop.", dir=".snakemake")
    os.close(number)
    file = Path(name).absolute()
    os.environ[FILE] = str(file)
    out, into = os.pipe()
    interrupts = 0

    def hear(number: int, frame: object) -> None:
        nonlocal interrupts
        # All else is another thread's: this one may hold the locks of a log, or the scheduler's.
        os.write(into, bytes([number]))
        interrupts += number == signal.SIGINT
        # The second Ctrl-C ends the jobs, and Snakemake still tells what became of them.
        if number == signal.SIGINT and interrupts != 2:
            raise KeyboardInterrupt

    def listen() -> None:
        told = False
        while heard := os.read(out, 1):
            number = signal.Signals(heard[0])
            if not told:
                file.write_text(number.name, encoding="ascii")
            if number != signal.SIGINT:
                scheduler.exit_gracefully()
            if not told:
                told = True
                by_key = number == signal.SIGINT
                others = "end now" if by_key else "run to their end"
                again = "Ctrl-C" if by_key else f"kill -9 {os.getpid()}"
                # A closed terminal takes no words.
                with suppress(OSError):
                    say(
                        f"{number.name}: this run is being stopped. Jobs that ask a model send nothing more, "
                        f"wait for the answers under way, and end; other jobs {others}. The same "
                        f"command goes on. To end at once, without these answers: {again}"
                    )

    _handle(hear, _SIGNALS)
    Thread(target=listen, name="signals", daemon=True).start()
    success = schedule(scheduler)
    # Jobs may still run after an exception, as of a second Ctrl-C.
    file.unlink(missing_ok=True)
    return success
