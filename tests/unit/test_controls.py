"""Controls (`oracle`, `empty`) have rows of their own and are in no mean over models."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import factories.lost_in_the_middle
import factories.m4le
import factories.mlneedle
import factories.mlongrr
import factories.oneruler
from needlework.benchmarks.benchmark import load_benchmark
from needlework.planning.config import validated
from needlework.planning.layout import Layout
from needlework.results import published
from needlework.results.result import Context
from needlework.results.tabulate import counted_models

ROOT = Path(__file__).parents[2]
LANGS = ("en", "ko", "pl", "hi", "st")
# Scores, and a model that the control answers like, but right.
MADE = {
    "mlneedle": (factories.mlneedle, factories.mlneedle.make(questions=2), "mistral"),
    "lost_in_the_middle": (
        factories.lost_in_the_middle,
        factories.lost_in_the_middle.make(questions=6, languages=("en", "de")),
        "qwen",
    ),
    "oneruler": (
        factories.oneruler,
        factories.oneruler.make(("o3", "qwen7b", "qwen7b-equal"), LANGS, (8000, 64000), 2),
        "qwen7b",
    ),
    "mlongrr": (factories.mlongrr, factories.mlongrr.make(), "gpt-4"),
    "m4le": (factories.m4le, factories.m4le.make(), "b"),
}
RESULTS = [
    (benchmark, result.name)
    for benchmark in MADE
    for result in load_benchmark(benchmark).results
    if result.needs == "scores"
]


def settings_of(benchmark: str) -> dict[str, Any]:
    return MADE[benchmark][0].SETTINGS


def control(benchmark: str) -> pd.DataFrame:
    _, scores, like = MADE[benchmark]
    rows = scores[scores["model"] == like]
    return rows.assign(model="oracle", value=1.0, verdict="correct", finish_reason="stop")


def made(benchmark: str, name: str, rows: pd.DataFrame, models: list[str]) -> pd.DataFrame:
    """The numbers of a result; the paper's are left out, as they are for other models."""
    own = {"models": models, "controls": ["oracle"], "published": {}}
    context = Context(published.none(), settings_of(benchmark) | own)
    return load_benchmark(benchmark).by_name[name](rows, context)


@pytest.mark.parametrize("benchmark, name", RESULTS)
def test_no_number_but_its_own_counts_a_control(benchmark, name):
    _, scores, _ = MADE[benchmark]
    models = settings_of(benchmark)["models"]
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
    _, scores, _ = MADE["oneruler"]
    both = pd.concat([scores, control("oneruler")], ignore_index=True)
    table = made("oneruler", "languages", both, ["o3", "qwen7b", "oracle"])
    own = table[table["model"] == "oracle"]
    assert set(own["context_lang"]) == set(LANGS) and (own["value"] == 1).all()
    assert (table.loc[table["model"] == "all", "value"] < 1).any()


def test_which_rows_count():
    context = Context(published.none(), {"controls": ["oracle", "empty"]})
    rows = pd.DataFrame({"model": ["a", "oracle", "empty", "b"]})
    assert counted_models(rows, context).tolist() == [True, False, False, True]
    assert counted_models(rows.iloc[1:3], context).tolist() == [True, True]
    assert np.array_equal(counted_models(rows[[]], context), [True] * 4)


def test_controls_are_known_by_their_backend():
    config = copy.deepcopy(yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8")))
    entry = {"tokenizer": "words", "context": 40_000}
    kinds = {"gold": "oracle", "silent": "empty", "reader": "lexical"}
    config["models"] |= {name: entry | {"backend": kind} for name, kind in kinds.items()}
    config["run"] |= {"models": ["reader", "gold", "silent"], "benchmarks": ["oneruler"]}
    settings = Layout(validated(config)).run_settings("oneruler", "scores")
    assert settings["controls"] == ["gold", "silent"]
