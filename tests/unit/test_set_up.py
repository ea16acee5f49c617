"""What `make setup` says where something is missing: one sentence and the remedy."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "requirements/set_up.sh"


def run(command: list[object], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command without this environment's settings of pip and Python; no package index is asked."""
    own = {k: v for k, v in os.environ.items() if not k.upper().startswith(("PIP_", "PYTHON"))}
    own |= {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PYTHON": sys.executable}
    return subprocess.run(command, env=own | environment, capture_output=True, text=True)


def set_up(folder: Path, lines: str, *options: str, **environment: str) -> tuple[int, str]:
    """Run the script for a file of requirements: exit status and the last line on standard error."""
    (folder / "wanted.txt").write_text(lines, encoding="utf-8")
    command = ["sh", SCRIPT, folder / "made", folder / "wanted.txt", *options]
    done = run(command, **{"TMPDIR": str(folder)} | environment)
    return done.returncode, (done.stderr.splitlines() or [""])[-1]


def wheel(folder: Path, version: str = "1.0") -> Path:
    """A package without code, as a wheel."""
    path, info = folder / f"small-{version}-py3-none-any.whl", f"small-{version}.dist-info"
    files = {
        "METADATA": f"Metadata-Version: 2.1\nName: small\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as file:
        for name, text in files.items():
            file.writestr(f"{info}/{name}", text)
    return path


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment into which nothing is installed."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    return folder


@pytest.fixture
def made(environment: Path, tmp_path: Path) -> Path:
    """A folder in which the virtual environment is there already."""
    (tmp_path / "made").symlink_to(environment)
    return tmp_path


def test_packages_are_installed_for_the_newest_python_that_runs(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    path = fake_pythons(tmp_path / "bin", "3.13", "3.12")
    digest = hashlib.sha256(wheel(tmp_path).read_bytes()).hexdigest()
    lines, place = f"small==1.0 --hash=sha256:{digest}\n", {"PIP_FIND_LINKS": str(tmp_path)}
    status, said = set_up(tmp_path, lines, "--require-hashes", PYTHON="", PATH=path, **place)
    assert status == 0, said
    made = tmp_path / "made/bin"
    assert (made / "python3.13").exists() and not (made / "python3.12").exists()
    version = "import importlib.metadata as m; print(m.version('small'))"
    assert subprocess.check_output([made / "python", "-c", version], text=True) == "1.0\n"


def test_the_set_up_says_how_far_it_is(made: Path) -> None:
    """Of a pip that takes its time: the third of three packages is what it waits for."""
    slow = made / "slow"
    slow.mkdir()
    (slow / "sitecustomize.py").write_text(
        "import sys, time\n"
        "if sys.argv[0] == '-m':\n"
        "    print('Collecting one==1.0', 'Collecting two==1.0', sep='\\n', flush=True)\n"
        "    time.sleep(2)\n"
    )
    # What is said every ten seconds is said here every half second.
    stand_in(slow / "sleep", f"exec {shutil.which('sleep')} 0.5")
    (made / "wanted.txt").write_text("one==1.0\ntwo==1.0\nthree==1.0\n")
    command = ["sh", SCRIPT, made / "made", made / "wanted.txt"]
    done = run(command, PATH=f"{slow}:{os.environ['PATH']}", PYTHONPATH=str(slow))
    assert "set-up: 3 packages into" in done.stdout
    assert "set-up: 2 of 3 packages\n" in done.stdout
    assert done.returncode and "the package index has no one==1.0" in done.stderr


def fake_pythons(folder: Path, *versions: str) -> str:
    """A PATH whose Pythons are this one under other names, and those that run nothing."""
    for name in ("sh", "mktemp", "rm", "tail", "grep", "sed", "basename", "cat"):
        (folder / name).symlink_to(shutil.which(name))
    for version in versions:
        (folder / f"python{version}").symlink_to(sys.executable)
    stand_in(folder / "python3.14", "echo 'this version is not installed' >&2\nexit 127")
    return str(folder)


def stand_in(path: Path, script: str) -> None:
    """A program of these lines of shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_what_is_no_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    path = fake_pythons(tmp_path / "bin")
    said = "no Python from 3.11 to 3.14 was found: install one, or set PYTHON to its path."
    assert set_up(tmp_path, "", PYTHON="", PATH=path) == (1, f"set-up: {said}")
    said = "/bin/true-or-not is no Python from 3.11 to 3.14: set PYTHON to one."
    assert set_up(tmp_path, "", PYTHON="/bin/true-or-not") == (1, f"set-up: {said}")


def test_a_python_without_the_venv_module(tmp_path: Path) -> None:
    """As Debian's without the package python3-venv."""
    (tmp_path / "ensurepip.py").write_text("raise ImportError('ensurepip is not available')\n")
    status, said = set_up(tmp_path, "", PYTHONPATH=str(tmp_path))
    assert status == 1
    assert "has no module venv" in said and f"{Path(sys.executable).name}-venv" in said
    assert not (tmp_path / "made").exists()


# Nothing listens at this port of this machine.
NOWHERE = "127.0.0.1:9"
PROXIES = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"), "")
HASH = f"small==1.0 --hash=sha256:{'0' * 64}\n"


@pytest.mark.parametrize(
    ("version", "lines", "options", "variables", "said"),
    [
        ("0.9", "small==1.0\n", [], {}, "no small==1.0 for Python 3.*PIP_INDEX_URL"),
        ("1.0", HASH, ["--require-hashes"], {}, "is not the file that.*pip cache purge"),
        (
            *(None, "small==1.0\n", ["--retries=1"]),
            {"PIP_INDEX_URL": "https://index.invalid/simple"}
            | dict.fromkeys(("HTTPS_PROXY", "https_proxy"), f"http://{NOWHERE}"),
            "the proxy lets no request through: correct HTTPS_PROXY",
        ),
        (
            *(None, "small==1.0\n", ["--retries=1"]),
            {"PIP_INDEX_URL": f"https://{NOWHERE}/simple"},
            "the package index cannot be reached.*air-gapped.md",
        ),
    ],
)
def test_what_an_index_lacks_is_said(made, version, lines, options, variables, said) -> None:
    if version:
        wheel(made, version)
        variables = {"PIP_FIND_LINKS": str(made)}
    else:
        variables = PROXIES | {"PIP_NO_INDEX": "0"} | variables
    status, line = set_up(made, lines, *options, **variables)
    assert status == 1 and line.startswith("set-up: ") and re.search(said, line)


def test_no_compiler(made: Path) -> None:
    package = made / "compiled"
    package.mkdir()
    (package / "code.c").write_text("int main(void) { return 0; }\n")
    (package / "setup.py").write_text(
        "from setuptools import Extension, setup\n"
        "setup(name='compiled', version='1', ext_modules=[Extension('code', ['code.c'])])\n"
    )
    # setuptools from here, so that no index is asked.
    site = next(Path(entry) for entry in sys.path if (Path(entry) / "setuptools").is_dir())
    own = {"PYTHONPATH": str(site), "CC": "/nowhere/cc"}
    status, said = set_up(made, f"{package}\n", "--no-build-isolation", **own)
    assert status == 1
    assert "it could not be compiled: install a C compiler" in said and "build-essential" in said


def test_a_full_disk(tmp_path: Path) -> None:
    """On a file system of 1 MiB, which only root can make."""
    full = tmp_path / "full"
    full.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", full]
    if os.geteuid() or subprocess.run(mount).returncode:
        pytest.skip("no file system can be mounted here: it needs root")
    try:
        status, said = set_up(full, "")
    finally:
        subprocess.run(["umount", full], check=True)
    assert status == 1 and "is full: free some GB there" in said


def test_a_folder_of_a_python_that_is_gone(tmp_path: Path) -> None:
    stand_in(tmp_path / "made/bin/python", "exit 127")
    status, said = set_up(tmp_path, "")
    assert status == 1 and said.endswith(f"remove {tmp_path / 'made'} and repeat.")
