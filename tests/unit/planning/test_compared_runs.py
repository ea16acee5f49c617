"""Which sides are compared follows from the configuration, and what cannot be is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from factories import demo_run
from needlework.errors import UserError
from needlework.given import given
from needlework.planning.compared_runs import compared_files, pairs, sides
from needlework.planning.config import validated
from needlework.planning.published_names import check_published


def config(**own) -> dict:
    models = {"mine": demo_run()["models"]["lexical"]}
    run = {"models": ["lexical", "mine", "oracle", "empty"]}
    return given(validated(demo_run(models=models, run=run) | own))


@pytest.fixture
def other(tmp_path) -> str:
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


def test_only_named_pairs_and_other_runs_are_compared(other) -> None:
    assert pairs(config(compare=[["empty", "oracle"]]), "mlneedle") == [("empty", "oracle", True)]
    own = config(compare=[["empty", "oracle"], ["mine", "oracle"]])
    assert list(compared_files(own, "mlneedle")) == ["empty", "oracle", "mine"]
    assert compared_files(own, "mlneedle")["mine"] == "results/scores/mine/mlneedle.parquet"
    own = config(runs={"before": other})
    assert sides(own, "mlneedle")["before/mine"].endswith("results/scores/mine/mlneedle.parquet")
    assert pairs(own, "mlneedle") == [(f"before/{n}", n, True) for n in ("lexical", "mine")]


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


ROOT = Path(__file__).parents[3]


def run_of(name: str | None, *benchmarks: str) -> dict:
    run = {"models": ["mine"], "benchmarks": list(benchmarks)}
    return {"run": run, "models": {"mine": {"published": name}}}


def test_a_published_name_is_one_of_its_papers() -> None:
    wrong = r"models\.mine\.published is 'MPT-30B-instruct'.*'MPT-30B-Instruct'"
    with pytest.raises(UserError, match=wrong):
        check_published(given(run_of("MPT-30B-instruct", "lost_in_the_middle")))
    (said,) = check_published(given(run_of("MPT-30B-Instruct", "mlneedle")))
    assert "in no table of mlneedle: its numbers will not be compared" in said
    both = run_of("MPT-30B-Instruct", "mlneedle", "lost_in_the_middle")
    assert check_published(given(both)) == []
    assert check_published(given(run_of(None, "mlneedle"))) == []


@pytest.mark.parametrize("preset", sorted(path.stem for path in ROOT.glob("presets/*.yaml")))
def test_presets_name_models_of_their_papers(preset) -> None:
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    own = yaml.safe_load((ROOT / f"presets/{preset}.yaml").read_text())
    models = own.get("models", {})
    run = {**config["run"], **own["run"], "models": list(models)}
    published = {name: {"published": model.get("published")} for name, model in models.items()}
    assert check_published(given({"run": run, "models": published})) == []
