"""A wheel of the workflow, installed into an empty environment: its command runs in any folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from planted_faults import Retriever
from runs import SMALL_MLNEEDLE, copy_workflow

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("environments")]
UV = Path(sys.executable).with_name("uv")
READERS = (
    *("--config", "run={models: [lexical, oracle, empty], benchmarks: [mlneedle]}"),
    f"benchmarks={json.dumps({'mlneedle': SMALL_MLNEEDLE})}",
)
QUESTIONS = "results/corpora/sample_questions/en.parquet"


@dataclass
class Wheel:
    """A clone, what uv installed from its repository, and a folder in which the demo ran."""

    clone: Path
    commit: str
    bin: Path
    folder: Path

    def run(self, program: str, *arguments: str, cwd: Path | None = None) -> str:
        """What a program of the environment prints; it must succeed."""
        done = subprocess.run(
            [self.bin / program, *arguments],
            cwd=cwd or self.folder,
            env=environment(self.folder.parent),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
        return done.stdout + done.stderr


def environment(folder: Path) -> dict[str, str]:
    """The variables of a user's shell, with none of the tests' own Python; uv installs below a folder."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    own |= {"UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    if links := os.environ.get("PIP_FIND_LINKS"):
        own.setdefault("UV_FIND_LINKS", links)
    return own


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    folder = tmp_path_factory.mktemp("wheel")
    clone, here = copy_workflow(folder / "clone"), folder / "here"
    here.mkdir()
    git = ["git", "-C", clone, "-c", "user.name=Tests", "-c", "user.email=tests@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "The workflow"]):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()
    install = [UV, "tool", "install", "--quiet", "--python", sys.executable, f"git+file://{clone}"]
    subprocess.run(install, check=True, env=environment(folder))
    made = Wheel(clone, commit, folder / "tools/needlework/bin", here)
    made.run("needlework", "demo", *READERS)
    return made


def test_the_command_runs_the_demos_readers_in_another_folder(wheel: Wheel) -> None:
    for reader, score in (("oracle", 1), ("empty", 0)):
        scores = pq.read_table(wheel.folder / f"results/scores/{reader}/mlneedle.parquet")
        assert set(scores["value"].to_pylist()) == {score}
    assert (wheel.folder / "results/index.html").is_file()
    assert {path.name for path in wheel.folder.iterdir()} <= {
        *("results", "logs", "benchmarks", "journal", "token_sums", ".snakemake")
    }
    assert os.access(wheel.folder.parent / "bin/needlework", os.X_OK)


def test_tables_of_a_wheel_are_those_of_a_clone(wheel: Wheel) -> None:
    wheel.run("snakemake", "--cores", "2", QUESTIONS, *READERS, cwd=wheel.clone)
    assert (wheel.clone / QUESTIONS).read_bytes() == (wheel.folder / QUESTIONS).read_bytes()


def test_provenance_has_the_commit_of_the_repository(wheel: Wheel) -> None:
    text = (wheel.folder / "results/provenance.json").read_text(encoding="utf-8")
    assert json.loads(text)["workflow"]["commit"] == wheel.commit


def test_the_printed_command_makes_the_same_run(wheel: Wheel, tmp_path: Path) -> None:
    said = wheel.run("needlework", "demo", "-n", *READERS)
    (printed,) = re.findall(rf"^{wheel.bin}/snakemake --snakefile .+$", said, re.MULTILINE)
    done = subprocess.run(
        printed, shell=True, cwd=wheel.folder, env=environment(tmp_path), capture_output=True
    )
    assert done.returncode == 0 and b"Nothing to be done" in done.stdout + done.stderr


def test_another_environment_runs_no_job_again(wheel: Wheel, tmp_path: Path) -> None:
    python = tmp_path / "own/bin/python"
    for command in (
        ["venv", tmp_path / "own", "--python", sys.executable],
        ["pip", "install", "--python", python, wheel.clone],
    ):
        env = environment(tmp_path)
        subprocess.run([UV, *command, "--quiet"], check=True, env=env)
    other = Wheel(wheel.clone, wheel.commit, python.parent, wheel.folder)
    assert "Nothing to be done" in other.run("needlework", "demo", "-n", *READERS)


def test_presets_and_targets_are_named_as_in_a_clone(wheel: Wheel) -> None:
    said = wheel.run("needlework", "estimate", "presets/own_questions.yaml", "-n")
    assert re.search(r"--configfile \S+/needlework_workflow/presets/own_questions\.yaml", said)
    assert re.search(r"^estimate +1$", said, re.MULTILINE)
    said = wheel.run("needlework", "run", "presets/own_questions.yaml", "-n", "--", "own_data")
    assert re.search(r"^own_data +1$", said, re.MULTILINE)


def test_a_clone_beside_the_wheel_runs_its_own_code(wheel: Wheel, tmp_path: Path) -> None:
    clone = copy_workflow(tmp_path / "clone")
    own = clone / "workflow/scripts/needlework/__init__.py"
    own.write_text(own.read_text(encoding="utf-8").replace('"0.2.0"', '"9.9.9"'), "utf-8")
    wheel.run("snakemake", "--cores", "2", QUESTIONS, *READERS, cwd=clone)
    made = pq.read_schema(clone / QUESTIONS).metadata
    assert made[b"needlework.version"] == b"9.9.9"
    code = "import importlib.util; print(importlib.util.find_spec('needlework'))"
    assert wheel.run("python", "-c", code) == "None\n"


def test_the_doctor_comes_to_a_verdict_in_another_folder(
    wheel: Wheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the installation, one command comes to the verdict, without any file of a user's own."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Retriever(4096) as served, Retriever(4096) as other:
        few = ("--prompts", "80", "--context", "4k", "--languages", "en")
        said = wheel.run(
            "needlework", "doctor", served.url, "--against", other.url, *few, cwd=tmp_path
        )
    assert "sound: served (retriever) against other (retriever)" in said
    assert json.loads((tmp_path / "doctor/doctor.json").read_text())["verdict"] == "sound"
    assert {path.name for path in tmp_path.iterdir()} == {"doctor"}
