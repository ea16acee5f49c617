"""A killed job takes along what it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

SCRIPTS = Path(__file__).resolve().parents[3] / "workflow/scripts"

# A job with a guard, and a child that has one itself.
JOB = """
import subprocess, sys, time
sys.path.append(sys.argv[1])
from needlework.jobs.guard import start_guard

guard = start_guard()
subprocess.Popen(["sh", "-c", "sleep 600 & wait"])
time.sleep(float(sys.argv[2]))
guard.terminate()
guard.wait()
print("closed", flush=True)
time.sleep(600)
"""


def start(seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", JOB, SCRIPTS, str(seconds)], stdout=subprocess.PIPE, text=True
    )


def family(job: subprocess.Popen[str], size: int) -> list[psutil.Process]:
    """The job's children and theirs, once there are so many."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        found = psutil.Process(job.pid).children(recursive=True)
        if len(found) == size:
            return found
        time.sleep(0.05)
    raise AssertionError(found)


def left(processes: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Those that still run after a while."""
    end = time.monotonic() + seconds
    while True:
        running = [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
        if not running or time.monotonic() >= end:
            return running
        time.sleep(0.05)


@pytest.mark.slow
def test_what_a_killed_job_started_ends() -> None:
    """The guard itself as well; one that was sent home touches nothing."""
    with start(600) as killed, start(600) as ended, start(1.2) as unguarded:
        jobs = (killed, ended, unguarded)
        found = [family(job, 3) for job in jobs]
        try:
            # The guard looks every second.
            assert unguarded.stdout.readline() == "closed\n"
            time.sleep(0.3)
            for job, how in zip(
                jobs, (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL), strict=True
            ):
                job.send_signal(how)
                job.wait(5)
            assert left(found[0] + found[1], 10) == []
            assert len(left(found[2], 2)) == 2
        finally:
            for process in (*jobs, *left([process for own in found for process in own], 0.1)):
                process.kill()


# As Snakemake starts a job.
PARENT = """
import subprocess, sys
sys.path.append(sys.argv[1])
from needlework.jobs.guard import announce
announce()
subprocess.run([sys.executable, "-c", *sys.argv[2:]])
"""
PATH = f"import os, resource, sys, time; sys.path.append({str(SCRIPTS)!r}); "
ENDS = "from needlework.jobs.guard import end_with_parent; end_with_parent()\n"
READY = "print('ready', flush=True)\n"
PLAIN = PATH + ENDS + READY + "time.sleep(600)"
# It opens as many files as it may, until a file appears.
EXHAUSTED = (
    PATH
    + ENDS
    + """
resource.setrlimit(resource.RLIMIT_NOFILE, (32, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
held = []
try:
    while True: held.append(open('/dev/null'))
except OSError: pass
print('ready', flush=True)
while not os.path.exists(sys.argv[1]): time.sleep(0.05)
held.clear()
time.sleep(600)
"""
)
# Its imports take a while.
SLOW = f"import time; {READY}time.sleep(0.8); {PATH}{ENDS}open(sys.argv[1], 'w').close(); time.sleep(600)"


@pytest.mark.parametrize(
    ("code", "seconds"),
    [(PLAIN, 1.2), (EXHAUSTED, 1.5), (SLOW, 0.05), (SLOW, 0.3)],
    ids=["plain", "without file descriptors", "during imports", "late in imports"],
)
def test_a_job_ends_with_the_one_that_started_it(tmp_path, code, seconds) -> None:
    """And not before, as for want of a file descriptor."""
    file = tmp_path / "file"
    command = [sys.executable, "-c", PARENT, SCRIPTS, code, file]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == "ready\n"
        (job,) = psutil.Process(parent.pid).children()
        try:
            assert left([job], seconds) == [job], "it ended before"
            parent.kill()
            parent.wait(5)
            if code == EXHAUSTED:
                file.touch()
            assert left([job], 10) == []
            assert file.exists() == (code == EXHAUSTED)
        finally:
            for process in (parent, *left([job], 0.1)):
                process.kill()


def test_another_process_with_the_same_number_is_no_parent() -> None:
    job = "import sys; sys.path.append(sys.argv[1]); from needlework.jobs.guard import end_with_parent; "
    job += "end_with_parent(); print('alive')"
    environment = {**os.environ, "NEEDLEWORK_SNAKEMAKE": f"{os.getpid()} 1"}
    done = subprocess.run([sys.executable, "-c", job, SCRIPTS], env=environment)
    assert done.returncode == -signal.SIGKILL
