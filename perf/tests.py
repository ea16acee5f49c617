"""How long the tests take, by group; tests/conftest.py begins with the groups that take longest.

    python perf/tests.py                what `make test` runs, without engines and Slurm
    python perf/tests.py REPORT.xml     of a run with `-o junit_family=xunit1 --junitxml=REPORT.xml`

Writes perf/tests.json. Run it on a machine that does nothing else.
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
COMMAND = [sys.executable, "-m", "pytest", "-n", "2", "-m", "not heavy"]
COMMAND += ["--ignore=tests/engines", "--ignore=tests/workflow/test_slurm.py"]


def seconds_by_group(report: Path) -> Counter[str]:
    """The seconds of each group, or of each file of what is in none, set-up included."""
    found: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        _, _, group = case.attrib["name"].rpartition("@")
        own = group if "@" in case.attrib["name"] else case.attrib["file"]
        found[own] += float(case.attrib["time"])
    return found


def main() -> None:
    """Run the tests, or read a report of them, and write what it took."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder, "report.xml")
        if len(sys.argv) == 1:
            options = ["-o", "junit_family=xunit1", f"--junitxml={report}"]
            subprocess.run([*COMMAND, *options], cwd=ROOT, check=True)
        (suite,) = ElementTree.parse(report).iter("testsuite")
        found = seconds_by_group(report)
    result = {
        "machine": machine.describe(["pytest", "pytest-xdist", "snakemake"]),
        "tests": int(suite.attrib["tests"]),
        "wall_seconds": round(float(suite.attrib["time"])),
        "seconds": {name: round(own, 1) for name, own in found.most_common() if own >= 1},
    }
    RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
