"""The scorers in the system's own Python 3.11: Debian 12's is 3.11.2, whose `re` has errors mended since."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from needlework.benchmarks.m4le.measures import WordTokenizer
from needlework.scoring.metrics import numbers

ROOT = Path(__file__).resolve().parents[3]
SYSTEMS = Path("/usr/bin/python3.11")
TESTS = (
    *("tests/unit/scoring", "tests/unit/results/test_golden.py"),
    "tests/unit/benchmarks/m4le/test_m4le_metrics.py",
    *sorted(
        str(p.relative_to(ROOT)) for p in ROOT.glob("tests/unit/benchmarks/*/test_*_scoring.py")
    ),
)
# What takes time and says nothing of patterns.
LEFT_OUT = ("--ignore-glob=*/test_translat*.py", "-k", "not linear and not time_grows")


def test_a_word_ends_before_a_sign_that_is_no_mark() -> None:
    assert WordTokenizer().tokenize("café天气 “news”") == ["café", "天", "气", "news"]
    assert numbers("2,21,112 and 12,34,5") == {221112, 12, 34}


def test_no_group_of_a_pattern_is_possessive() -> None:
    """cpython issue 100061: such a group with a lookaround or several parts matches wrongly before 3.11.5."""
    files = sorted((ROOT / "workflow").rglob("*.py"))
    possessive = re.compile(r"""\)(?:[*+?]|\{[\d,]+\}+)\+[^+]*["']|\(\?>(?!"\))""")
    found = [
        f"{file.name}: {line.strip()}"
        for file in files
        for line in file.read_text("utf-8").splitlines()
        if possessive.search(line)
    ]
    assert len(files) > 100 and not found
    assert possessive.search('rf"(?:{_MARK}{_LETTER}*+)*+"')


@pytest.mark.slow
def test_the_scorers_tests_pass_in_the_systems_python() -> None:
    if sys.version_info[:2] != (3, 11) or not SYSTEMS.exists():
        pytest.skip(f"no {SYSTEMS}, or this Python is no 3.11 whose packages it could import")
    version = subprocess.run([SYSTEMS, "-V"], capture_output=True, text=True, check=True)
    said = version.stdout.split()[1]
    if said == sys.version.split()[0]:
        pytest.skip(f"{SYSTEMS} is {said}, as this Python: all other tests try it")
    command = [SYSTEMS, *"-m pytest -n0 -q -p no:cacheprovider -m".split(), "not slow"]
    env = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}
    done = subprocess.run(
        [*command, *TESTS, *LEFT_OUT], cwd=ROOT, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{said}: {done.stdout[-4000:]}{done.stderr[-2000:]}"
    assert int(re.findall(r"(\d+) passed", done.stdout)[-1]) > 300
