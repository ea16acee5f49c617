"""M4LE through Snakemake: the embedded sample, and released rows from a mirror."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import yaml

from needlework.benchmarks.m4le.data.tasks import SAMPLED
from needlework.prompts.spans import Documents, render
from runs import ROOT, Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo")]

MODELS = ("oracle", "empty")


def test_the_sample_runs_from_texts_to_scores(demo: Workflow) -> None:
    for model, value in zip(MODELS, (1.0, 0.0), strict=True):
        scores = pq.read_table(demo.result(f"scores/{model}/m4le.parquet"))
        paper = scores.filter(pc.equal(scores["metric"], "paper"))
        assert set(paper["task"].to_pylist()) == set(SAMPLED)
        assert set(paper["value"].to_pylist()) == {value}


def test_prompts_are_spans_of_their_rows(demo: Workflow) -> None:
    rows = pq.read_table(demo.result("corpora/m4le_sample/sample.parquet"))
    documents = Documents()
    documents.add("m4le_sample/sample", rows)
    instances = pq.read_table(demo.result("instances/m4le/words/sample.parquet"))
    alone = pc.and_(pc.equal(instances["length"], 0), pc.equal(instances["candidates"], 0))
    assert pc.sum(alone).as_py() > 10
    instances = instances.filter(pc.invert(alone))
    texts = [render(spans, documents) for spans in instances["prompt"].to_pylist()]
    assert texts == rows["text"].to_pylist()


def test_released_rows_come_through_the_mirror(tmp_path: Path, mirror: Path) -> None:
    own = {"source": "released", "lengths": [1000, 2000], "tasks": ["c3", "dureader"]}
    models = {"models": list(MODELS), "benchmarks": ["m4le"]}
    config = {"run": models, "mirror": str(mirror), "benchmarks": {"m4le": own}}
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    workflow = Workflow(ROOT, tmp_path / "run")
    workflow.run("--configfile", str(path), "--", "results/scores/oracle/m4le.parquet")
    scores = pq.read_table(workflow.result("scores/oracle/m4le.parquet"))
    assert {
        row["metric"]: row["value"] for row in scores.to_pylist() if row["task"] == "dureader"
    } == {
        **{"paper": 1.0, "released": 0.0},
        **{"rouge_lsum": pytest.approx(1.0), "chrf": pytest.approx(1.0)},
    }
