"""An endpoint of OpenAI's protocol for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from factories.generations import documents, instances
from factories.models import SECRET
from http_server import BatchServer, OpenAIServer
from needlework.models import remote_models
from needlework.models.backends.openai import batches
from needlework.models.generation import InstanceRequests
from needlework.records import write_table


@pytest.fixture
def own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in A_KEY and nowhere else, and no proxy before the server."""
    monkeypatch.setenv("A_KEY", SECRET)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server(own_key: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """Its clients pause shortly before they ask again."""
    monkeypatch.setattr(remote_models, "FIRST_PAUSE_S", 0.01)
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def batch_server(own_key: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    """A batch API, asked with short pauses."""
    monkeypatch.setattr(batches, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(batches, "LONGEST_PAUSE_S", 0.05)
    monkeypatch.setattr(batches, "SETTLE_S", 0.05)
    # A test may set it.
    monkeypatch.setattr(batches, "MOST_REQUESTS", batches.MOST_REQUESTS)
    with BatchServer() as running:
        yield running


@pytest.fixture
def requests(tmp_path: Path) -> InstanceRequests:
    """24 requests in two instance files."""
    table, files = instances(), [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    write_table(table.slice(0, 15), files[0])
    write_table(table.slice(15), files[1])
    return InstanceRequests(files, documents())
