"""What a measurement ran on, and the same measurement with the code of before."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# The last commit that counted every finished prompt whole.
FORMER = "ebf43f2"


def code() -> Path:
    """The folder whose code is measured: this repository, or the former one."""
    return Path(os.environ.get("NEEDLEWORK_CODE", ROOT))


def counting(folder: str | Path) -> list[dict[str, Any]]:
    """What `load_tokenizer` is told further: where sums are kept. The former code keeps none."""
    return [] if code() != ROOT else [{"sums": str(Path(folder) / "token_sums")}]


def former_way(script: str, *arguments: str) -> dict[str, Any]:
    """What `script --bare` prints with the code of the commit FORMER."""
    with tempfile.TemporaryDirectory() as folder:
        archive = ["git", "archive", FORMER, "workflow", "resources", "config.yaml"]
        packed = subprocess.run(archive, cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=packed, check=True)
        made = subprocess.run(
            [sys.executable, script, "--bare", *arguments],
            env={**os.environ, "NEEDLEWORK_CODE": folder},
            check=True,
            stdout=subprocess.PIPE,
        )
    return json.loads(made.stdout)


def describe(packages: Sequence[str] = ()) -> dict[str, object]:
    """Processor, usable cores, memory, system, Python, and the versions of `packages`."""
    return {
        "cpu": _proc_field("/proc/cpuinfo", "model name") or platform.processor(),
        # Only Linux tells which of the machine's cores a process may use.
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
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
