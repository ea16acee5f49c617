"""A model's published name is one that a paper's tables have."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from needlework.errors import UserError
from needlework.given import given
from needlework.planning.published_names import check_published

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
