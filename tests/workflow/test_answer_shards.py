"""A model's requests in several jobs: the answers and their scores, of which all else is made, stay."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from runs import Workflow, copy_workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo")]

# One without documents of its own and one with.
BENCHMARKS = ("m4le", "mlongrr")


def contents(workflow: Workflow) -> dict[str, bytes]:
    """The answers and the scores, by name."""
    folder = workflow.result("")
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for kind in ("generations", "scores")
        for file in (folder / kind).rglob("*.*")
        if file.is_file()
    }


def test_shards_of_a_models_answers_change_nothing(demo: Workflow, tmp_path: Path) -> None:
    """Nothing is in the journal, so that each shard answers its own part."""
    shards = Workflow(copy_workflow(tmp_path / "shards"), tmp_path / "shards")
    for name in ("results", ".snakemake"):
        shutil.copytree(demo.directory / name, shards.directory / name, symlinks=True)
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump({"models": {"lexical": {"shards": 3}}}))
    before = contents(shards)
    scores = [f"results/scores/lexical/{benchmark}.parquet" for benchmark in BENCHMARKS]
    arguments = ["--configfile", str(config), "--", *scores]
    shards.run(*arguments)
    after = contents(shards)
    parts = {
        f"generations/lexical/{benchmark}.{i}-of-3.parquet"
        for benchmark in BENCHMARKS
        for i in range(3)
    }
    assert after.keys() == before.keys() | parts
    assert [name for name in before if after[name] != before[name]] == []
    (journal,) = (shards.directory / "journal/generations").glob("lexical@*")
    assert len(list(journal.glob("*.jsonl"))) == len(parts), "a shard that asked nothing"
    assert shards.would_run(*arguments) == {}
