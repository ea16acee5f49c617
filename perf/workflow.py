"""How long Snakemake itself takes: the demo, a run where nothing changed, and dry runs.

    python perf/workflow.py

The demo is what `make demo` does after its set-up: the embedded sample from nothing to the report.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "perf"))

from machine import describe  # noqa: E402


def seconds(*arguments: str) -> float:
    """The wall time of a Snakemake command."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments], cwd=ROOT, check=True, capture_output=True
    )
    return round(time.perf_counter() - start, 1)


def main() -> None:
    """Measure, and write perf/workflow.json."""
    with tempfile.TemporaryDirectory() as folder:
        here = ["--directory", folder, "--cores", "2"]
        demo = seconds(*here)
        report = seconds(*here, "--report", f"{folder}/report.html")
        unchanged = seconds(*here)
        preset = seconds(*here, "--dry-run", "--configfile", "presets/mlneedle.yaml")
    result = {
        "machine": describe(["snakemake"]),
        "demo_seconds": round(demo + report, 1),
        "of_which_report_seconds": report,
        "nothing_changed_seconds": unchanged,
        "dry_run_of_the_papers_preset_seconds": preset,
        "limits": {
            "demo_seconds": 90,
            "nothing_changed_seconds": 10,
            "dry_run_of_the_papers_preset_seconds": 10,
        },
    }
    text = json.dumps(result, indent=1)
    (ROOT / "perf/workflow.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
