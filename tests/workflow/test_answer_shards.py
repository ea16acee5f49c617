"""A model's requests in several jobs: the answers, and all that is made of them, stay as they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from runs import ROOT, Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo")]


def test_shards_of_a_models_answers_change_nothing(demo: Workflow, tmp_path: Path) -> None:
    """Nothing is in the journal, so that each shard answers its own part."""
    shards = Workflow(ROOT, tmp_path / "shards")
    for name in ("results", ".snakemake"):
        shutil.copytree(demo.directory / name, shards.directory / name, symlinks=True)
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump({"models": {"lexical": {"shards": 3}}}))
    before = {file: file.read_bytes() for file in shards.result("").rglob("*.*") if file.is_file()}
    shards.run("--configfile", str(config))
    folder = shards.result("generations/lexical")
    parts = {folder / f"mlneedle.{i}-of-3.parquet" for i in range(3)}
    after = {file: file.read_bytes() for file in shards.result("").rglob("*.*") if file.is_file()}
    assert after.keys() == before.keys() | parts
    assert [file for file in before if after[file] != before[file]] == []
    assert all(file.stat().st_size > 1000 for file in parts)
    assert len(list((shards.directory / "journal/generations/lexical").iterdir())) == 3
    assert shards.would_run("--configfile", str(config)) == {}
