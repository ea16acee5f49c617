"""The workflow as a module of another one: by path, from a repository, and as snakedeploy writes it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import warm_snakemake
from runs import ROOT, SMALL_MLNEEDLE, Workflow, copy_workflow

pytestmark = pytest.mark.slow

READERS = ("--config", "run={models: [lexical, oracle, empty]}")
# What is run is one benchmark's: what is planned, of all.
ONE = ("--config", "run={models: [oracle], benchmarks: [oneruler]}")
MODULE = """
module needlework:
    snakefile: {snakefile}
    config: config
{prefix}

use rule * from needlework as nw_*
"""


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Tests", "-c", "user.email=tests@example.org")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """A folder with a bare clone as Snakemake caches GitHub's, and one where snakedeploy looks for it."""
    folder = tmp_path_factory.mktemp("home")
    work = copy_workflow(folder / "clone")
    git(work, "init", "-q", "-b", "main")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "The workflow")
    git(work, "tag", "v1")
    cache = folder / "cache/snakemake/snakemake/source-cache/snakemake-git-cache/github.com/me"
    for place in (cache, folder / "github/me"):
        place.mkdir(parents=True)
        git(place, "clone", "-q", "--bare", str(work), "needlework")
    return folder


def snakemake(home: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Snakemake as a user starts it, in a folder with a Snakefile."""
    return warm_snakemake.run(
        arguments, folder, {**os.environ, "XDG_CACHE_HOME": str(home / "cache")}
    )


def sources(home: Path) -> dict[str, str]:
    """The ways to name the workflow in `snakefile:`."""
    return {
        "path": repr(str(home / "clone/workflow/Snakefile")),
        "github": 'github("me/needlework", path="workflow/Snakefile", tag="v1")',
        "git+file": repr(f"git+file://{home}/clone/workflow/Snakefile@v1"),
    }


@pytest.mark.parametrize(
    ("source", "prefix"), [("path", "sub"), ("github", ""), ("git+file", "sub")]
)
def test_module_runs_once_with_and_without_prefix(home, tmp_path, source, prefix):
    given = f"    prefix: '{prefix}'" if prefix else ""
    module = MODULE.format(snakefile=sources(home)[source], prefix=given)
    (tmp_path / "Snakefile").write_text(module)
    first = snakemake(home, tmp_path, "--cores", "2", "nw_oneruler_table4", *ONE)
    assert first.returncode == 0, first.stderr[-3000:]
    assert (tmp_path / prefix / "results/tables/oneruler/table4.csv").exists()
    again = snakemake(home, tmp_path, "--cores", "2", "nw_oneruler_table4", *ONE)
    assert "Nothing to be done" in again.stdout + again.stderr


def test_module_plans_the_default_target(home, tmp_path):
    (tmp_path / "Snakefile").write_text(MODULE.format(snakefile=sources(home)["path"], prefix=""))
    plan = snakemake(home, tmp_path, "-n", "--config", "run={models: [oracle]}")
    assert plan.returncode == 0, plan.stderr[-3000:]
    assert "nw_all" in plan.stdout


def test_root_snakefile_of_a_repository_is_refused(home, tmp_path):
    source = 'github("me/needlework", path="Snakefile", tag="v1")'
    (tmp_path / "Snakefile").write_text(MODULE.format(snakefile=source, prefix=""))
    plan = snakemake(home, tmp_path, "-n", "nw_all")
    assert plan.returncode != 0
    assert 'names path="workflow/Snakefile"' in plan.stdout + plan.stderr


@pytest.fixture(scope="module")
def deployed(home, tmp_path_factory) -> Path:
    """The folder that snakedeploy writes."""
    folder = tmp_path_factory.mktemp("deployed")
    deploy = Path(sys.executable).with_name("snakedeploy")
    url = f"file://{home}/github/me/needlework"
    command = [deploy, "deploy-workflow", url, str(folder), "--tag", "v1"]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def test_snakedeploy_writes_a_workflow_that_plans(home, deployed, tmp_path):
    plan = snakemake(home, deployed, "-n", *READERS)
    assert plan.returncode == 0, plan.stderr[-3000:]
    checkout = Workflow(ROOT, tmp_path / "checkout").run("-n", *READERS).stdout
    assert total(plan.stdout) == total(checkout) > 100


def test_a_deployed_run_ends_with_its_means(home, deployed):
    """Snakemake calls no hooks of a module: the workflow says its last lines itself."""
    small = {"benchmarks": {"mlneedle": SMALL_MLNEEDLE}}
    (deployed / "small.yaml").write_text(yaml.safe_dump(small))
    one = ("--config", "run={models: [oracle], benchmarks: [mlneedle]}")
    done = snakemake(home, deployed, "--cores", "2", "--configfile", "small.yaml", *one)
    assert done.returncode == 0, done.stderr[-3000:]
    *_, means, last = [line for line in done.stderr.splitlines() if line]
    assert means.startswith("oracle  MLNeedle") and "results/index.html" in last


def total(plan: str) -> int:
    """The number of jobs in the table of a dry run."""
    return next(int(line.split()[1]) for line in plan.splitlines() if line.startswith("total"))


def test_containerize_writes_a_file_of_all_environments(tmp_path):
    conda = tmp_path / "bin/conda"
    conda.parent.mkdir()
    stand_in = ROOT / "tests/environments/conda.py"
    conda.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{stand_in}" "$@"\n')
    conda.chmod(0o755)
    path = f"{conda.parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "CONDA_ROOT": str(tmp_path / "conda")}
    done = warm_snakemake.run(["--containerize", "--directory", str(tmp_path)], ROOT, env)
    assert done.returncode == 0, done.stderr[-3000:]
    for name in ("openvino", "generation", "scoring", "figures"):
        assert f"envs/{name}.yaml" in done.stdout
    assert "conda env create" in done.stdout


def test_apptainer_without_an_image_is_told(tmp_path):
    done = Workflow(ROOT, tmp_path).run("-n", "--sdm", "apptainer", check=False)
    assert done.returncode != 0
    assert "needs the image needlework.sif" in done.stdout + done.stderr


def test_the_container_runs_ones_own_configuration(tmp_path):
    """The page's command, without the part that needs a container: with a configuration and a key."""
    lines = (ROOT / "Containerfile").read_text(encoding="utf-8").splitlines()
    (entry,) = (line.removeprefix("ENTRYPOINT ") for line in lines if line.startswith("ENTRYPOINT"))
    page = (ROOT / "docs/deploying.md").read_text(encoding="utf-8")
    ((variable, options),) = re.findall(r"-e (\w+) \\\n +needlework (.+)", page)
    _, *given = entry.replace("/opt/needlework", str(ROOT)).strip("[]").replace('"', "").split(", ")
    mine = {"backend": "openai", "name": "gpt", "tokenizer": "words", "context": 8192}
    own = {"run": {"models": ["mine"], "benchmarks": ["mlneedle"]}, "models": {"mine": mine}}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(own), encoding="utf-8")
    arguments = [*given, *options.split(), "-n"]
    for key, code in (("", 1), ("a-key", 0)):
        done = warm_snakemake.run(arguments, tmp_path, {**os.environ, variable: key})
        assert done.returncode == code, done.stderr[-3000:]
        assert (f"set the environment variable {variable}" in done.stderr) == (not key)
