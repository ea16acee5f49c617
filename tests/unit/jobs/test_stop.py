"""Which signals stop a run's jobs, and which run's."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from needlework.jobs import stop
from runs import ROOT


def test_a_pause_ends_when_the_run_is_stopped(stop_run) -> None:
    stop.rest(0.1)
    stop_run()
    with pytest.raises(stop.Stopped, match="stopped by SIGTERM"):
        stop.rest(600)


def test_a_job_without_a_run_is_never_stopped(stop_run, tmp_path, monkeypatch) -> None:
    monkeypatch.delenv(stop.FILE)
    assert stop.stopping() == ""
    monkeypatch.setenv(stop.FILE, str(tmp_path / "missing"))
    stop.rest(0)


# A process of its own gets the signals: one that runs tests has threads and handlers of many libraries.
BEGIN = """
import os, signal, sys
from needlework.jobs import stop
NUMBERS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
name = sys.argv[1]
number = signal.Signals[name]
before = [signal.getsignal(each) for each in NUMBERS]
"""
SECOND = """
with stop.finishing():
    assert stop.stopping() == ""
    os.kill(os.getpid(), number)
    assert stop.stopping() == name
    # A closed terminal's comes twice.
    own = [signal.SIG_IGN, *before[1:]] if number == signal.SIGHUP else before
    assert [signal.getsignal(each) for each in NUMBERS] == own
assert [signal.getsignal(each) for each in NUMBERS] == before
"""
IGNORED = """
signal.signal(number, signal.SIG_IGN)
with stop.finishing():
    os.kill(os.getpid(), number)
    assert stop.stopping() == ""
"""


def run(script: str, name: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow/scripts")}
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script, name],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT", "SIGTERM"])
def test_the_second_signal_ends_a_job_that_finishes(stop_run, name: str) -> None:
    run(SECOND, name)


def test_a_signal_that_nohup_ignores_stays_ignored(stop_run) -> None:
    run(IGNORED, "SIGHUP")
