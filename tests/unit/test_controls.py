"""Controls (`oracle`, `empty`) have rows of their own and are in no mean over models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import golden_runs
from factories import demo_run
from needlework.benchmarks.benchmark import load_benchmark
from needlework.planning.config import validated
from needlework.planning.rule_inputs import RuleInputs
from needlework.results import published
from needlework.results.result import Context
from needlework.results.tabulate import counted_models

# A model of each golden run that the control answers like, but right.
LIKE = {
    "mlneedle": "mistral",
    "lost_in_the_middle": "mpt-instruct",
    "oneruler": "qwen7b",
    "mlongrr": "gpt-4",
    "m4le": "a",
}
RESULTS = [
    (benchmark, result.name)
    for benchmark in LIKE
    for result in load_benchmark(benchmark).results
    if result.needs == "scores"
]


def control(benchmark: str) -> pd.DataFrame:
    scores = golden_runs.scores(benchmark)
    rows = scores[scores["model"] == LIKE[benchmark]]
    return rows.assign(model="oracle", value=1.0, verdict="correct", finish_reason="stop")


def made(benchmark: str, name: str, rows: pd.DataFrame, models: list[str]) -> pd.DataFrame:
    """The numbers of a result; the paper's are left out, as they are for other models."""
    own = {"models": models, "controls": ["oracle"], "published": {}}
    context = Context(published.none(), {**golden_runs.run(benchmark), **own})
    return load_benchmark(benchmark).by_name[name](rows, context)


@pytest.mark.parametrize("benchmark, name", RESULTS)
def test_no_number_but_its_own_counts_a_control(benchmark, name):
    scores, models = golden_runs.scores(benchmark), golden_runs.run(benchmark)["models"]
    alone = made(benchmark, name, scores, models)
    both = pd.concat([scores, control(benchmark)], ignore_index=True)
    table = made(benchmark, name, both, [*models, "oracle"])
    if "model" in table:
        table = table[table["model"] != "oracle"]
    pd.testing.assert_frame_equal(
        table.reset_index(drop=True), alone.reset_index(drop=True), check_dtype=False
    )


@pytest.mark.parametrize("name", ["languages", "figure5", "figure4b"])
def test_a_run_of_controls_alone_has_means(name):
    table = made("oneruler", name, control("oneruler"), ["oracle"])
    assert len(table) and (table["value"].dropna() == 1).all() and table["value"].notna().any()


def test_a_control_has_rows_of_its_own():
    scores = golden_runs.scores("oneruler")
    both = pd.concat([scores, control("oneruler")], ignore_index=True)
    table = made("oneruler", "languages", both, ["o3", "qwen7b", "oracle"])
    own = table[table["model"] == "oracle"]
    assert set(own["context_lang"]) == {"en", "ko", "hi"} and (own["value"] == 1).all()
    assert (table.loc[table["model"] == "all", "value"] < 1).any()


def test_which_rows_count():
    context = Context(published.none(), {"controls": ["oracle", "empty"]})
    rows = pd.DataFrame({"model": ["a", "oracle", "empty", "b"]})
    assert counted_models(rows, context).tolist() == [True, False, False, True]
    assert counted_models(rows.iloc[1:3], context).tolist() == [True, True]
    assert np.array_equal(counted_models(rows[[]], context), [True] * 4)


def test_controls_are_known_by_their_backend():
    entry = {"tokenizer": "words", "context": 40_000}
    kinds = {"gold": "oracle", "silent": "empty", "reader": "lexical"}
    models = {name: entry | {"backend": kind} for name, kind in kinds.items()}
    run = {"models": ["reader", "gold", "silent"], "benchmarks": ["oneruler"]}
    config = demo_run(models=models, run=run)
    settings = RuleInputs(validated(config)).facts.run_settings("oneruler", "scores")
    assert settings["controls"] == ["gold", "silent"]
