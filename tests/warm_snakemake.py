"""Snakemake's command line and its jobs in processes that have imported much of what they need already.

That saves a second for each run and half a second for each job that makes a table. No process has imported
anything of the library: a run takes it from its own copy of the workflow.
"""

from __future__ import annotations

import atexit
import multiprocessing.process
import os
import resource
import runpy
import shlex
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from multiprocessing import forkserver, get_context, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# Every process is forked from one that has imported these.
_PROCESSES = get_context("forkserver")
_PROCESSES.set_forkserver_preload(
    [
        *("snakemake.cli", "snakemake.script", "snakemake.report.html_reporter", "smart_open"),
        *("pandas", "pydantic", "pyarrow.compute", "pyarrow.parquet"),
        *("matplotlib.figure", "matplotlib.backends.backend_svg"),
    ]
)
# As snakemake.shell.shell sets them.
_THREADS = (
    *("OMP_NUM_THREADS", "GOTO_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"),
)
_spent: Counter[str] = Counter()


def processor_seconds() -> tuple[float, float]:
    """What all runs took: Snakemake itself, and its jobs."""
    return _spent["snakemake"], _spent["jobs"]


def run(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """As `python -m snakemake` with these arguments: its exit status, and what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder, "stdout"), Path(folder, "stderr")
        seconds = Path(folder, "seconds")
        process = _PROCESSES.Process(
            target=_snakemake, args=(arguments, cwd, dict(env), said, seconds)
        )
        process.start()
        process.join()
        for line in seconds.read_text(encoding="utf-8").splitlines():
            kind, took = line.split()
            _spent[kind] += float(took)
        stdout, stderr = [file.read_text(encoding="utf-8") for file in said]
    assert process.exitcode is not None
    return subprocess.CompletedProcess(list(arguments), process.exitcode, stdout, stderr)


def _snakemake(
    arguments: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    said: tuple[Path, Path],
    seconds: Path,
) -> None:
    _begin(cwd, env, said)
    # A copy of the workflow must find its own library, so the checkout's is not on the path. Jobs import this
    # module from the last folder.
    sys.path[:] = [str(cwd), *_installed(), str(Path(__file__).parent)]
    sys.argv[:] = ["snakemake", *arguments]
    from snakemake.cli import main

    _fork_jobs(said, seconds)
    try:
        main()
    finally:
        # One of them saves the digests of the code.
        atexit._run_exitfuncs()
        _note("snakemake", seconds)


def _installed() -> list[str]:
    """The folders of this Python's packages, in the order in which it looks."""
    return [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]


def _begin(cwd: Path, env: Mapping[str, str], said: tuple[Path, Path]) -> None:
    """Give this process its streams, folder and environment."""
    for stream, file in zip((1, 2), said, strict=True):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)


def _note(kind: str, seconds: Path) -> None:
    """Add the processor seconds of this process, as of this kind, and those of its children, as jobs."""
    for name, who in ((kind, resource.RUSAGE_SELF), ("jobs", resource.RUSAGE_CHILDREN)):
        took = resource.getrusage(who)
        with seconds.open("a", encoding="utf-8") as file:
            file.write(f"{name} {took.ru_utime + took.ru_stime}\n")


def _fork_jobs(said: tuple[Path, Path], seconds: Path) -> None:
    """Let this Snakemake fork the jobs of Python scripts in its own environment."""
    from snakemake.benchmark import benchmarked
    from snakemake.script import PythonScript

    # Python 3.11 would start a second server, though the one that forked this process can serve it.
    forkserver._forkserver.ensure_running = resource_tracker.ensure_running  # type: ignore[attr-defined]
    cold, starting = PythonScript.execute_script, threading.Lock()

    def execute(script: Any, name: str, edit: bool = False) -> None:
        if script.conda_env or script.container_img or script.env_modules:
            cold(script, name, edit)
            return
        env = dict(os.environ) | dict.fromkeys(_THREADS, str(script.threads))
        if folder := script.resources.get("tmpdir"):
            env |= dict.fromkeys(("TMPDIR", "TMP", "TEMPDIR", "TEMP"), folder)
        waits, ready = _PROCESSES.Pipe(duplex=False)
        job = _PROCESSES.Process(target=_job, args=(waits, name, Path.cwd(), env, said, seconds))
        with starting:
            job.start()
            # `start` polls all known children: in another thread it could take this job's exit status.
            multiprocessing.process._children.discard(job)  # type: ignore[attr-defined]
        # A process that has ended cannot be measured, so the job waits until measuring has begun.
        measured = (
            benchmarked(job.pid, script.bench_record)
            if script.bench_record is not None
            else nullcontext()
        )
        with waits, ready, measured:
            ready.send(None)
            job.join()
        if job.exitcode:
            command = f"set -euo pipefail; {sys.executable} {shlex.quote(name)}"
            raise subprocess.CalledProcessError(job.exitcode, command)

    PythonScript.execute_script = execute


def _job(
    waits: Connection,
    name: str,
    cwd: Path,
    env: Mapping[str, str],
    said: tuple[Path, Path],
    seconds: Path,
) -> None:
    waits.recv()
    _begin(cwd, env, said)
    added = filter(None, env.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:] = [str(Path(name).parent), *added, *_installed()]
    sys.argv[:] = [name]
    try:
        runpy.run_path(name, run_name="__main__")
    finally:
        atexit._run_exitfuncs()
        _note("jobs", seconds)
