"""An endpoint of OpenAI's protocol for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from factories.models import SECRET
from http_server import OpenAIServer
from needlework.models import remote_models


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
