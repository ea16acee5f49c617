"""Debugging output of Slurm's jobs holds the environment, so it is refused where that holds a key."""

from __future__ import annotations

import copy
import os
from typing import Any

import pytest
import yaml

from factories import demo_run
from factories.models import backend_of
from needlework.errors import UserError
from needlework.given import given
from needlework.planning.affects import effective_config
from needlework.planning.checkups import changes
from needlework.planning.config import validated
from needlework.planning.preflight.secrets import check_verbose, hide_logins, key_variables
from needlework.planning.rule_inputs import RuleInputs
from needlework.services.endpoints import environment_logins, revealed

SECRET = "sk-very-secret-0123456789"


@pytest.fixture
def config(monkeypatch) -> dict:
    """The default configuration and an endpoint with a key of its own, none of whose keys is set."""
    config = demo_run()
    endpoint = {"backend": "openai", "name": "a/model", "tokenizer": "words", "context": 4096}
    config["models"]["endpoint"] = endpoint | {"key_env": "MY_OWN_KEY"}
    config["models"]["served"] = endpoint | {"backend": "inspect", "name": "openai-api/my-host/a"}
    config = given(validated(config))
    for name in {*key_variables(config), *environment_logins()}:
        monkeypatch.delenv(name, raising=False)
    return config


@pytest.mark.parametrize(
    "variables",
    [["MY_OWN_KEY"], ["HF_TOKEN"], ["GOOGLE_TRANSLATE_API_KEY"], ["HF_TOKEN", "MY_OWN_KEY"]],
)
def test_keys_and_verbose_output_are_refused(config, monkeypatch, variables) -> None:
    for variable in variables:
        monkeypatch.setenv(variable, SECRET)
    named = " and ".join(variables)
    with pytest.raises(UserError, match=f"--verbose would write {named} into") as refused:
        check_verbose(config, "slurm", True)
    assert SECRET not in str(refused.value) and "Run without it" in str(refused.value)


def test_logins_are_refused_and_what_shows_no_key_not(config, monkeypatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://someone:{SECRET}@proxy:8080")
    with pytest.raises(UserError, match="--verbose would write http_proxy into") as refused:
        check_verbose(config, "slurm", True)
    assert SECRET not in str(refused.value)
    monkeypatch.setenv("http_proxy", "http://proxy:8080")
    check_verbose(config, "slurm", True)
    monkeypatch.setenv("MY_OWN_KEY", " ")
    check_verbose(config, "slurm", True)
    monkeypatch.setenv("MY_OWN_KEY", SECRET)
    check_verbose(config, "local", True)
    check_verbose(config, "slurm", False)


KEY = "sk-proj-abc123DEF456ghi789"


def check(**changes: Any) -> dict[str, Any]:
    """Validate a run of one endpoint's model whose entry has these changes."""
    entry = {"backend": "openai", "name": "a/model", "tokenizer": "words", "context": 4096}
    served = {**entry, "base_url": "http://127.0.0.1:9/v1", **changes}
    run = {"models": ["served"], "benchmarks": ["mlneedle"]}
    return validated(demo_run(run=run, models={"served": served}))["models"]["served"]


def complaint(**changes: Any) -> str:
    with pytest.raises(UserError) as raised:
        check(**changes)
    return str(raised.value)


@pytest.mark.parametrize(
    ("field", "value", "remedy"),
    [
        *(("messages", [], "the key `system`"), ("Messages", None, "the key `system`")),
        *(("prompt", "x", "the prompt is the benchmark's"), ("model", "other", "the key `name`")),
        *(("n", 3, "the key `samples`"), ("best_of", 2, "the key `samples`")),
        ("temperature", 0.1, "`sampling: {temperature: ...}`"),
        *(("top_k", 5, "`sampling: {top_k: ...}`"), ("seed", 1, "`sampling: {seed: ...}`")),
        ("stop", ["x"], "the key `stop`"),
    ],
)
def test_fields_that_replace_the_workflows_own_name_a_key(field, value, remedy) -> None:
    said = complaint(request={field: value})
    assert said.startswith(f"models.served.request.{field} ") and remedy in said


def test_fields_and_headers_without_a_key_are_sent() -> None:
    request = {"max_tokens": 8000, "reasoning_effort": "low", "prompt_cache_key": "run-1"}
    left_out = {"temperature": None, "top_p": None, "top_k": None, "seed": None, "stop": None}
    body = {"chat_template_kwargs": {"enable_thinking": False}, "stop_token_ids": [1, 2]}
    assert check(request=request | left_out | body)["request"] == request | left_out | body
    headers = {"anthropic-beta": "context-1m-2025-08-07", "HTTP-Referer": "https://a.example"}
    assert check(request={"extra_headers": headers})["request"] == {"extra_headers": headers}


@pytest.mark.parametrize(
    "changes",
    [
        *({"request": {"api_key": "anything"}}, {"request": {"apiKey": "anything"}}),
        {"request": {"extra_headers": {"Authorization": "anything"}}},
        *({"request": {"user": KEY}}, {"request": {"metadata": [{"note": f"with {KEY} in it"}]}}),
        {"request": {"extra_headers": {"X-Team": "anything"}}},
        {"request": {"default_query": {"v": "anything"}}},
        *({"request": {"credentials": {"value": "anything"}}}, {"request": {"password": 12345678}}),
        *({"request": {KEY: 1}}, {"request": {"base_url": "https://me:secret99@host/v1"}}),
        *({"request": {"key_env": KEY}}, {"request": {"url": "https://host/v1?sig=secret99"}}),
        {"request": {"url": "https://secret99@host/v1"}},
        {"system": "Ask http://me:secret99@host/v1 too."},
        {"request": {"x": "Bearer abcdef0123456789"}},
        {"request": {"endpoint": "https://me:secret99@host/v1"}},
        *({"engine": {"hf_token": "anything"}}, {"name": KEY}, {"system": f"The key is {KEY}."}),
        {"revision": "hf_abcdefghijklmnopqrstuvwx"},
    ],
)
def test_keys_and_passwords_are_refused_and_not_shown(changes) -> None:
    said = complaint(**changes)
    assert said.startswith(f"models.served.{next(iter(changes))}") and "HF_TOKEN" in said
    assert not any(secret in said for secret in (KEY, "secret99", "hf_abc", "abcdef0123456789"))


LOGIN = "CANARYPW77qq"
ADDRESSES: list[dict[str, Any]] = [
    {"base_url": f"https://user:{LOGIN}@gateway.corp/v1"},
    {"base_url": f"https://gateway.corp/v1?key={LOGIN}"},
    {"endpoint": f"https://gateway.corp/models?code={LOGIN}", "region": "x"},
    {"azure_endpoint": f"user:{LOGIN}@gateway.corp/v1"},
    {"client_args": {"proxies": [f"http://{LOGIN}@gateway.corp:3128"], "http2": True}},
    {"http_options": {"base_url": f"http://user:{LOGIN}@gateway.corp"}},
]


def pair(args: dict[str, Any], other: dict[str, Any] | None = None) -> dict[str, Any]:
    """Two entries of `inspect` with these arguments of the client, one with a name for its setting."""
    entry = {"backend": "inspect", "name": "openai-api/local/x", "tokenizer": "words"}
    entry |= {"context": 4096, "sampling": {"temperature": 0}, "args": args}
    models = {"a": entry, "b": entry | {"variant": "fp8", "args": other or args}}
    run = {"models": ["a", "b"], "benchmarks": ["mlneedle"], "doctor": [PAIR]}
    return validated(demo_run(run=run, models=models) | {"judge": "a"})


PAIR = {"model": "b", "against": "a"}


@pytest.mark.parametrize("args", ADDRESSES, ids=lambda own: "-".join(own))
def test_an_address_of_a_client_reaches_no_file(args) -> None:
    config = pair(args, yaml.safe_load(str(args).replace("gateway", "gateway2")))
    files = RuleInputs(config)
    backend = backend_of("inspect", config["models"]["a"])
    told = [
        *(effective_config(given(config)), [files.answers.model_settings(name) for name in "ab"]),
        *(files.answers.estimated(), changes(given(config), given(PAIR)), backend.identity()),
        backend._address,
    ]
    assert LOGIN not in str(told)
    assert list(changes(given(config), given(PAIR))) == ["variant"]
    assert "gateway" not in str(told[:-1])


@pytest.mark.parametrize("args", ADDRESSES, ids=lambda own: "-".join(own))
def test_another_address_of_a_client_asks_nothing_again(args) -> None:
    """And answers of an older version, whose keys hold all addresses but `base_url`, are found."""
    other = yaml.safe_load(str(args).replace("gateway", "elsewhere"))
    entries = [pair(own)["models"]["a"] for own in (args, other)]
    one, two = (backend_of("inspect", entry) for entry in entries)
    assert one.identity() == two.identity()
    older = {name: value for name, value in args.items() if name != "base_url"}
    assert (one.former_identity() or one.identity()).get("args", {}) == older
    settings = [RuleInputs(pair(own)).answers.model_settings("a") for own in (args, other)]
    assert settings[0] == settings[1]


@pytest.mark.parametrize("args", [*ADDRESSES, {"region": None}], ids=lambda own: "-".join(own))
def test_the_file_of_a_job_holds_no_login(args, monkeypatch) -> None:
    """Snakemake's file for a script has the configuration, and stays after a kill."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    config = pair(args)
    config["mirror"] = f"https://user:{LOGIN}@mirror.corp"
    config["models"]["o"] = config["models"]["a"] | {"base_url": f"https://{LOGIN}@gateway.corp/v1"}
    before = copy.deepcopy(config["models"])
    hide_logins(config)
    hide_logins(config)
    assert LOGIN not in str(config) and "mirror.corp" in config["mirror"]
    for name, entry in before.items():
        assert revealed(config["models"][name]) == entry
    assert backend_of("inspect", config["models"]["a"]).config.args == args


@pytest.mark.parametrize(
    "args",
    [
        {"default_headers": {"X-Team": LOGIN}},
        {"client_args": {"headers": {"anthropic-beta": "x", "X-Any": LOGIN}}},
        *({"azure_ad_token": LOGIN}, {"username": LOGIN}, {"api_key": f"https://{LOGIN}"}),
        {"auth": ["me", LOGIN]},
    ],
)
def test_a_key_of_a_client_is_refused(args) -> None:
    with pytest.raises(UserError, match=r"models\.a\.args\..* is a field for a key") as raised:
        pair(args)
    assert LOGIN not in str(raised.value)


@pytest.mark.parametrize("variable", ["PATH", "HOME", "path", "LD_LIBRARY_PATH", "https_proxy"])
def test_a_variable_that_holds_no_key_is_refused(variable) -> None:
    assert f"models.served.key_env is '{variable}'" in complaint(key_env=variable)


def test_a_variable_of_the_users_own_is_accepted() -> None:
    for variable in ("OPENAI_API_KEY", "MY_OWN_KEY", "mistral", None):
        assert check(key_env=variable)["key_env"] == variable
    said = complaint(key_env=KEY)
    assert "not the name of an environment variable" in said and KEY not in said
    # Nor is one shown that stands in place of a number or a choice.
    assert KEY not in complaint(context=KEY) + complaint(backend=KEY)
