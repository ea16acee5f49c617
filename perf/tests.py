"""How long the tests take, by group and by test.

    python perf/tests.py                what `make test` runs, without engines and Slurm
    python perf/tests.py REPORT.xml     of a run with `-o junit_family=xunit1 --junitxml=REPORT.xml`

Writes perf/tests.json. Run it on a machine that does nothing else, in a checkout without a finished demo:
where `make demo` was run, the tests share its run. tests/conftest.py reads the file: groups that take
longest begin first, and `make check` leaves out the tests that took longest.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import machine

ROOT = Path(__file__).resolve().parents[1]
RESULT = Path(__file__).with_suffix(".json")
LEFT_OUT = ("tests/environments", "tests/engines", "tests/workflow/test_slurm.py")
COMMAND = [sys.executable, "-m", "pytest", "-n", "auto", *(f"--ignore={path}" for path in LEFT_OUT)]
SLOW = 0.3
"""Seconds; what took longer is slow."""


def read(report: Path) -> tuple[Counter[str], dict[str, float]]:
    """The seconds of each group (of each file, of what is in none) and of each slow test, set-up included."""
    groups: Counter[str] = Counter()
    slow = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name, _, group = case.attrib["name"].rpartition("@")
        if not name:
            name, group = group, case.attrib["file"]
        seconds = float(case.attrib["time"])
        groups[group] += seconds
        if seconds > SLOW:
            slow[f"{case.attrib['file']}::{name}"] = round(seconds, 1)
    return groups, slow


def main() -> None:
    """Run the tests, or read a report of them, and write what it took."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder, "report.xml")
        if len(sys.argv) == 1:
            options = ["-o", "junit_family=xunit1", f"--junitxml={report}"]
            subprocess.run([*COMMAND, *options], cwd=ROOT, check=True)
        (suite,) = ElementTree.parse(report).iter("testsuite")
        groups, slow = read(report)
    result = {
        "machine": machine.describe(["pytest", "pytest-xdist", "snakemake"]),
        "tests": int(suite.attrib["tests"]),
        "wall_seconds": round(float(suite.attrib["time"])),
        "seconds": {name: round(own, 1) for name, own in groups.most_common() if own >= 1},
        "slow": dict(sorted(slow.items())),
    }
    RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
