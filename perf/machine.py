"""What a measurement ran on."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path


def describe(packages: Sequence[str] = ()) -> dict[str, object]:
    """Processor, usable cores, memory, system, Python, and the versions of `packages`."""
    return {
        "cpu": _proc_field("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(_proc_field("/proc/meminfo", "MemTotal").split()[0]) / 2**20, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {package: version(package) for package in packages},
    }


def peak_memory_mib() -> float:
    """The most memory that this process has had resident, files mapped from disk included.

    (`ru_maxrss` would begin with the memory of the process that started this one.)
    """
    return round(int(_proc_field("/proc/self/status", "VmHWM").split()[0]) / 1024, 1)


def _proc_field(file: str, name: str) -> str:
    for line in Path(file).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""
