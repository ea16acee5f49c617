"""Jobs that take GPUs of their own: made-up devices, real processes and locks, real kills."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from needlework.jobs import gpus
from needlework.jobs.gpus import own_gpus, visible_gpus

SCRIPTS = Path(gpus.__file__).parents[2]
# Takes devices again and again. Whoever still runs and has its number in a device's file owns that device.
JOB = """
import os, random, sys, time
from pathlib import Path
from needlework.jobs.gpus import own_gpus

folder, number, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
for _ in range(rounds):
    with own_gpus(number) as names:
        assert len(set(names)) == number and os.environ["CUDA_VISIBLE_DEVICES"] == ",".join(names)
        for name in names:
            owner = folder / name
            other = owner.read_text() if owner.exists() else ""
            if other and Path("/proc", other).exists() and other != str(os.getpid()):
                stat = Path("/proc", other, "stat").read_text().rpartition(")")[2].split()[0]
                if stat not in "ZX":
                    sys.exit(f"{name} belongs to {other}")
            owner.write_text(str(os.getpid()))
        time.sleep(random.uniform(0, 0.02))
        for name in names:
            (folder / name).write_text("")
"""


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """Eight made-up devices, no scheduler, and a folder for locks."""
    for name in gpus._SCHEDULERS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def start(folder: Path, number: int, rounds: int) -> subprocess.Popen:
    env = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
    command = [sys.executable, "-c", JOB, str(folder), str(number), str(rounds)]
    return subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)


def test_two_jobs_take_different_devices(monkeypatch):
    """And the environment is as before afterwards. Names may be UUIDs."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", all_devices := "GPU-1a/../b, 1,MIG-2")
    with own_gpus(2) as first:
        assert len(visible_gpus()) == 2
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", all_devices)
        with own_gpus(1) as second:
            assert (first, second) == (["GPU-1a/../b", "1"], ["MIG-2"])
    assert len(visible_gpus()) == 3


@pytest.mark.parametrize("number", [0, 9])
def test_nothing_is_locked_without_need(number):
    with own_gpus(number) as names:
        assert names == []
        assert len(visible_gpus()) == 8


def test_a_scheduler_keeps_its_devices(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    with own_gpus(2) as names:
        assert names == []


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_killed_jobs_give_their_devices_back(tmp_path):
    """Twenty of them, with one, two or four devices each; no device ever has two owners."""
    rng = random.Random(49)
    owners = tmp_path / "owners"
    owners.mkdir()
    running = [start(owners, rng.choice([1, 2, 4]), 10_000) for _ in range(6)]
    try:
        for _ in range(20):
            time.sleep(rng.uniform(0.05, 0.2))
            victim = running.pop(rng.randrange(len(running)))
            assert victim.poll() is None, victim.stderr.read()
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            running.append(start(owners, rng.choice([1, 2, 4]), 10_000))
        last = start(owners, 8, 1)
        for job in running:
            job.kill()
            job.wait()
        assert last.wait(60) == 0, last.stderr.read()
    finally:
        for job in running:
            job.kill()
