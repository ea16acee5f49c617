"""Scores of M4LE's tasks that no model gave: what the tests of its results read."""

from __future__ import annotations

from typing import Any

import pandas as pd

from needlework.benchmarks.m4le.data.tasks import PAPER_BUCKETS, TASKS
from needlework.models.engine_arguments import GREEDY

# A run with the paper's settings.
SETTINGS: dict[str, Any] = {
    "models": ["a", "b"],
    "published": {"a": "LLaMA2-7B"},
    "setup": {
        **{"source": "released", "release": "2023"},
        **{"max_new_tokens": "released", "reference": "published"},
    },
    "decoding": {"a": GREEDY, "b": GREEDY},
    "metric": "released",
    "reference": "published",
    "lengths": list(PAPER_BUCKETS),
    "places": 3,
    "chat": [],
}


def rows(
    task: str, length: int, values: list[float], *, model: str = "a", **more: Any
) -> list[dict[str, Any]]:
    """Scores of a task's rows by the released metric."""
    own = TASKS[task]
    return [
        {
            **{"model": model, "task": task, "metric": "released", "length": length},
            **{"ability": own.ability, "task_type": own.task_type, "lang": own.lang},
            **{"domain": own.domain, "example_id": f"{task}-{length}-{i}", "sample": 0},
            **{"value": value, "finish_reason": "stop", "position": None, "candidates": 0},
            **{"bleu_statistics": None, "source": "released", **more},
        }
        for i, value in enumerate(values)
    ]


def shares(right: int, n: int = 200) -> list[float]:
    """So many right answers of n."""
    return [1.0] * right + [0.0] * (n - right)


def make() -> pd.DataFrame:
    """A few rows of four tasks at two lengths by both models."""
    made = []
    for i, (model, length) in enumerate((m, n) for m in SETTINGS["models"] for n in (1000, 2000)):
        for task in ("c3", "nq-open", "hotpotqa", "drcd_explicit-single"):
            made += rows(task, length, shares(3 + i, 10), model=model)
    return pd.DataFrame(made)
