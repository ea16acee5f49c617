"""What the shell, the notebook or the folder of a run brings along changes no result, or is told at once."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from runs import ROOT, Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("environment")]

FEW_PAIRS = {
    "run": {"models": ["oracle"], "benchmarks": ["lost_in_the_middle"], "limit": 1},
    "benchmarks": {
        "lost_in_the_middle": {
            "tasks": ["key_value"],
            "keys": ["uuid"],
            "n_pairs": [{"n": 10, "indices": [0, 9]}],
        }
    },
}


def ended(run: Workflow, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A run in a process that has imported nothing before: its status and output."""
    return subprocess.run(
        run.command(*arguments),
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture
def workflow(tmp_path: Path) -> Workflow:
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(FEW_PAIRS))
    return Workflow(ROOT, tmp_path / "run")


def test_a_notebook_and_a_matplotlibrc_draw_the_same_figures(workflow, tmp_path: Path) -> None:
    """A notebook names a backend that the jobs' Python lacks."""
    workflow.directory.mkdir()
    (tmp_path / "run/matplotlibrc").write_text("text.usetex: True\nsavefig.bbox: tight\n")
    notebook = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    arguments = ("lost_in_the_middle_figure10", "--configfile", str(tmp_path / "own.yaml"))
    done = ended(workflow, *arguments, **notebook)
    assert done.returncode == 0, done.stdout[-3000:]
    figure = tmp_path / "run/results/figures/lost_in_the_middle/figure10.svg"
    first = figure.read_bytes()
    (tmp_path / "run/matplotlibrc").unlink()
    figure.unlink()
    workflow.run(*arguments)
    assert figure.read_bytes() == first


def test_pythons_optimized_mode_is_refused_before_any_job(workflow) -> None:
    done = ended(workflow, "-n", PYTHONOPTIMIZE="1")
    assert done.returncode != 0 and "total" not in done.stdout
    assert "unset the environment variable PYTHONOPTIMIZE" in done.stdout.splitlines()[-1]


def test_a_configfile_given_twice_ends_before_the_plan(workflow, tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    done = workflow.run("-n", "--configfile", str(file), f"--configfile={file}", check=False)
    assert done.returncode != 0 and "total" not in done.stdout
    assert f"write `--configfile {file} {file}`." in done.stderr.splitlines()[-1]
