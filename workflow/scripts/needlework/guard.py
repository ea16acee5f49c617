"""What a job started, and a process beside the job that ends it, should the job be killed.

vLLM's engine is a process of its own. A SIGKILL of the job leaves it running for ever, with all the
memory of its GPUs, and the next job finds none. In the same way a SIGKILL of Snakemake leaves its jobs
running, and the next run would start a second one beside each.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

# How long a child of a killed job may live, and how old it must be to be noticed.
POLL_SECONDS = 1.0

# A new Snakemake takes longer until it starts a job.
PARENT_POLL_SECONDS = 0.5


def end_with_parent() -> None:
    """Have this process killed, as a SIGKILL does it, soon after the one that started it has ended."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_POLL_SECONDS)
        os.kill(os.getpid(), signal.SIGKILL)

    Thread(target=watch, name="parent-watch", daemon=True).start()


def start_guard() -> subprocess.Popen[bytes]:
    """Watch this process from now on; `terminate()` what is returned when all is closed."""
    return subprocess.Popen(
        [sys.executable, "-P", __file__, str(os.getpid())],
        stdin=subprocess.DEVNULL,
        # A Ctrl-C or a kill of the job's process group must not end it first.
        start_new_session=True,
    )


def descendants(job: psutil.Process) -> list[psutil.Process]:
    """What a process started, directly or not, without its guard.

    Nor Python's resource tracker: that ends by itself, once it has cleaned up the shared memory.
    """
    import psutil

    found = []
    for child in job.children(recursive=True):
        try:
            command = " ".join(child.cmdline())
        except psutil.NoSuchProcess:
            continue
        if __file__ not in command and "resource_tracker" not in command:
            found.append(child)
    return found


def end(processes: list[psutil.Process], seconds: float) -> None:
    """Wait until the processes have ended; kill those that have not in time."""
    import psutil

    _, left = psutil.wait_procs(processes, timeout=seconds)
    for process in left:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(left)


def watch(pid: int) -> None:
    """Wait for the end of the process `pid`, then kill all that it started and left behind."""
    import psutil

    job = psutil.Process(pid)
    started: dict[int, psutil.Process] = {}
    try:
        while job.is_running() and job.status() != psutil.STATUS_ZOMBIE:
            started |= {child.pid: child for child in descendants(job)}
            time.sleep(POLL_SECONDS)
    except psutil.NoSuchProcess:
        pass
    end(list(started.values()), seconds=0)


if __name__ == "__main__":
    watch(int(sys.argv[1]))
