"""What `make setup` says where something is missing: one sentence and the remedy."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "requirements/set_up.sh"


def set_up(folder: Path, lines: str, *options: str, **environment: str) -> tuple[int, str]:
    """Run the script for a file of requirements: exit status and the last line on standard error."""
    wanted = folder / "wanted.txt"
    wanted.write_text(lines, encoding="utf-8")
    own = {k: v for k, v in os.environ.items() if not k.upper().startswith(("PIP_", "PYTHON"))}
    # No package index is asked unless a test says so.
    own |= {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PYTHON": sys.executable}
    done = subprocess.run(
        ["sh", SCRIPT, folder / "made", wanted, *options],
        env=own | {"TMPDIR": str(folder)} | environment,
        capture_output=True,
        text=True,
    )
    return done.returncode, (done.stderr.splitlines() or [""])[-1]


def wheel(folder: Path, version: str = "1.0") -> Path:
    """A package without code, as a wheel."""
    path, info = folder / f"small-{version}-py3-none-any.whl", f"small-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: small\nVersion: {version}\n"
        )
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{info}/RECORD", "")
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


def test_the_listed_packages_are_installed(tmp_path: Path) -> None:
    digest = hashlib.sha256(wheel(tmp_path).read_bytes()).hexdigest()
    lines = f"small==1.0 --hash=sha256:{digest}\n"
    status, said = set_up(tmp_path, lines, "--require-hashes", PIP_FIND_LINKS=str(tmp_path))
    assert status == 0, said
    python = tmp_path / "made/bin/python"
    version = "import importlib.metadata as m; print(m.version('small'))"
    assert subprocess.check_output([python, "-c", version], text=True) == "1.0\n"


def test_the_set_up_says_how_far_it_is(made: Path) -> None:
    """Of a pip that takes its time: the third of three packages is what it waits for."""
    lines = "one==1.0\ntwo==1.0\nthree==1.0\n"
    slow = made / "slow"
    slow.mkdir()
    (slow / "sitecustomize.py").write_text(
        "import sys, time\n"
        "if sys.argv[0] == '-m':\n"
        "    print('Collecting one==1.0', 'Collecting two==1.0', sep='\\n', flush=True)\n"
        "    time.sleep(12)\n"
    )
    (made / "wanted.txt").write_text(lines)
    env = os.environ | {"PYTHON": sys.executable, "PYTHONPATH": str(slow), "PIP_NO_INDEX": "1"}
    command = ["sh", SCRIPT, made / "made", made / "wanted.txt"]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert "set-up: 3 packages into" in done.stdout
    assert "set-up: 2 of 3 packages\n" in done.stdout
    assert done.returncode and "the package index has no one==1.0" in done.stderr


def fake_pythons(folder: Path, *versions: str) -> str:
    """A PATH whose Pythons are this one under other names, and those that run nothing."""
    for name in ("sh", "mktemp", "rm", "tail", "grep", "sed", "basename", "cat"):
        (folder / name).symlink_to(
            next(p for p in (Path("/bin") / name, Path("/usr/bin") / name) if p.exists())
        )
    for version in versions:
        (folder / f"python{version}").symlink_to(sys.executable)
    stand_in = folder / "python3.14"
    stand_in.write_text("#!/bin/sh\necho 'this version is not installed' >&2\nexit 127\n")
    stand_in.chmod(0o755)
    return str(folder)


def test_the_newest_python_that_runs_is_taken(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    path = fake_pythons(tmp_path / "bin", "3.13", "3.12")
    wheel(tmp_path)
    status, said = set_up(
        tmp_path, "small==1.0\n", PYTHON="", PATH=path, PIP_FIND_LINKS=str(tmp_path)
    )
    assert status == 0, said
    assert (tmp_path / "made/bin/python3.13").exists() and not (
        tmp_path / "made/bin/python3.12"
    ).exists()


def test_no_python(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    status, said = set_up(tmp_path, "", PYTHON="", PATH=fake_pythons(tmp_path / "bin"))
    assert status == 1
    assert (
        said
        == "set-up: no Python from 3.11 to 3.14 was found: install one, or set PYTHON to its path."
    )


def test_a_program_that_is_no_python(tmp_path: Path) -> None:
    assert set_up(tmp_path, "", PYTHON="/bin/true-or-not") == (
        1,
        "set-up: /bin/true-or-not is no Python from 3.11 to 3.14: set PYTHON to one.",
    )


def test_a_python_without_the_venv_module(tmp_path: Path) -> None:
    # What Debian's Python is without the package python3-venv: nothing else is as it would be there.
    (tmp_path / "lacking").mkdir()
    (tmp_path / "lacking/ensurepip.py").write_text(
        "raise ImportError('ensurepip is not available')\n"
    )
    status, said = set_up(tmp_path, "", PYTHONPATH=str(tmp_path / "lacking"))
    assert status == 1
    assert "has no module venv" in said and f"{Path(sys.executable).name}-venv" in said
    assert not (tmp_path / "made").exists()


def test_an_index_that_lacks_a_version(made: Path) -> None:
    wheel(made, "0.9")
    status, said = set_up(made, "small==1.0\n", PIP_FIND_LINKS=str(made))
    assert status == 1
    assert "the package index has no small==1.0 for Python 3." in said and "PIP_INDEX_URL" in said


def test_a_file_that_is_not_the_pinned_one(made: Path) -> None:
    wheel(made)
    lines = f"small==1.0 --hash=sha256:{'0' * 64}\n"
    status, said = set_up(made, lines, "--require-hashes", PIP_FIND_LINKS=str(made))
    assert status == 1
    assert "a download is not the file that" in said and "pip cache purge" in said


def test_a_proxy_that_answers_nothing(made: Path) -> None:
    # Nothing listens at this port of this machine.
    status, said = set_up(
        made, "small==1.0\n", "--retries=1", PIP_NO_INDEX="0", PIP_INDEX_URL="https://index.invalid/simple",
        HTTPS_PROXY="http://127.0.0.1:9", https_proxy="http://127.0.0.1:9", NO_PROXY="", no_proxy="",
    )  # fmt: skip
    assert status == 1
    assert said.startswith("set-up: the proxy lets no request through: correct HTTPS_PROXY")


def test_an_index_that_cannot_be_reached(made: Path) -> None:
    status, said = set_up(
        made, "small==1.0\n", "--retries=1", PIP_NO_INDEX="0", PIP_INDEX_URL="https://127.0.0.1:9/simple",
        HTTPS_PROXY="", https_proxy="",
    )  # fmt: skip
    assert status == 1
    assert (
        said.startswith("set-up: the package index cannot be reached") and "air-gapped.md" in said
    )


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
    status, said = set_up(
        made, f"{package}\n", "--no-build-isolation", PYTHONPATH=str(site), CC="/nowhere/cc"
    )
    assert status == 1
    assert "it could not be compiled: install a C compiler" in said and "build-essential" in said


def test_a_full_disk(tmp_path: Path) -> None:
    """On a file system of 1 MiB, which only root can make."""
    full = tmp_path / "full"
    full.mkdir()
    if (
        os.geteuid()
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", full]).returncode
    ):
        pytest.skip("no file system can be mounted here: it needs root")
    try:
        status, said = set_up(full, "")
    finally:
        subprocess.run(["umount", full], check=True)
    assert status == 1
    assert "is full: free some GB there" in said


def test_a_folder_of_a_python_that_is_gone(tmp_path: Path) -> None:
    stand_in = tmp_path / "made/bin/python"
    stand_in.parent.mkdir(parents=True)
    stand_in.write_text("#!/bin/sh\nexit 127\n")
    stand_in.chmod(0o755)
    status, said = set_up(tmp_path, "")
    assert status == 1
    assert said.endswith(f"remove {tmp_path / 'made'} and repeat.")
