"""How long the tests take, by group, test and kind of process, and the parts of `.ci/run`.

    python perf/tests.py                what `make test` runs, without engines and Slurm
    python perf/tests.py REPORT.xml     of such a run, with `-p processor_time -o junit_family=xunit1` and
                                        `--junitxml=REPORT.xml`
    python perf/tests.py CI.log         the parts of `.ci/run` and the kinds of processes, by its log

Writes perf/tests.json; a log changes only "ci" and "kinds" in it. Run it on a machine that does nothing else,
in a checkout without a finished demo: where `make demo` was run, the tests share its run. tests/conftest.py
reads the file: groups that take longest begin first, and `make check` leaves out the tests that took longest.
"""

from __future__ import annotations

import json
import os
import re
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
COMMAND = [
    *(sys.executable, "-m", "pytest", "-n", "auto", "-p", "processor_time"),
    *(f"--ignore={path}" for path in LEFT_OUT),
]
# What .ci/run says of each part.
PART = re.compile(
    r"^CI: ([\w-]+): ([\d.]+) s, on processors ([\d.]+) s and ([\d.]+) s", re.MULTILINE
)
# What processor_time.py says of all tests, and of each kind of process.
SPENT = re.compile(r"^=+ processor seconds: (\d+) =+$", re.MULTILINE)
KIND = re.compile(
    r"^KIND: (.+): (\d+) processes, ([\d.]+) s, importing ([\d.]+) s, drawing ([\d.]+) s",
    re.MULTILINE,
)
SLOW = 0.3
"""Seconds; what took longer is slow."""


def parts(log: str) -> dict[str, dict[str, int]]:
    """Wall and processor seconds of each part of `.ci/run`; of the tests also all cores' idle seconds."""
    found = {
        name: {"wall": round(float(wall)), "cpu": round(float(user) + float(system))}
        for name, wall, user, system in PART.findall(log)
    }
    if spent := SPENT.search(log):
        # The shell's count lacks processes that a server forked and nobody waited for.
        own = found["test"]
        own["cpu"] = int(spent[1])
        own["waiting"] = (os.cpu_count() or 1) * own["wall"] - own["cpu"]
    return found


def kinds(log: str) -> dict[str, dict[str, int]]:
    """For each kind of process in `make test`: number, processor seconds, those of imports and of figures."""
    names = ("processes", "cpu", "importing", "drawing")
    return {
        kind: dict(zip(names, (round(float(number)) for number in numbers), strict=True))
        for kind, *numbers in KIND.findall(log)
    }


def read(report: Path) -> tuple[Counter[str], Counter[str], dict[str, float]]:
    """The seconds of each group (of each file, of what is in none) and of each slow test, set-up included.

    Of groups those of processors too, as far as the report has them.
    """
    groups: Counter[str] = Counter()
    processors: Counter[str] = Counter()
    slow = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name, _, group = case.attrib["name"].rpartition("@")
        if not name:
            name, group = group, case.attrib["file"]
        seconds = float(case.attrib["time"])
        groups[group] += seconds
        for own in case.iter("property"):
            if own.attrib["name"] == "cpu_seconds":
                processors[group] += float(own.attrib["value"])
        if seconds > SLOW:
            slow[f"{case.attrib['file']}::{name}"] = round(seconds, 1)
    return groups, processors, slow


def main() -> None:
    """Run the tests, or read a report of them or a log of `.ci/run`, and write what it took."""
    before = json.loads(RESULT.read_text(encoding="utf-8"))
    if sys.argv[1:] and sys.argv[1].endswith(".log"):
        log = Path(sys.argv[1]).read_text(encoding="utf-8")
        write(before | {"ci": parts(log), "kinds": kinds(log)})
        return
    with tempfile.TemporaryDirectory() as folder:
        report = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder, "report.xml")
        if len(sys.argv) == 1:
            options = ["-o", "junit_family=xunit1", f"--junitxml={report}"]
            subprocess.run([*COMMAND, *options], cwd=ROOT, check=True)
        (suite,) = ElementTree.parse(report).iter("testsuite")
        groups, processors, slow = read(report)
    result = {
        "machine": machine.describe(["pytest", "pytest-xdist", "snakemake"]),
        "tests": int(suite.attrib["tests"]),
        "wall_seconds": round(float(suite.attrib["time"])),
        "seconds": {name: round(own, 1) for name, own in groups.most_common() if own >= 1},
        "cpu_seconds": {name: round(own, 1) for name, own in processors.most_common() if own >= 1},
        "slow": dict(sorted(slow.items())),
    }
    write(result | {name: before[name] for name in ("ci", "kinds") if name in before})


def write(result: dict[str, object]) -> None:
    """Write the measurements."""
    RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
