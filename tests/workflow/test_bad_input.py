"""Wrong input ends in one clear sentence, and where it can be told before any work, before it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from factories import demo_run
from needlework.planning.config import validated
from needlework.planning.rule_inputs import RuleInputs
from runs import ROOT, Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("bad")]

SMALL = {
    "run": {"models": ["lexical"], "benchmarks": ["mlneedle"]},
    "benchmarks": {
        "mlneedle": {
            "needle_languages": ["en"],
            "haystack_languages": ["en"],
            "lengths": [512],
            "tasks": ["exact"],
        }
    },
}


@pytest.fixture
def run(tmp_path) -> Callable[..., tuple[Workflow, str]]:
    """Runs the workflow with a configuration; gives the workflow and what it said."""
    workflow = Workflow(ROOT, tmp_path / "run")

    def start(config: dict, *arguments: str, env: dict | None = None) -> tuple[Workflow, str]:
        file = tmp_path / "config.yaml"
        file.write_text(yaml.safe_dump(config))
        done = workflow.run(
            "--configfile", str(file), *arguments, check=False, env={**os.environ, **(env or {})}
        )
        assert done.returncode != 0, done.stderr[-2000:]
        return workflow, done.stdout + done.stderr

    return start


def merged(change: dict, into: dict = SMALL) -> dict:
    """`into` with `change` laid over it."""
    result = dict(into)
    for key, value in change.items():
        nested = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(value, result[key]) if nested else value
    return result


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"benchmarks": {"mlneedle": {"needle_languages": ["xx"]}}}, "unknown language 'xx'"),
        ({"models": {"lexical": {"published": "Nobody-7B"}}}, "which is in no paper's table"),
        (
            {"run": {"doctor": [{"model": "lexical", "against": "lexical"}]}},
            "run.doctor compares lexical with itself: name another model",
        ),
        ({"run": []}, "run is [], but [] is not of type 'object'"),
    ],
)
def test_a_wrong_configuration_is_told_in_a_dry_run(run, change, said) -> None:
    workflow, text = run(merged(change), "--dry-run")
    assert said in text
    assert not workflow.result(".").exists()


SERVED = """\
run:
  models: [mine]
  benchmarks: [mlneedle]
models:
  mine:
    backend: openai
    name: a
    tokenizer: words
    context: 8192
"""
# What is wrong, in `mine.yaml` or behind the file on the command line, and how the message begins. One of
# each place in which it is found; tests/unit/planning has the others.
WRONG = [
    ("# \xe9", "mine.yaml is not UTF-8 (byte 3 is 0xe9): save it in UTF-8."),
    (
        "run:\n  models: [lexcal]",
        "mine.yaml:2: run.models names 'lexcal', which is not in `models`: did",
    ),
    (
        SERVED + "    key_env: NO_SUCH_KEY",
        "mine.yaml:5: the model models.mine needs an API key: set the environment variable NO_SUCH_KEY, or "
        "`key_env: null` for a server that asks for no key.",
    ),
    (["estimate"], "estimate stands behind --configfile, which takes all words that follow it"),
    (
        ["--config", "benchmarks={mlneedle: {questions: ten}}"],
        "--config: benchmarks.mlneedle.questions is 'ten', but must be of type 'integer' or 'all'",
    ),
]


@pytest.mark.parametrize(("given", "said"), WRONG, ids=[said[:40] for _, said in WRONG])
def test_a_wrong_input_is_told_with_its_place(tmp_path, monkeypatch, given, said) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(given if isinstance(given, str) else "journal: journal", encoding="latin-1")
    more = [] if isinstance(given, str) else given
    workflow = Workflow(ROOT, tmp_path / "run")
    done = workflow.run("--dry-run", "--configfile", str(file), *more, check=False)
    (message,) = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert message.removeprefix("Error: ").removeprefix(f"{tmp_path}/").startswith(said)
    assert ".smk" not in done.stderr


def test_the_command_line_takes_numbers_and_words(tmp_path) -> None:
    workflow = Workflow(ROOT, tmp_path / "run")
    settings = ["journal=5", "run={models: [lexical], benchmarks: [mlneedle]}"]
    own = (
        "benchmarks={mlneedle: {questions: 5, aligned: false, lengths: [512], question_lang: null}}"
    )
    text = workflow.run("--dry-run", "--config", *settings, own).stdout
    assert "generate_answers" in text


TWO = {"models": ["lexical"], "benchmarks": ["lost_in_the_middle", "oneruler"]}
FIGURE_11 = "`benchmarks.lost_in_the_middle.comparisons.encoder_decoder: [<model>]`"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("oneruler_figure24", "it compares tokenizers, so name a second one in run.tokenizers"),
        ("oneruler_acuracy", "no target 'oneruler_acuracy': did you mean 'oneruler_accuracy'?"),
        ("doctor", "the doctor needs a model: name it in `run.doctor`, as in [{model: a}]."),
    ],
)
def test_an_empty_target_is_refused_with_its_remedy(run, target, said) -> None:
    _, text = run({"run": TWO}, "--dry-run", "--", target)
    assert said in text


def test_each_empty_result_has_its_remedy() -> None:
    unfilled = RuleInputs(validated(demo_run(run=TWO))).results.unfilled()
    assert FIGURE_11 in unfilled["lost_in_the_middle_figure11"]
    assert "add mlneedle to run.benchmarks" in unfilled["mlneedle_table1"]


def test_what_a_run_would_lack_is_told_before_any_job(run) -> None:
    key = "GOOGLE_TRANSLATE_API_KEY"
    workflow, text = run(merged({"translation": {"translator": "google"}}), env={key: ""})
    assert f"set the environment variable {key}" in text
    assert not workflow.result(".").exists()


def of_model(**entry: object) -> dict:
    """A run of one model of the user's."""
    model = {"name": "some/model", "tokenizer": "words", "context": 131072, **entry}
    return merged({"run": {"models": ["mine"]}, "models": {"mine": model}})


MPNET = {"kind": "sentence-transformers", "name": "some/embedder", "revision": "main"}
ENDPOINT = {"backend": "openai", "base_url": "http://127.0.0.1:9/v1", "key_env": None}
# The models of a run, and what it says of each if no package is installed.
OWN = {
    "engine": {"backend": "vllm"},
    "local": {"backend": "transformers"},
    "served": ENDPOINT,
    "small": {"backend": "openvino", "name": "."},
    "wrapped": {"backend": "inspect", "name": "mockllm/model"},
}
MISSING = {
    "models.engine": "vllm is",
    "models.local, translators.nllb": "torch and transformers are",
    "models.served": "openai and httpx2 are",
    "models.small": "openvino and openvino_genai are",
    "models.wrapped": "inspect_ai is",
    "embedders.near": "sentence_transformers is",
}
NEURAL: dict[str, Any] = {
    "retrieval": {"embedder": "near"},
    "embedders": {"near": MPNET},
    "translation": {"translator": "nllb"},
}
# A finder of modules that finds none of the packages of models, embedders and translators.
HIDDEN = """
import sys
class Hidden:
    def find_spec(self, name, *_):
        if name.split('.')[0] in {packages}:
            raise ModuleNotFoundError(f'no module {name}', name=name)
sys.meta_path.insert(0, Hidden())
""".replace(
    "{packages}",
    "('vllm', 'torch', 'transformers', 'openai', 'httpx2', 'openvino', 'openvino_genai', "
    "'inspect_ai', 'sentence_transformers')",
)


def test_missing_packages_end_planning_with_their_remedies(tmp_path) -> None:
    entries = {
        name: {"name": "some/model", "tokenizer": "words", "context": 131072, **own}
        for name, own in OWN.items()
    }
    config = merged(NEURAL | {"run": {"models": [*OWN]}, "models": entries})
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(config))
    (tmp_path / "sitecustomize.py").write_text(HIDDEN)
    workflow = Workflow(ROOT, tmp_path / "run")
    command = workflow.command("--dry-run", "--configfile", str(tmp_path / "mine.yaml"))
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    text = done.stdout + done.stderr
    assert done.returncode == 1 and "--use-conda" in text and "Traceback" not in text
    assert "`make setup-inspect`" in text and ".venv-inspect/bin/snakemake" in text
    for where, lacking in MISSING.items():
        said = f"{where}: {lacking} not installed here"
        assert said in text, text[-3000:]
        assert text.index("total ") < text.index(said), "the counts of jobs come first"
    assert not workflow.result(".").exists()


CORPUS = "results/corpora/sample_questions/en.parquet"


@pytest.mark.parametrize("why", ["cluster", "journal", "target"])
def test_a_package_that_may_not_be_needed_ends_nothing(tmp_path, why: str) -> None:
    """A cluster may have it, the journal may have all answers, or the target may need none."""
    if why == "cluster" and find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip("no executor for Slurm: make setup-cluster")
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(of_model(backend="vllm")))
    workflow = Workflow(ROOT, tmp_path / "run")
    if why == "journal":
        answers = workflow.directory / "journal/generations/mine/1.jsonl"
        answers.parent.mkdir(parents=True)
        answers.touch()
    options = ["--workflow-profile", "profiles/slurm"] if why == "cluster" else []
    targets = ["--", CORPUS] if why == "target" else []
    done = workflow.run(*options, "--configfile", str(file), "--dry-run", *targets)
    told = "Warning: models.mine: vllm is not installed here" in done.stdout + done.stderr
    assert told == (why != "target")


def test_a_folder_that_cannot_be_written_is_one_sentence(run) -> None:
    workflow, _ = run(merged({"run": []}), "--dry-run")
    (workflow.directory / ".snakemake").mkdir(exist_ok=True)
    (workflow.directory / ".snakemake/captions").write_text("no folder")
    _, text = run(SMALL, "--dry-run")
    assert "cannot be written" in text and "--directory" in text


def test_a_missing_conda_is_one_sentence(run) -> None:
    if shutil.which("conda"):
        pytest.skip("conda is installed here")
    _, text = run(SMALL, "--use-conda", "--dry-run")
    assert "--use-conda needs the program conda" in text and "`make setup-inspect`" in text


@pytest.fixture(scope="module")
def scored(tmp_path_factory) -> Path:
    """The folder of a run up to the scores."""
    folder = tmp_path_factory.mktemp("scored")
    (folder / "good.yaml").write_text(yaml.safe_dump(SMALL))
    target = "results/scores/lexical/mlneedle.parquet"
    Workflow(ROOT, folder / "run").run("--configfile", str(folder / "good.yaml"), "--", target)
    return folder / "run"


def test_a_corrupt_file_is_named(run, scored, tmp_path) -> None:
    shutil.copytree(scored, tmp_path / "run", symlinks=True)
    file = tmp_path / "run" / CORPUS
    file.write_bytes(file.read_bytes()[:-100])
    _, text = run(SMALL, "--", "results/scores/lexical/mlneedle.parquet")
    assert f"{CORPUS} cannot be read as Parquet" in text
    assert "delete it and run again" in text
    assert "Traceback" not in text.replace("traceback in", "")


def test_a_replay_must_answer_every_prompt_and_may_answer_others(run, scored, tmp_path) -> None:
    workflow, config = Workflow(ROOT, tmp_path / "run"), tmp_path / "good.yaml"
    shutil.copytree(scored, workflow.directory, symlinks=True)
    answers = pq.read_table(workflow.result("generations/lexical/mlneedle.parquet"))
    rows = answers.select(["instance_id", "text", "finish_reason"]).to_pylist()

    def replay(name: str, chosen: list[dict]) -> dict:
        file = tmp_path / name
        file.write_text("".join(json.dumps(row) + "\n" for row in chosen))
        models = {
            "again": {
                "backend": "replay",
                "answers": str(file),
                "tokenizer": "words",
                "context": 131072,
            }
        }
        return merged({"run": {"models": ["again"]}, "models": models})

    another = {"instance_id": "f" * 64, "text": "x"}
    _, text = run(replay("mistaken.jsonl", [*rows[:-1], another]))
    assert "mistaken.jsonl" in text
    assert rows[-1]["instance_id"][:12] in text and "f" * 12 in text

    config.write_text(yaml.safe_dump(replay("whole.jsonl", [*rows, another])))
    workflow.run("--configfile", str(config), "--", "results/scores/again/mlneedle.parquet")
    log = (workflow.directory / "logs/generate_answers/again/mlneedle.log").read_text()
    assert "answers 1 request(s) outside the benchmark" in log
    first, second = (
        pq.read_table(workflow.result(f"scores/{model}/mlneedle.parquet")).drop_columns("model")
        for model in ("lexical", "again")
    )
    assert first.equals(second)
