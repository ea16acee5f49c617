"""Which settings of a model its answers depend on, and which are refused before any work."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import pytest

from factories.models import backend_of, configured
from needlework.errors import UserError
from needlework.given import given
from needlework.models.backends.openai.backend import OPENAI
from needlework.planning.affects import effective_config
from needlework.planning.config import validated
from needlework.planning.rule_inputs import RuleInputs

ENTRIES: dict[str, dict[str, Any]] = {
    "openai": {"name": "some-model", "base_url": "http://127.0.0.1:9/v1", "key_env": "A_KEY"},
    "inspect": {"name": "anthropic/some-model"},
    "transformers": {"name": "org/tiny", "revision": "abc", "chat": False, "device": "cpu"},
    **{"vllm": {"name": "org/big", "revision": "abc", "context": 4096}, "lexical": {}},
}
NAMED = ("openai", "transformers", "vllm")


def config(backend: str, **changes: Any) -> dict[str, Any]:
    return configured("mine", **{"backend": backend, **ENTRIES[backend], **changes})


def identity(backend: str, **changes: Any) -> dict[str, Any]:
    entry = config(backend, **changes)["models"]["mine"]
    return dict(backend_of(backend, entry).identity())


# Place, price and speed.
SAME: list[tuple[str, dict[str, Any]]] = [
    ("openai", {"base_url": "http://elsewhere/v1", "key_env": None}),
    ("openai", {"concurrency": 100, "timeout": 5}),
    ("openai", {"batch": True, "batch_tokens": 90_000}),
    ("openai", {"price": {"input": 1, "output": 2}}),
    ("openai", {"throughput": {"prefill": 1, "decode": 2}}),
    ("inspect", {"args": {"base_url": "http://x/v1"}}),
    ("inspect", {"args": {"azure_endpoint": "x.corp", "client_args": {"proxy": "http://a:b@c"}}}),
    *[("inspect", {"concurrency": 50, "timeout": 5}), ("transformers", {"batch_size": 1})],
    *[("transformers", {"device": "auto"}), ("vllm", {"engine": {"tensor_parallel_size": 2}})],
    ("vllm", {"engine": {"pipeline_parallel_size": 2}}),
    ("vllm", {"engine": {"gpu_memory_utilization": 0.8}}),
    ("vllm", {"engine": {"max_num_seqs": 8, "max_num_batched_tokens": 4096}}),
    ("vllm", {"engine": {"enforce_eager": True}}),
    ("vllm", {"engine": {"enable_prefix_caching": False}}),
    ("vllm", {"engine": {"download_dir": "/scratch"}}),
]
ROPE = {"rope_parameters": {"rope_type": "dynamic", "factor": 4.0}}
OTHER: list[tuple[str, dict[str, Any]]] = [
    *[("openai", own) for own in ({"name": "other"}, {"revision": "2"}, {"chat": False})],
    ("openai", {"sampling": {"temperature": 0}}),
    ("openai", {"request": {"reasoning_effort": "low"}}),
    *[("inspect", {"args": {"region": "x"}}), ("inspect", {"reasoning": {"max_tokens": 99}})],
    *[("inspect", {"sampling": {"temperature": 0}}), ("inspect", {"system": "Be brief."})],
    *[("transformers", own) for own in ({"dtype": "bfloat16"}, {"chat": True})],
    ("transformers", {"sampling": {"temperature": 1}}),
    ("transformers", {"rope_scaling": {"rope_type": "yarn", "factor": 2}}),
    ("transformers", {"config": {"rms_norm_eps": 1e-5}}),
    *[("vllm", own) for own in ({"name": "org/other"}, {"revision": "abd"}, {"chat": False})],
    *[("vllm", own) for own in ({"lora": "org/adapter"}, {"answer_prefix": "It is"})],
    *[("vllm", {"sampling": own}) for own in ({"temperature": 0}, {"seed": 1})],
    *[("vllm", {"engine": {name: "fp8"}}) for name in ("quantization", "kv_cache_dtype")],
    *[("vllm", {"engine": own}) for own in ({"dtype": "float16"}, {"seed": 1})],
    ("vllm", {"engine": {"hf_overrides": ROPE}}),
    ("vllm", {"engine": {"speculative_config": {"method": "ngram"}}}),
]


@pytest.mark.parametrize(
    ("backend", "change", "same"),
    [*[(*own, True) for own in SAME], *[(*own, False) for own in OTHER]],
    ids=str,
)
def test_only_what_changes_answers_asks_again(backend, change, same) -> None:
    own = identity(backend, **change)
    assert (own == identity(backend)) == same
    assert json.loads(json.dumps(own)) == own
    ours, theirs = RuleInputs(config(backend, **change)), RuleInputs(config(backend))
    assert (ours.answers.model_settings("mine") == theirs.answers.model_settings("mine")) == same
    # But all reaches the engine: the script reads the entry itself.
    entry = ours.config["models"]["mine"]
    assert change.get("engine", {}).items() <= entry.get("engine", {}).items()


def test_how_a_reply_comes_is_no_part_of_identity() -> None:
    request = {"stream": True, "stream_options": {}}
    assert identity("openai", request=request) == identity("openai")


def test_the_engines_limit_is_in_the_table_not_the_identity() -> None:
    limit = {"max_model_len": 4000}
    assert identity("vllm", engine=limit) == identity("vllm")
    settings = RuleInputs(config("vllm", engine=limit)).answers.model_settings("mine")
    assert settings["engine"] == limit, "the table has other rows skipped"


YARN = {"rope_type": "yarn", "factor": 2}
NO_URLS = ("", "localhost:8000/v1", "ftp://host/v1", "http://", "http://a:b:c/")
WRONG: list[tuple[str, dict[str, Any], str]] = [
    *[("openai", {"base_url": url}, r"models\.mine\.base_url is not an http") for url in NO_URLS],
    *[(name, {"name": None}, r"mine\.name is missing") for name in NAMED],
    ("openai", {"chat_template": "a"}, "is no key of the backend openai, only of vllm"),
    ("openai", {"rope_scaling": YARN}, "only of transformers: leave it out"),
    ("openai", {"lora": "x"}, "only of vllm"),
    *[("openai", {name: 0}, f"{name} is 0") for name in ("concurrency", "timeout")],
    ("lexical", {"request": {"x": 1}}, "only of openai"),
    ("openai", {"args": {"region": "x"}}, "only of inspect"),
    ("inspect", {"name": "some-model"}, r"\(A provider and its model, such as"),
    ("inspect", {"chat": False}, "Only chat models are asked"),
    ("inspect", {"batch": True}, "is no key of the backend inspect"),
    ("inspect", {"args": {"api_key": "abc"}}, "is a field for a key"),
    ("inspect", {"args": {"base_url": "nowhere"}}, "http"),
    ("transformers", {"request": {"x": 1}}, "request is no key of the backend transformers"),
    ("transformers", {"dtype": "float8"}, "dtype is 'float8'"),
    ("vllm", {"engine": {"max_model_len": 2047}}, r"length 2048 is above engine\.max_model_len"),
    ("vllm", {"engine": {"tensor_parallel_size": 0}}, r"mine\.engine\.tensor_parallel_size is 0"),
    ("vllm", {"sampling": {"temperature": None}}, "temperature is null"),
    ("vllm", {"reasoning": {"max_tokens": 9, "effort": "low"}}, "reasoning.effort is no key"),
    *[
        ("vllm", {"engine": {name: "secret"}}, rf"mine\.engine\.{name} .*`{instead}`")
        for name, instead in (
            *[("model", "name"), ("revision", "revision")],
            *[("trust_remote_code", "trust_remote_code"), ("enable_lora", "lora")],
            ("data_parallel_size", "tensor_parallel_size"),
        )
    ],
    ("vllm", {"engine": {"hf_token": "secret"}}, r"mine\.engine\.hf_token .*HF_TOKEN"),
]


@pytest.mark.parametrize(("backend", "change", "wanted"), WRONG, ids=str)
def test_a_wrong_setting_is_named(backend, change, wanted) -> None:
    with pytest.raises(UserError, match=wanted) as refused:
        config(backend, **change)
    assert "secret" not in str(refused.value)


def test_what_is_not_set_is_safe() -> None:
    """Code of others runs only where the configuration says so."""
    assert config("vllm")["models"]["mine"]["trust_remote_code"] is False
    own = config("openai")
    del own["models"]["mine"]["base_url"]
    assert validated(own)["models"]["mine"]["base_url"] == OPENAI
    private = config("inspect", args={"base_url": "http://box.corp/v1", "region": "x"})
    shown = effective_config(given(private))
    assert "box.corp" not in str(shown) and shown["models"]["mine"]["args"]["region"] == "x"


@pytest.mark.skipif(find_spec("inspect_ai") is not None, reason="inspect_ai is here")
def test_without_inspect_the_remedy_is_said() -> None:
    entry = config("inspect")["models"]["mine"] | {"model": "mine"}
    with pytest.raises(UserError, match=r"make setup-inspect.*\.venv-inspect/bin/snakemake"):
        backend_of("inspect", entry).load()


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is installed here")
def test_without_vllm_the_error_says_where_it_is() -> None:
    entry = config("vllm")["models"]["mine"] | {"model": "mine"}
    with pytest.raises(UserError, match=r"mine: the package 'vllm' is not installed.*conda"):
        backend_of("vllm", entry).load()
