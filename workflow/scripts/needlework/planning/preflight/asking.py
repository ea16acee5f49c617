"""Sends one request to a service and reads the reply, with the standard library alone."""

from __future__ import annotations

import base64
import json
import os
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import unquote
from urllib.request import HTTPRedirectHandler, Request, build_opener

from needlework.services.endpoints import excerpt, revealed, secrets_in, without

TIMEOUT_S = 10.0
# Bytes of a reply that are read: a public service lists hundreds of models.
_MOST = 1 << 22


class ServedModel(NamedTuple):
    """A model behind an address."""

    name: str
    # The whole address.
    address: str
    # The variable with the key.
    key_env: str | None
    # Whether it gives chat completions.
    chat: bool = True


class _NoRedirect(HTTPRedirectHandler):
    """A redirected request would take the key along."""

    def redirect_request(self, *_: Any) -> None:
        return None


def address_of(url: str) -> str:
    """An address as the user wrote it, with its login."""
    return str(revealed({"base_url": url})["base_url"])


def ask(
    endpoint: ServedModel, path: str, body: object = None, timeout_s: float = TIMEOUT_S
) -> tuple[int, Any]:
    """The reply of a model's server at a path (`reply_to`)."""
    address, question, query = endpoint.address.partition("?")
    scheme, _, rest = address.partition("://")
    login, at, place = rest.rpartition("@")
    headers = {"Content-Type": "application/json", "User-Agent": "needlework"}
    if endpoint.key_env:
        headers["Authorization"] = f"Bearer {os.environ[endpoint.key_env].strip()}"
    elif at:
        user, _, password = login.partition(":")
        pair = f"{unquote(user)}:{unquote(password)}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    data = None if body is None else json.dumps(body).encode()
    url = f"{scheme}://{place.rstrip('/')}/{path}{question}{query}"
    return reply_to(Request(url, data, headers), timeout_s)


def reply_to(request: Request, timeout_s: float = TIMEOUT_S) -> tuple[int, Any]:
    """The status and the body of a reply, as JSON or else text; if there is none, 0 and why."""
    try:
        with build_opener(_NoRedirect).open(request, timeout=timeout_s) as reply:
            status, content = reply.status, reply.read(_MOST)
    except HTTPError as error:
        with error:
            status, content = error.code, error.read(_MOST)
    except (OSError, HTTPException, ValueError) as error:
        return 0, str(getattr(error, "reason", error))
    try:
        return status, json.loads(content)
    except (ValueError, RecursionError):
        return status, content.decode("utf-8", "replace")


def beginning(endpoint: ServedModel, text: str) -> str:
    """The beginning of a server's text, without the secrets of its endpoint."""
    for secret in secrets_in(endpoint.address):
        text = without(text, secret)
    return excerpt(text, os.environ.get(endpoint.key_env or "", "").strip())
