"""Fixtures that all tests share."""

from __future__ import annotations

import functools
import gc
import json
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from needlework.jobs import stop
from needlework.jobs.job import NEW_OBJECTS

ROOT = Path(__file__).resolve().parents[1]
MIRROR = ROOT.parent / "shared" / "mirror"

# Jobs of workflows keep the library compiled, as a user's do; some images forbid it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


# The same examples everywhere, so that a failure can be repeated; machines differ in speed.
hypothesis.settings.register_profile(
    "ours", derandomize=True, deadline=None, max_examples=50, database=None
)
hypothesis.settings.load_profile("ours")


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def mirror() -> Path:
    """Real data in the sources' own layout; tests that need it skip where it is not."""
    if not MIRROR.is_dir():
        pytest.skip(f"real data is not at {MIRROR}: this test needs a mirror of the sources")
    return MIRROR


@pytest.fixture
def stop_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], object]:
    """Stops the run to which this process belongs during the test, as its Snakemake does at a SIGTERM."""
    file = tmp_path / "stop"
    file.touch()
    monkeypatch.setenv(stop.FILE, str(file))
    for name, value in (("LOOK_S", 0.0), ("_signal", ""), ("_next_look", 0.0)):
        monkeypatch.setattr(stop, name, value)
    return lambda: file.write_text("SIGTERM", encoding="ascii")


@pytest.fixture(scope="module")
def named_tokenizer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Any]]:
    """Loads a tokenizer by its name in tokenizers_made.NAMES, once a module; skips without its files."""
    import tokenizers_made

    folder, loaded = tmp_path_factory.mktemp("tokenizers"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", os.fspath(folder))

        def load(name: str) -> Any:
            if name not in loaded:
                encoding = name in tokenizers_made.ENCODINGS
                mirror = request.getfixturevalue("mirror") if encoding else None
                loaded[name] = tokenizers_made.load(name, folder, mirror)
            return loaded[name]

        yield load


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """More workers than cores: many tests wait, for a process that ends or a server that is slow.

    The quick ones do not, and each worker takes seconds to begin.
    """
    return (os.cpu_count() or 1) + (0 if config.option.markexpr == "not slow" else 3)


def pytest_configure() -> None:
    """Python looks for unreachable objects as rarely as in jobs: figures and frames are many objects."""
    gc.set_threshold(NEW_OBJECTS)


@functools.cache
def measured() -> dict[str, dict[str, float]]:
    """The seconds of groups and of slow tests, as perf/tests.py wrote them."""
    return json.loads((ROOT / "perf/tests.json").read_text(encoding="utf-8"))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark tests that were measured to be slow, and group by their file those of no other group.

    Otherwise each worker would make the fixtures of each module.
    """
    if item.nodeid in measured()["slow"]:
        item.add_marker("slow")
    item.add_marker(pytest.mark.xdist_group(group_of(item)))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Groups that take long begin first, so that no worker is left with one at the end.

    pytest-xdist gives whole groups to its workers in this order. A named group that was not measured yet
    counts as the longest.
    """
    seconds = measured()["seconds"]

    def longest_first(item: pytest.Item) -> float:
        group = group_of(item)
        return -seconds.get(group, 0.0 if group.endswith(".py") else math.inf)

    items.sort(key=longest_first)


def group_of(item: pytest.Item) -> str:
    """The group of tests that one worker runs: by its name, or the file of what is in none."""
    for mark in item.iter_markers("xdist_group"):
        return str(mark.args[0])
    return item.path.relative_to(ROOT).as_posix()
