"""Invariant 6: killed at any moment, the same command completes the run, and nothing differs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from needlework.seeding import rng
from runs import ROOT, Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kill")]

CONFIG = {
    "benchmarks": {
        "mlneedle": {
            "needle_languages": ["en", "de"],
            "haystack_languages": ["en", "hi"],
            "lengths": [512, 1024],
        }
    }
}
KILLS = 5


def files_of(workflow: Workflow) -> dict[str, bytes]:
    """What a run made, by name."""
    return {
        str(file.relative_to(workflow.directory)): file.read_bytes()
        for kind in ("corpora", "instances", "generations", "scores", "tables", "figures")
        for file in sorted(workflow.result(kind).rglob("*"))
        if file.is_file()
    }


def run_until(workflow: Workflow, arguments: list[str], seconds: float) -> bool:
    """Run Snakemake and kill it and all its jobs after so many seconds; whether it had ended."""
    process = subprocess.Popen(
        workflow.command(*arguments),
        cwd=workflow.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return False
    return process.returncode == 0


def test_a_run_that_is_killed_again_and_again_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(CONFIG))
    arguments = ["--configfile", str(config)]
    undisturbed = Workflow(ROOT, tmp_path / "undisturbed")
    start = time.monotonic()
    undisturbed.run(*arguments)
    whole = time.monotonic() - start

    killed = Workflow(ROOT, tmp_path / "killed")
    ended = 0
    for trial in range(KILLS):
        # The dry start of Snakemake alone takes some seconds: kills spread over the rest.
        seconds = 2 + whole / KILLS * rng("kill", trial).uniform(0.3, 1.2)
        ended += run_until(killed, arguments, seconds)
        killed.run("--unlock", *arguments)
    assert ended < KILLS, "no run was killed"
    killed.run(*arguments)

    expected = files_of(undisturbed)
    assert len(expected) > 60
    found = files_of(killed)
    assert found.keys() == expected.keys()
    assert [name for name in expected if found[name] != expected[name]] == []
    assert killed.would_run(*arguments) == {}
