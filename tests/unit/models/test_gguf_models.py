"""The folder of a converted GGUF file: what killed jobs leave of it is removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from needlework.atomic import STALE_S, host
from needlework.models.backends.openvino import gguf_models

JOB = """
import sys, time
from pathlib import Path
from types import SimpleNamespace
from needlework.models.backends.openvino import gguf_models

def convert(file, folder):
    (folder / "half").write_text("a model")
    print("begun", flush=True)
    time.sleep(60)

gguf_models.genai = lambda: SimpleNamespace(__version__="1.0-x")
gguf_models.exact_folder = convert
gguf_models.kept_folder(Path(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file whose conversion writes one small file."""

    def convert(file: Path, folder: Path) -> None:
        (folder / "openvino_model.xml").write_text(file.read_text())

    monkeypatch.setattr(gguf_models, "genai", lambda: SimpleNamespace(__version__="1.0-x"))
    monkeypatch.setattr(gguf_models, "exact_folder", convert)
    path = tmp_path / "model.gguf"
    path.write_text("weights")
    return path


def begin(model: Path, cache: Path, root: Path) -> subprocess.Popen[str]:
    """Another job, which has begun to convert the file."""
    library = {**os.environ, "PYTHONPATH": str(root / "workflow" / "scripts")}
    command = [sys.executable, "-c", JOB, str(model), str(cache)]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=library)
    assert job.stdout is not None
    assert job.stdout.readline() == "begun\n"
    return job


def test_only_folders_of_jobs_that_ended_are_removed(model, tmp_path, root) -> None:
    cache = tmp_path / "cache"
    killed, running = begin(model, cache, root), begin(model, cache, root)
    try:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert len(list(cache.glob("unfinished-*"))) == 2
        folder = gguf_models.kept_folder(model, cache)
        (left,) = cache.glob("unfinished-*")
        assert left.name.startswith(f"unfinished-{host()}-{running.pid}-")
        assert (left / folder.name / "half").is_file()
        assert (folder / "openvino_model.xml").read_text() == "weights"
    finally:
        for job in (killed, running):
            job.kill()
            job.wait()


def test_folders_of_unknown_jobs_are_removed_after_a_day(model, tmp_path) -> None:
    cache = tmp_path / "cache"
    other = "0" * 8 if host() != "0" * 8 else "1" * 8
    names = ("unfinished-abc_1234", f"unfinished-{other}-1-abc_1234")
    for name in names:
        for age in ("new", "old"):
            (cache / f"{name}{age}").mkdir(parents=True)
    past = time.time() - STALE_S - 60
    for name in names:
        os.utime(cache / f"{name}old", (past, past))
    folder = gguf_models.kept_folder(model, cache)
    assert set(cache.iterdir()) == {folder, *(cache / f"{name}new" for name in names)}
