"""One request to an endpoint before any job: whether it takes the key and serves the model.

The list of models costs nothing, so it is asked for first. If there is no list, or the name is not in it, a
prompt of one word is sent with a limit of one token. Only the standard library is used, since Snakemake's own
process may have no client; inspect_ai runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request

from needlework.planning.preflight.asking import ServedModel, address_of, ask, beginning, reply_to
from needlework.services.endpoints import GOOGLE_TRANSLATE, excerpt, provider_keys

if TYPE_CHECKING:
    from needlework.models.backends.inspect.settings import Inspect
    from needlework.models.backends.openai.settings import Openai
    from needlework.settings.translation import GoogleTranslator, LlmTranslator

# inspect_ai is imported first, which takes seconds.
INSPECT_S = 180.0
# So many names of a list are shown.
_SHOWN = 5
# How Google refuses a key, with status 400.
_KEY = re.compile("API key not valid|API_KEY_INVALID", re.IGNORECASE)


def refusal(model: Openai, unit: str = "words") -> tuple[str, str] | None:
    """Why an endpoint would refuse a model's requests, and the remedy; None if it would not, or if unknown.

    The model's key is in the environment; its `context` counts `unit`.
    """
    endpoint = ServedModel(model.name, address_of(model.base_url), model.key_env, model.chat)
    context = 0 if unit == "characters" else model.context
    return _refusal(endpoint, context, model.batch)


def _refusal(endpoint: ServedModel, context: int, batch: bool) -> tuple[str, str] | None:
    status, listed = ask(endpoint, "models")
    if status == 401:
        return refused_key(endpoint.key_env)
    if status == 0:
        return None
    served = listed_models(listed)
    if endpoint.name in served:
        return too_short(context, served[endpoint.name].get("max_model_len"))
    if batch:
        return None
    status, said = ask(
        endpoint,
        "chat/completions" if endpoint.chat else "completions",
        {"model": endpoint.name, "max_tokens": 1}
        | (
            {"messages": [{"role": "user", "content": "Hi"}]} if endpoint.chat else {"prompt": "Hi"}
        ),
    )
    if status == 401:
        return refused_key(endpoint.key_env)
    if status == 404 and served:
        return f"it does not serve {endpoint.name!r}", f"set `name` to one of {in_words(served)}"
    if status == 404:
        text = said if isinstance(said, str) else json.dumps(said)
        return (
            f"status 404: {beginning(endpoint, text)}",
            "correct `name`, or `base_url`, which ends before /chat/completions, often in /v1",
        )
    return None


def inspect_refusal(model: Inspect) -> tuple[str, str] | None:
    """As `refusal`, for a model with `backend: inspect`.

    Call it only if this Python has the model's package.
    """
    library = str(Path(__file__).resolve().parents[3])
    try:
        done = subprocess.run(
            [sys.executable, "-m", "needlework.models.backends.inspect.process"],
            input=json.dumps(dict(model)),
            capture_output=True,
            text=True,
            timeout=INSPECT_S,
            env={**os.environ, "PYTHONPATH": library},
        )
        status, said = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.TimeoutExpired, LookupError, TypeError, ValueError):
        return None
    if status == 401 or _KEY.search(said):
        used = [name for name in provider_keys(model.name) if os.environ.get(name, "").strip()]
        if used:
            return refused_key(" and ".join(used), status)
        return (
            f"it refuses the key (status {status})",
            "set the environment variable that the provider's own programs read",
        )
    if status == 404:
        return f"status 404: {said}", "correct `name`, which is <provider>/<model>, or `args`"
    return None


def translator_refusal(translator: GoogleTranslator | LlmTranslator) -> tuple[str, str] | None:
    """As `refusal`, for an entry of `translators` with a service.

    Its key is in the environment.
    """
    address = address_of(translator.base_url)
    if translator.kind == "llm":
        return _refusal(ServedModel(translator.name, address, translator.key_env), 0, batch=False)
    key = os.environ[translator.key_env].strip()
    # The list of languages costs nothing.
    url = f"{address.rstrip('/')}{GOOGLE_TRANSLATE}/languages"
    status, listed = reply_to(Request(url, headers={"X-goog-api-key": key}))
    said = excerpt(json.dumps(listed), key)
    if status == 401 or _KEY.search(said):
        return refused_key(translator.key_env, status)
    if status == 403:
        remedy = "enable the Cloud Translation API for the project of the key, or set another key"
        return f"status 403: {said}", remedy
    return None


def refused_key(variable: str | None, status: int = 401) -> tuple[str, str]:
    """That a server refuses the key in a variable, or wants one, and the remedy."""
    if variable:
        return (
            f"it refuses the key in {variable} (status {status})",
            f"set the environment variable {variable} to a key of this server",
        )
    return (
        "it asks for a key (status 401)",
        "set `key_env` to the environment variable that holds it",
    )


def too_short(context: int, limit: object) -> tuple[str, str] | None:
    """vLLM and SGLang list a model's limit, in its own tokens; `context` may count words, which are fewer."""
    if type(limit) is not int or limit >= context:
        return None
    return (
        f"it takes {limit:,} tokens, and `context` is {context:,}",
        f"start it with a longer context (vLLM: --max-model-len {context}), or lower `context`",
    )


def in_words(served: Iterable[str]) -> str:
    """The first of a server's models, and how many more there are."""
    names = list(served)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def listed_models(listed: Any) -> dict[str, dict[str, object]]:
    """The models of a list by their names; none if it is no such list."""
    data = listed.get("data") if isinstance(listed, dict) else None
    rows = data if isinstance(data, list) else []
    return {
        "".join(filter(str.isprintable, row["id"]))[:200]: row
        for row in rows
        if isinstance(row, dict) and isinstance(row.get("id"), str)
    }
