"""perf/generation.py: a small job that asks nothing, with the keys of its rendered prompts."""

from __future__ import annotations

import json
import sys

import generation


def test_a_small_job_is_measured(tmp_path, monkeypatch) -> None:
    out = tmp_path / "out.json"
    arguments = ["--prompts", "60", "--characters", "20000", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["generation.py", *arguments])
    generation.main()
    found = json.loads(out.read_text())
    assert found["prompts"] == 60 and found["megabytes"] > 1
    assert found["megabytes_per_cpu_second"] > 0
