"""`snakemake repeatability` with a real model, on a benchmark whose scores need more than answers."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml

from runs import ROOT, Workflow
from smollm2 import smollm2

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("openvino")]


def test_greedy_answers_alone_repeat(tmp_path: Path) -> None:
    smollm2()
    only = {
        "m4le": {"lang": ["en"], "task": ["triviaqa"], "length": [500]},
        "oneruler": {"task": []},
    }
    config = {
        "run": {"models": ["smollm2"], "benchmarks": ["m4le", "oneruler"]},
        "models": {"smollm2": {"only": only}},
        "repeatability": {"prompts": 1},
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    workflow = Workflow(ROOT, tmp_path / "run")
    workflow.run("--configfile", str(tmp_path / "config.yaml"), "--", "repeatability")
    table = pd.read_csv(workflow.result("tables/repeatability.csv")).set_index("condition")
    own = table[table["benchmark"] == "m4le"]
    assert {"same again", "reverse order", "second pass, warm", "no prefix cache"} <= set(own.index)
    assert (own["n"] == 1).all() and own["scores_ci_high_independent"].notna().all()
    assert own.loc[["same again", "reverse order"], "answers_changed"].sum() == 0
    # A benchmark of which the model is asked nothing.
    assert (table.loc[table["benchmark"] == "oneruler", "n"] == 0).all()
