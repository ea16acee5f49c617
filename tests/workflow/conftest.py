"""Runs of the workflow that several tests look at."""

from __future__ import annotations

import shutil

import pytest

from runs import ROOT, Workflow, copy_workflow

# What Snakemake and the workflow keep of a run; the rest of .snakemake is locks, caches and scripts.
KEPT = ("results", "journal", "token_sums", "logs", "benchmarks", ".snakemake/metadata")


@pytest.fixture(scope="session")
def demo(tmp_path_factory) -> Workflow:
    """The main job on the embedded sample: a copy of the checkout's run where that is finished, or a new one.

    `make demo` leaves such a run. It is what a new one would make: the code of every job is one of its
    parameters, and Snakemake plans nothing for a copy of which any file, parameter or code is not current.
    The workflow lies in the run's own folder, as in the checkout: so its files have the same names.
    """
    folder = tmp_path_factory.mktemp("demo")
    workflow = Workflow(copy_workflow(folder), folder)
    if (ROOT / "results/index.html").is_file():
        for name in KEPT:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, symlinks=True)
        if "Nothing to be done" in workflow.run("--dry-run").stdout:
            return workflow
        folder = tmp_path_factory.mktemp("demo")
        workflow = Workflow(copy_workflow(folder), folder)
    workflow.run()
    return workflow
