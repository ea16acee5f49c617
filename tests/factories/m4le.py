"""Scores of M4LE's tasks that no model gave; its real rows and sample rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from factories import ROOT, answering, configuration, losing
from needlework.benchmarks.m4le import corpus as m4le
from needlework.benchmarks.m4le.data.tasks import (
    PAPER_BUCKETS,
    SAMPLED,
    TASKS,
    Cut,
    Frame,
    Item,
    Task,
    load_frames,
)
from needlework.models.engine_arguments import GREEDY
from needlework.planning.config import validated

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


def golden() -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Tasks of every ability at three lengths; places, questions without texts, and both metrics."""
    chosen = ("c3", "nq-open", "hotpotqa", "drcd_explicit-single", "dureader", "tedtalks-zh2en")
    made: list[dict[str, Any]] = []
    for place, (task, length, model) in enumerate(product(chosen, (1000, 4000, 8000), ("a", "b"))):
        right = [float(i % 7 < 5 - place % 3) for i in range(8)]
        for metric in ("released", "paper"):
            counts = [40 - place % 9, 30, 22, 15, 60, 58, 56, 54, 60, 64]
            own = {"bleu_statistics": counts} if TASKS[task].metric == "bleu" else {}
            made += rows(
                task, length, right, model=model, **{**own, "candidates": 2 ** (place % 5)}
            )
            for row in made[-len(right) :]:
                row["metric"] = metric
    for task, i in product(("c3", "hotpotqa"), range(3)):
        made += rows(task, 0, [float(i % 2), 1.0, 0.0], candidates=7, position=i / 2)
    made += rows("nq-open", 0, [1.0, 0.0, 0.0])
    scores = answering(losing(pd.DataFrame(made), "b"), "lang")
    sizes = [
        {
            **{"ability": TASKS[task].ability, "task": task, "lang": TASKS[task].lang},
            **{"task_type": TASKS[task].task_type, "tokenizer": tokenizer},
            **{"length": length, "units": length - 30 * i},
        }
        for task, length, tokenizer, i in product(chosen, (1000, 8000), ("words", "llama"), (0, 1))
    ]
    return {"scores": scores, "instances": pd.DataFrame(sizes)}, SETTINGS


def configured(**own: Any) -> dict[str, Any]:
    """The valid default configuration of a run of M4LE alone, with `own` as its block."""
    return validated(configuration("m4le", own))


# Real files

FRAMES_FILE = ROOT / "resources/m4le/frames.yaml"
SAMPLE_FILES = sorted((ROOT / "resources/sample/m4le").glob("*.yaml"))


@lru_cache(maxsize=1)
def frames() -> dict[str, Frame]:
    """The frames of all tasks."""
    return load_frames(FRAMES_FILE)


def mirrored(mirror: Path, task: Task) -> Iterator[dict[str, Any]]:
    """The rows of the mirror's file of a task."""
    for line in (mirror / "m4le" / task.file).read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def sample(**settings: Any) -> pa.Table:
    """The sample's rows with other settings than the default's."""
    own = {"lengths": [500, 1000], "examples": 4, "seed": 0, "tasks": list(SAMPLED), **settings}
    return m4le.table("m4le_sample", "sample", [FRAMES_FILE, *SAMPLE_FILES], own)


def items_of(frame: Frame, found: Cut, text: str) -> list[Item]:
    """The items of a cut prompt, each split into its title and text by the frame."""
    ends = [start - len(frame.join or "") for start in found.items[1:]] + [found.items_end]
    pattern = re.escape(frame.item)
    for name, group in (("id", r"[0-9A-F]{6}|\d+"), ("title", ".*?"), ("text", ".*")):
        pattern = pattern.replace(re.escape(f"{{{name}}}"), f"(?P<{name}>{group})")
    items = []
    for start, end in zip(found.items, ends, strict=True):
        parts = re.compile(pattern, re.DOTALL).fullmatch(text, start, end)
        assert parts is not None, text[start:end][:200]
        items.append(Item(**parts.groupdict()))
    return items
