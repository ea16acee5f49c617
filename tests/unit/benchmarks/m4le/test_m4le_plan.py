"""What M4LE's runs consist of, and its published numbers."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from needlework.benchmarks.m4le import plan
from needlework.benchmarks.m4le.data.tasks import (
    ABILITIES,
    CONSTRUCTED,
    SAMPLED,
    SLUGS,
    TASKS,
)
from needlework.errors import UserError
from needlework.planning.config import notices, validated
from needlework.planning.layout import Layout
from needlework.results import published

ROOT = Path(__file__).resolve().parents[4]
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))


def configured(**own: Any) -> dict[str, Any]:
    """The default configuration with M4LE's block replaced."""
    config = copy.deepcopy(CONFIG)
    config["run"]["benchmarks"] = ["m4le"]
    config["benchmarks"]["m4le"] = own
    return config


def block(seed: int = 0, **own: Any) -> dict[str, Any]:
    """M4LE's block, with the schema's defaults and a run's seed."""
    return validated(configured(**own))["benchmarks"]["m4le"] | {"seed": seed}


# The table of tasks


@pytest.fixture(scope="module")
def numbers():
    return published.load(ROOT / "resources/published/m4le.csv")


_METRICS = {"Acc": {"accuracy", "match"}, "F1": {"f1"}, "Rouge-L": {"rouge"}, "BLEU": {"bleu"}}


def test_the_tasks_are_those_of_table_2(numbers) -> None:
    """Every row of the paper's Table 2 has a task or the two directions of one, with its facts."""
    rows = numbers[numbers["table"] == "table2"]
    assert len(rows) == 36
    found = []
    for row in rows.itertuples():
        ability, source, kind = row.row.split("/")
        lang, domain, metric = row.note.split("; ")
        own = [
            task
            for task in TASKS.values()
            if (task.source, task.task_type.replace("+", " + ")) == (source, kind)
            and task.ability == ability.lower().replace(" ", "_")
        ]
        assert 1 <= len(own) <= 2, row.row
        for task in own:
            assert task.lang == lang.lower().replace("/", ",")
            assert task.domain == {"tedtalks": "talks"}.get(domain.lower(), domain.lower())
            assert task.metric in _METRICS[metric]
        found += own
    assert len(found) == len(TASKS) == 39


def test_slugs_are_names_of_their_own() -> None:
    assert len(SLUGS) == len(CONSTRUCTED)
    assert all(slug.isascii() and slug.isalnum() and slug.islower() for slug in SLUGS)


# The published numbers


def test_every_published_number_is_there(numbers) -> None:
    assert len(numbers) == 2378
    assert set(numbers["source"]) == {"paper", "repository"}


# The plan


def test_released_runs_have_a_slice_a_task() -> None:
    own = block()
    assert plan.slices(own) == [task.slug for task in TASKS.values()]
    assert plan.corpus(own) == "m4le_2024"
    assert plan.corpus(block(release="2023")) == "m4le_2023"
    slice_settings = plan.settings(own, "c3", [2000, 1000])
    assert plan.reads(slice_settings) == {"rows": [("m4le_2024", "c3")]}
    assert slice_settings["lengths"] == [1000, 2000]
    assert slice_settings["max_new_tokens"] == {"c3": None}


def test_the_sample_is_one_slice() -> None:
    own = block(source="sample")
    assert plan.slices(own) == ["sample"]
    assert sorted(plan.settings(own, "sample", [500])["max_new_tokens"]) == sorted(SAMPLED)


def test_answers_limits_are_by_task_type() -> None:
    own = block(max_new_tokens="types")
    assert plan.settings(own, "duorc", [1000])["max_new_tokens"] == {"duorc": plan.LIMITS["QA"]}
    assert plan.settings(own, "wow", [1000])["max_new_tokens"] == {"wow": plan.LIMITS["RET"]}
    assert set(plan.LIMITS) == {task.task_type for task in TASKS.values()}


def test_a_seed_changes_no_released_row() -> None:
    first, other = (plan.corpus_settings(block(seed=seed), "c3") for seed in (0, 1))
    assert first == other
    drawn = [plan.corpus_settings(block(source="sample", seed=seed), "sample") for seed in (0, 1)]
    assert drawn[0] != drawn[1]


def test_a_study_of_places_is_a_setting_of_the_rows() -> None:
    assert "positions" not in plan.corpus_settings(block(source="sample"), "sample")
    found = plan.corpus_settings(block(source="sample", positions={"places": 3}), "sample")
    assert found["positions"] == {"places": 3, "candidates": 20, "examples": 100}
    assert "positions" not in plan.corpus_settings(block(positions={"places": 3}), "c3")


def test_abilities_are_the_papers_five() -> None:
    assert {task.ability for task in TASKS.values()} == set(ABILITIES)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"tasks": ["c4"]}, "tasks has 'c4'"),
        ({"source": "sample", "tasks": ["cepsum"]}, "tasks has 'cepsum'"),
        ({"lengths": [1500]}, "lengths has 1500, but the release of 2024"),
        ({"release": "2023", "lengths": [64000]}, "lengths has 64000, but the release of 2023"),
        ({"source": "constructed"}, "folder is missing"),
        ({"source": "constructed", "folder": "/nowhere"}, "is not a folder"),
        ({"reference": "gpt"}, "neither `published` nor one of"),
        ({"reference": "lexical", "lengths": [2000]}, "lengths lacks 1000, where scores of"),
    ],
)
def test_a_wrong_configuration_is_one_sentence(own: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        validated(configured(**own))


def test_a_missing_source_is_named_with_its_licence_and_place(tmp_path: Path) -> None:
    (tmp_path / "qa/c3").mkdir(parents=True)
    (tmp_path / "qa/c3/c3-m-test.json").write_text("[]", encoding="utf-8")
    own = {"source": "constructed", "folder": str(tmp_path)}
    with pytest.raises(UserError) as found:
        validated(configured(**own))
    for part in (
        "MNDS News",
        "zenodo",
        "CC-BY-4.0",
        "MN-DS-news-classification.csv",
        "skip_missing",
    ):
        assert part in str(found.value)
    there = validated(configured(**own, skip_missing=True))
    assert plan.slices(there["benchmarks"]["m4le"]) == ["c3"]
    files = Layout(there).corpus_sources("m4le_constructed", "c3")
    assert files[1:] == [str(tmp_path / "qa/c3/c3-m-test.json")]


def test_skipped_tasks_are_named_whether_listed_or_not(tmp_path: Path) -> None:
    (tmp_path / "qa/c3").mkdir(parents=True)
    (tmp_path / "qa/c3/c3-m-test.json").write_text("[]", encoding="utf-8")
    own = {"source": "constructed", "folder": str(tmp_path), "skip_missing": True}
    every = validated(configured(**own))
    assert "38 of 39 tasks are left out" in notices(every)[0]
    listed = validated(configured(**own, tasks=["c3", "wow"]))
    assert plan.slices(listed["benchmarks"]["m4le"]) == ["c3"]
    assert notices(listed) == [
        f"benchmarks.m4le: 1 of 2 tasks are left out, since {tmp_path} lacks their sources: wow."
    ]
    assert notices(validated(configured(**own, tasks=["c3"]))) == []
    with pytest.raises(UserError, match="has no files of any task"):
        validated(configured(**own, tasks=["wow"]))


def test_frames_are_an_input_of_every_table() -> None:
    for source in ("released", "sample"):
        files = Layout(validated(configured(source=source)))
        own = files.settings("m4le")
        for corpus, lang in plan.quotes(own)[:3]:
            assert files.corpus_sources(corpus, lang)[0].endswith("resources/m4le/frames.yaml")
