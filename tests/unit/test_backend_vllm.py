"""What the answers of a vLLM model depend on, and what its configuration may say; no engine runs."""

from __future__ import annotations

import copy
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from needlework.backends.base import Request, load_backend
from needlework.backends.vllm import TEMPLATE_TOKENS
from needlework.config import validated
from needlework.errors import UserError
from needlework.layout import Layout
from needlework.prompt import literal

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))


def configured(**changes: Any) -> dict[str, Any]:
    """The default configuration with one more model, `big`, that runs."""
    config = copy.deepcopy(DEFAULT)
    config["models"]["big"] = {
        "backend": "vllm",
        "name": "org/big",
        "revision": "abc",
        "tokenizer": "words",
        "context": 4096,
        **changes,
    }
    config["run"]["models"].append("big")
    return config


def entry(**changes: Any) -> dict[str, Any]:
    """What the script hands to the backend."""
    return validated(configured(**changes))["models"]["big"] | {"model": "big"}


def identity(**changes: Any) -> Any:
    return load_backend("vllm", entry(**changes)).identity()


# What answers depend on


@pytest.mark.parametrize(
    "change",
    [
        {"name": "org/other"},
        {"revision": "abd"},
        {"chat": False},
        {"lora": "org/adapter"},
        {"sampling": {"temperature": 0}},
        {"sampling": {"seed": 1}},
        {"engine": {"dtype": "float16"}},
        {"engine": {"quantization": "fp8"}},
        {"engine": {"kv_cache_dtype": "fp8"}},
        {"engine": {"seed": 1}},
        {"engine": {"hf_overrides": {"rope_parameters": {"rope_type": "dynamic", "factor": 4.0}}}},
        {"engine": {"speculative_config": {"method": "ngram"}}},
    ],
    ids=str,
)
def test_what_changes_answers_changes_the_identity_and_the_rule(change: dict[str, Any]) -> None:
    assert identity(**change) != identity()
    settings = Layout(validated(configured(**change))).model_settings("big")
    assert settings != Layout(validated(configured())).model_settings("big")


@pytest.mark.parametrize(
    "engine",
    [
        {"tensor_parallel_size": 2},
        {"pipeline_parallel_size": 2},
        {"gpu_memory_utilization": 0.8},
        {"max_num_seqs": 8, "max_num_batched_tokens": 4096},
        {"enforce_eager": True},
        {"enable_prefix_caching": False},
        {"download_dir": "/scratch"},
    ],
    ids=str,
)
def test_what_changes_the_speed_alone_asks_nothing_again(engine: dict[str, Any]) -> None:
    assert identity(engine=engine) == identity()
    files = Layout(validated(configured(engine=engine)))
    assert files.model_settings("big") == Layout(validated(configured())).model_settings("big")
    # But it reaches the engine: the script reads the entry itself.
    assert engine.items() <= files.config["models"]["big"]["engine"].items()


def test_the_limit_of_the_engine_matters_to_prompts_near_it_alone() -> None:
    def request(n_tokens: int) -> Request:
        return Request("i", 0, "exact", [literal("question", "?")], [], 64, n_tokens, {})

    shorter = load_backend("vllm", entry(engine={"max_model_len": 4000}))
    assert shorter.identity() == identity()
    longest = 4000 - TEMPLATE_TOKENS - 64
    assert shorter.depends_on(request(longest)) is None
    assert shorter.depends_on(request(longest + 1)) == 4000
    assert load_backend("vllm", entry()).depends_on(request(4096)) is None
    settings = Layout(validated(configured(engine={"max_model_len": 4000}))).model_settings("big")
    assert settings["engine"] == {"max_model_len": 4000}, "the table has other rows skipped"


def test_a_local_model_is_known_by_its_content(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    for name in ("config.json", "model.safetensors", "chat_template.jinja", "README.md"):
        (here / name).write_text(name, encoding="utf-8")
    shutil.copytree(here, there)
    same = identity(name=str(here))
    assert str(tmp_path) not in str(same)
    (there / "README.md").write_text("another", encoding="utf-8")
    assert identity(name=str(there), revision=None) == same
    for name in ("config.json", "model.safetensors", "chat_template.jinja"):
        (there / name).write_text("another", encoding="utf-8")
        assert identity(name=str(there)) != same
        (there / name).write_text(name, encoding="utf-8")
    assert identity(name=str(there)) == same
    assert identity(lora=str(here)) != identity(lora=None)


def test_a_chat_template_counts_by_its_content_and_is_an_input(tmp_path: Path) -> None:
    one, other = tmp_path / "one.jinja", tmp_path / "other.jinja"
    one.write_text("{{ messages }}", encoding="utf-8")
    other.write_text("{{ messages }}", encoding="utf-8")
    assert identity(chat_template=str(one)) == identity(chat_template=str(other)) != identity()
    other.write_text("{{ messages }}!", encoding="utf-8")
    assert identity(chat_template=str(one)) != identity(chat_template=str(other))
    files = Layout(validated(configured(chat_template=str(one))))
    assert files.generation_inputs("mlneedle", "big")["chat_template"] == [str(one)]
    with pytest.raises(UserError, match=r"models\.big\.chat_template: .*absent.*correct the path"):
        identity(chat_template=str(tmp_path / "absent.jinja"))


# What the configuration may say


@pytest.mark.parametrize(
    ("argument", "instead"),
    [
        ("model", "`name`"),
        ("revision", "`revision`"),
        ("trust_remote_code", "`trust_remote_code`"),
        ("enable_lora", "`lora`"),
        ("hf_token", "HF_TOKEN"),
        ("data_parallel_size", "`tensor_parallel_size`"),
    ],
)
def test_what_has_a_place_of_its_own_is_no_engine_argument(argument: str, instead: str) -> None:
    with pytest.raises(UserError, match=rf"models\.big\.engine\.{argument} .*{instead}") as refused:
        validated(configured(engine={argument: "secret"}))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": None}, r"models\.big\.name is missing"),
        ({"engine": {"max_model_len": 2047}}, r"length 2048 is above engine\.max_model_len, 2047"),
        (
            {"engine": {"tensor_parallel_size": 0}},
            r"models\.big\.engine\.tensor_parallel_size is 0",
        ),
    ],
    ids=str,
)
def test_what_cannot_run_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        validated(configured(**change))


def test_code_of_others_runs_only_where_the_configuration_says_so() -> None:
    assert entry()["trust_remote_code"] is False


def test_an_engine_takes_its_gpus() -> None:
    def taken(**engine: int) -> int:
        return Layout(validated(configured(engine=engine))).generation_gpus("big")

    assert taken() == 1
    assert taken(tensor_parallel_size=4, pipeline_parallel_size=2) == 8
    assert Layout(validated(configured())).generation_gpus("lexical") == 0


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed here")
def test_without_vllm_the_error_says_where_it_is() -> None:
    with pytest.raises(UserError, match=r"models\.big: the package 'vllm' is not installed.*conda"):
        load_backend("vllm", entry()).load()
