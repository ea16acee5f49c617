"""The backend `inspect` before anything is sent; with real inspect_ai, see tests/harnesses."""

from __future__ import annotations

import copy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from needlework.errors import UserError
from needlework.models.backends.base import load_backend
from needlework.planning.affects import effective_config
from needlework.planning.config import validated

DEFAULT = yaml.safe_load((Path(__file__).parents[3] / "config.yaml").read_text(encoding="utf-8"))


def configured(**changes: Any) -> dict[str, Any]:
    """A whole configuration with a model of a provider."""
    config = copy.deepcopy(DEFAULT)
    config["run"]["models"] = ["closed"]
    config["models"]["closed"] = {
        **{"backend": "inspect", "name": "anthropic/some-model", "tokenizer": "words"},
        **{"context": 40000, **changes},
    }
    return validated(config)


def identity(**changes: Any) -> dict[str, Any]:
    own = configured(**changes)["models"]["closed"] | {"model": "closed"}
    return dict(load_backend("inspect", own).identity())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "some-model"}, r"\(A provider and its model, such as"),
        ({"chat": False}, "Only chat models are asked"),
        ({"batch": True}, "says nothing to the backend inspect"),
        ({"args": {"api_key": "abc"}}, "is a field for a key"),
        ({"args": {"base_url": "nowhere"}}, "http"),
        ({"backend": "vllm", "sampling": {"temperature": None}}, "temperature is null"),
        ({"backend": "openai", "args": {"region": "x"}}, "only to inspect"),
        (
            {"backend": "vllm", "reasoning": {"max_tokens": 9, "effort": "low"}},
            "reasoning.effort says nothing",
        ),
    ],
)
def test_what_the_backend_cannot_do_is_refused(changes, said) -> None:
    with pytest.raises(UserError, match=said):
        configured(**changes)


@pytest.mark.parametrize(
    "change", [{"args": {"base_url": "http://x/v1"}}, {"concurrency": 50}, {"timeout": 5}]
)
def test_place_and_speed_are_no_part_of_the_key(change) -> None:
    assert identity(**change) == identity()


@pytest.mark.parametrize(
    "change",
    [
        {"args": {"region": "x"}},
        {"reasoning": {"max_tokens": 99}},
        {"sampling": {"temperature": 0}},
        {"system": "Be brief."},
    ],
)
def test_what_changes_answers_is_part_of_their_key(change) -> None:
    assert identity(**change) != identity()


def test_a_private_address_is_in_no_result() -> None:
    own = effective_config(configured(args={"base_url": "http://box.corp/v1", "region": "x"}))
    assert "box.corp" not in str(own) and own["models"]["closed"]["args"]["region"] == "x"


@pytest.mark.skipif(find_spec("inspect_ai") is not None, reason="inspect_ai is here")
def test_without_the_package_the_remedy_is_said() -> None:
    own = configured()["models"]["closed"] | {"model": "closed"}
    with pytest.raises(UserError, match=r"--use-conda .*envs/inspect\.yaml"):
        load_backend("inspect", own).load()
