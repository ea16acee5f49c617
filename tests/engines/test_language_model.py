"""What SmolLM2 answers in the main job on the embedded sample."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from runs import Workflow, copy_workflow, finished_demo
from smollm2 import smollm2

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("openvino")]


def selected(workflow: Workflow, benchmark: str, prefix: str) -> int:
    """How many examples of a benchmark, by the beginning of their ids, the model is asked."""
    config = yaml.safe_load((workflow.root / "config.yaml").read_text(encoding="utf-8"))
    ids = config["models"]["smollm2"]["only"][benchmark]["example_id"]
    return sum(name.startswith(prefix) for name in ids)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """The checkout's run, or a new one of this model."""
    smollm2()
    found = finished_demo(tmp_path_factory.mktemp("demo"))
    if found is None:
        folder = tmp_path_factory.mktemp("demo")
        found = Workflow(copy_workflow(folder), folder)
        found.run("--config", "run={models: [smollm2]}")
    return found


def scores(asked: Workflow, benchmark: str) -> pd.DataFrame:
    return pq.read_table(asked.result(f"scores/smollm2/{benchmark}.parquet")).to_pandas()


def test_it_answers_what_was_selected(asked: Workflow) -> None:
    needles = scores(asked, "mlneedle")
    assert (needles["metric"].value_counts() == selected(asked, "mlneedle", "") * 3).all()
    assert set(needles["needle_lang"]) == {"en"} == set(needles["haystack_lang"])
    answers = scores(asked, "lost_in_the_middle").query("metric != 'careful'")
    documents = answers.query("task == 'multi_document_qa'")
    assert set(documents["gold_index"]) == {0, 4, 9} and set(documents["n_documents"]) == {10}
    assert len(documents) == 3 * selected(asked, "lost_in_the_middle", "english")
    assert not documents["finish_reason"].isin(["error", "skipped"]).any()
    assert len(answers.query("task == 'key_value'")) == 3 * selected(
        asked, "lost_in_the_middle", "10-"
    )
    assert all(scores(asked, name).empty for name in ("oneruler", "mlongrr", "m4le"))
    # It reads: more than the questions that could be guessed.
    assert documents["value"].mean() > 0.1


def test_provenance_says_how_it_answered(asked: Workflow) -> None:
    made = json.loads(asked.result("provenance.json").read_text(encoding="utf-8"))
    settings = made["models"]["smollm2"]["benchmarks"]["lost_in_the_middle"]["ran_on"][0]["engine"]
    assert settings["EXECUTION_MODE_HINT"] == "ACCURACY"
    only = made["configuration"]["models"]["smollm2"]["only"]
    assert only["lost_in_the_middle"]["lang"] == ["en"]
