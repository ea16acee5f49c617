"""The version of the workflow that made the results, as the page of results shows it."""

from __future__ import annotations

import json
import os
import subprocess
from importlib.metadata import distributions
from pathlib import Path
from typing import TypedDict

from needlework import __version__
from needlework.records import ROOT

# What of the workflow makes results: a change there is a modified workflow.
CODE = ("Snakefile", "config.yaml", "workflow", "resources", "envs", "presets", "profiles")


class Version(TypedDict):
    """The workflow's version and, in a clone, the commit and whether files were changed since."""

    version: str
    commit: str | None
    modified: bool | None


def workflow() -> Version:
    """The version of the workflow that runs; of a wheel, with the commit if a repository was installed."""
    here = _git("rev-parse", "--show-toplevel")
    # A copy inside somebody else's repository is no clone of ours.
    if here is None or Path(here).resolve() != ROOT.resolve():
        return {"version": __version__, "commit": _installed_commit(), "modified": None}
    changed = _git("status", "--porcelain", "--", *CODE)
    return {
        "version": __version__,
        "commit": _git("rev-parse", "HEAD"),
        "modified": None if changed is None else bool(changed),
    }


def _installed_commit() -> str | None:
    """The commit that pip or uv noted where it installed a wheel from a repository (PEP 610)."""
    # Looked for where it lies, since a job's own environment does not know it.
    for found in distributions(name="needlework", path=[str(ROOT.parent)]):
        origin = json.loads(found.read_text("direct_url.json") or "{}")
        return origin.get("vcs_info", {}).get("commit_id")
    return None


def _git(*arguments: str) -> str | None:
    """What git says in the workflow's folder; None where there is no git, or no clone."""
    # The clone may be another user's. Its owner is trusted already: this code is from there.
    trusted = ["-c", "safe.directory=*", "-c", "core.fsmonitor=false"]
    command = ["git", "--no-optional-locks", *trusted, "-C", str(ROOT), *arguments]
    # In a hook, or for a user's dotfiles, variables name another repository.
    environment = {name: own for name, own in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
