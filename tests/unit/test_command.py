"""The command `needlework`: its errors, and the command lines of Snakemake that it makes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import needlework_command as command
from needlework import __version__

ROOT = Path(__file__).resolve().parents[2]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command in a folder; of a clone, since this lies in one."""
    line = [sys.executable, command.__file__, *words]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rnu", "mine.yaml"], "needlework has no command 'rnu': did you mean 'run'?"),
        (["mine.yaml"], "behind `run`: `needlework run mine.yaml`."),
        (["run"], "needlework run needs a configuration file before the options"),
        (["estimate", "-n"], "needlework estimate needs a configuration file"),
        (["run", "mien.yaml"], "'mien.yaml' is no file here: did you mean mine.yaml?"),
        (["run", "presets/mlnedle.yaml"], "did you mean presets/mlneedle.yaml?"),
        (["run", "mine.yaml", "a_target"], "A target stands at the end: `-- a_target`."),
        (["run", "."], "'.' is a folder: name a configuration file in it."),
        (["demo", "mine.yaml"], "demo takes no file ('mine.yaml'): `needlework run mine.yaml`"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(tmp_path: Path, words, said) -> None:
    (tmp_path / "mine.yaml").write_text("run: {models: [oracle]}\n", encoding="utf-8")
    done = run(tmp_path, *words)
    assert done.returncode == 1 and said in done.stderr
    assert done.stderr.startswith("Error: ") and done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine.yaml"]


def test_the_version_and_the_commands_are_listed(tmp_path) -> None:
    assert run(tmp_path, "--version").stdout == f"needlework {__version__}\n"
    for words, status, stream in (((), 2, "stderr"), (("--help",), 0, "stdout")):
        done = run(tmp_path, *words)
        assert done.returncode == status
        for name in command.COMMANDS:
            assert f"needlework {name} " in getattr(done, stream)


@pytest.mark.parametrize(
    ("options", "cores"),
    [
        *(([], True), (["-n"], True), (["--cores", "2"], False), (["-c2"], False)),
        *((["--jobs=3"], False), (["--executor", "slurm"], False)),
    ],
)
def test_all_cores_are_used_unless_options_say_otherwise(options, cores) -> None:
    made = command._snakemake([], [], options)
    assert (" --cores all" in " ".join(made)) == cores


def test_a_keys_value_is_not_printed(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("run: {models: [oracle]}\n", encoding="utf-8")
    key = "sk-" + "a1" * 12
    done = run(tmp_path, "run", "mine.yaml", "-n", "--config", f"note={key}")
    assert key not in done.stdout + done.stderr and "note=***" in done.stderr


def test_ones_own_preset_comes_before_the_workflows(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = "presets/mlneedle.yaml"
    assert command._own(name) == str(ROOT / name)
    (tmp_path / "presets").mkdir()
    (tmp_path / name).touch()
    assert command._own(name) == name
