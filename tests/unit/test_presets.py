"""Every preset can be planned, within seconds, and none of its models is wrong."""

from __future__ import annotations

import re
import resource
from importlib import import_module
from pathlib import Path

import pytest
import yaml

import preset_runs
from needlework.benchmarks.parts import names
from needlework.given import given
from needlework.planning.affects import effective_config
from needlework.planning.chosen import lengths_of
from needlework.planning.config import validated
from needlework.planning.layers import layered
from needlework.planning.rule_inputs import RuleInputs
from runs import ROOT, Workflow

DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
PRESETS = sorted((ROOT / "presets").glob("*.yaml"))
# Dry runs of own_passages and own_questions are tests/workflow/test_recipes.py's. That of doctor_smollm2
# plans what that of doctor_fp8 does, and that of smollm2 what that of small does.
PLANNED = [
    p for p in PRESETS if not p.stem.startswith("own_") and p.stem not in ("doctor_fp8", "small")
]
PAGE = ROOT / "docs/models.md"


def merged(text: str) -> dict:
    """The default configuration with what `text` (YAML) says laid over it, as --configfile does."""
    return layered(DEFAULT, [yaml.safe_load(text)])


@pytest.mark.parametrize("preset", PRESETS, ids=lambda path: path.stem)
def test_every_model_of_a_preset_is_right(preset: Path) -> None:
    """Those that it does not run by itself too. A preset to fill in has fifteen lines."""
    text = preset.read_text(encoding="utf-8")
    config = merged(text)
    own = yaml.safe_load(text).get("models", {})
    config["run"]["models"] = sorted({*config["run"]["models"], *own})
    validated(config)
    if preset.stem.startswith("own_"):
        lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
        assert len(lines) <= 15 and max(map(len, text.splitlines())) <= 120


def test_own_questions_are_asked_without_the_papers_ablations() -> None:
    """As if each of them had been left out, and the source named, in the file."""
    preset = (ROOT / "presets/own_questions.yaml").read_text(encoding="utf-8")
    written = yaml.safe_load(preset)
    absent = {key: [] for key in ("query_aware", "random_order", "random_distractors")}
    written["benchmarks"]["lost_in_the_middle"] |= {"source": "constructed", **absent}
    assert effective_config(given(validated(merged(preset)))) == effective_config(
        given(validated(layered(DEFAULT, [written])))
    )


@pytest.mark.parametrize("benchmark", names())
def test_a_papers_preset_inherits_nothing_of_the_demos_size(benchmark: str) -> None:
    """The demo asks a part of the languages and lengths, which no paper's run may get from it."""
    preset = yaml.safe_load((ROOT / f"presets/{benchmark}.yaml").read_text(encoding="utf-8"))
    plan = import_module(f"needlework.benchmarks.{benchmark}.plan")
    asked = []
    for base in (DEFAULT, DEFAULT | {"benchmarks": {}}):
        config = validated(layered(base, [preset]))
        lengths = lengths_of(given(config), config["run"]["models"][0], benchmark)
        own = RuleInputs(config).prompts.settings(benchmark)
        asked.append({name: plan.settings(own, name, lengths) for name in plan.slices(own)})
    assert asked[0] == asked[1] != {}


@pytest.mark.slow
@pytest.mark.parametrize("preset", PLANNED, ids=lambda path: path.stem)
def test_a_dry_run_of_a_preset_answers_within_seconds(preset: Path, tmp_path: Path) -> None:
    """Counted in processor time, which other tests beside this one do not change."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    checkups = ["--", "checkups"] if preset.stem == "doctor_smollm2" else []
    jobs = Workflow(ROOT, tmp_path).would_run("--configfile", str(preset), *checkups, lacking=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if checkups:
        # Lost in the Middle's answers are scored as they are: none is translated.
        assert jobs["score_doctor"] == 8 and "translate_doctor" not in jobs
    else:
        models = merged(preset.read_text("utf-8"))["run"]["models"]
        assert jobs["generate_answers"] >= len(models)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 15


@pytest.mark.slow
def test_a_dry_run_is_short_and_lists_jobs_if_asked(tmp_path: Path) -> None:
    workflow = Workflow(ROOT, tmp_path)
    short = workflow.run("--dry-run").stdout
    assert len(short.splitlines()) < 60 and max(map(len, short.splitlines())) <= 80
    assert "total " in short
    listed = workflow.run("--dry-run", "--quiet", "host", "--", "mlongrr_construction")
    assert "reason: " in listed.stdout.lower()


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", preset_runs.BESIDE)
def test_a_run_of_its_own_is_planned_beside_its_preset(benchmark: str, tmp_path: Path) -> None:
    """As docs/fidelity.md shows it."""
    file = tmp_path / "own.yaml"
    file.write_text(preset_runs.BESIDE[benchmark], "utf-8")
    files = ["--configfile", str(ROOT / f"presets/{benchmark}.yaml"), str(file)]
    jobs = Workflow(ROOT, tmp_path).would_run(*files, "--", "mlongrr_construction")
    assert "mlongrr_numbers_of_instances" in jobs and "generate_answers" not in jobs


@pytest.mark.slow
def test_m4les_figure_6_is_planned_with_its_refusals_keys(tmp_path: Path, mirror: Path) -> None:
    preset = ["--configfile", str(ROOT / "presets/m4le.yaml")]
    workflow = Workflow(ROOT, tmp_path)
    refused = workflow.run(*preset, "--dry-run", "--", "m4le_figure6", check=False)
    keys = dict(re.findall(r"`benchmarks\.m4le\.(\w+): ([^`]*)`", refused.stdout + refused.stderr))
    assert set(keys) == {"source", "folder", "positions"}
    own = {key: yaml.safe_load(value) for key, value in keys.items()}
    # The mirror has the sources of some tasks.
    own |= {"folder": str(mirror / "m4le/raw_data"), "skip_missing": True, "lengths": [1000]}
    file = tmp_path / "own.yaml"
    file.write_text(yaml.safe_dump({"benchmarks": {"m4le": own}}), "utf-8")
    jobs = workflow.would_run(*preset, str(file), "--", "m4le_figure6", lacking=True)
    assert jobs["generate_answers"] == 10


# What docs/models.md shows


SHOWN = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text("utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("shown", SHOWN, ids=lambda text: "-".join(yaml.safe_load(text)["models"]))
def test_a_model_that_is_shown_is_right(shown: str) -> None:
    config = merged(shown)
    assert config["run"]["models"] == list(yaml.safe_load(shown)["models"])
    full = validated(config)
    assert all(lengths_of(given(full), name, "mlneedle") for name in config["run"]["models"])
    if "backend: transformers" in shown:
        # How positions are scaled, which stands in the text.
        scaled = re.findall(r"`(?:rope_scaling: )?(\{rope_type: [^`]*\})`", PAGE.read_text("utf-8"))
        assert len(scaled) == 2
        for value in scaled:
            config["models"]["flan-t5-xxl"]["rope_scaling"] = yaml.safe_load(value)
            validated(config)


def test_an_example_of_every_backend_is_shown() -> None:
    models = [model for text in SHOWN for model in yaml.safe_load(text)["models"].values()]
    assert {model["backend"] for model in models} == {
        *("vllm", "openvino", "openai", "inspect", "transformers")
    }
    providers = {m["name"].partition("/")[0] for m in models if m["backend"] == "inspect"}
    assert providers == {
        *("anthropic", "google", "bedrock", "azureai", "mistral", "openrouter", "ollama", "openai")
    }
    # OpenAI's own endpoint, and a server of one's own.
    assert {bool(m.get("base_url")) for m in models if m["backend"] == "openai"} == {True, False}
    # What the page is there to explain.
    keys = {key for model in models for key in (*model, *model.get("engine", {}))}
    assert keys >= {
        *("revision", "chat", "chat_template", "lengths", "lora", "tensor_parallel_size"),
        *("hf_overrides", "request", "published", "price", "throughput"),
    }


def test_presets_ask_closed_models_through_their_own_providers() -> None:
    """OpenAI's own protocol is that of `openai`; the weights of DeepSeek-R1 are public."""
    own = [yaml.safe_load(preset.read_text("utf-8")).get("models", {}) for preset in PRESETS]
    models = [model for models in own for model in models.values()]
    asked = {m["name"]: m for m in models if m.get("backend") in ("openai", "inspect")}
    elsewhere = {name for name, m in asked.items() if m["backend"] == "openai" and "base_url" in m}
    assert elsewhere == {"accounts/fireworks/models/deepseek-r1"}
    provided = {name.partition("/")[0] for name, m in asked.items() if m["backend"] == "inspect"}
    assert provided == {"anthropic", "google"}


def test_deployed_copies_get_the_default_configuration():
    """Snakedeploy copies `config/` alone."""
    deployed, default = ROOT / "config/config.yaml", ROOT / "config.yaml"
    assert not deployed.is_symlink()
    assert deployed.read_bytes() == default.read_bytes()
