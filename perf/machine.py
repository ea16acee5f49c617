"""What a measurement ran on, and what it took."""

from __future__ import annotations

import os
import platform
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any


@contextmanager
def measured() -> Iterator[dict[str, Any]]:
    """What a block takes, its ended child processes included: filled in at its end.

    `seconds` on the clock, `cpu_seconds` of all processes (the fairer number where the machine does other
    things too), `megabytes_read` and `megabytes_written` by calls of the system, from memory or disk, where
    it has /proc, and `peak_mib` of this process.
    """
    took: dict[str, Any] = {}
    clock, cpu, moved = time.perf_counter(), os.times(), _moved()
    yield took
    spent = [after - before for after, before in zip(os.times()[:4], cpu[:4], strict=True)]
    took |= {
        "seconds": round(time.perf_counter() - clock, 1),
        "cpu_seconds": round(sum(spent), 1),
        **{name: round((n - moved[name]) / 1e6, 1) for name, n in _moved().items()},
        "peak_mib": peak_memory_mib(),
    }


def _moved() -> dict[str, int]:
    if not Path("/proc/self/io").exists():
        return {}
    counted = {"megabytes_read": "rchar", "megabytes_written": "wchar"}
    return {name: int(_proc_field("/proc/self/io", key)) for name, key in counted.items()}


def describe(packages: Sequence[str] = ()) -> dict[str, object]:
    """Processor, usable cores, memory, system, Python, and the versions of `packages`.

    `load` is how many processes wanted a processor in the last five minutes, this measurement's among them.
    """
    return {
        "cpu": _proc_field("/proc/cpuinfo", "model name") or platform.processor(),
        # Only Linux tells which of the machine's cores a process may use.
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "load": round(os.getloadavg()[1], 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {package: version(package) for package in packages},
    }


def peak_memory_mib() -> float:
    """The most memory that this process has had resident, files mapped from disk included.

    (`ru_maxrss` would begin with the memory of the process that started this one. Without /proc, as on
    macOS, it is what there is.)
    """
    if not Path("/proc/self/status").exists():
        return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 1)
    return round(int(_proc_field("/proc/self/status", "VmHWM").split()[0]) / 1024, 1)


def _proc_field(file: str, name: str) -> str:
    if not Path(file).exists():
        return ""
    for line in Path(file).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""
