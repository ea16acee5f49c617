"""A translator's key: it is in no translation, and takes nothing out of one."""

from __future__ import annotations

from typing import Any

import pytest

from http_server import OpenAIServer, Reply
from needlework.errors import UserError
from needlework.scoring.translators.http import Endpoint


def translated(server: OpenAIServer, secret: str) -> str:
    endpoint = Endpoint(
        server.url, translator="t", secret=secret, header="Authorization", scheme="Bearer "
    )

    def read(body: Any) -> str:
        return body["text"]

    return endpoint.post({"text": "x"}, read)


@pytest.mark.parametrize(
    ("secret", "gone"),
    [("sk-very-secret-0123456789", True), ("none", False), ("1234", False), ("text", False)],
)
def test_a_dummy_key_corrupts_no_translation(monkeypatch, secret, gone) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with OpenAIServer() as server:
        server.reply = lambda number, body: Reply({"text": f"The word {secret}."})
        assert translated(server, secret) == f"The word {'***' if gone else secret}."
        assert len(server.received) == 1


def test_an_unusable_proxy_is_named_without_its_password(monkeypatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:pa/ssword1@proxy:8080")
    with pytest.raises(UserError, match="HTTP_PROXY, HTTPS_PROXY and ALL_PROXY") as error:
        Endpoint("https://nowhere", translator="t", secret="", header="", scheme="")
    assert "ssword1" not in str(error.value)
