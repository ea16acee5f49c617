"""Models of one run, and of runs in different folders, are compared on the same prompts."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from runs import Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo")]


def other_run(demo: Workflow, folder: Path, keep=None) -> str:
    """MLNeedle's scores of the demo as another run's, of the rows that `keep` says."""
    target = folder / "results/scores/lexical"
    target.mkdir(parents=True)
    table = pq.read_table(demo.directory / "results/scores/lexical/mlneedle.parquet")
    pq.write_table(table if keep is None else table.filter(keep), target / "mlneedle.parquet")
    return f"runs={{before: {folder}}}"


def test_models_of_one_run_are_compared(demo) -> None:
    demo.run("mlneedle_comparisons")
    rows = list(csv.DictReader(demo.result("comparisons/mlneedle.csv").open()))
    overall = {
        (row["metric"], row["first"], row["second"]): row for row in rows if row["by"] == "all"
    }
    oracle = overall["containment", "oracle", "empty"]
    assert float(oracle["difference"]) == -1.0
    assert float(oracle["p_holm"]) < 0.05
    assert {row["by"] for row in rows} >= {"all", "task", "needle_lang", "length"}


def test_the_same_run_elsewhere_shows_no_difference(demo, tmp_path) -> None:
    demo.run("mlneedle_comparisons", "--config", other_run(demo, tmp_path))
    rows = list(csv.DictReader(demo.result("comparisons/mlneedle.csv").open()))
    assert {(row["first"], row["second"]) for row in rows} == {("before/lexical", "lexical")}
    assert {float(row["difference"]) for row in rows} == {0.0}
    assert {float(row["p_holm"]) for row in rows} == {1.0}


def test_other_prompts_are_refused_with_what_differs(demo, tmp_path) -> None:
    runs = other_run(demo, tmp_path, keep=pc.field("needle_lang") != "hi")
    failed = demo.run("mlneedle_comparisons", "--config", runs, check=False)
    assert failed.returncode
    assert "were not asked the same prompts of mlneedle" in failed.stderr
    assert "only the second has needle_lang hi" in failed.stderr
