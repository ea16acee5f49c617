"""What the project says of itself in files that other tools read."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HOOKS = ROOT / ".pre-commit-config.yaml"


def test_pre_commit_has_the_linters_of_make_lint() -> None:
    pins = set(filter(lambda entry: isinstance(entry, str), PROJECT["dependency-groups"]["all"]))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (repository,) = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))["repos"]
    for hook in repository["hooks"]:
        assert set(hook.get("additional_dependencies", [])) <= pins
        program = " ".join(hook["entry"].removeprefix(".venv/bin/").split()[:2])
        assert f"\t$(BIN)/{program}" in makefile
    (recipe,) = re.findall(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    # The others look at locked requirements, the citation and the explorer: CI alone runs them.
    assert len(repository["hooks"]) == len(
        re.findall(r"/(?:ruff|mypy|snakefmt|snakemake)\b", recipe)
    )


@pytest.mark.slow
def test_pre_commit_refuses_a_file_that_a_linter_refuses(tmp_path: Path, monkeypatch) -> None:
    """In a repository of its own; the hooks' environments are installed from nothing."""
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "home"))
    # These need the whole library, and `make lint` has the same commands.
    monkeypatch.setenv("SKIP", "mypy,snakemake-lint")
    clone = tmp_path / "clone"
    clone.mkdir()
    for name in (HOOKS.name, "pyproject.toml", "Snakefile"):
        shutil.copy(ROOT / name, clone / name)
    git = ["git", "-C", str(clone)]
    subprocess.run([*git, "init", "-q"], check=True)

    (clone / "module.py").write_text("import os\nONE   = 1\n", encoding="utf-8")
    subprocess.run([*git, "add", "."], check=True)
    command = [Path(sys.executable).with_name("pre-commit"), "run", "--all-files"]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True)
    assert done.returncode == 1
    # The two hooks of ruff; the Snakefile passes the third.
    assert "F401" in done.stdout and done.stdout.count("Failed") == 2
    assert done.stdout.count("Passed") == 1, done.stdout + done.stderr


def test_citation_and_changelog_have_the_projects_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    version = PROJECT["project"]["version"]
    assert (citation["version"], citation["license"]) == (version, PROJECT["project"]["license"])
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[:2] == ["Unreleased", version]


@pytest.mark.slow
def test_long_groups_of_tests_begin_first() -> None:
    files = ["tests/unit/test_errors.py", "tests/workflow/test_own_data.py"]
    command = [sys.executable, "-m", "pytest", "-n0", "-q", "--collect-only", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    first = re.findall(r"^(tests/\S+?)::", done.stdout, re.MULTILINE)
    assert first[0] == files[1] and first[-1] == files[0]


@pytest.mark.parametrize("path", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=str)
def test_issue_templates_have_what_github_asks_for(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.name == "config.yml":
        assert set(form) == {"blank_issues_enabled"}
        return
    assert {"name", "description", "body"} <= set(form)
    names = [part["id"] for part in form["body"]]
    assert len(set(names)) == len(names)
    assert {part["type"] for part in form["body"]} <= {"textarea", "input"}
    assert all(part["attributes"]["label"] for part in form["body"])


def test_names_of_tests_have_at_most_ten_words() -> None:
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    names = [
        name
        for file in files
        for name in re.findall(r"^def test_(\w+)\(", file.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(names) > 1000
    assert not [name for name in names if name.count("_") > 9]


def test_exceptions_of_the_type_checker_say_why() -> None:
    files = sorted((ROOT / "workflow").rglob("*.py"))
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
    ignored = [line for line in lines if "# type: ignore" in line]
    assert 0 < len(ignored) < 20
    assert not [line for line in ignored if not re.search(r"ignore\[[\w-]+\]  # \w", line)]
