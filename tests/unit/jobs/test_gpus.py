"""Jobs that take GPUs of their own: made-up devices, real processes and locks, real kills."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from needlework.jobs import gpus
from needlework.jobs.gpus import own_gpus, visible_gpus

SCRIPTS = Path(gpus.__file__).parents[2]
# Takes devices, and says which.
JOB = """
import sys, time
from needlework.jobs.gpus import own_gpus
with own_gpus(int(sys.argv[1])) as names:
    print(*names, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """Eight made-up devices, no scheduler, and a folder for locks."""
    for name in gpus._SCHEDULERS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def start(number: int) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
    command = [sys.executable, "-c", JOB, str(number)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


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


def test_killed_jobs_give_their_devices_back():
    """And no device ever has two owners."""
    with start(4) as first, start(2) as second, start(2) as third:
        jobs = (first, second, third)
        try:
            names = [job.stdout.readline().split() for job in jobs]
            assert {name for own in names for name in own} == {*"01234567"}
            for job in (first, third):
                job.kill()
                job.wait()
            with own_gpus(6) as again:
                assert sorted(again) == sorted(names[0] + names[2])
        finally:
            for job in jobs:
                job.kill()
