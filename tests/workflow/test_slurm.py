"""A small run through a real Slurm of one node, which the tests start and stop."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from signal import SIGTERM

import pytest
import yaml

import warm_snakemake
from engines.tiny_model import make_model, make_tokenizer
from runs import KEPT, ROOT, SMALL_MLNEEDLE, Workflow, copy_workflow

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


# The test's Slurm is at hand, and its disk is no NFS.
QUICK = ["--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "10"]
PROFILE = ["--workflow-profile", "profiles/slurm", *QUICK]
# The same job makes all tables and figures of the scores.
TABLES = "mlneedle_table2"
TINY = "results/generations/tiny/mlneedle.parquet"
# Each job of the cluster's takes seconds to start: no other corpus is read and embedded there.
EMBEDDING = "results/embeddings/ngram/sample_questions/hi.npy"
MADE = ("instances", "documents", "generations", "scores", "tables", "figures")


def sending(workflow: Workflow, *arguments: str) -> list[str]:
    """A command line as docs/clusters.md has it: with `--cores`, no job could ask Slurm for more."""
    command = workflow.command(*PROFILE, "--configfile", "mine.yaml", *arguments)
    at = command.index("--cores")
    return command[:at] + command[at + 2 :]


def noted(slurm: dict[str, str], program: str) -> list[str]:
    """What tests/mini_slurm.sh notes of the calls of a program, a line each."""
    log = Path(slurm["SLURM_CONF"]).parent / "log" / program
    return log.read_text().splitlines() if log.exists() else []


def asked(slurm: dict[str, str], rule: str) -> list[set[str]]:
    """What each job of a rule asked Slurm for: sbatch's arguments."""
    lines = noted(slurm, "sbatch")
    return [set(line.split(" --wrap=")[0].split()) for line in lines if f"rule_{rule}" in line]


def squeue(slurm: dict[str, str], *columns: str) -> list[list[str]]:
    """The columns of all jobs, finished ones included."""
    form = "|".join(columns)
    command = ["/usr/bin/squeue", "--states=all", "--noheader", "-o", form]
    text = subprocess.run(command, env=slurm, capture_output=True, text=True, check=True).stdout
    return [line.split("|") for line in text.splitlines()]


def wait(run: subprocess.Popen, happened: Callable[[], object]) -> None:
    """Until this happened, in a run that has not ended."""
    while not happened():
        assert run.poll() is None, "the run has ended"
        time.sleep(0.1)


def stay_away(slurm: dict[str, str], run: subprocess.Popen) -> None:
    """Stop the controller, and start it again when it was asked in vain more often than is usual."""
    os.kill(int(Path(slurm["SLURM_CONF"]).with_name("slurmctld.pid").read_text()), SIGTERM)
    # By itself the plugin asks five times.
    wait(run, lambda: len(noted(slurm, "unanswered")) > 6)
    restart = ["slurmctld", "-f", slurm["SLURM_CONF"]]
    subprocess.run(restart, env=slurm | {"PATH": SYSTEM}, check=True)


def cancel_one(slurm: dict[str, str], run: subprocess.Popen, rule: str) -> str:
    """Cancel the first job of a rule as soon as it runs; its number."""
    found: list[str] = []

    def running() -> list[str]:
        jobs = squeue(slurm, "%i", "%T", "%k")
        found.extend(job for job, state, said in jobs if state == "RUNNING" and rule in said)
        return found

    wait(run, running)
    subprocess.run(["scancel", found[0]], env=slurm, check=True)
    return found[0]


@dataclass
class Sent:
    """A run on this machine, and the same through Slurm: the job that was cancelled, and what was said."""

    local: Workflow
    remote: Workflow
    cancelled: str
    said: str


@pytest.fixture(scope="module")
def sent(slurm, tmp_path_factory) -> Sent:
    """One run: while its first jobs are there, the controller is away; then one is cancelled."""
    folder = tmp_path_factory.mktemp("sent")
    (folder / "model").mkdir()
    make_tokenizer(folder / "model")
    make_model(folder / "model")
    tiny = {"backend": "transformers", "name": str(folder / "model"), "tokenizer": "words"}
    config = {
        "run": {"models": ["lexical"], "benchmarks": ["mlneedle"]},
        "models": {"tiny": tiny | {"context": 2048}},
        "benchmarks": {"mlneedle": SMALL_MLNEEDLE | {"questions": 2, "max_new_tokens": 4}},
    }
    local, remote = (Workflow(copy_workflow(folder / name), folder / name) for name in "ab")
    for workflow in (local, remote):
        (workflow.directory / "mine.yaml").write_text(yaml.safe_dump(config))
    local.run("--configfile", "mine.yaml", "--", TABLES)
    for name in filter(lambda name: (local.directory / name).is_dir(), KEPT):
        shutil.copytree(local.directory / name, remote.directory / name)
    for name in (*MADE, "../journal"):
        shutil.rmtree(remote.result(name))
    log = folder / "log"
    with open(log, "w") as file:
        command = sending(remote, "--", TABLES, TINY, EMBEDDING)
        run = subprocess.Popen(command, cwd=remote.root, env=slurm, stdout=file, stderr=file)
        try:
            # The prompts and the corpus.
            wait(run, lambda: log.read_text().count("has been submitted") >= 2)
            stay_away(slurm, run)
            cancelled = cancel_one(slurm, run, "generate_answers_wildcards_lexical")
            run.wait(900)
        finally:
            run.kill()
    assert run.returncode == 0, log.read_text()[-5000:]
    return Sent(local, remote, cancelled, log.read_text())


def test_a_run_on_slurm_survives_a_cancelled_job(slurm, sent) -> None:
    """And makes the same files as a run without Slurm."""
    assert f"SLURM-job '{sent.cancelled}' failed, SLURM status is: 'CANCELLED'" in sent.said
    done = sent.remote.would_run("--configfile", "mine.yaml", "--", TABLES, TINY, EMBEDDING)
    assert done == {}
    assert len(asked(slurm, "instances_build_instances")) == 1, "two are grouped"
    made = sorted(
        file.relative_to(sent.local.directory)
        for kind in MADE
        for file in sent.local.result(kind).rglob("*.*")
    )
    assert len(made) > 50
    for file in made:
        same = (sent.remote.directory / file).read_bytes()
        assert same == (sent.local.directory / file).read_bytes(), file


def test_a_controller_that_is_away_loses_no_job(sent) -> None:
    """The one that is sent again was cancelled."""
    assert sent.said.count("Trying to restart job") == 1


def test_a_gpu_model_gets_its_resources_on_one_node(slurm, sent) -> None:
    """The GPU is none, so the model answers without."""
    (arguments,) = asked(slurm, "generate_answers_wildcards_tiny_mlneedle")
    assert {"--gpus=1", "--nodes=1", "--cpus-per-task=6", "gpu"} <= arguments
    jobs = squeue(slurm, "%P", "%T", "%C", "%D", "%k")
    (job,) = [found for *found, comment in jobs if "tiny" in comment]
    assert job == ["gpu", "COMPLETED", "6", "1"]
    assert {partition for partition, *_, comment in jobs if "tiny" not in comment} == {"cpu"}
    for rule in ("generate_answers_wildcards_lexical", "embed_corpus"):
        assert (found := asked(slurm, rule))
        assert all({"--cpus-per-task=1", "--nodes=1"} <= arguments for arguments in found)


def test_verbose_output_is_refused_where_it_would_hold_a_key(slurm, sent) -> None:
    keyed = slurm | {"OPENAI_API_KEY": "sk-very-secret-0123456789"}
    before = noted(slurm, "sbatch")
    arguments = sending(sent.remote, "--verbose", "--forceall")[3:]
    done = warm_snakemake.run(arguments, sent.remote.root, keyed)
    said = done.stdout + done.stderr
    assert done.returncode
    assert "--verbose would write OPENAI_API_KEY into .snakemake/slurm_logs" in said, said[-3000:]
    assert "sk-very-secret" not in said
    assert noted(slurm, "sbatch") == before
