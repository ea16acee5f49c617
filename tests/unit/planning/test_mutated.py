"""No configuration ends planning in a traceback, a long wait, or a message that quotes a whole value."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mutated import as_yaml, mutations
from needlework.benchmarks.parts import names
from needlework.errors import UserError
from needlework.given import given
from needlework.planning.affects import affecting, effective_config
from needlework.planning.config import validated
from needlework.planning.given_files import read_nodes
from needlework.planning.notices import decided, notices, replaced_choices
from needlework.planning.preflight.secrets import key_variables
from needlework.planning.published_names import check_published
from needlework.planning.rule_inputs import RuleInputs
from runs import ROOT, Workflow

# How many characters of a value a message may quote, and how many it may have.
QUOTED, LONGEST = 200, 2500
SECONDS = 3.0
FILES = 75


def start(benchmark: str) -> dict[str, Any]:
    """A small run of a benchmark with an entry of every kind."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    config["run"] = {"models": ["lexical", "served"], "benchmarks": [benchmark], "tokenizers": []}
    config["models"]["served"] = {
        **{"backend": "openai", "name": "m", "key_env": "A_KEY"},
        "base_url": "http://127.0.0.1:9/v1",
        **{"tokenizer": "words", "context": 131072, "request": {"reasoning_effort": "low"}},
        **{"system": "Answer briefly.", "stop": ["\n\n"], "price": {"input": 1, "output": 2}},
        **{"sampling": {"temperature": 0.5, "seed": 1}, "only": {benchmark: {"task": []}}},
    }
    columns = {"text": "t", "question": "q", "context": "c", "answers": "a"}
    own = {"kind": "questions", "columns": columns, "rows": 10}
    config["corpora"] = {"own": {**own, "languages": {"en": {"files": ["own*.jsonl"]}}}}
    return config


def planned(config: Any) -> None:
    """All that the Snakefile makes of a configuration before it knows its jobs."""
    full = validated(config)
    check_published(given(full))
    decided(config, given(full))
    notices(given(full))
    effective_config(given(full))
    key_variables(given(full))
    files = RuleInputs(full)
    for benchmark in full["run"]["benchmarks"]:
        files.results.unfilled()
        for name in files.prompts.slices(benchmark)[:20]:
            files.prompts.slice_tables(benchmark, files.prompts.tokenizers[0], name)
        files.prompts.quoted(benchmark)
        files.facts.asked(benchmark)
    for model in full["run"]["models"]:
        files.answers.model_settings(model), affecting("models", full["models"][model], "answers")


def texts(value: Any) -> Iterator[str]:
    """The texts in a configuration, keys too, and the numbers as text."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from (*texts(key), *texts(item))
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int) and value.bit_length() > 600:
        yield hex(value)


def quotes_too_much(message: str, config: Any) -> bool:
    """Whether a message has more than QUOTED characters in a row of one of a configuration's values."""
    return any(
        text[at : at + QUOTED + 1] in message
        for text in set(texts(config))
        if len(text) > QUOTED
        for at in range(0, min(len(text) - QUOTED, 500))
    )


def complaint(work: Any, *given: Any) -> str:
    """What a UserError says, "" without one; anything else fails the test, and so does a long wait."""
    began, said = time.process_time(), ""
    try:
        work(*given)
    except UserError as error:
        said = str(error)
        assert said.endswith((".", "?")) and "\n" not in said, said
        assert len(said) <= LONGEST, said
    assert time.process_time() - began < SECONDS
    return said


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", names())
def test_mutated_configurations_end_in_one_sentence(benchmark, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own1.jsonl").touch()
    refused = 0
    for said, config in mutations(start(benchmark), seed=32, number=70):
        try:
            message = complaint(planned, config)
        except Exception as error:
            raise AssertionError(f"{said}: {type(error).__name__}: {str(error)[:300]}") from error
        assert not quotes_too_much(message, config), f"{said}: {message}"
        refused += bool(message)
    # Most mutations are mistakes; some leave a right configuration.
    assert 30 < refused < 70


@pytest.mark.slow
def test_mutated_files_are_read_or_refused_in_one_sentence(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own1.jsonl").touch()
    file = tmp_path / "mine.yaml"
    refused = 0
    for place, (said, config) in enumerate(mutations(start("mlneedle"), seed=33, number=FILES)):
        text = as_yaml(config, random.Random(place))
        file.write_text(text, encoding="utf-8", errors="surrogatepass")
        message = complaint(read_nodes, file)
        refused += bool(message)
        if message:
            assert not quotes_too_much(message, config), f"{said}: {message}"
            continue
        try:
            # What Snakemake does next: it refuses in a sentence what is no YAML, and nothing else may fail.
            content = yaml.load(text, yaml.CSafeLoader)
        except (yaml.YAMLError, UnicodeEncodeError):
            continue
        complaint(planned, content)
        replaced_choices([file, file])
    assert refused > FILES / 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("models: {lexical: {context: " + "9" * 5000 + "}}", "cannot be read as its type"),
        ("models: {lexical: {sampling: {temperature: '0.7'}}}", "write 0.7 without quotes"),
    ],
)
def test_snakemake_says_one_sentence(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(content, encoding="utf-8")
    done = Workflow(ROOT, tmp_path / "run").run("--configfile", str(file), "-n", check=False)
    text = done.stdout + done.stderr
    assert done.returncode == 1 and said in text
    assert "Traceback" not in text and len(text) < 3000
