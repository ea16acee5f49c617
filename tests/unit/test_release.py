"""What GitHub runs, and what a tag needs before it becomes a release."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
RELEASE = runpy.run_path(str(ROOT / ".ci/release.py"), run_name="release")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
VERSIONED = ("CITATION.cff", "pyproject.toml", "workflow/scripts/needlework/__init__.py")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of what the check reads, ready to be released."""
    for name in ("CHANGELOG.md", *VERSIONED):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    citation = tmp_path / "CITATION.cff"
    text = citation.read_text("utf-8").replace(RELEASE["PLACEHOLDER"], "A. Person")
    citation.write_text(text + "\ndate-released: 2027-01-31\n", "utf-8")
    return tmp_path


def test_notes_are_the_changelogs_section(copy):
    notes = RELEASE["notes"](f"v{VERSION}", copy)
    assert notes in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert notes and "## " not in notes


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        *((file, VERSION, "9.9.9", f"{file} has the version 9.9.9") for file in VERSIONED),
        ("CITATION.cff", "date-released", "# date-released", "date-released"),
        ("CITATION.cff", "A. Person", RELEASE["PLACEHOLDER"], "name the authors"),
        ("CHANGELOG.md", f"## {VERSION}", "## 0.0.0", "has no section"),
    ],
)
def test_what_a_release_lacks_forbids_it(copy, file, old, new, said):
    text = (copy / file).read_text("utf-8")
    assert old in text
    (copy / file).write_text(text.replace(old, new), "utf-8")
    with pytest.raises(SystemExit, match=said):
        RELEASE["notes"](f"v{VERSION}", copy)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_permissions_minimal(path):
    used = re.findall(r"uses: (\S+)(.*)", path.read_text("utf-8"))
    assert used
    for action, version in used:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", action)
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", version)
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] in ({}, {"contents": "read"})
    writing = [job for job in workflow["jobs"].values() if "write" in str(job.get("permissions"))]
    assert not writing or path.stem == "release"


def test_jobs_run_parts_of_continuous_integration():
    """`.ci/run` is the one script; a release also checks its tag."""
    script = (ROOT / ".ci/run").read_text("utf-8")
    known = re.findall(r"^            ([a-z| ]+)\)", script, re.M)
    parts = {part.strip() for line in known for part in line.split("|")}
    jobs = [
        job
        for path in WORKFLOWS
        for job in yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    ]
    ran = {step["run"] for job in jobs for step in job["steps"] if "run" in step}
    for command in ran - {".ci/run ${{ matrix.part }}"}:
        name, *rest = command.split()
        assert name in (".ci/run", "python", "gh")
        assert name != ".ci/run" or set(rest) <= parts
    matrix = yaml.safe_load((ROOT / ".github/workflows/checks.yml").read_text("utf-8"))
    assert set(matrix["jobs"]["part"]["strategy"]["matrix"]["part"]) <= parts
    done = subprocess.run([ROOT / ".ci/run", "nonsense"], capture_output=True, text=True)
    assert done.returncode == 2 and "no part nonsense" in done.stderr
