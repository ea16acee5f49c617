"""How long the tests take, by group and by test.

    python perf/tests.py                what `make test` runs
    python perf/tests.py REPORT.xml     of such a run: `-o junit_family=xunit1 --junitxml=REPORT.xml`

Writes perf/tests.json. Run it on a machine that does nothing else, in a checkout without a finished demo: if
`make demo` was run there, the tests share its run. tests/conftest.py reads the file: groups that take longest
begin first, and `make check` leaves out the tests that took longest.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import machine

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = ("-n", "auto", "-m", "not large", "--ignore=tests/environments")
SLOW = 0.2
"""Seconds; a test that took longer is slow."""


def read(report: Path) -> tuple[Counter[str], dict[str, float]]:
    """The seconds of each group and of each slow test, set-up included.

    Tests without a group count under the path of their file.
    """
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
    """Run the tests, or read a report of them, and write how long they took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = given.report or Path(folder, "report.xml")
        if given.report is None:
            options = ["-o", "junit_family=xunit1", f"--junitxml={report}"]
            subprocess.run(
                [sys.executable, "-m", "pytest", *OPTIONS, *options], cwd=ROOT, check=True
            )
        (suite,) = ElementTree.parse(report).iter("testsuite")
        groups, slow = read(report)
    result = {
        "machine": machine.describe(["pytest", "pytest-xdist", "snakemake"]),
        "tests": int(suite.attrib["tests"]),
        "wall_seconds": round(float(suite.attrib["time"])),
        "seconds": {name: round(own, 1) for name, own in groups.most_common() if own >= 1},
        "slow": dict(sorted(slow.items())),
    }
    given.out.write_text(json.dumps(result, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
