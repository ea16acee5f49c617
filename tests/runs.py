"""Runs of the workflow through Snakemake itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import warm_snakemake
from needlework.planning.rule_inputs import RuleInputs
from needlework.prompts.spans import Documents

ROOT = Path(__file__).resolve().parents[1]

# The settings of MLNeedle for a run of few prompts in one language.
SMALL_MLNEEDLE = {
    "needle_languages": ["en"],
    "haystack_languages": ["en"],
    "lengths": [512],
    "tasks": ["exact"],
}

# Lines of a dry run that are no job that a change is about.
FOLLOWING = (
    *("total", "all", "provenance", "explorer", "overview", "make_reproduction"),
    *("page_numbers", "report_card"),
)

# What Snakemake and the workflow keep of a run; the rest of .snakemake is locks, caches and scripts.
KEPT = ("results", "journal", "token_sums", "logs", "benchmarks", ".snakemake/metadata")

# The digests of the library's files: a second of work, so a new folder gets those of an earlier run.
DIGESTS = ".snakemake/code.json"
_learned = b""


@dataclass
class Workflow:
    """A copy of the workflow (or the checkout itself) and a folder in which it runs."""

    root: Path
    directory: Path

    def run(
        self, *arguments: str, check: bool = True, env: Mapping[str, str] = os.environ
    ) -> subprocess.CompletedProcess[str]:
        """Run Snakemake to its end; with `check`, fail with its output where it fails."""
        global _learned
        digests = self.directory / DIGESTS
        # A test may run in a folder that nobody can write.
        with suppress(OSError):
            if _learned and not digests.exists():
                digests.parent.mkdir(parents=True, exist_ok=True)
                digests.write_bytes(_learned)
        done = warm_snakemake.run(self._arguments(*arguments), self.root, env)
        _learned = digests.read_bytes() if digests.is_file() else _learned
        if check and done.returncode:
            raise AssertionError(f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}")
        return done

    def command(self, *arguments: str) -> list[str]:
        """A Snakemake command line."""
        return [sys.executable, "-m", "snakemake", *self._arguments(*arguments)]

    def _arguments(self, *arguments: str) -> list[str]:
        return ["--cores", str(os.cpu_count()), "--directory", str(self.directory), *arguments]

    def would_run(self, *arguments: str, lacking: bool = False) -> dict[str, int]:
        """The rules that a run would execute, and how many jobs of each.

        Without what follows every change (`FOLLOWING`), such as `provenance` and `overview`. With `lacking`,
        something may be missing here that the jobs need.
        """
        text = self.run("--dry-run", *arguments, check=not lacking).stdout
        table = re.search(r"^job +count\n[- ]+\n((?:\S+ +\d+\n)+)", text, re.MULTILINE)
        if table is None:
            assert "Nothing to be done" in text, text[-3000:]
            return {}
        jobs = dict(line.rsplit(maxsplit=1) for line in table[1].splitlines())
        return {rule: int(n) for rule, n in jobs.items() if rule not in FOLLOWING}

    def result(self, path: str) -> Path:
        """A file below results/."""
        return self.directory / "results" / path


def prompt_files(
    workflow: Workflow, files: RuleInputs, benchmark: str, tokenizer: str
) -> list[Path]:
    """A benchmark's instance files."""
    folder = workflow.result(f"instances/{benchmark}/{tokenizer}")
    return [folder / f"{name}.parquet" for name in files.prompts.slices(benchmark)]


def documents_of(
    workflow: Workflow, files: RuleInputs, benchmark: str, tokenizer: str
) -> Documents:
    """All that a benchmark's prompts refer to."""
    corpora = [
        workflow.result(f"corpora/{table}.parquet") for table in files.prompts.quoted(benchmark)
    ]
    folder = workflow.result(f"documents/{benchmark}/{tokenizer}")
    made = [folder / f"{name}.parquet" for name in files.prompts.slices(benchmark)]
    return Documents.of(benchmark, list(map(str, corpora)), list(map(str, made)))


def copy_workflow(to: Path) -> Path:
    """A copy of the workflow's own files, which a test may edit, and from which a wheel can be built."""
    for name in ("Snakefile", "config.yaml", "pyproject.toml", "README.md", "LICENSE"):
        to.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name)
    for name in ("config", "envs", "presets", "profiles", "requirements", "resources", "workflow"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, to / name, ignore=ignored, dirs_exist_ok=True)
    return to


def finished_demo(folder: Path) -> Workflow | None:
    """A copy in `folder` of the checkout's own run, as `make demo` leaves it, if that is finished.

    It is what a new one would make: the code of every job is one of its parameters, and Snakemake plans
    nothing for a copy of which any file, parameter or code is not current. The workflow lies in the run's
    own folder, as in the checkout: so its files have the same names.
    """
    if not (ROOT / "results/index.html").is_file():
        return None
    workflow = Workflow(copy_workflow(folder), folder)
    for name in KEPT:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, symlinks=True)
    return workflow if workflow.would_run() == {} else None
