"""Measures the processor seconds of Python processes, and how many are imports or the saving of figures.

Python imports a module of this name when it starts, if PYTHONPATH names its folder. Each process writes a
line at its exit, into a file of the folder that KINDS names. A process that is killed writes nothing.
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
from functools import wraps
from pathlib import Path
from typing import Any

KINDS = "NEEDLEWORK_KINDS"
"""The environment variable that names the folder."""

_own = threading.local()
_spent = {"importing": 0.0, "drawing": 0.0}


def _timed(kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its processor seconds added to a kind. Timed functions that it calls add nothing."""

    @wraps(function)
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
    """Time the saving of figures, once matplotlib is imported."""
    module = sys.modules.get("matplotlib.figure")
    figure = getattr(module, "Figure", None)
    if figure is not None and not hasattr(figure.savefig, "__wrapped__"):
        figure.savefig = _timed("drawing", figure.savefig)


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
    """A forked process begins at 0: the seconds that it inherits are its parent's."""
    _spent.update(dict.fromkeys(_spent, 0.0))
    _own.busy = False


# The plugin of pytest imports this module too, by another name.
if __name__ == "sitecustomize" and os.environ.get(KINDS):
    os.register_at_fork(after_in_child=_forget)
    builtins.__import__ = _timed("importing", builtins.__import__)
    atexit.register(write)
