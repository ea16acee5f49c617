"""The prompts of the folder above for lm-eval's tasks beside this file.

    lm_eval run --include_path <this folder> --tasks <see the files> --model local-chat-completions \
        --apply_chat_template --model_args base_url=...,model=... --log_samples --output_path <folder>

They ask and do not score: needlework scores the samples (`backend: replay`, `answers: [samples_*.jsonl]`).
"""

import json
from pathlib import Path
from typing import Any

from datasets import Dataset

Row = dict[str, Any]


def load(max_new_tokens: int, **_: Any) -> dict[str, Dataset]:
    """The prompts whose answers have this limit: lm-eval has one for each task."""
    found = []
    for path in sorted(Path(__file__).resolve().parents[1].glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            rows = map(json.loads, lines)
            found += [row for row in rows if row["max_new_tokens"] == max_new_tokens]
    return {"test": Dataset.from_list(found)}


def prompt(row: Row) -> str:
    """The prompt's only message."""
    return row["messages"][0]["content"]


def reference(row: Row) -> str:
    """The first right answer; lm-eval shows it, and nothing is scored there."""
    return row["references"][0]
