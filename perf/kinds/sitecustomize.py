"""Python imports this module first where PYTHONPATH names its folder: what a process does with its time.

Each process writes a line when it ends, into a file of the folder KINDS: what it is, its processor seconds,
and those of them that imports and the saving of figures took. A process that is killed writes nothing.
"""

from __future__ import annotations

import atexit
import builtins
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

KINDS = "NEEDLEWORK_KINDS"
"""The environment variable that names the folder."""

_own = threading.local()
_spent = {"importing": 0.0, "drawing": 0.0}


def _timed(kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose processor seconds count as of this kind, unless a caller's count already."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if getattr(_own, "busy", False):
            return function(*args, **kwargs)
        _own.busy, begin = True, time.thread_time()
        try:
            return function(*args, **kwargs)
        finally:
            _spent[kind] += time.thread_time() - begin
            _own.busy = False
            if kind == "importing":
                _time_figures()

    return wrapper


def _time_figures() -> None:
    """Times the saving of figures as soon as matplotlib is there."""
    module = sys.modules.get("matplotlib.figure")
    figure = getattr(module, "Figure", None)
    if figure is not None and not hasattr(figure.savefig, "__wrapped__"):
        saving = _timed("drawing", figure.savefig)
        saving.__wrapped__ = figure.savefig  # type: ignore[attr-defined]
        figure.savefig = saving


def process() -> str:
    """What this process is."""
    command = sys.argv[0] if sys.argv else ""
    if "PYTEST_XDIST_WORKER" in os.environ and "pytest" in sys.modules:
        return "tests"
    if ".snakemake/scripts" in command:
        return "jobs"
    if "vllm" in sys.prefix:
        return "vLLM"
    return "Snakemake" if "snakemake" in command else "other"


def note(kind: str, seconds: float, importing: float = 0, drawing: float = 0) -> None:
    """Write a line of a process."""
    folder = os.environ[KINDS]
    line = {"process": kind, "cpu": seconds, "importing": importing, "drawing": drawing}
    with Path(folder, f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def write() -> None:
    """Write the line of this process, once."""
    if _spent:
        note(process(), time.process_time(), **_spent)
        _spent.clear()


def _forget() -> None:
    """What a forked process inherits, its parent did."""
    _spent.update(dict.fromkeys(_spent, 0.0))
    _own.busy = False


# The plugin of pytest imports this module too, by another name.
if __name__ == "sitecustomize" and os.environ.get(KINDS):
    os.register_at_fork(after_in_child=_forget)
    builtins.__import__ = _timed("importing", builtins.__import__)
    atexit.register(write)
