"""A plugin of pytest: the processor seconds of each test, of the processes that it started too.

`-p processor_time` writes them into the JUnit report, as the property `cpu_seconds`. At the end it
prints the seconds of each kind of process, and how many of these are imports or the saving of figures.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

import warm_snakemake
from kinds import sitecustomize

MEASURING = Path(sitecustomize.__file__).parent


def spent() -> float:
    """The processor seconds of this process and of those that it waited for."""
    times = os.times()
    own = times.user + times.system + times.children_user + times.children_system
    return own + sum(warm_snakemake.processor_seconds())


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


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Measure all processes that start from now on. The controller itself only waits for its workers."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = tempfile.TemporaryDirectory()
        config.add_cleanup(folder.cleanup)
        paths = [str(MEASURING), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ.update({sitecustomize.KINDS: folder.name, "PYTHONPATH": os.pathsep.join(paths)})


def pytest_sessionfinish() -> None:
    """Note the seconds of this worker, and of Snakemake in the runs that it forked."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        import sitecustomize as own

        own.write()
        snakemake, _ = warm_snakemake.processor_seconds()
        own.note("Snakemake", snakemake)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The files whose tests took most, and the kinds of processes."""
    files: Counter[str] = Counter()
    for report in terminalreporter.getreports(""):
        if report.when == "teardown":
            own = dict(report.user_properties)
            files[report.nodeid.partition("::")[0]] += own["cpu_seconds"]
    terminalreporter.section(f"processor seconds: {files.total():.0f}")
    for name, seconds in files.most_common(60):
        terminalreporter.write_line(f"{seconds:7.1f} {name}")
    kinds: dict[str, Counter[str]] = {}
    for file in Path(os.environ[sitecustomize.KINDS]).iterdir():
        for line in file.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            kinds.setdefault(one.pop("process"), Counter()).update(one | {"processes": 1})
    for name, own in kinds.items():
        terminalreporter.write_line(
            f"KIND: {name}: {own['processes']:.0f} processes, {own['cpu']:.1f} s, importing "
            f"{own['importing']:.1f} s, drawing {own['drawing']:.1f} s"
        )
