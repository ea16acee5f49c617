"""Debugging output of Slurm's jobs holds the environment, so it is refused where that holds a key."""

from __future__ import annotations

import pytest

from factories import demo_run
from needlework.errors import UserError
from needlework.given import given
from needlework.planning.config import validated
from needlework.planning.preflight.secrets import check_verbose, key_variables
from needlework.services.endpoints import environment_logins

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


def test_logins_of_the_environment_and_verbose_output_are_refused(config, monkeypatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://someone:{SECRET}@proxy:8080")
    with pytest.raises(UserError, match="--verbose would write http_proxy into") as refused:
        check_verbose(config, "slurm", True)
    assert SECRET not in str(refused.value)


def test_runs_that_show_no_key_are_not_refused(config, monkeypatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy:8080")
    check_verbose(config, "slurm", True)
    monkeypatch.setenv("MY_OWN_KEY", " ")
    check_verbose(config, "slurm", True)
    monkeypatch.setenv("MY_OWN_KEY", SECRET)
    check_verbose(config, "local", True)
    check_verbose(config, "slurm", False)
