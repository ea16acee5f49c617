"""A process beside the job that ends what the job started, should the job be killed.

vLLM's engine is a process of its own. A SIGKILL of the job leaves it running for ever, with all the
memory of its GPUs, and the next job finds none.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

# How long a child of a killed job may live, and how old it must be to be noticed.
POLL_SECONDS = 1.0


def start_guard() -> subprocess.Popen[bytes]:
    """Watch this process from now on; `terminate()` what is returned when all is closed."""
    return subprocess.Popen(
        [sys.executable, "-P", __file__, str(os.getpid())],
        stdin=subprocess.DEVNULL,
        # A Ctrl-C or a kill of the job's process group must not end it first.
        start_new_session=True,
    )


def watch(pid: int) -> None:
    """Wait for the end of the process `pid`, then kill all that it started and left behind."""
    import psutil

    job = psutil.Process(pid)
    started: dict[int, psutil.Process] = {}
    try:
        while job.is_running() and job.status() != psutil.STATUS_ZOMBIE:
            started |= {child.pid: child for child in job.children(recursive=True)}
            time.sleep(POLL_SECONDS)
    except psutil.NoSuchProcess:
        pass
    for child in started.values():
        try:
            # Python's resource tracker ends by itself, once it has cleaned up the shared memory.
            if child.pid != os.getpid() and "resource_tracker" not in "".join(child.cmdline()):
                child.kill()
        except psutil.NoSuchProcess:
            pass


if __name__ == "__main__":
    watch(int(sys.argv[1]))
