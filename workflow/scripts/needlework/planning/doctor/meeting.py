"""What a server says of itself: its models, its limit, and the tokens of texts of known size."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from needlework.errors import UserError, reason
from needlework.planning.preflight.asking import ServedModel, ask, beginning
from needlework.planning.preflight.certificates import trouble_at
from needlework.planning.preflight.first_request import in_words, listed_models, refused_key
from needlework.services.endpoints import api_key, check_url, is_local, shown_url
from needlework.settings.endpoints import KeyVariable

ANSWER_S = 60.0
# The names of a model's limit: vLLM's and SGLang's, and providers'.
_LIMITS = ("max_model_len", "context_length", "max_context_length")


class Met(NamedTuple):
    """A server's model, its limit in tokens if the server names one, and sentences about both."""

    model: ServedModel
    limit: int | None
    notices: tuple[str, ...] = ()


def meet(url: str, name: str | None, key_env: str | None, wished: str | None = None) -> Met:
    """Ask a server for its list of models.

    name: the model to ask; None is the only one. wished: the model of the server that this one is compared
    with, which is taken if this one serves it. Raises UserError if the server cannot be used.
    """
    if key_env is not None:
        try:
            TypeAdapter(KeyVariable).validate_python(key_env)
        except ValidationError as error:
            raise UserError(f"The value of the option for a key {reason(error)}.") from None
        api_key(key_env, f"the server at {shown_url(url)}", may_be_none=False)
    served: dict[str, dict[str, object]] = {}
    addresses = _addresses(url)
    for address in addresses:
        endpoint = ServedModel(name or wished or "", address, key_env)
        status, listed = _reply(endpoint, "models", last=address == addresses[-1])
        if status and (served := listed_models(listed)):
            break
    else:
        if not endpoint.name:
            raise UserError(
                f"{shown_url(url)} lists no models at {address}/models: correct the address, or name the "
                "model with --model."
            )
        address, served = addresses[0], {endpoint.name: {}}
    notices: tuple[str, ...] = ()
    if address != url.rstrip("/"):
        notices = (f"The server's address is {address}.",)
    chosen = name or (wished if wished in served else None) or next(iter(served))
    if name is None and chosen != wished and len(served) > 1:
        raise UserError(
            f"{address} serves several models: name one with --model ({in_words(served)})."
        )
    if chosen not in served:
        raise UserError(
            f"{address} does not serve {chosen!r}: name with --model what it serves ({in_words(served)})."
        )
    if wished not in (None, chosen):
        notices += (f"{address} calls its model {chosen}, not {wished}.",)
    endpoint = ServedModel(chosen, address, key_env)
    named = next((n for key in _LIMITS if type(n := served[chosen].get(key)) is int), None)
    return Met(endpoint, named or _llama_cpp(endpoint), notices)


def _addresses(url: str) -> list[str]:
    """The addresses that may be meant: the scheme and /v1 may be missing."""
    found, schemes = [], [""]
    if "://" not in url:
        # A key must not go over a public network in the clear.
        host = urlsplit(f"//{url}").hostname or ""
        schemes = ["http://", "https://"] if is_local(host) else ["https://"]
    for whole in (scheme + url for scheme in schemes):
        check_url(whole, "The address")
        parts = urlsplit(whole)
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise UserError(
                f"The address {shown_url(whole)} has a login or a query, which would be written into a file: "
                "leave it out, and name with --key-env the environment variable that holds the key."
            )
        own = whole.rstrip("/")
        v1 = [] if own.endswith("/v1") else [f"{own}/v1"]
        found += [*v1, own] if not parts.path.strip("/") else [own, *v1]
    return found


def _reply(endpoint: ServedModel, path: str, body: object = None, last: bool = True) -> Any:
    """A server's status and reply. Raises UserError if it says nothing, or refuses.

    If this is not the `last` address to try and nothing answers there, the status is 0.
    """
    status, said, remedy = 0, "", ""
    if trouble := trouble_at(endpoint.address):
        trouble_said, remedy = trouble[0], trouble[1].replace("`base_url`", "its address")
        refused = f"cannot be reached ({trouble_said})"
    else:
        status, said = ask(endpoint, path, body, ANSWER_S)
        refused, remedy = _refusal(endpoint, status, said)
    if refused and (status or last or "answer in" in refused):
        raise UserError(f"{endpoint.address} {refused.removeprefix('it ')}: {remedy}.")
    return status, said


def _refusal(endpoint: ServedModel, status: int, said: Any) -> tuple[str, str]:
    """Why a server cannot be asked, and the remedy; "" if it can be asked, as far as the status says."""
    text = _beginning(endpoint, said)
    if status == 0 and "timed out" in text:
        wait = "wait until it has loaded its model, or end its other work"
        return f"gave no answer in {ANSWER_S:g} s", wait
    if status == 0:
        return f"gave no reply of HTTP ({text})", "correct its address"
    if status == 401:
        refused, remedy = refused_key(endpoint.key_env)
        return refused, remedy.replace("`key_env`", "--key-env")
    if status == 403:
        return f"refuses (status 403: {text})", "use a key that may ask this model"
    if status == 429 or status >= 500:
        return f"answers with status {status} ({text})", "start again when it is ready"
    return "", ""


def _beginning(endpoint: ServedModel, said: Any) -> str:
    return beginning(endpoint, said if isinstance(said, str) else json.dumps(said))


def _llama_cpp(endpoint: ServedModel) -> int | None:
    """The limit of llama.cpp's server, which its list of models lacks."""
    root = endpoint._replace(address=endpoint.address.removesuffix("/v1"))
    said = ask(root, "props")[1]
    own = said.get("default_generation_settings") if isinstance(said, dict) else None
    limit = own.get("n_ctx") if isinstance(own, dict) else None
    return limit if type(limit) is int and limit > 0 else None


def prompt_tokens(endpoint: ServedModel, prompt: str) -> int | None:
    """How many tokens a server counts in a prompt with its template; None if it does not say.

    Raises UserError if it has no chat endpoint, or refuses.
    """
    body = {"model": endpoint.name, "max_tokens": 1, "temperature": 0}
    body["messages"] = [{"role": "user", "content": prompt}]
    status, said = _reply(endpoint, "chat/completions", body)
    text = _beginning(endpoint, said)
    if status in (404, 405, 501) or (status == 200 and not isinstance(said, dict)):
        raise UserError(
            f"{endpoint.address}/chat/completions gives no chat completions of {endpoint.name!r} (status "
            f"{status}: {text}): serve a model with a chat template, or correct the address or --model."
        )
    if status != 200:
        raise UserError(
            f"{endpoint.address} refuses a prompt (status {status}: {text}): mend what it names."
        )
    usage = said.get("usage")
    n = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return n if type(n) is int else None


class Tokens(NamedTuple):
    """How many tokens a server counts: in the prompt without pairs, in a pair, and in a word by language."""

    base: float
    pair: float
    words: Mapping[str, float]
    # Whether the server gave no usable numbers.
    assumed: bool


def measure(
    endpoint: ServedModel, base: str, pairs: tuple[int, str], words: Mapping[str, tuple[int, str]]
) -> Tokens:
    """Tokens from the sizes of prompts: `base`, and `base` with so many pairs, or words by language."""
    first = prompt_tokens(endpoint, base)

    def each(n: int, text: str) -> float:
        longer = prompt_tokens(endpoint, base + text) if first else None
        return (longer - first) / n if longer and first else 0.0

    pair = each(*pairs)
    # A pair has 80 characters.
    if first is None or not 8 <= pair <= 100:
        return Tokens(120, 45, dict.fromkeys(words, 2.5), True)
    return Tokens(first, pair, {lang: each(*of) or 2.5 for lang, of in words.items()}, False)
