"""Processes in vLLM's own environment, which can be killed; among them jobs that answer prompts.

They are forked from one that has imported vLLM (fork_jobs.py), and so are their engines, but for jobs that
start as a user's.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import yaml

from needlework.journal import Journal
from needlework.planning.config import validated
from needlework.planning.rule_inputs import RuleInputs
from needlework.records import read_table

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "workflow/scripts"
PYTHON = ROOT / ".venv-vllm/bin/python"

# What Snakemake puts before a script, as far as this one looks at it.
PREAMBLE = """\
import json, sys
from types import SimpleNamespace
sys.path.append({scripts!r})
given = json.loads({given!r})

class Files(list):
    def __init__(self, named):
        super().__init__(file for files in named.values() for file in files)
        vars(self).update(named)

class Log(list):
    account = property(lambda files: files[1])

class Names(dict):
    __getattr__ = dict.__getitem__

snakemake = SimpleNamespace(
    **{{name: Names(given[name]) for name in ("wildcards", "params", "resources")}},
    **{{name: given[name] for name in ("rule", "output", "config")}},
    log=Log(given["log"]),
    input=Files(given["input"]),
)
"""

SLOWER = """\
import time
from needlework.models.backends.vllm import VllmBackend
send = VllmBackend._send
VllmBackend._send = lambda *given: (time.sleep({pause}), send(*given))[1]
"""


def environment() -> dict[str, str]:
    """What a test's engine needs: little memory, no network, no cache but the machine's, one thread.

    Threads that wait for each other take the cores of the tests beside them.
    """
    own = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    one_thread = {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"}
    return {**os.environ, **own, **one_thread}


def configuration(model: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """The project's configuration, validated, with `model` as its only one, `tiny`."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    config |= {"models": {"tiny": dict(model)}, **changes}
    config["run"] |= {"models": ["tiny"], "benchmarks": ["mlneedle"]}
    return validated(config)


@functools.cache
def _server() -> subprocess.Popen[bytes]:
    """The process that has imported vLLM."""
    started = subprocess.Popen(
        [str(PYTHON), str(Path(__file__).with_name("fork_jobs.py"))],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # `select` does not see what a buffer holds.
        bufsize=0,
    )
    # At the end of its input it ends.
    atexit.register(started.communicate)
    return started


class Process:
    """A process that runs a file, or a module by its name, in a session of its own; only one at a time.

    It has `more` in its environment.
    """

    def __init__(
        self, run: Path | str, *arguments: Path | str, terminal: Path, more: Mapping[str, str] = {}
    ) -> None:
        self.returncode: int | None = None
        asked = {
            "run": str(run),
            "is_module": isinstance(run, str),
            "arguments": list(map(str, arguments)),
            "terminal": str(terminal),
            "environment": dict(more),
        }
        server = _server()
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(f"{json.dumps(asked)}\n".encode())
        self._answers = server.stdout
        self.pid = int(self._answers.readline())

    def poll(self) -> int | None:
        """The exit status, once it has ended."""
        if self.returncode is None and select.select([self._answers], [], [], 0)[0]:
            self.returncode = int(self._answers.readline())
        return self.returncode

    def wait(self, seconds: float = 60) -> int:
        """The exit status, when it has ended."""
        if self.returncode is None and not select.select([self._answers], [], [], seconds)[0]:
            raise subprocess.TimeoutExpired(str(self.pid), seconds)
        status = self.poll()
        assert status is not None
        return status

    def kill(self) -> None:
        """SIGKILL it, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def terminate(self) -> None:
        """SIGTERM it, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


def run(file: Path | str, *arguments: Path | str, folder: Path, seconds: float = 300) -> str:
    """Run a Python file, or lines of Python, to its end; all that it said."""
    if isinstance(file, str):
        (folder / "lines.py").write_text(file, encoding="utf-8")
        file = folder / "lines.py"
    terminal = folder / f"{file.stem}.terminal.txt"
    process = Process(file, *arguments, terminal=terminal)
    try:
        status = process.wait(seconds)
    finally:
        process.kill()
        process.wait()
    said = terminal.read_text(encoding="utf-8", errors="replace")
    assert status == 0, said[-5000:]
    return said


class Job:
    """A model's job in a folder; whatever it starts has ended when the `with` block has."""

    def __init__(
        self,
        folder: Path,
        model: Mapping[str, Any],
        corpus: Path,
        instances: Path,
        tokens_ahead: int | None = None,
        pause: float = 0.0,
        turn: str | None = None,
        cold: bool = False,
        more: Mapping[str, str] = {},
    ) -> None:
        """With `turn`, the first or the second answers of the doctor. `cold`: a new Python runs it.

        Before each prompt it waits `pause` seconds. A job that is not cold has `more` in its environment.
        """
        self.folder, self._cold, self._more = folder, cold, more
        self.journal = folder / "journal"
        config = configuration(model, journal=str(self.journal))
        given = {
            "rule": "generate_answers",
            "wildcards": {"model": "tiny", "benchmark": "made", "turn": turn},
            "params": {
                **{"model": RuleInputs(config).answers.model_settings("tiny"), "lengths": [512]},
                **{"only": RuleInputs(config).answers.only("tiny", "made"), "state": ""},
            },
            "resources": {"gpu": 0},
            "input": {"instances": [str(instances)], "corpora": [str(corpus)], "documents": []},
            "output": [str(folder / "answers.parquet")],
            "log": [str(folder / "job.log"), str(folder / "account.json")],
            "config": config,
        }
        script = (SCRIPTS / "generate_answers.py").read_text(encoding="utf-8")
        preamble = PREAMBLE.format(scripts=str(SCRIPTS), given=json.dumps(given))
        if pause:
            preamble += SLOWER.format(pause=pause)
        if tokens_ahead is not None:
            preamble += "import needlework.models.backends.vllm as backend\n"
            preamble += f"backend.TOKENS_AHEAD = {tokens_ahead}\n"
        folder.mkdir(exist_ok=True)
        self._file = folder / "generate_answers.py"
        self._file.write_text(preamble + script, encoding="utf-8")
        self._seen: dict[int, psutil.Process] = {}

    def __enter__(self) -> Job:
        terminal = self.folder / "terminal.txt"
        terminal.unlink(missing_ok=True)
        self.process: Process | subprocess.Popen[bytes]
        if self._cold:
            with terminal.open("w") as file:
                self.process = subprocess.Popen(
                    [str(PYTHON), str(self._file)], env=environment(), stdout=file, stderr=file
                )
        else:
            self.process = Process(self._file, terminal=terminal, more=self._more)
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for process in self.alive():
            process.kill()

    def finish(self, seconds: float = 600) -> str:
        """Wait for the job's end; what it said on the terminal."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            self.remember()
            assert time.monotonic() < end, f"not within {seconds} s:\n{self.log()[-3000:]}"
            time.sleep(0.1)
        return (self.folder / "terminal.txt").read_text(encoding="utf-8", errors="replace")

    def wait_for(self, condition: Callable[[], bool], seconds: float = 240) -> None:
        """Wait until the condition holds, while the job runs."""
        end = time.monotonic() + seconds
        while not condition():
            self.remember()
            assert self.process.poll() is None, f"the job ended early:\n{self.log()[-3000:]}"
            assert time.monotonic() < end, f"not within {seconds} s:\n{self.log()[-3000:]}"
            time.sleep(0.02)

    def remember(self) -> None:
        """Take note of the job's child processes."""
        try:
            children = psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return
        self._seen |= {child.pid: child for child in children}

    def alive(self) -> list[psutil.Process]:
        """The child processes that still run."""
        found = []
        for process in self._seen.values():
            try:
                if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.NoSuchProcess:
                pass
        return found

    def survivors(self, seconds: float = 15) -> list[psutil.Process]:
        """The child processes that still run after a while: Python's resource tracker takes a little."""
        assert self._seen, "none was seen"
        end = time.monotonic() + seconds
        while self.alive() and time.monotonic() < end:
            time.sleep(0.1)
        return self.alive()

    def kill_engine(self) -> None:
        """SIGKILL the engine's process, as the kernel does when memory runs out."""
        self.remember()
        for process in self.alive():
            if "EngineCore" in "".join(process.cmdline()):
                process.send_signal(signal.SIGKILL)
                return
        raise AssertionError("there is no engine to kill")

    def kill(self) -> None:
        """SIGKILL the job itself."""
        self.remember()
        self.process.kill()
        self.process.wait()

    def records(self) -> list[dict[str, Any]]:
        """Every record of the job's journal."""
        folders = sorted((self.journal / "generations").glob("*"))
        assert len(folders) < 2
        return [record for folder in folders for record in Journal(folder).records()]

    def log(self) -> str:
        """What the job and its engine said."""
        path = self.folder / "job.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def table(self) -> pa.Table:
        """The job's output."""
        return read_table(self.folder / "answers.parquet")
