"""Prompts go out, another program answers them, and its answers are scored as any model's."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

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


def written(folder: Path, config: dict) -> list[str]:
    """The arguments that name a configuration."""
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return ["--configfile", str(path)]


def test_answers_to_exported_prompts_are_taken_back(tmp_path) -> None:
    """With the references for answers, every score is 1.0; with one of them wrong, one is not."""
    workflow = Workflow(ROOT, tmp_path / "run")
    workflow.run("export", *written(tmp_path, CONFIG))
    names = ["en-en", "en-none", "hi-en", "hi-none"]
    folder = workflow.result("export/mlneedle/words")
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        f"{name}.{ending}" for name in names for ending in ("jsonl", "parquet")
    )

    # Another program: it knows the file, and nothing of needlework.
    answers = tmp_path / "answers.jsonl"
    with answers.open("w", encoding="utf-8") as out:
        for path in sorted(folder.glob("*.jsonl")):
            for line in path.open(encoding="utf-8"):
                row = json.loads(line)
                assert row["messages"][0]["role"] == "user"
                # Only closed-book prompts have no passage that could hold the answer.
                shown = row["references"][0] in row["messages"][0]["content"]
                assert shown or row["task"] != "exact" or row["needle_lang"] == "hi"
                answer = {"instance_id": row["instance_id"], "text": row["references"][0]}
                out.write(json.dumps(answer) + "\n")
    prompts = sum(len(path.read_bytes().splitlines()) for path in folder.glob("*.jsonl"))
    assert prompts == sum(pq.read_metadata(path).num_rows for path in folder.glob("*.parquet"))

    replay = CONFIG | {
        "run": {"models": ["other"], "benchmarks": ["mlneedle"]},
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
    target = "results/scores/other/mlneedle.parquet"
    workflow.run(target, *arguments)
    scores = pq.read_table(workflow.directory / target)
    assert scores.num_rows == prompts > 250
    assert set(scores["value"].to_pylist()) == {1.0}

    lines = answers.read_text(encoding="utf-8").splitlines()
    wrong = json.loads(lines[7]) | {"text": "wrong"}
    answers.write_text("\n".join([*lines[:7], json.dumps(wrong), *lines[8:]]), encoding="utf-8")
    workflow.run(target, *arguments)
    assert pq.read_table(workflow.directory / target)["value"].to_pylist().count(0.0) == 1


def test_an_estimate_is_printed_every_time(tmp_path) -> None:
    workflow = Workflow(ROOT, tmp_path / "run")
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
    lines = {line.split()[0]: line.split() for line in first.splitlines() if line.strip()}
    assert lines["paid"][1] == "mlneedle" and lines["paid"][2] == lines["paid"][3]
    assert float(lines["paid"][-1]) > 0, "a cost"
    assert lines["lexical"][-1] == "-"

    workflow.run("results/generations/lexical/mlneedle.parquet", *arguments)
    second = workflow.run("estimate", *arguments).stdout
    lines = {line.split()[0]: line.split() for line in second.splitlines() if line.strip()}
    assert lines["lexical"][2:4] == [lines["paid"][2], "0"]
    assert lines["paid"][2] == lines["paid"][3]
