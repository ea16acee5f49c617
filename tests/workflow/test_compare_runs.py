"""Models of one run, and of runs in different folders, are compared on the same prompts."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from runs import Workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo")]

# Each with other factors and metrics; M4LE's depend on the task.
BENCHMARKS = ["mlneedle", "oneruler", "m4le"]


def other_run(demo: Workflow, folder: Path, keep=None) -> str:
    """MLNeedle's scores of the demo as another run's, of the rows that `keep` says."""
    target = folder / "results/scores/lexical"
    target.mkdir(parents=True)
    table = pq.read_table(demo.directory / "results/scores/lexical/mlneedle.parquet")
    pq.write_table(table if keep is None else table.filter(keep), target / "mlneedle.parquet")
    return f"runs={{before: {folder}}}"


PAIRS = (
    *("compare", "--config", "compare=[[lexical,oracle],[oracle,empty]]"),
    f"run={{benchmarks: {BENCHMARKS}}}",
)


@pytest.fixture(scope="module")
def compared(demo) -> Workflow:
    """The demo after a comparison of its models."""
    demo.run(*PAIRS)
    return demo


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_models_of_one_run_are_compared(compared, benchmark) -> None:
    found = sorted(compared.result("comparisons").glob(f"{benchmark}.*"))
    assert [file.suffix for file in found] == [".csv", ".pdf", ".png", ".svg", ".tex", ".txt"]
    rows = pd.read_csv(compared.result(f"comparisons/{benchmark}.csv"))
    overall = rows.query("by == 'all' and first == 'oracle' and second == 'empty'")
    assert (overall["difference"] <= -0.9).all() and (overall["p_holm"] < 0.05).all()
    assert f"empty - oracle = {100 * overall['difference'].iloc[0]:+.1f} points" in (
        compared.result(f"comparisons/{benchmark}.txt").read_text("utf-8")
    )


def test_mlneedle_is_compared_by_its_factors(compared) -> None:
    rows = pd.read_csv(compared.result("comparisons/mlneedle.csv"))
    assert set(rows["by"]) >= {"all", "task", "needle_lang", "length"}


def test_the_answer_is_printed_with_nothing_to_compare_anew(compared) -> None:
    lines = compared.run(*PAIRS).stderr.splitlines()
    own = [line for line in lines if "2 of 2 pairs of models differ" in line]
    assert own and max(map(len, own)) <= 80


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
