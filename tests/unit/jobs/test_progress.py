"""What a job says of its progress, on a terminal and where nobody watches."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from needlework.jobs import progress as module
from needlework.jobs.progress import progress, show_on


class Terminal(io.StringIO):
    def __init__(self, watched: bool) -> None:
        super().__init__()
        self.watched = watched

    def isatty(self) -> bool:
        return self.watched


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.02)
    for name in ("_watched", "_told", "_job", "_log"):
        monkeypatch.setattr(module, name, getattr(module, name))
    yield


def answer(
    watched: bool, until: str, *, total: int = 4, done: int = 1, ago: float = 0, **own: Any
) -> str:
    """What is said while `done` prompts are answered by a job that began `ago` seconds before."""
    terminal, begins = Terminal(watched), own.pop("begins", False)
    show_on(terminal, "generate_answers m b", "logs/m/b.log")
    with progress(desc="answers", total=total, unit="prompt", **{"told": True, **own}) as bar:
        bar.start_t -= ago
        if begins:
            bar.begin()
        for _ in range(done):
            bar.update()
        bar.set_postfix_str("1 failed", refresh=False)
        end = time.monotonic() + 10
        while until not in terminal.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
            bar.refresh()
    return terminal.getvalue()


def test_without_a_terminal_lines_say_how_far_a_job_is() -> None:
    text = answer(False, "3 of 4", done=3)
    wanted = (
        r"generate_answers m b: answers 3 of 4 prompts, [\d.]+.* a \w+, \d\d:\d\d left, "
        r"1 failed \(log: logs/m/b.log\)\n"
    )
    assert re.search(wanted, text), text


def test_a_terminal_shows_a_bar_with_job_and_log() -> None:
    text = answer(True, "3/4", done=3)
    assert "generate_answers m b: answers (log: logs/m/b.log)" in text
    assert "3/4" in text and "1 failed" in text and "prompt/s" in text


def test_the_time_left_is_as_the_work_says() -> None:
    text = answer(False, "09:", done=3, ago=60, left=lambda: 541.0)
    assert re.search(r"answers 3 of 4 prompts, .*, 09:01 left", text)
    # Where it is unknown, none is shown.
    text = answer(False, "1 of 4", left=lambda: None)
    assert "1 of 4 prompts" in text and "left" not in text


def test_short_work_says_nothing() -> None:
    terminal = Terminal(watched=True)
    show_on(terminal)
    for _ in progress(range(3), desc="keys", unit="prompt", told=True):
        pass
    assert terminal.getvalue() == answer(False, "", told=False) == ""
