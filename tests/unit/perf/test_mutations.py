"""perf/mutations.py: faults change one piece of one function, and the tests that call it are asked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import mutations

ROOT = Path(__file__).resolve().parents[3]
MODULE = '''"""A module."""


def most(values: list[int], least: int = 3) -> int:
    if not values:
        raise ValueError("no " + "values")
    return max(values) + 1 if len(values) > 2 and least < 2 else 0
'''


def test_each_fault_changes_one_piece() -> None:
    """The same pieces are told apart by their order."""
    found = {(old, new) for _, _, old, new, _ in mutations.places(MODULE, "most")}
    assert found == {
        ("not values", "(values)"),
        ("max(values) + 1 if len(values) > 2 and least < 2 else 0",
         "(0 if len(values) > 2 and least < 2 else max(values) + 1)"),
        ("max(values) + 1", "(max(values) - 1)"),
        ("max(values)", "(min(values))"),
        ("len(values) > 2 and least < 2", "(len(values) > 2 or least < 2)"),
        ("len(values) > 2", "(len(values) >= 2)"),
        ("least < 2", "(least <= 2)"),
        ("1", "(2)"),
        ("2", "(3)"),
        ("0", "(1)"),
    }  # fmt: skip
    faults = [mutations.Fault("", "", "most", "2", "(3)", nth) for nth in range(3)]
    texts = MODULE.replace("> 2", "> (3)"), MODULE.replace("< 2", "< (3)")
    assert [mutations.put(one, MODULE) for one in faults] == [*((text, 4) for text in texts), None]


def test_every_drawn_fault_can_be_put_and_compiled() -> None:
    for globs in mutations.ROOMS.values():
        assert any(any((ROOT / mutations.LIBRARY).glob(glob)) for glob in globs)
    rooms, n = ["journal", "statistics"], 24
    drawn = mutations.draw(ROOT, rooms, n)
    assert drawn == mutations.draw(ROOT, rooms, n)
    assert len({(fault.file, fault.function) for fault in drawn}) == n
    for fault in drawn:
        text = (ROOT / fault.file).read_text(encoding="utf-8")
        made = mutations.put(fault, text)
        assert made is not None and made[0] != text
        compile(made[0], fault.file, "exec")


@pytest.mark.slow
def test_a_fault_is_found_by_what_calls_it_alone(tmp_path: Path) -> None:
    library, tests = tmp_path / mutations.LIBRARY, tmp_path / "tests"
    library.mkdir(parents=True)
    tests.mkdir()
    (library / "journal.py").write_text("def one() -> bool:\n    return True\n", encoding="utf-8")
    (library / "records.py").write_text("def two() -> bool:\n    return True\n", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\npythonpath = ["workflow/scripts/needlework"]\n'
        'markers = ["slow: slow"]\n',
        encoding="utf-8",
    )
    (tests / "test_both.py").write_text(
        "import journal, records\n\ndef test_one():\n    assert journal.one()\n\n"
        "def test_two():\n    records.two()\n",
        encoding="utf-8",
    )
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    command = [sys.executable, ROOT / "perf/mutations.py", "--root", tmp_path, "--rooms", "journal"]
    command += ["--number", "2", "--tests", "tests", "--out", tmp_path / "found.json"]
    subprocess.run(command, check=True, capture_output=True)
    result = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    found = {Path(fault["file"]).name: fault["found"] for fault in result["faults"]}
    assert found == {"journal.py": "tests/test_both.py::test_one", "records.py": None}
    assert result["found"] == 1
