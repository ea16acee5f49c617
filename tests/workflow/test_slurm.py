"""The demo through a real Slurm of one node, which the test starts and stops."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from signal import SIGTERM

import pytest
import yaml

from engines.tiny_model import make_model, make_tokenizer
from runs import ROOT, Workflow, copy_workflow

pytestmark = [pytest.mark.slow, pytest.mark.large, pytest.mark.xdist_group("slurm")]

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
SYSTEM = f"{os.environ['PATH']}:/usr/sbin:/sbin"


def free_ports(n: int) -> list[str]:
    """Ports that nothing listens on."""
    sockets = [socket.socket() for _ in range(n)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [str(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="module")
def slurm() -> Iterator[dict[str, str]]:
    """A private Slurm; the environment in which its commands find it."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=SYSTEM) is None]
    if missing:
        pytest.skip(f"no {missing[0]}: apt-get install slurmctld slurmd slurm-client munge")
    if find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip("no Slurm executor: make setup-cluster")
    # Munge's socket wants a path of at most 107 bytes.
    folder = tempfile.mkdtemp(prefix="slurm-", dir="/tmp")
    own = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_", "SRUN_"))}
    own |= dict(zip(("CTLD_PORT", "SLURMD_PORT"), free_ports(2), strict=True))
    script = ["bash", str(ROOT / "tests/mini_slurm.sh")]
    try:
        # A file and no pipe: the daemons would keep a pipe open.
        with open(f"{folder}/start.log", "w+") as log:
            started = subprocess.run(
                [*script, "start", folder], env=own, stdout=log, stderr=log, timeout=120
            )
        assert started.returncode == 0, Path(log.name).read_text()
        path = [f"{folder}/bin", str(Path(sys.executable).parent), own["PATH"]]
        yield own | {"SLURM_CONF": f"{folder}/slurm.conf", "PATH": os.pathsep.join(path)}
    finally:
        subprocess.run([*script, "stop", folder], env=own, timeout=120)
        shutil.rmtree(folder, ignore_errors=True)


# The demo's rules and readers on a part of its languages: a job of the cluster's takes seconds to start.
CONFIG = {
    "run": {"models": ["lexical", "oracle"], "benchmarks": ["mlneedle"]},
    "benchmarks": {
        "mlneedle": {
            "needle_languages": ["en", "hi"],
            "haystack_languages": ["en"],
            "lengths": [512],
        }
    },
}


# The test's Slurm is at hand, and its disk is no NFS.
QUICK = ["--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "10"]
PROFILE = ["--workflow-profile", "profiles/slurm", *QUICK]


def sending(workflow: Workflow, *arguments: str) -> list[str]:
    """A command line as docs/clusters.md has it: with `--cores`, no job could ask Slurm for more."""
    command = workflow.command(*PROFILE, "--configfile", "mine.yaml", *arguments)
    at = command.index("--cores")
    return command[:at] + command[at + 2 :]


def asked(slurm: dict[str, str], rule: str) -> list[set[str]]:
    """What each job of a rule asked Slurm for: sbatch's arguments, as tests/mini_slurm.sh notes them."""
    log = Path(slurm["SLURM_CONF"]).parent / "log/sbatch"
    lines = log.read_text().splitlines() if log.exists() else []
    return [set(line.split(" --wrap=")[0].split()) for line in lines if f"rule_{rule}" in line]


def squeue(slurm: dict[str, str], *columns: str) -> list[list[str]]:
    """The columns of all jobs, finished ones included."""
    form = "|".join(columns)
    command = ["squeue", "--states=all", "--noheader", "-o", form]
    text = subprocess.run(command, env=slurm, capture_output=True, text=True, check=True).stdout
    return [line.split("|") for line in text.splitlines()]


def cancel_one(slurm: dict[str, str], run: subprocess.Popen, rule: str) -> str:
    """Cancel the first job of a rule as soon as it runs; its number."""
    while run.poll() is None:
        for job, state, comment in squeue(slurm, "%i", "%T", "%k"):
            if state == "RUNNING" and rule in comment:
                subprocess.run(["scancel", job], env=slurm, check=True)
                return job
        time.sleep(0.2)
    raise AssertionError(f"no job of {rule} was seen")


def configured(folder: Path, config: dict) -> Workflow:
    """A copy of the workflow with this configuration, which runs in its own folder."""
    workflow = Workflow(copy_workflow(folder), folder)
    (folder / "mine.yaml").write_text(yaml.safe_dump(config))
    return workflow


def test_the_demo_runs_on_slurm_and_survives_a_cancelled_job(slurm, tmp_path) -> None:
    local, remote = (configured(tmp_path / name, CONFIG) for name in ("local", "slurm"))
    # The same job makes all tables and figures of the scores.
    target = "mlneedle_table2"
    local.run("--configfile", "mine.yaml", "--", target)
    log = tmp_path / "run.log"
    with open(log, "w") as file:
        run = subprocess.Popen(
            sending(remote, "--", target),
            cwd=remote.root,
            env=slurm,
            stdout=file,
            stderr=file,
        )
        try:
            cancelled = cancel_one(slurm, run, "generate_answers")
            run.wait(900)
        finally:
            run.kill()
    text = log.read_text()
    assert run.returncode == 0, text[-5000:]
    assert f"SLURM-job '{cancelled}' failed, SLURM status is: 'CANCELLED'" in text
    assert "Trying to restart job" in text
    assert remote.would_run("--configfile", "mine.yaml", "--", target) == {}

    partitions = {partition for (partition,) in squeue(slurm, "%P")}
    assert partitions == {"cpu"}, "the readers need no GPU"
    assert len(asked(slurm, "instances_build_instances")) == 1, "four are grouped"
    for rule in ("generate_answers", "embed_corpus", "translate_answers"):
        found = asked(slurm, rule)
        assert len(found) > 1
        assert all({"--cpus-per-task=1", "--nodes=1"} <= arguments for arguments in found)
    made = sorted(
        file.relative_to(local.directory)
        for kind in ("instances", "generations", "scores", "tables", "figures")
        for file in local.result(kind).rglob("*.*")
    )
    assert len(made) > 50
    for file in made:
        assert (remote.directory / file).read_bytes() == (local.directory / file).read_bytes()


def test_a_gpu_model_gets_its_resources_on_one_node(slurm, tmp_path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    make_tokenizer(folder)
    make_model(folder)
    tiny = {"backend": "transformers", "name": str(folder), "tokenizer": "words", "context": 2048}
    small = {"needle_languages": ["en"], "haystack_languages": ["en"], "lengths": [256]}
    small |= {"questions": 2, "tasks": ["exact"], "max_new_tokens": 4, "comparisons": {}}
    config = {"run": {"models": ["tiny"], "benchmarks": ["mlneedle"]}}
    config |= {"models": {"tiny": tiny}, "benchmarks": {"mlneedle": small}}
    workflow = configured(tmp_path / "run", config)
    target = "results/generations/tiny/mlneedle.parquet"
    workflow.run("--configfile", "mine.yaml", "--until", "build_instances", "--", target)
    # The GPU is none, so the model answers without.
    command = sending(workflow, "--", target)
    done = subprocess.run(command, cwd=workflow.root, env=slurm, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-5000:]
    (arguments,) = asked(slurm, "generate_answers_wildcards_tiny_mlneedle")
    assert {"--gpus=1", "--nodes=1", "--cpus-per-task=6", "gpu"} <= arguments
    (job,) = [
        found
        for *found, comment in squeue(slurm, "%P", "%T", "%C", "%D", "%k")
        if "tiny" in comment
    ]
    assert job == ["gpu", "COMPLETED", "6", "1"]
    assert workflow.result("generations/tiny/mlneedle.parquet").exists()
    assert workflow.would_run("--configfile", "mine.yaml", "--", target) == {}


def test_a_controller_that_is_away_loses_no_job(slurm, tmp_path) -> None:
    remote = configured(tmp_path / "run", CONFIG)
    command = sending(remote, "--until", "read_corpus")
    log = tmp_path / "run.log"
    with open(log, "w") as file:
        run = subprocess.Popen(command, cwd=remote.root, env=slurm, stdout=file, stderr=file)
        try:
            while run.poll() is None and "has been submitted" not in log.read_text():
                time.sleep(0.1)
            os.kill(int(Path(slurm["SLURM_CONF"]).with_name("slurmctld.pid").read_text()), SIGTERM)
            # The plugin's own five attempts take 55 seconds.
            time.sleep(65)
            restart = ["slurmctld", "-f", slurm["SLURM_CONF"]]
            subprocess.run(restart, env=slurm | {"PATH": SYSTEM}, check=True)
            run.wait(300)
        finally:
            run.kill()
    assert run.returncode == 0, log.read_text()[-5000:]
    assert remote.would_run("--configfile", "mine.yaml", "--until", "read_corpus") == {}


def test_verbose_output_is_refused_where_it_would_hold_a_key(slurm, tmp_path) -> None:
    workflow = configured(tmp_path / "run", CONFIG)
    keyed = slurm | {"OPENAI_API_KEY": "sk-very-secret-0123456789"}
    before = squeue(slurm, "%i")
    command = sending(workflow, "--verbose")
    done = subprocess.run(command, cwd=workflow.root, env=keyed, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode
    assert "--verbose would write OPENAI_API_KEY into .snakemake/slurm_logs" in said, said[-3000:]
    assert "sk-very-secret" not in said
    # Slurm forgets finished jobs after a while.
    assert all(one in before for one in squeue(slurm, "%i"))
