"""Keys and passwords are refused in a configuration, and so is what `request` would replace."""

from __future__ import annotations

from typing import Any

import pytest

from factories import demo_run
from needlework.errors import UserError
from needlework.planning.config import validated

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
        ("messages", [], "the key `system`"),
        ("Messages", None, "the key `system`"),
        ("prompt", "x", "the prompt is the benchmark's"),
        ("model", "other", "the key `name`"),
        ("n", 3, "the key `samples`"),
        ("best_of", 2, "the key `samples`"),
        ("temperature", 0.1, "`sampling: {temperature: ...}`"),
        ("top_k", 5, "`sampling: {top_k: ...}`"),
        ("seed", 1, "`sampling: {seed: ...}`"),
        ("stop", ["x"], "the key `stop`"),
    ],
)
def test_fields_that_replace_the_workflows_own_name_a_key(field, value, remedy) -> None:
    said = complaint(request={field: value})
    assert said.startswith(f"models.served.request.{field} ") and remedy in said


def test_fields_without_a_key_of_their_own_are_sent() -> None:
    request = {"max_tokens": 8000, "reasoning_effort": "low", "prompt_cache_key": "run-1"}
    left_out = {"temperature": None, "top_p": None, "top_k": None, "seed": None, "stop": None}
    body = {"chat_template_kwargs": {"enable_thinking": False}, "stop_token_ids": [1, 2]}
    assert check(request=request | left_out | body)["request"] == request | left_out | body


@pytest.mark.parametrize(
    "changes",
    [
        {"request": {"api_key": "anything"}},
        {"request": {"apiKey": "anything"}},
        {"request": {"extra_headers": {"Authorization": "anything"}}},
        {"request": {"user": KEY}},
        {"request": {"metadata": [{"note": f"with {KEY} in it"}]}},
        {"request": {"x": "Bearer abcdef0123456789"}},
        {"request": {"endpoint": "https://me:secret99@host/v1"}},
        {"engine": {"hf_token": "anything"}},
        {"name": KEY},
        {"system": f"The key is {KEY}."},
        {"revision": "hf_abcdefghijklmnopqrstuvwx"},
    ],
)
def test_keys_and_passwords_are_refused_and_not_shown(changes) -> None:
    said = complaint(**changes)
    assert said.startswith(f"models.served.{next(iter(changes))}") and "HF_TOKEN" in said
    assert not any(secret in said for secret in (KEY, "secret99", "hf_abc", "abcdef0123456789"))


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
