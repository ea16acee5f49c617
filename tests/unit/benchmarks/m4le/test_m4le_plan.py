"""What M4LE's runs consist of, and its published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from factories import ROOT
from factories.m4le import configured
from needlework.benchmarks.m4le import plan
from needlework.benchmarks.m4le.data.tasks import ABILITIES, CONSTRUCTED, SAMPLED, SLUGS, TASKS
from needlework.errors import UserError
from needlework.given import given
from needlework.planning.notices import notices
from needlework.planning.rule_inputs import RuleInputs
from needlework.results import published


def block(seed: int = 0, **own: Any) -> Any:
    """M4LE's block, with the schema's defaults and a run's seed."""
    return given(configured(**own)["benchmarks"]["m4le"] | {"seed": seed})


# The table of tasks and the published numbers


@pytest.fixture(scope="module")
def numbers() -> pd.DataFrame:
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
    assert {task.ability for task in found} == set(ABILITIES)
    assert len(SLUGS) == len(CONSTRUCTED)
    assert all(slug.isascii() and slug.isalnum() and slug.islower() for slug in SLUGS)


def test_every_published_number_is_there(numbers) -> None:
    assert len(numbers) == 2378
    assert set(numbers["source"]) == {"paper", "repository"}


# The plan


def test_released_runs_have_a_slice_a_task_and_samples_one() -> None:
    own = block()
    assert plan.slices(own) == [task.slug for task in TASKS.values()]
    assert plan.corpus(own) == "m4le_2024" and plan.corpus(block(release="2023")) == "m4le_2023"
    slice_settings = plan.settings(own, "c3", [2000, 1000])
    assert plan.reads(slice_settings) == {"rows": [("m4le_2024", "c3")]}
    assert slice_settings["lengths"] == [1000, 2000]
    assert slice_settings["max_new_tokens"] == {"c3": None}
    sample = block(source="sample")
    assert plan.slices(sample) == ["sample"]
    assert sorted(plan.settings(sample, "sample", [500])["max_new_tokens"]) == sorted(SAMPLED)
    for source in ("released", "sample"):
        files = RuleInputs(configured(source=source))
        for corpus, lang in plan.quotes(files.prompts.settings("m4le"))[:3]:
            assert files.corpora.sources(corpus, lang)[0].endswith("resources/m4le/frames.yaml")


def test_answers_limits_are_by_task_type() -> None:
    own = block(max_new_tokens="types")
    assert plan.settings(own, "duorc", [1000])["max_new_tokens"] == {"duorc": plan.LIMITS["QA"]}
    assert plan.settings(own, "wow", [1000])["max_new_tokens"] == {"wow": plan.LIMITS["RET"]}
    assert set(plan.LIMITS) == {task.task_type for task in TASKS.values()}


def test_rows_depend_on_the_seed_and_places_only_if_drawn() -> None:
    def settings(**own: Any) -> dict[str, Any]:
        return plan.corpus_settings(block(**own), "sample" if "source" in own else "c3")

    assert settings(seed=0) == settings(seed=1) == settings(positions={"places": 3})
    drawn = settings(source="sample")
    assert drawn != settings(source="sample", seed=1) and "positions" not in drawn
    found = settings(source="sample", positions={"places": 3})
    assert found["positions"] == {"places": 3, "candidates": 20, "examples": 100}


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
        configured(**own)


def test_missing_sources_are_named_or_skipped_by_name(tmp_path: Path) -> None:
    path = tmp_path / "qa/c3/c3-m-test.json"
    path.parent.mkdir(parents=True)
    path.write_text("[]", encoding="utf-8")
    own = {"source": "constructed", "folder": str(tmp_path)}
    with pytest.raises(UserError) as found:
        configured(**own)
    of_file = ("MNDS News", "zenodo", "CC-BY-4.0", "MN-DS-news-classification.csv")
    assert all(part in str(found.value) for part in (*of_file, "skip_missing"))
    own["skip_missing"] = True
    every = configured(**own)
    assert plan.slices(given(every["benchmarks"]["m4le"])) == ["c3"]
    assert RuleInputs(every).corpora.sources("m4le_constructed", "c3")[1:] == [str(path)]
    assert "38 of 39 tasks are left out" in notices(given(every))[0]
    listed = configured(**own, tasks=["c3", "wow"])
    assert plan.slices(given(listed["benchmarks"]["m4le"])) == ["c3"]
    assert notices(given(listed)) == [
        f"benchmarks.m4le: 1 of 2 tasks are left out, since {tmp_path} lacks their sources: wow."
    ]
    assert notices(given(configured(**own, tasks=["c3"]))) == []
    with pytest.raises(UserError, match="has no files of any task"):
        configured(**own, tasks=["wow"])
