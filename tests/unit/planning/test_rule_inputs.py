"""The files that rules read, listed from a configuration."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from factories import demo_run
from needlework.planning.affects import effective_config
from needlework.planning.config import validated
from needlework.planning.layout import paths
from needlework.planning.preflight.secrets import key_variables
from needlework.planning.rule_inputs import RuleInputs
from needlework.planning.run_end import accounts, request_lines


def inputs(**changes: Any) -> RuleInputs:
    run = {"models": ["lexical", "oracle"], "benchmarks": ["mlneedle"], **changes.pop("run", {})}
    return RuleInputs(validated(demo_run(run=run, **changes)))


def test_names_may_be_those_of_a_dictionary_s_methods() -> None:
    models = {
        "items": {"backend": "lexical", "tokenizer": "keys", "context": 131072},
        "values": {"backend": "oracle", "tokenizer": "keys", "context": 131072},
    }
    own = demo_run(run={"models": ["items", "values"]}, models=models) | {
        **{"tokenizers": {"keys": {"kind": "words"}}, "translators": {"copy": {"kind": "none"}}},
        **{"translation": {"translator": "copy"}, "embedders": {"pop": {"kind": "ngram"}}},
        "retrieval": {"embedder": "pop"},
    }
    files = RuleInputs(validated(own))
    assert effective_config(files.config)["tokenizers"] == {"keys": {"kind": "words", "reserve": 0}}
    assert key_variables(files.config) and files.scores.translator.kind == "none"
    assert files.answers.readers() == {"items": "lexical", "values": "oracle"}
    assert list(files.prompts.prompts_of_models("mlneedle")) == ["keys"]


def test_paths_are_listed_once_and_vectors_where_needed() -> None:
    assert paths({"b": ["2", "1"], "a": {"x": "2", "y": None, "z": ["3"]}}) == ["2", "1", "3"]
    files = inputs()
    assert files.retrieval.vectors("sample_passages", "en", "random") == []
    assert files.retrieval.vectors("sample_passages", "en", "semantic") == [
        "results/embeddings/ngram/sample_passages/en.npy"
    ]


def test_the_explorer_and_the_doctor_read_their_models() -> None:
    files = inputs().explorer.explorer_inputs()
    answers = [
        f"results/{kind}/{model}/mlneedle.parquet"
        for model in ("lexical", "oracle")
        for kind in ("scores", "generations", "translations")
    ]
    assert files["answers"] == answers
    folders = {Path(path).parts[1] for path in files["prompts"]}
    assert folders == {"instances", "documents", "corpora"}
    files = inputs(run={"doctor": [{"model": "lexical", "against": "oracle"}]}).checkups
    assert files.asked_models() == ["lexical", "oracle"]
    found = files.read("lexical")
    assert list(found) == ["served", "other"]
    for side, model in (("served", "lexical"), ("other", "oracle")):
        own, folder = found[side]["mlneedle"], f"results/doctor_answers/{model}/mlneedle"
        assert own["cells"] == [f"{folder}/cells.json"]
        for turn in ("first", "again"):
            for kind in ("prompts", "generations", "scores"):
                assert own[f"{kind}_{turn}"] == [f"{folder}/{turn}/{kind}.parquet"]


@pytest.mark.parametrize("asked", [True, False])
def test_similarity_is_read_only_if_the_run_asks_for_it(asked: bool) -> None:
    found = inputs(retrieval={"similarity": asked}).scores.similarity_files("lexical", "mlneedle")
    assert found == ["results/similarity/mlneedle/words.parquet"] * asked


def test_a_run_ends_with_every_shards_account(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = inputs(models={"lexical": {**inputs().config["models"]["lexical"], "shards": 2}})
    folder = tmp_path / "logs/generate_answers/lexical"
    folder.mkdir(parents=True)
    for shard in (0, 1):
        account = '{"model": "lexical", "benchmark": "mlneedle", "outcomes": {"answered": 3}}'
        (folder / f"mlneedle.{shard}-of-2.json").write_text(account, encoding="utf-8")
    assert [found.total for found in accounts(files)] == [3, 3]
    asked = "Requests: 0 sent now, 0 from the journal; 6 of 6 answered in full."
    assert request_lines(files, ["generate_answers"]) == (asked, [])
    assert request_lines(files, ["overview"]) == ("", [])


def test_modules_of_planning_are_short() -> None:
    folder = Path(__file__).resolve().parents[3] / "workflow/scripts/needlework/planning"
    modules = [*folder.glob("**/*.py")]
    assert len(modules) > 40
    for module in modules:
        assert len(module.read_text(encoding="utf-8").splitlines()) <= 200, module.name


PLANNING = """
import sys
for missing in ("httpx", "numpy", "openai", "pandas", "pyarrow", "tiktoken", "torch", "tqdm", "transformers"):
    sys.modules[missing] = None
sys.path.append("workflow/scripts")
import yaml
from needlework.codedigest import code_digest
from needlework.planning.config import validated
from needlework.planning.rule_inputs import RuleInputs
from needlework.planning.preflight.used import Used
from needlework.planning.preflight.checks import check
config = validated(yaml.safe_load(open("config.yaml")))
files = RuleInputs(config)
assert sum(len(files.results.filled(name)) for name in config["run"]["benchmarks"]) > 30
for language in ("en", "hi"):
    assert files.corpora.sources("mmarco", language)
    assert files.prompts.slice_tables("mlneedle", "words", f"{language}-en")
check(files.config, Used({*files.models}, {"words"}, translating=True))
assert code_digest("generate_answers.py", "needlework/models/backends/lexical.py")
"""


def test_a_bare_snakemake_can_plan(root) -> None:
    command = [sys.executable, "-c", PLANNING]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
