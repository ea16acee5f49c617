"""What tests are made of, a module per benchmark: scores that no model gave, and tables of real files.

Each has `golden()`, the rows and the run of its golden run (golden_runs.py): small, and with every kind of
answer, variant and model that changes what a result does with a row.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from needlework.planning.configuration import BENCHMARKS, filled, plain

ROOT = Path(__file__).resolve().parents[2]

# Ways to lose an answer: why it ended, and what became of it.
LOST = (
    *(("skipped", "answered"), ("error", "answered"), ("error", "refused")),
    *(("error", "prompt_cut"), ("length", "answered"), ("stop", "empty")),
)


def losing(rows: pd.DataFrame, model: str, every: int = 9) -> pd.DataFrame:
    """The rows, with one of so many answers of a model lost, in each way in turn."""
    rows = rows.assign(outcome="answered").reset_index(drop=True)
    lost = rows.index[rows["model"] == model][::every]
    for i, place in enumerate(lost):
        reason, outcome = LOST[i % len(LOST)]
        rows.loc[place, ["finish_reason", "outcome"]] = reason, outcome
        rows.loc[place, "value"] = rows.loc[place, "value"] if reason == "length" else 0.0
    return rows


def answering(rows: pd.DataFrame, asked: str, seed: int = 5) -> pd.DataFrame:
    """The rows with the language of each answer: the one asked for, English, or undecided."""
    draw = np.random.default_rng(seed).random(len(rows))
    language = np.where(draw < 0.7, rows[asked].astype(str), "en")
    return rows.assign(answered_in=pd.Series(language, rows.index).mask(draw > 0.85))


@cache
def _demo() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))


def demo_run(**sections: Any) -> dict[str, Any]:
    """The demo's configuration, in which each section has the keys given beside its own."""
    config = copy.deepcopy(_demo())
    for section, own in sections.items():
        config[section] = config.get(section, {}) | own
    return config


def demo(benchmark: str) -> dict[str, Any]:
    """The demo's block of a benchmark."""
    return copy.deepcopy(_demo()["benchmarks"][benchmark])


def defaults_of(benchmark: str) -> dict[str, Any]:
    """The defaults of a benchmark's block, in plain values."""
    return plain(filled(BENCHMARKS[benchmark](), {}))


def configuration(benchmark: str, block: Mapping[str, Any]) -> dict[str, Any]:
    """The demo's configuration with one benchmark, of which it has this block."""
    own = {benchmark: copy.deepcopy(dict(block))}
    return demo_run(run={"benchmarks": [benchmark]}, benchmarks=own)


def templates(benchmark: str) -> list[str]:
    """The files of a benchmark's prompts."""
    return sorted(map(str, (ROOT / "resources/prompts" / benchmark).glob("*.txt")))
