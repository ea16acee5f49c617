"""What Snakemake says on the terminal: how far the run is, and what went wrong. Its log file keeps all.

Only the standard library and Snakemake, in whose process it runs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial

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
# What follows a run's last lines; a run that failed keeps them.
_AFTERWARDS = ("Complete log(s):", "Elapsed time:")


class ShortLog(logging.Filter):
    """Keeps the lines of jobs from a handler, and says now and then how many are done and what goes on."""

    def __init__(
        self, say: Callable[[str], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._say, self._clock = say, clock
        self._began = self._last = clock()
        self._running: dict[int, str] = {}
        self._failed = False

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is shown as it is."""
        event = getattr(record, "event", None)
        if record.levelno >= logging.ERROR or event in (LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR):
            self._failed = True
            self._running.pop(getattr(record, "jobid", -1), None)
        if record.levelno >= logging.WARNING:
            return True
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
        text = str(record.msg or "")
        if text.startswith(_AFTERWARDS):
            return self._failed
        return event not in _DROPPED and not text.startswith(_DROPPED_LINES)

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
