"""Every preset can be planned, within seconds, and none of its models is wrong."""

from __future__ import annotations

import copy
import re
import resource
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

from needlework.planning.config import lengths_of, validated
from runs import ROOT, Workflow

DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
PRESETS = sorted((ROOT / "presets").glob("*.yaml"))
PAGE = ROOT / "docs/models.md"


def merged(text: str) -> dict:
    """The default configuration with what `text` (YAML) says laid over it, as --configfile does."""
    config = copy.deepcopy(DEFAULT)
    update_config(config, yaml.safe_load(text))
    return config


@pytest.mark.parametrize("preset", PRESETS, ids=lambda path: path.stem)
def test_every_model_of_a_preset_is_right(preset: Path) -> None:
    """Those that it does not run by itself too."""
    text = preset.read_text(encoding="utf-8")
    config = merged(text)
    config["run"]["models"] = sorted({*config["run"]["models"], *yaml.safe_load(text)["models"]})
    validated(config)


@pytest.mark.parametrize(
    "benchmark", ["mlneedle", "lost_in_the_middle", "oneruler", "mlongrr", "m4le"]
)
def test_a_papers_preset_inherits_nothing_of_the_demos_size(benchmark: str) -> None:
    """The demo asks a part of the languages and lengths, which no paper's run may get from it."""
    preset = yaml.safe_load((ROOT / f"presets/{benchmark}.yaml").read_text(encoding="utf-8"))
    over, alone = copy.deepcopy(DEFAULT), copy.deepcopy(DEFAULT)
    alone["benchmarks"] = {}
    for config in (over, alone):
        update_config(config, copy.deepcopy(preset))
    over, alone = validated(over), validated(alone)
    plan = import_module(f"needlework.benchmarks.{benchmark}.plan")
    assert plan.slices(over["benchmarks"][benchmark]) == plan.slices(alone["benchmarks"][benchmark])
    for name in plan.slices(over["benchmarks"][benchmark]):
        model = over["run"]["models"][0]
        asked = [
            plan.settings(
                config["benchmarks"][benchmark], name, lengths_of(config, model, benchmark)
            )
            for config in (over, alone)
        ]
        assert asked[0] == asked[1]


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS, ids=lambda path: path.stem)
def test_a_dry_run_of_a_preset_answers_within_seconds(preset: Path, tmp_path: Path) -> None:
    """Counted in processor time, which other tests beside this one do not change."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    jobs = Workflow(ROOT, tmp_path).would_run("--configfile", str(preset))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert jobs["generate_answers"] >= len(merged(preset.read_text("utf-8"))["run"]["models"])
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 15


# What docs/models.md shows


SHOWN = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text("utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("shown", SHOWN, ids=lambda text: "-".join(yaml.safe_load(text)["models"]))
def test_a_model_that_is_shown_is_right(shown: str) -> None:
    config = merged(shown)
    assert config["run"]["models"] == list(yaml.safe_load(shown)["models"])
    full = validated(config)
    assert all(lengths_of(full, name, "mlneedle") for name in config["run"]["models"])


def test_an_example_of_every_backend_is_shown() -> None:
    models = [model for text in SHOWN for model in yaml.safe_load(text)["models"].values()]
    assert {model["backend"] for model in models} == {
        *("vllm", "openvino", "openai", "transformers", "replay")
    }
    # What the page is there to explain.
    keys = {key for model in models for key in (*model, *model.get("engine", {}))}
    assert keys >= {
        *("revision", "chat", "chat_template", "lengths", "lora", "tensor_parallel_size"),
        *("hf_overrides", "request", "published", "price", "throughput", "answers"),
    }


def test_positions_are_scaled_as_the_page_says() -> None:
    """The key of the backend transformers, which stands in the text."""
    scaled = re.findall(r"`(rope_scaling: )?(\{rope_type: [^`]*\})`", PAGE.read_text("utf-8"))
    assert len(scaled) == 2
    (example,) = (text for text in SHOWN if "backend: transformers" in text)
    for _, value in scaled:
        config = merged(example)
        config["models"]["flan-t5-xxl"]["rope_scaling"] = yaml.safe_load(value)
        validated(config)
