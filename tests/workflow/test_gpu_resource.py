"""A model that takes more GPUs than the run declares is told before any job, and only where it is asked."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml

from needlework.errors import UserError
from needlework.given import given
from needlework.planning.config import validated
from needlework.planning.preflight.gpus import check_gpus
from runs import ROOT, SMALL_MLNEEDLE, Workflow

# vLLM is not in the tests' environment, so a run can only say so.
LARGE = {
    "run": {"models": ["lexical", "large"], "benchmarks": ["mlneedle"]},
    "models": {
        "large": {
            "backend": "vllm",
            "name": "no/such-model",
            "tokenizer": "words",
            "context": 131072,
            "engine": {"tensor_parallel_size": 4},
        }
    },
    "benchmarks": {"mlneedle": SMALL_MLNEEDLE | {"questions": 2, "comparisons": {}}},
}
ANSWERS = "results/generations/large/mlneedle.parquet"


@pytest.fixture
def workflow(tmp_path: Path) -> Workflow:
    write(tmp_path / "large.yaml")
    return Workflow(ROOT, tmp_path / "run")


def write(file: Path, **entry: int) -> None:
    """The configuration, with further keys of the large model."""
    large = LARGE["models"]["large"] | entry
    file.write_text(yaml.safe_dump(LARGE | {"models": {"large": large}}))


def run(workflow: Workflow, target: str, *options: str) -> tuple[CompletedProcess, str]:
    """A run of the target with the large model; what it said on the terminal."""
    file = workflow.directory.parent / "large.yaml"
    done = workflow.run(target, *options, "--configfile", str(file), check=False)
    return done, done.stdout + done.stderr


@pytest.mark.parametrize(("target", "shards"), [("all", 1), (ANSWERS, 2)])
@pytest.mark.slow
def test_too_few_gpus_are_told_before_any_job(workflow, target, shards) -> None:
    """profiles/default declares one; Snakemake itself would run the job with it, and say nothing."""
    write(workflow.directory.parent / "large.yaml", shards=shards)
    done, said = run(workflow, target)
    assert done.returncode
    assert "models.large.engine takes 4 GPUs (tensor_parallel_size 4)" in said
    assert "declares 1" in said and "`--resources gpu=4 downloads=4`" in said
    assert "profiles/default/config.yaml" in said and "Traceback" not in said
    assert not workflow.result(".").exists()


@pytest.mark.slow
def test_dry_runs_and_other_jobs_need_no_gpu(workflow) -> None:
    done, said = run(workflow, "all", "--dry-run")
    assert "total " in said and "GPUs" not in said, said[-3000:]
    target = "results/generations/lexical/mlneedle.parquet"
    done, said = run(workflow, target)
    assert done.returncode == 0 and (workflow.directory / target).exists(), said[-3000:]
    # Another number of cores is no reason to ask again.
    done, said = run(workflow, target, "--dry-run", "--set-threads", "generate_answers=2")
    assert done.returncode == 0 and "Nothing to be done" in said, said[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [["--resources", "gpu=4", "downloads=4"], ["--workflow-profile", "none"]],
    ids=["declared", "unlimited"],
)
def test_enough_gpus_let_the_run_go_on(workflow, options) -> None:
    """As far as it gets here: the next thing that it lacks is said."""
    done, said = run(workflow, ANSWERS, *options)
    assert done.returncode
    assert "GPUs" not in said, said[-3000:]
    assert "models.large: vllm is not installed here" in said


def configured(**engine: int) -> dict:
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    config["models"]["large"] = LARGE["models"]["large"] | {"engine": engine}
    return given(validated(config))


def test_stages_and_layers_multiply() -> None:
    config = configured(tensor_parallel_size=4, pipeline_parallel_size=2)
    check_gpus(config, ["large", "lexical"], 8)
    with pytest.raises(
        UserError, match=r"8 GPUs \(tensor_parallel_size 4 times pipeline_para.* 2\)"
    ):
        check_gpus(config, ["large", "lexical"], 7)
    check_gpus(config, ["lexical"], 0)


def test_one_gpu_is_no_condition() -> None:
    """Without one, vLLM's build for CPUs works, and the other says so itself."""
    check_gpus(configured(), ["large"], 0)
