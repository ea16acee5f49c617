"""Which prompts a model is asked: `only`."""

from __future__ import annotations

import copy
from typing import Any

import pyarrow as pa
import pytest
import yaml

import factories.models
from factories.generations import instances
from needlework.data import packaged
from needlework.errors import UserError
from needlework.given import given
from needlework.models.generation import InstanceRequests
from needlework.models.selection import in_words, mask, only_of
from needlework.planning.config import validated
from needlework.planning.layout import ROOT
from needlework.planning.model_checks import models_left_out
from needlework.planning.rule_inputs import RuleInputs

DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
ROWS = pa.table(
    {
        "task": ["qa", "qa", "pairs", "closed"],
        "lang": ["en", "zh", "en", None],
        "n": pa.array([10, 10, 75, None], pa.int32()),
    }
)


def configured(only: Any) -> dict[str, Any]:
    return factories.models.configured("lexical", backend="lexical", context=131072, only=only)


@pytest.mark.parametrize(
    ("only", "kept"),
    [
        *[({}, [0, 1, 2, 3]), ({"lang": ["en"]}, [0, 2, 3])],
        *[({"lang": ["en"], "n": [10]}, [0, 3]), ({"task": ["pairs", "closed"]}, [2, 3])],
        *[({"absent": ["x"]}, [0, 1, 2, 3]), ({"lang": []}, [3])],
    ],
)
def test_rows_without_a_factor_are_kept(only: dict[str, list], kept: list[int]) -> None:
    found = mask(ROWS, only).to_pylist()
    assert [n for n, yes in enumerate(found) if yes] == kept
    assert mask(ROWS.slice(0, 0), only).to_pylist() == []


def test_a_restriction_is_said_in_words() -> None:
    only = {"a": {"lang": ["en"], "n": [10, 20]}, "b": {}}
    assert in_words(only) == "a was asked only language en, n 10 or 20."
    assert in_words({"b": {}}) == in_words({"a": {"task": []}}) == ""
    many = {"a": {"example_id": list("abcdefghi"), "lang": ["de"]}}
    assert in_words(many) == "a was asked only 9 questions, language de."


def test_captions_say_which_models_were_asked_a_part() -> None:
    files = RuleInputs(configured({"mlneedle": {"needle_lang": ["en"]}}))
    said = "lexical was asked only needle language en."
    assert files.facts.run_settings("mlneedle", "scores")["asked"] == said
    table = next(r for r in files.results.filled("mlneedle") if r.needs == "scores")
    assert files.facts.caption("mlneedle", table).endswith(said)
    assert files.facts.asked("oneruler") == ""


@pytest.mark.parametrize(
    ("only", "mlneedle", "oneruler"),
    [
        ({"length": [512]}, {"length": [512]}, {"length": [512]}),
        ({"mlneedle": {"needle_lang": ["en"]}}, {"needle_lang": ["en"]}, {}),
        (
            {"length": [512], "mlneedle": {"needle_lang": ["en"]}},
            {"length": [512], "needle_lang": ["en"]},
            {"length": [512]},
        ),
    ],
)
def test_a_restriction_is_of_all_benchmarks_or_by_name(only, mlneedle, oneruler) -> None:
    model = given(configured(only)["models"]["lexical"])
    found = [only_of(model, name) for name in ("mlneedle", "oneruler")]
    assert found == [mlneedle, oneruler]
    # Answers do not depend on it.
    plain, restricted = (
        RuleInputs(configured(own)).answers.model_settings("lexical") for own in ({}, only)
    )
    assert plain == restricted


@pytest.mark.parametrize(
    ("only", "said"),
    [
        ({"needel_lang": ["en"]}, "did you mean 'needle_lang'"),
        ({"mlneedle": {"gold_index": [1]}}, "models.lexical.only.mlneedle names 'gold_index'"),
        ({"mlneedel": {}}, "did you mean 'mlneedle'"),
        ({"length": ["512"]}, "models.lexical.only.length has '512', but is of type int32"),
        ({"needle_present": [1]}, "is of type bool"),
    ],
)
def test_what_is_no_factor_or_no_value_is_refused(only: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        configured(only)


def test_an_optional_model_without_weights_is_left_out() -> None:
    config = copy.deepcopy(DEFAULT)
    config["models"]["smollm2"]["name"] = "package:no-such-package/m.gguf"
    assert validated(copy.deepcopy(config))["run"]["models"] == ["lexical", "oracle", "empty"]
    needed = copy.deepcopy(config)
    needed["models"]["smollm2"]["optional"] = False
    assert "smollm2" in validated(needed)["run"]["models"]
    config["run"]["models"] = ["smollm2"]
    with pytest.raises(UserError, match="make weights"):
        validated(config)


@pytest.mark.parametrize(
    "name", ["package:pip/../../secret", "package:pip/absent", "package:absent/x"]
)
def test_a_packaged_name_names_only_what_is_there(name: str) -> None:
    assert packaged.find(name) is None
    with pytest.raises(UserError, match=r"is not installed|has no file or folder of"):
        packaged.local_name(name, "models.m.name")


def test_a_packaged_file_is_found_without_its_code() -> None:
    found = packaged.find("package:pip/pip/__init__.py")
    assert found is not None and found.name == "__init__.py"
    assert models_left_out(given(configured({}))) == []


def test_a_value_that_no_prompt_has_is_named(requests, caplog) -> None:
    only = {"example_id": ["3", "city-99"], "task": ["exact"]}
    (found,) = InstanceRequests(requests.files, requests.documents, only=only)
    (row,) = (r for r in instances().to_pylist() if r["example_id"] == "3")
    assert found.instance_id == row["instance_id"]
    (said,) = caplog.messages
    assert said.startswith("No prompt has example_id city-99")
