"""M4LE through Snakemake: the embedded sample, and released rows from a mirror."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import yaml

from needlework.data.corpora.m4le_data.sampled import SAMPLED
from needlework.prompts.spans import Documents, render
from runs import ROOT, Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("m4le")]

MODELS = ("oracle", "empty")


def _run(folder: Path, **settings: Any) -> tuple[Workflow, Path]:
    config = {"run": {"models": list(MODELS), "benchmarks": ["m4le"]}, **settings}
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    workflow = Workflow(ROOT, folder / "run")
    workflow.run("--configfile", str(path))
    return workflow, path


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workflow, Path]:
    """The sample's run and its configuration."""
    return _run(tmp_path_factory.mktemp("m4le"))


def test_the_sample_runs_from_texts_to_scores(sampled: tuple[Workflow, Path]) -> None:
    workflow, _ = sampled
    for model, value in zip(MODELS, (1.0, 0.0), strict=True):
        scores = pq.read_table(workflow.result(f"scores/{model}/m4le.parquet"))
        paper = scores.filter(pc.equal(scores["metric"], "paper"))
        assert set(paper["task"].to_pylist()) == set(SAMPLED)
        assert set(paper["value"].to_pylist()) == {value}


def test_prompts_are_spans_of_their_rows(sampled: tuple[Workflow, Path]) -> None:
    workflow, _ = sampled
    rows = pq.read_table(workflow.result("corpora/m4le_sample/sample.parquet"))
    documents = Documents()
    documents.add("m4le_sample/sample", rows)
    instances = pq.read_table(workflow.result("instances/m4le/words/sample.parquet"))
    alone = pc.and_(pc.equal(instances["length"], 0), pc.equal(instances["candidates"], 0))
    assert pc.sum(alone).as_py() > 10
    instances = instances.filter(pc.invert(alone))
    texts = [render(spans, documents) for spans in instances["prompt"].to_pylist()]
    assert texts == rows["text"].to_pylist()


def test_a_second_run_has_nothing_to_do(sampled: tuple[Workflow, Path]) -> None:
    workflow, path = sampled
    assert not workflow.would_run("--configfile", str(path))


def test_released_rows_come_through_the_mirror(tmp_path: Path, mirror: Path) -> None:
    own = {"source": "released", "lengths": [1000, 2000], "tasks": ["c3", "dureader"]}
    workflow, _ = _run(tmp_path, mirror=str(mirror), benchmarks={"m4le": own})
    scores = pq.read_table(workflow.result("scores/oracle/m4le.parquet"))
    assert {
        row["metric"]: row["value"] for row in scores.to_pylist() if row["task"] == "dureader"
    } == {
        **{"paper": 1.0, "released": 0.0},
        **{"rouge_lsum": pytest.approx(1.0), "chrf": pytest.approx(1.0)},
    }
