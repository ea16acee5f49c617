"""Snakemake's output on the terminal: progress and errors. Its log file keeps all output.

Imports only the standard library and Snakemake, since it runs in Snakemake's process.
"""

from __future__ import annotations

import logging
import re
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from snakemake_interface_logger_plugins.common import LogEvent

from needlework.jobs.progress import show

# Seconds between two lines at first; in a longer run, a thirtieth of its time.
PAUSE_S = 10.0
_DROPPED = {
    LogEvent.JOB_STARTED,
    LogEvent.JOB_FINISHED,
    LogEvent.SHELLCMD,
    LogEvent.RESOURCES_INFO,
    LogEvent.WORKFLOW_STARTED,
}
# Lines that are no event.
_DROPPED_LINES = (
    "Assuming unrestricted shared filesystem usage",
    "Building DAG of jobs",
    "Using shell:",
    "Provided resources:",
    "Conda environments: ignored",
    "Singularity containers: ignored",
    "Group jobs: inactive",
    "Select jobs to execute",
    "Removing temporary output",
    "Storing output in storage",
    # `stop` says it better.
    "Will exit after finishing currently running jobs",
)
# What follows a run's last lines; a run that failed keeps the first.
_AFTERWARDS = ("Complete log(s):", "Elapsed time:")
# How Snakemake says that a job's process ended, by a status or a signal.
_STATUS = re.compile(r"returned non-zero exit status (\d+)|died with <Signals\.(\w+)")
_NO_SPACE = "No space left on device"
# Of errors that a line about the job has told.
_SAID_ALREADY = ("At least one job did not complete", "Exiting because a job execution failed")


class ShortLog(logging.Filter):
    """Keeps the lines of jobs from a handler, and prints now and then how many are done and which run."""

    def __init__(
        self, say: Callable[[str], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._say, self._clock = say, clock
        self._began = self._last = clock()
        self._running: dict[int, str] = {}
        self._failed = False
        # Why the last job that failed could not say itself why.
        self._killed = ""
        self._last_text = ""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is shown as it is."""
        event = getattr(record, "event", None)
        if record.levelno >= logging.ERROR or event in (LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR):
            self._failed = True
            self._running.pop(getattr(record, "jobid", -1), None)
        if event is LogEvent.JOB_ERROR:
            self._say(self._failure(record))
            return False
        text = str(record.msg or "")
        if record.levelno >= logging.ERROR:
            return self._shows_error(text)
        if record.levelno >= logging.WARNING:
            repeated, self._last_text = text == self._last_text, text
            return not repeated
        if event is LogEvent.RUN_INFO:
            n = getattr(record, "stats", {}).get("total", 0)
            self._say(f"{n:,} {'job' if n == 1 else 'jobs'}.")
            return False
        if event is LogEvent.JOB_INFO:
            said = str(getattr(record, "rule_msg", "") or getattr(record, "rule_name", ""))
            self._running[getattr(record, "jobid", 0)] = said
            return False
        if event is LogEvent.JOB_FINISHED:
            self._running.pop(getattr(record, "job_id", 0), None)
        if event is LogEvent.PROGRESS:
            self._tell(getattr(record, "done", 0), getattr(record, "total", 0))
            return False
        if text.startswith(_AFTERWARDS):
            return self._failed and text.startswith(_AFTERWARDS[0])
        return event not in _DROPPED and not text.startswith(_DROPPED_LINES)

    def _shows_error(self, text: str) -> bool:
        """Whether an error is shown as it is: jobs have told their own, and their end says the rest."""
        if ended := _STATUS.search(text):
            # A shell's status of a process that a signal ended.
            by_signal = {128 + own: own.name for own in signal.Signals}
            name = ended[2] or by_signal.get(int(ended[1] or 0), "")
            full = ", as when the memory is full" if name == "SIGKILL" else ""
            self._killed = f"killed by {name}{full}" if name else ""
            return False
        if _NO_SPACE in text:
            if self._last_text != _NO_SPACE:
                self._say(
                    f"The disk of {Path.cwd()}, or of temporary files, is full: free some space, and run the "
                    "same command again. What is finished is kept."
                )
            self._last_text = _NO_SPACE
            return False
        return not any(said in text for said in _SAID_ALREADY)

    def _failure(self, record: logging.LogRecord) -> str:
        """The line about a job that failed; on this machine, the job has told the reason before."""
        rule, logs = getattr(record, "rule_name", "a job"), getattr(record, "log", None) or []
        why, self._killed = self._killed or str(getattr(record, "rule_msg", "") or ""), ""
        named = [str(log).split(" (check log file")[0] for log in logs]
        where = f" Its log: {', '.join(named)}" if named else ""
        return f"{rule} failed{f': {why}' if why else ''}.{where}"

    def _tell(self, done: int, total: int) -> None:
        now = self._clock()
        pause = max(PAUSE_S, (now - self._began) / 30)
        if done == total or now < self._last + pause:
            return
        self._last = now
        first, *others = [*self._running.values()] or [""]
        going = f": {first}{f' and {len(others)} more' if others else ''}" if first else ""
        minutes, seconds = divmod(round(now - self._began), 60)
        self._say(f"{minutes}:{seconds:02d}  {done:,} of {total:,} jobs are done{going}")


def shorten(logger: logging.Logger) -> None:
    """Keep the lines of jobs off the terminal; other handlers, such as the log file's, keep them."""
    for handler in logger.handlers:
        if handler.name == "DefaultStreamHandler" and isinstance(handler, logging.StreamHandler):
            handler.addFilter(ShortLog(partial(show, terminal=handler.stream)))
