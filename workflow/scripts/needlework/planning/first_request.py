"""One request to an endpoint before any job: whether it takes the key and serves the model.

The list of models costs nothing. Where there is none, or where it lacks the name, a prompt of one word is
sent with a limit of one token. Only the standard library: Snakemake's own process may have no client, and
inspect_ai is asked in a process of its own.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote
from urllib.request import HTTPRedirectHandler, Request, build_opener

from needlework.services.endpoints import (
    GOOGLE_TRANSLATE,
    excerpt,
    provider_keys,
    revealed,
    secrets_in,
    without,
)

TIMEOUT_S = 10.0
# inspect_ai is imported first, which takes seconds.
INSPECT_S = 180.0
# Bytes of a reply that are read: a public service lists hundreds of models.
_MOST = 1 << 22
# So many names of a list are shown.
_SHOWN = 5
# How Google refuses a key, with status 400.
_KEY = re.compile("API key not valid|API_KEY_INVALID", re.IGNORECASE)


class _NoRedirect(HTTPRedirectHandler):
    """A redirected request would take the key along."""

    def redirect_request(self, *_: Any) -> None:
        return None


def refusal(model: Mapping[str, Any], unit: str = "words") -> tuple[str, str] | None:
    """Why an endpoint would refuse a model's requests, and the remedy; None if it would not, or if unknown.

    model: an entry of `backend: openai`, whose key is in the environment; its `context` counts `unit`.
    """
    model = revealed(model)
    status, listed = _ask(model, "models")
    if status == 401:
        return _key(model["key_env"])
    if status == 0:
        return None
    served = _names(listed)
    if model["name"] in served:
        return None if unit == "characters" else _too_short(model, served[model["name"]])
    if model["batch"]:
        return None
    prompt = (
        {"messages": [{"role": "user", "content": "Hi"}]} if model["chat"] else {"prompt": "Hi"}
    )
    status, said = _ask(
        model,
        "chat/completions" if model["chat"] else "completions",
        {"model": model["name"], "max_tokens": 1, **prompt},
    )
    if status == 401:
        return _key(model["key_env"])
    if status == 404 and served:
        names = ", ".join(list(served)[:_SHOWN])
        more = f" and {len(served) - _SHOWN} more" if len(served) > _SHOWN else ""
        return f"it does not serve {model['name']!r}", f"set `name` to one of {names}{more}"
    if status == 404:
        text = said if isinstance(said, str) else json.dumps(said)
        return (
            f"status 404: {_shown(model, text)}",
            "correct `name`, or `base_url`, which ends before /chat/completions, often in /v1",
        )
    return None


def inspect_refusal(model: Mapping[str, Any]) -> tuple[str, str] | None:
    """As `refusal`, of an entry of `backend: inspect`, whose package this Python has."""
    library = str(Path(__file__).resolve().parents[2])
    try:
        done = subprocess.run(
            [sys.executable, "-m", "needlework.models.inspect_process"],
            input=json.dumps(model),
            capture_output=True,
            text=True,
            timeout=INSPECT_S,
            env={**os.environ, "PYTHONPATH": library},
        )
        status, said = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.TimeoutExpired, LookupError, TypeError, ValueError):
        return None
    if status == 401 or _KEY.search(said):
        used = [name for name in provider_keys(model["name"]) if os.environ.get(name, "").strip()]
        if used:
            return _key(" and ".join(used), status)
        return (
            f"it refuses the key (status {status})",
            "set the environment variable that the provider's own programs read",
        )
    if status == 404:
        return f"status 404: {said}", "correct `name`, which is <provider>/<model>, or `args`"
    return None


def translator_refusal(translator: Mapping[str, Any]) -> tuple[str, str] | None:
    """As `refusal`, of an entry of `translators` with a service; its key is in the environment."""
    translator = revealed(translator)
    if translator["kind"] == "llm":
        own = {key: translator[key] for key in ("name", "base_url", "key_env")}
        return refusal({**own, "chat": True, "batch": False, "context": 0})
    key = os.environ[translator["key_env"]].strip()
    # The list of languages costs nothing.
    url = f"{translator['base_url'].rstrip('/')}{GOOGLE_TRANSLATE}/languages"
    status, listed = _reply(Request(url, headers={"X-goog-api-key": key}))
    said = excerpt(json.dumps(listed), key)
    if status == 401 or _KEY.search(said):
        return _key(translator["key_env"], status)
    if status == 403:
        remedy = "enable the Cloud Translation API for the project of the key, or set another key"
        return f"status 403: {said}", remedy
    return None


def _key(variable: str | None, status: int = 401) -> tuple[str, str]:
    if variable:
        return (
            f"it refuses the key in {variable} (status {status})",
            f"set the environment variable {variable} to a key of this server",
        )
    return (
        "it asks for a key (status 401)",
        "set `key_env` to the environment variable that holds it",
    )


def _too_short(model: Mapping[str, Any], listed: Mapping[str, Any]) -> tuple[str, str] | None:
    """vLLM and SGLang list a model's limit, in its own tokens; `context` may count words, which are fewer."""
    limit = listed.get("max_model_len")
    if type(limit) is not int or limit >= model["context"]:
        return None
    return (
        f"it takes {limit:,} tokens, and `context` is {model['context']:,}",
        f"start it with a longer context (vLLM: --max-model-len {model['context']}), or lower `context`",
    )


def _names(listed: Any) -> dict[str, Mapping[str, Any]]:
    """The models of a list by their names; none if it is no such list."""
    data = listed.get("data") if isinstance(listed, dict) else None
    rows = data if isinstance(data, list) else []
    return {
        "".join(filter(str.isprintable, row["id"]))[:200]: row
        for row in rows
        if isinstance(row, dict) and isinstance(row.get("id"), str)
    }


def _ask(model: Mapping[str, Any], path: str, body: object = None) -> tuple[int, Any]:
    """What a model's server replies at a path (`_reply`)."""
    address, question, query = model["base_url"].partition("?")
    scheme, _, rest = address.partition("://")
    login, at, place = rest.rpartition("@")
    headers = {"Content-Type": "application/json", "User-Agent": "needlework"}
    if model["key_env"]:
        headers["Authorization"] = f"Bearer {os.environ[model['key_env']].strip()}"
    elif at:
        user, _, password = login.partition(":")
        pair = f"{unquote(user)}:{unquote(password)}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    data = None if body is None else json.dumps(body).encode()
    url = f"{scheme}://{place.rstrip('/')}/{path}{question}{query}"
    return _reply(Request(url, data, headers))


def _reply(request: Request) -> tuple[int, Any]:
    """The status and the body of a reply, as JSON or else text; status 0 if there is none."""
    try:
        with build_opener(_NoRedirect).open(request, timeout=TIMEOUT_S) as reply:
            status, content = reply.status, reply.read(_MOST)
    except HTTPError as error:
        with error:
            status, content = error.code, error.read(_MOST)
    except (OSError, HTTPException, ValueError):
        return 0, None
    try:
        return status, json.loads(content)
    except (ValueError, RecursionError):
        return status, content.decode("utf-8", "replace")


def _shown(model: Mapping[str, Any], text: str) -> str:
    """The beginning of a server's text, without the secrets of a model's entry."""
    for secret in secrets_in(model["base_url"]):
        text = without(text, secret)
    return excerpt(text, os.environ.get(model["key_env"] or "", "").strip())
