"""A process beside a job that ends the job's child processes if the job is killed.

vLLM's engine is a process of its own. Without the guard, a SIGKILL of the job would leave it running for
ever, with all the memory of its GPUs, and the next job would find none. In the same way, a SIGKILL of
Snakemake would leave its jobs running, and the next run would start a second one beside each.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

# How long a killed job's child process may live, and how old it must be to be noticed.
POLL_SECONDS = 1.0

# A new Snakemake takes longer until it starts a job.
PARENT_POLL_SECONDS = 0.5


# Where a job finds its Snakemake: "<process id> <start time>".
PARENT = "NEEDLEWORK_SNAKEMAKE"

# The start time of a process if this one has no file descriptor or memory left to look.
UNKNOWN = "unknown"


def announce() -> None:
    """Name this process, a Snakemake, to the jobs that it starts, in their environment.

    If a job asked the kernel for its parent, it could be too late: while the job was still importing, its
    parent may have been killed, and another process have taken its place.
    """
    os.environ[PARENT] = f"{os.getpid()} {start_time(os.getpid())}"


def end_with_parent() -> None:
    """Kill this process, as SIGKILL does, soon after its Snakemake has ended.

    If Snakemake has ended already, this process ends here. If no Snakemake has announced itself, the
    process that started this one is watched instead.
    """
    pid, _, start = os.environ.get(PARENT, "").partition(" ")
    parent = int(pid) if start else os.getppid()
    start = start or start_time(parent)

    def check() -> None:
        # Process ids are used again: the start time tells another process apart.
        known = {start, start_time(parent)} - {UNKNOWN}
        if "" in known or len(known) > 1:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch() -> None:
        while True:
            time.sleep(PARENT_POLL_SECONDS)
            check()

    check()
    Thread(target=watch, name="parent-watch", daemon=True).start()


def start_time(pid: int) -> str:
    """When a process started, in the system's own form.

    "" if it has ended, UNKNOWN if it may still live.
    """
    try:
        if Path("/proc/self/stat").exists():
            # The name, in parentheses, may hold anything; field 3 is the state, field 22 the start.
            stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
            fields = stat.rpartition(")")[2].split()
            return "" if fields[0] in "ZX" else fields[19]
        # Systems without /proc, such as macOS.
        command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
        asked = subprocess.run(command, capture_output=True, text=True)
    except (FileNotFoundError, ProcessLookupError, LookupError):
        return ""
    except OSError:
        return UNKNOWN
    state, _, started = asked.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else started.strip()


def start_guard() -> subprocess.Popen[bytes]:
    """Watch this process from now on. Call `terminate()` on the result when all is closed."""
    return subprocess.Popen(
        [sys.executable, "-P", __file__, str(os.getpid())],
        stdin=subprocess.DEVNULL,
        # A Ctrl-C or a kill of the job's process group must not end it first.
        start_new_session=True,
    )


def descendants(job: psutil.Process) -> list[psutil.Process]:
    """The processes that a process has started, directly or not, except its guard.

    Python's resource tracker is left out too: it ends by itself, after it has cleaned up the shared memory.
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
    """Wait until the processes have ended, and kill any that take too long."""
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
