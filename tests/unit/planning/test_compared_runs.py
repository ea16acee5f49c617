"""Which sides are compared follows from the configuration, and what cannot be is refused."""

from __future__ import annotations

import pytest

from factories import demo_run
from needlework.errors import UserError
from needlework.given import given
from needlework.planning.compared_runs import compared_files, pairs, sides
from needlework.planning.config import validated


def config(**own) -> dict:
    models = {"mine": demo_run()["models"]["lexical"]}
    run = {"models": ["lexical", "mine", "oracle", "empty"]}
    return given(validated(demo_run(models=models, run=run) | own))


@pytest.fixture
def other(tmp_path) -> str:
    """Another run, with the scores of two models."""
    for model in ("lexical", "mine"):
        folder = tmp_path / "results/scores" / model
        folder.mkdir(parents=True)
        (folder / "mlneedle.parquet").touch()
    return str(tmp_path)


def test_controls_are_compared_where_there_is_no_other_pair() -> None:
    assert pairs(config(), "mlneedle") == [("lexical", "mine", True)]
    own = config()
    own["run"]["models"] = ["lexical", "oracle", "empty"]
    expected = [("lexical", "oracle"), ("lexical", "empty"), ("oracle", "empty")]
    assert pairs(own, "mlneedle") == [(*pair, True) for pair in expected]
    # A model that is asked nothing is not compared.
    own = config()
    own["models"]["mine"]["only"] = {"mlneedle": {"task": []}}
    assert pairs(own, "mlneedle")[0] == ("lexical", "oracle", True)
    assert pairs(own, "oneruler") == [("lexical", "mine", True)]
    # Another tokenizer has other prompts.
    own = config()
    own["models"]["mine"]["tokenizer"] = "mistral-v1"
    assert pairs(own, "mlneedle")[0] == ("lexical", "mine", False)


def test_only_named_pairs_and_their_scores_are_compared() -> None:
    assert pairs(config(compare=[["empty", "oracle"]]), "mlneedle") == [("empty", "oracle", True)]
    own = config(compare=[["empty", "oracle"], ["mine", "oracle"]])
    assert list(compared_files(own, "mlneedle")) == ["empty", "oracle", "mine"]
    assert compared_files(own, "mlneedle")["mine"] == "results/scores/mine/mlneedle.parquet"


def test_another_run_is_compared_model_by_model(other) -> None:
    own = config(runs={"before": other})
    assert sides(own, "mlneedle")["before/mine"].endswith("results/scores/mine/mlneedle.parquet")
    assert pairs(own, "mlneedle") == [
        ("before/lexical", "lexical", True),
        ("before/mine", "mine", True),
    ]


@pytest.mark.parametrize(
    "own, message",
    [
        ({"compare": [["oracel", "empty"]]}, "did you mean 'oracle'"),
        ({"runs": {"before": "/nowhere"}}, "runs.before: /nowhere holds no results/scores"),
        ({"run": {"models": ["oracle"], "benchmarks": ["mlneedle"]}}, "nothing to compare"),
        ({"runs": {"a/b": "."}}, "take a name without '/'"),
        ({"compare": [["mine", "mine"]]}, "non-unique"),
        ({"compare": [["mine", "oracle"], ["mine", "oracle"]]}, "non-unique"),
        ({"compare": [["mine", "oracle"], ["oracle", "mine"]]}, "in both orders"),
    ],
)
def test_what_cannot_be_compared_is_refused(own, message) -> None:
    with pytest.raises(UserError, match=message):
        pairs(config(**own), "mlneedle")
