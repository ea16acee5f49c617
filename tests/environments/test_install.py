"""The library installed in place, as `pip install -e .` does, and the demo as in the container."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from needlework import __version__
from runs import ROOT, copy_workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("environments")]
UV = Path(sys.executable).with_name("uv")


def test_the_library_is_imported_from_where_it_lies(tmp_path: Path) -> None:
    clone, python = copy_workflow(tmp_path / "clone"), tmp_path / "own/bin/python"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    numpy = next(
        line.removesuffix(" \\")
        for line in (ROOT / "requirements/all.txt").read_text(encoding="utf-8").splitlines()
        if line.startswith("numpy==")
    )
    for command in (
        ["venv", tmp_path / "own", "--python", sys.executable],
        ["pip", "install", "--python", python, "--no-deps", numpy],
        ["pip", "install", "--python", python, "--no-deps", "--editable", clone],
    ):
        subprocess.run([UV, *command, "--quiet"], check=True, env=environment)
    code = (
        "import needlework.seeding as s, needlework.benchmarks.mlneedle as m; "
        "print(s.__file__); print(m.__file__); print(s.rng('x').integers(10) in range(10))"
    )
    done = subprocess.run(
        [python, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    seeding, benchmark, drawn = done.stdout.splitlines()
    package = clone / "workflow/scripts/needlework"
    assert Path(seeding).is_relative_to(package) and Path(benchmark).is_relative_to(package)
    assert drawn == "True"
    said = subprocess.check_output([python.with_name("needlework"), "--version"], text=True)
    assert said == f"needlework {__version__}\n"


def test_steps_of_the_containerfile_make_its_environment(tmp_path):
    """No builder of images is needed: its `COPY` and `make` lines are carried out in a clean folder."""
    lines = (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line.startswith("COPY") and line != "COPY . .":
            *sources, _ = line.split()[1:]
            for source in sources:
                copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
                copy(ROOT / source, tmp_path / source)
    (make,) = (line.removeprefix("RUN ") for line in lines if line.startswith("RUN make"))
    command = make.replace("$SETUP", "setup-demo").replace("/opt/venv", "venv")
    command = command.replace("PYTHON=python3", f"PYTHON={sys.executable}")
    # Most of what is installed is never imported here.
    environment = {**os.environ, "PIP_NO_COMPILE": "1"}
    subprocess.run(
        command.split(), cwd=tmp_path, env=environment, check=True, capture_output=True, timeout=900
    )
    snakemake = tmp_path / "venv/bin/snakemake"
    plan = subprocess.run(
        [snakemake, "--snakefile", ROOT / "Snakefile", "-n"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert plan.returncode == 0, plan.stderr[-3000:]
    assert "Job" in plan.stdout or "total" in plan.stdout
