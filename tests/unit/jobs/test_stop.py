"""Which signals stop a run's jobs, and which run's."""

from __future__ import annotations

import os
import signal

import pytest

from needlework.jobs import stop

NUMBERS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


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


@pytest.mark.parametrize("number", NUMBERS)
def test_the_second_signal_ends_a_job_that_finishes(stop_run, number) -> None:
    before = [signal.getsignal(each) for each in NUMBERS]
    with stop.finishing():
        assert stop.stopping() == ""
        os.kill(os.getpid(), number)
        assert stop.stopping() == signal.Signals(number).name
        now = [signal.getsignal(each) for each in NUMBERS]
        # A closed terminal's comes twice.
        own = [signal.SIG_IGN, *before[1:]] if number == signal.SIGHUP else before
        assert now == own
    assert [signal.getsignal(each) for each in NUMBERS] == before


def test_a_signal_that_nohup_ignores_stays_ignored(stop_run) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop.finishing():
            os.kill(os.getpid(), signal.SIGHUP)
            assert stop.stopping() == ""
    finally:
        signal.signal(signal.SIGHUP, before)
