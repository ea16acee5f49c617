"""Any number of shards gives the same files, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from runs import ROOT, SMALL_MLNEEDLE, Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("shards")]


def files_of(folder: Path, shards: int) -> dict[str, bytes]:
    """The distractors, instances and answers of a run whose searches and model are cut so."""
    config = {
        "run": {"models": ["lexical"], "benchmarks": ["mlneedle"]},
        "retrieval": {"shards": shards},
        "models": {"lexical": {"shards": shards}},
        "benchmarks": {"mlneedle": SMALL_MLNEEDLE},
    }
    folder.mkdir()
    (folder / "mine.yaml").write_text(yaml.safe_dump(config))
    workflow = Workflow(ROOT, folder)
    target = "results/scores/lexical/mlneedle.parquet"
    workflow.run("--configfile", str(folder / "mine.yaml"), "--", target)
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for kind in ("distractors", "instances", "generations", "scores")
        for path in sorted(workflow.result(kind).rglob("*.parquet"))
        if "-of-" not in path.name
    }


def test_shards_change_no_byte_of_any_file(tmp_path: Path) -> None:
    one, three = (files_of(tmp_path / str(shards), shards) for shards in (1, 3))
    assert one.keys() == three.keys() and len(one) >= 4
    assert [name for name in one if one[name] != three[name]] == []
