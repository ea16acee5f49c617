"""Jobs that answer prompts in vLLM's own environment, with processes that can be killed."""

from __future__ import annotations

import json
import os
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
from needlework.models.selection import only_of
from needlework.planning.config import validated
from needlework.planning.layout import Layout
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
    del config["benchmarks"]["mlneedle"]["comparisons"]
    return validated(config)


class Job:
    """A model's job in a folder; whatever it starts has ended when the `with` block has."""

    def __init__(
        self,
        folder: Path,
        model: Mapping[str, Any],
        corpus: Path,
        instances: Path,
        tokens_ahead: int | None = None,
        turn: str | None = None,
    ) -> None:
        """With `turn`, of an audit's answers: the first or the second ones."""
        self.folder = folder
        self.journal = folder / "journal"
        config = configuration(model, journal=str(self.journal))
        given = {
            "rule": "generate_answers",
            "wildcards": {"model": "tiny", "benchmark": "made", "turn": turn},
            "params": {
                **{"model": Layout(config).model_settings("tiny"), "lengths": [512]},
                **{"only": only_of(config, "tiny", "made"), "state": ""},
            },
            "resources": {"gpu": 0},
            "input": {"instances": [str(instances)], "corpora": [str(corpus)], "documents": []},
            "output": [str(folder / "answers.parquet")],
            "log": [str(folder / "job.log"), str(folder / "account.json")],
            "config": config,
        }
        script = (SCRIPTS / "generate_answers.py").read_text(encoding="utf-8")
        preamble = PREAMBLE.format(scripts=str(SCRIPTS), given=json.dumps(given))
        if tokens_ahead is not None:
            preamble += "import needlework.models.backends.vllm as backend\n"
            preamble += f"backend.TOKENS_AHEAD = {tokens_ahead}\n"
        folder.mkdir(exist_ok=True)
        self._file = folder / "generate_answers.py"
        self._file.write_text(preamble + script, encoding="utf-8")
        self._seen: dict[int, psutil.Process] = {}

    def __enter__(self) -> Job:
        with (self.folder / "terminal.txt").open("w") as terminal:
            self.process = subprocess.Popen(
                [str(PYTHON), str(self._file)], env=environment(), stdout=terminal, stderr=terminal
            )
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
            time.sleep(0.1)

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
        return list(Journal(self.journal / "generations" / "tiny").records())

    def log(self) -> str:
        """What the job and its engine said."""
        path = self.folder / "job.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def table(self) -> pa.Table:
        """The job's output."""
        return read_table(self.folder / "answers.parquet")
