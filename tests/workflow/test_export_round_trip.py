"""Prompts go out, another program answers them, and its answers are scored as any model's."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from needlework.journal import Journal
from runs import ROOT, Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("export")]

CONFIG = {
    "run": {"models": ["oracle"], "benchmarks": ["mlneedle"]},
    "benchmarks": {
        "mlneedle": {
            "needle_languages": ["en", "hi"],
            "haystack_languages": ["en"],
            "lengths": [512],
        }
    },
}


# What this adds is another benchmark, whose answers stand in the same file.
BOTH = CONFIG | {
    "run": {"models": ["oracle"], "benchmarks": ["mlneedle", "oneruler"]},
    "benchmarks": CONFIG["benchmarks"]
    | {
        "oneruler": {
            "languages": ["en"],
            "cross_lingual": [],
            "lengths": [1000],
            "examples": 1,
            "none_option": [True],
        }
    },
}


def written(folder: Path, config: dict) -> list[str]:
    """The arguments that name a configuration."""
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return ["--configfile", str(path)]


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    """The folder of a run that has exported all prompts."""
    folder = tmp_path_factory.mktemp("exported")
    Workflow(ROOT, folder / "run").run("export", *written(folder, BOTH))
    return folder / "run"


@pytest.fixture
def workflow(exported, tmp_path) -> Workflow:
    """A copy of that run."""
    return Workflow(ROOT, shutil.copytree(exported, tmp_path / "run", symlinks=True))


def test_answers_to_exported_prompts_are_taken_back(workflow, tmp_path) -> None:
    """With the references for answers, every score is 1.0; with one of them wrong, one is not."""
    names = ["en-en", "en-none", "hi-en", "hi-none"]
    folder = workflow.result("export/mlneedle/words")
    prompts_ = [f"{name}.{ending}" for name in names for ending in ("jsonl", "parquet")]
    tasks = ["inspect_task.py", "lm_eval"]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*prompts_, *tasks])

    # Another program: it knows the files, and nothing of needlework.
    answers = tmp_path / "answers.jsonl"
    prompts = Counter()
    with answers.open("w", encoding="utf-8") as out:
        for path in sorted(workflow.result("export").glob("*/words/*.jsonl")):
            rows = [json.loads(line) for line in path.open(encoding="utf-8")]
            assert pq.read_metadata(path.with_suffix(".parquet")).num_rows == len(rows)
            for row in rows:
                assert row["messages"][0]["role"] == "user"
                # Only closed-book prompts have no passage that could hold the answer.
                shown = row["references"][0] in row["messages"][0]["content"]
                assert shown or row["task"] != "exact" or row["needle_lang"] == "hi"
                # A task may ask for all of them.
                answer = {"instance_id": row["instance_id"], "text": ", ".join(row["references"])}
                out.write(json.dumps(answer) + "\n")
                prompts[row["benchmark"]] += 1
    assert prompts.keys() == {"mlneedle", "oneruler"}

    replay = BOTH | {
        "run": {"models": ["other"], "benchmarks": ["mlneedle", "oneruler"]},
        "models": {
            "other": {
                "backend": "replay",
                "answers": str(answers),
                "tokenizer": "words",
                "context": 131072,
            }
        },
    }
    arguments = written(tmp_path, replay)
    targets = {name: f"results/scores/other/{name}.parquet" for name in prompts}
    workflow.run(*targets.values(), *arguments)
    for benchmark, target in targets.items():
        scores = pq.read_table(workflow.directory / target)
        assert len(set(scores["instance_id"].to_pylist())) == prompts[benchmark]
        assert set(scores["value"].to_pylist()) == {1.0}
    assert prompts["mlneedle"] > 250 and prompts["oneruler"] > 3

    lines = answers.read_text(encoding="utf-8").splitlines()
    wrong = json.loads(lines[7]) | {"text": "wrong"}
    answers.write_text("\n".join([*lines[:7], json.dumps(wrong), *lines[8:]]), encoding="utf-8")
    workflow.run(*targets.values(), *arguments)
    for benchmark, target in targets.items():
        scores = pq.read_table(workflow.directory / target).to_pylist()
        # By each metric.
        lost = {row["instance_id"] for row in scores if row["value"] == 0}
        assert lost == ({wrong["instance_id"]} if benchmark == "mlneedle" else set())


def test_an_estimate_is_printed_every_time(workflow, tmp_path) -> None:
    config = CONFIG | {
        "run": {"models": ["lexical", "paid"], "benchmarks": ["mlneedle"]},
        "models": {
            "paid": {
                "backend": "openai",
                "name": "some-model",
                "key_env": None,
                "tokenizer": "words",
                "context": 131072,
                "price": {"input": 2, "cached_input": 1, "output": 10},
            }
        },
    }
    arguments = written(tmp_path, config)
    first = workflow.run("estimate", *arguments).stdout
    assert not (workflow.directory / "journal").exists()
    paid, lexical = _estimated(first, "paid"), _estimated(first, "lexical")
    assert paid[0] == "mlneedle"
    assert float(paid[-1]) > 0, "a cost"
    assert lexical[-1] == "-"

    workflow.run("results/generations/lexical/mlneedle.parquet", *arguments)
    second = workflow.run("estimate", *arguments).stdout
    assert _estimated(second, "lexical")[1:3] == [paid[1], "0"]
    assert _estimated(second, "paid")[1:3] == paid[1:3]
    # Equal prompts are sent once.
    (folder,) = (workflow.directory / "journal/generations").iterdir()
    answers = Journal(folder).records()
    sent = len({record["key"] for record in answers})
    assert int(paid[2]) == sent < int(paid[1])


def _estimated(printed: str, model: str) -> list[str]:
    """The cells of the line below a model's name."""
    lines = printed.splitlines()
    return lines[lines.index(model) + 1].split()
