"""Snakemake's command line in a process that has imported it already, which saves about a second a run."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path

# Each run is forked from a process that has imported these modules, and none of the library.
_PROCESSES = get_context("forkserver")
_PROCESSES.set_forkserver_preload(
    ["snakemake.cli", "snakemake.report.html_reporter", "smart_open", "pandas", "jsonschema"]
)
_spent: list[tuple[float, float]] = []


def processor_seconds() -> tuple[float, float]:
    """What all runs took: Snakemake itself, and its jobs."""
    return sum(own for own, _ in _spent), sum(jobs for _, jobs in _spent)


def run(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """As `python -m snakemake` with these arguments: its exit status, and what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "stdout"), Path(folder, "stderr"), Path(folder, "seconds")
        files[-1].write_text("0 0")
        process = _PROCESSES.Process(target=_snakemake, args=(arguments, cwd, dict(env), files))
        process.start()
        process.join()
        *said, seconds = [file.read_text(encoding="utf-8") for file in files]
    own, jobs = map(float, seconds.split())
    _spent.append((own, jobs))
    assert process.exitcode is not None
    return subprocess.CompletedProcess(list(arguments), process.exitcode, *said)


def _snakemake(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str], files: tuple[Path, Path, Path]
) -> None:
    *streams, seconds = files
    for stream, file in zip((1, 2), streams, strict=True):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), stream)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    # Without the tests' own folders: a copy of the workflow must find its own library.
    installed = (sys.prefix, sys.base_prefix)
    sys.path[:] = [str(cwd), *(path for path in sys.path if path.startswith(installed))]
    sys.argv[:] = ["snakemake", *arguments]
    from snakemake.cli import main

    try:
        main()
    finally:
        usage = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        seconds.write_text(" ".join(str(one.ru_utime + one.ru_stime) for one in usage))
