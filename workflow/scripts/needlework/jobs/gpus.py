"""A job's own GPUs, on a machine without a scheduler that assigns them.

Snakemake counts the resource `gpu` but assigns no devices: two jobs of one GPU each would both start on the
first. So each job locks as many devices as it asked for. The system releases a lock when its process ends,
however it ends.
"""

from __future__ import annotations

import logging
import os
import random
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.jobs.stop import rest

if TYPE_CHECKING:
    from filelock import FileLock

# The devices that a process may use, as CUDA reads them.
VISIBLE = "CUDA_VISIBLE_DEVICES"
# Schedulers hand out devices themselves, and say so in a job's environment.
_SCHEDULERS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "KUBERNETES_SERVICE_HOST")
# Seconds between two attempts, and before the log says that the job waits.
_POLL_S, _PATIENCE_S = 0.2, 10.0

logger = logging.getLogger("needlework")


def visible_gpus() -> list[str]:
    """The NVIDIA GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    if (given := os.environ.get(VISIBLE)) is not None:
        return [name for name in (part.strip() for part in given.split(",")) if name]
    try:
        nodes = [file for file in Path("/dev").iterdir() if re.fullmatch(r"nvidia\d+", file.name)]
    except OSError:
        return []
    return [str(i) for i in range(len(nodes))]


@contextmanager
def own_gpus(number: int) -> Iterator[list[str]]:
    """Lock `number` of the visible GPUs, and hide all others from this process; return the names of the GPUs.

    Waits until enough are free. Does nothing (and returns no names) under a scheduler, without visible GPUs,
    and if the job asks for none or for more than there are.
    """
    devices = visible_gpus()
    if not 0 < number <= len(devices) or any(os.environ.get(name) for name in _SCHEDULERS):
        yield []
        return
    taken = _take(number, devices)
    before = os.environ.get(VISIBLE)
    os.environ[VISIBLE] = ",".join(taken)
    try:
        yield list(taken)
    finally:
        os.environ.pop(VISIBLE)
        if before is not None:
            os.environ[VISIBLE] = before
        for lock in taken.values():
            lock.release()


def _take(number: int, devices: list[str]) -> dict[str, FileLock]:
    """The locks of `number` free devices, by name. A job that finds fewer keeps none meanwhile."""
    from filelock import FileLock, Timeout

    folder = _lock_folder()
    began, told = time.monotonic(), False
    while True:
        taken: dict[str, FileLock] = {}
        for name in devices:
            lock = FileLock(folder / f"{re.sub(r'[^A-Za-z0-9-]', '_', name)}.lock")
            try:
                lock.acquire(blocking=False)
            except Timeout:
                continue
            taken[name] = lock
            if len(taken) == number:
                return taken
        for lock in taken.values():
            lock.release()
        if not told and time.monotonic() - began > _PATIENCE_S:
            logger.info("Waiting for %d free GPUs of %s (locks in %s).", number, devices, folder)
            told = True
        rest(_POLL_S * (1 + random.random()))


def _lock_folder() -> Path:
    """The user's folder of locks on this machine, which nobody else can write."""
    folder = Path(tempfile.gettempdir(), f"needlework-gpus-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} is not this user's own folder: set TMPDIR to another.")
    return folder
