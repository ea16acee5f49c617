"""What prompts hold constant is measured on prompts whose lengths and needles are known."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from needlework.prompts.spans import Span
from needlework.results.printed.numbers import CONTROLLED, factors, table_of

ROOT = Path(__file__).resolve().parents[3]


def prompts(path: Path, tokens: list[int], needle: str = "The red key is 7.") -> str:
    """A file of prompts of one nominal length that ask for a needle's number."""
    texts = {"haystack": "x", "needle": needle, "question": "Red key?"}
    prompt = [Span(role, text=text)._asdict() for role, text in texts.items()]
    rows = [{"task": "niah", "length": 100, "n_tokens": n, "prompt": prompt} for n in tokens]
    pq.write_table(pa.Table.from_pylist(rows), path)
    return str(path)


def test_variation_and_overlap_are_of_the_prompts(tmp_path) -> None:
    """Files of prompts are measured together."""
    files = [prompts(tmp_path / "a.parquet", [90]), prompts(tmp_path / "b.parquet", [110])]
    made = factors("x", files, [], [])
    assert made["tokens_vary"] == pytest.approx(0.1)
    assert (made["prompts"], made["needle_characters"], made["overlap"]) == (2, 17, 1.0)
    assert made["needles_vary"] == 0
    made = factors("x", [prompts(tmp_path / "a.parquet", [5, 5], "Sieben")], [], [])
    assert (made["overlap"], made["tokens_vary"]) == (0, 0)


def test_the_committed_table_is_in_the_results() -> None:
    found = pd.read_csv(ROOT / "docs/results/benchmark_factors.csv")
    assert table_of(found) in (ROOT / "docs/results.md").read_text("utf-8")
    assert (found.set_index("benchmark")["tokens_vary"] < CONTROLLED).to_dict() == {
        **{"lost_in_the_middle": False, "m4le": False, "oneruler": False},
        **{"mlneedle": True, "mlongrr": True},
    }
