"""A plugin of pytest: the processor seconds of each test, of the processes that it started too.

`-p processor_time` writes them into the JUnit report, as the property `cpu_seconds`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator

import pytest

import warm_snakemake


def spent() -> float:
    """The processor seconds of this process and of those that it waited for."""
    times = os.times()
    own = times.user + times.system + times.children_user + times.children_system
    return own + warm_snakemake.processor_seconds()


class Begun:
    """What was spent when the current test began."""

    seconds = 0.0


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart() -> None:
    """A test begins, with its fixtures."""
    Begun.seconds = spent()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """A test ended, and with it the fixtures that no later one of the same worker needs."""
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu_seconds", round(spent() - Begun.seconds, 2)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The files whose tests took most."""
    files: Counter[str] = Counter()
    for report in terminalreporter.getreports(""):
        if report.when == "teardown":
            own = dict(report.user_properties)
            files[report.nodeid.partition("::")[0]] += own["cpu_seconds"]
    terminalreporter.section(f"processor seconds: {files.total():.0f}")
    for name, seconds in files.most_common(60):
        terminalreporter.write_line(f"{seconds:7.1f} {name}")
