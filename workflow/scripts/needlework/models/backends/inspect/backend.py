"""A model behind its provider's own protocol, through inspect_ai's interface of models.

Each request is one call of the provider's interface, so inspect_ai's cache, retries and batches have no part:
the journal and the retries are ours (`remote_models`).
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.answer_states import DROPPED
from needlework.errors import UserError
from needlework.models.backends.base import Answer, Request, sample_seed
from needlework.models.local_models import regime
from needlework.models.openai_protocol import (
    ENDS,
    Refusal,
    causes,
    connection_trouble,
    hopeless_connection,
    is_json,
    is_too_long,
    of_proxy,
    read_reply,
)
from needlework.models.remote_models import RateLimit, RemoteModel
from needlework.prompts.spans import messages
from needlework.services.endpoints import (
    SET_UP_INSPECT,
    Passing,
    addresses,
    excerpt,
    local_proxy,
    retry_after,
    secrets_in,
    shown_url,
    without_addresses,
)

if TYPE_CHECKING:
    from needlework.models.backends.inspect import settings

logger = logging.getLogger("needlework")

# What inspect_ai writes where an answer has no text.
_NO_TEXT = "(no content)"
# By setting, the names that providers give it, in lower case and without "_".
_NAMES = {
    "temperature": ("temperature",),
    "top_p": ("topp",),
    "top_k": ("topk",),
    "seed": ("seed", "randomseed"),
    "stop": ("stop", "stopsequences", "stopseqs"),
    "reasoning": ("reasoning", "reasoningeffort", "thinking", "thinkingconfig", "effort"),
}
# Libraries whose exceptions without a status are of the connection.
_CONNECTIONS = ("httpx", "httpx2", "httpcore", "httpcore2", "aiohttp", "anyio", "ssl")
_CONNECTION_ERRORS = ("APIConnectionError", "ServiceRequestError", "EndpointConnectionError")
# Seconds for the first request of a run.
FIRST_S = 30.0
# Variables of the environment that hold what no message may show.
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)


# The last response in a task, where the provider's client is one of httpx2's: as it came, before it was read.
_CAME: ContextVar[Any] = ContextVar("_CAME", default=None)


async def _see(response: Any) -> None:
    _CAME.set(response)


class InspectBackend(RemoteModel):
    """The model `name`, which is `<provider>/<model>` as inspect_ai names it, with the provider's `args`.

    Keys come from the variables of the environment that the provider's own programs read. `reasoning` gives
    the model a budget of tokens, and perhaps an effort.
    """

    config: settings.Inspect
    _remedy = "Check the key, `name` and `args`, and whether the provider serves the model"

    def __init__(self, config: settings.Inspect, model: str, journal: str | Path) -> None:
        provider, own = config.name.partition("/")[0], dict(config.args).get("base_url")
        address = shown_url(own) if own else f"the provider {provider}"
        super().__init__(config, model, journal, address)
        self._model: Any = None
        # Values of the environment when the model was loaded, and those in `args`.
        self._hidden: list[str] = []

    @property
    def _secrets(self) -> list[str]:
        return [*self._hidden, *self._logins]

    def identity(self) -> Mapping[str, object]:
        """The model and its settings, wherever it is served."""
        return self._identity(without_addresses(dict(self.config.args)))

    def former_identity(self) -> Mapping[str, object] | None:
        """Older records depend on all addresses but `base_url`."""
        args = {name: value for name, value in dict(self.config.args).items() if name != "base_url"}
        return None if args == without_addresses(args) else self._identity(args)

    def _identity(self, args: Mapping[str, object]) -> dict[str, object]:
        config = self.config
        return {
            "backend": "inspect",
            "name": config.name,
            "revision": config.revision,
            "sampling": dict(config.sampling),
            **({"args": args} if args else {}),
            **({"reasoning": self._thinking()} if config.reasoning else {}),
            **regime(config),
        }

    def _thinking(self) -> dict[str, object]:
        """The budget of reasoning in tokens, and its effort, by the names of GenerateConfig."""
        own = self.config.reasoning
        if not own:
            return {}
        effort = {"reasoning_effort": own.effort} if own.effort is not None else {}
        return {"reasoning_tokens": own.max_tokens, **effort}

    def load(self) -> None:
        """Make the provider's client; nothing is sent. Raises UserError if it lacks a package or a key."""
        try:
            from inspect_ai.model import get_model
        except ImportError:
            raise UserError(
                f"{self.where}: the package inspect_ai is not installed: {SET_UP_INSPECT}."
            ) from None
        # Their logs may hold URLs and headers; which settings a provider drops is read from what is sent.
        libraries = (
            "inspect_ai httpx httpx2 openai anthropic google_genai botocore aiobotocore azure"
        )
        for library in libraries.split():
            logging.getLogger(library).setLevel(logging.ERROR)
        # Plain dictionaries in all depths.
        args = deepcopy(dict(self.config.args))
        keys = {v for n, v in os.environ.items() if _SECRET.search(n) and len(v) >= 6}
        keys |= {secret for url in addresses(args) for secret in secrets_in(url)}
        self._hidden = sorted(keys, key=len)[::-1]
        # Retries are ours. Amazon's client takes their number from the environment alone, others have an
        # attribute; Azure's cannot be reached.
        os.environ.setdefault("AWS_MAX_ATTEMPTS", "1")
        try:
            self._model = get_model(self.config.name, memoize=False, **args)
        except Exception as error:
            # Of several kinds; the first line says which package, key or argument it is.
            raise UserError(f"{self.where}: {self._said(error)}.") from None
        if own := getattr(self._model.api, "base_url", None):
            self._proxy = local_proxy(own)
        client: Any = getattr(self._model.api, "client", None)
        if hasattr(client, "max_retries") and "max_retries" not in args:
            client.max_retries = 0
        hooks = getattr(getattr(client, "_client", None), "event_hooks", None)
        if isinstance(hooks, dict):
            hooks["response"].append(_see)
        super().load()

    def _said(self, error: BaseException) -> str:
        """An error's message, without inspect_ai's marks of colours and without secrets."""
        text = re.sub(r"\[/?(?:bold|blue|italic|red)\]", "", str(error)) or type(error).__name__
        return excerpt(self._clean(text), "").rstrip(".")

    def as_sent(self, prompt: str) -> tuple[str, str]:
        """How the provider gets a prompt, in words, and the prompt."""
        return "as a user's message", prompt

    def settings(self) -> dict[str, object]:
        """The version of inspect_ai."""
        from importlib.metadata import version

        return {"inspect_ai": version("inspect_ai")}

    def close(self) -> None:
        """Close the connections."""
        if self._model is not None:
            self._runner.run(self._model.api.aclose())
            self._model = None
        self._runner.close()

    def _prepared(self, request: Request) -> tuple[list[Any], Any]:
        """The messages, and the settings by inspect_ai's names."""
        from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig

        config, sampling = self.config, self.config.sampling
        text = request.prompt.encode("utf-8", "replace").decode("utf-8")
        kinds = {"system": ChatMessageSystem, "user": ChatMessageUser}
        chat = [kinds[own["role"]](content=own["content"]) for own in messages(text, config.system)]
        thoughts = config.reasoning.max_tokens if config.reasoning else 0
        settings = {
            "temperature": sampling.temperature,
            # 1 is no restriction, and some providers refuse it beside a temperature.
            "top_p": sampling.top_p if sampling.top_p < 1 else None,
            "top_k": sampling.top_k,
            # Greedy answers need none.
            "seed": sample_seed(sampling.seed, text, request.sample)
            if sampling.temperature
            else None,
            "max_tokens": request.max_new_tokens + thoughts,
            "stop_seqs": list(config.stop) or None,
            **self._thinking(),
        }
        return chat, GenerateConfig(**{k: v for k, v in settings.items() if v is not None})

    def first_refusal(self) -> tuple[int, str]:
        """The status and the text of the refusal of a prompt of one word; 0 and "" if it is answered."""
        return self._runner.run(self._one_word())

    async def _one_word(self) -> tuple[int, str]:
        import asyncio

        from inspect_ai.model import ChatMessageUser, GenerateConfig

        chat, settings = [ChatMessageUser(content="Hi")], GenerateConfig(max_tokens=1)
        try:
            async with asyncio.timeout(FIRST_S):
                output = await self._model.api.generate(chat, [], "none", settings)
        except Exception as error:
            output = error
        output = output[0] if isinstance(output, tuple) else output
        status, _, content = _response(output) if isinstance(output, Exception) else (0, {}, "")
        return status or 0, excerpt(self._clean(content), "")

    async def _attempt(self, sent: tuple[list[Any], Any], n_tokens: int) -> Answer:
        """Send a request once; its prompt has `n_tokens`. Raises Passing if a retry may help."""
        import asyncio

        chat, settings = sent
        _CAME.set(None)
        try:
            async with asyncio.timeout(self.config.timeout):
                output = await self._model.api.generate(chat, [], "none", settings)
        except TimeoutError:
            raise Passing(f"no answer within {self.config.timeout} s") from None
        except Exception as error:
            return self._failure(error, sent, n_tokens)
        output, call = output if isinstance(output, tuple) else (output, None)
        if isinstance(output, Exception):
            return self._failure(output, sent, n_tokens)
        reply = self._read(output, settings.max_tokens)
        if isinstance(reply, Answer) and call is not None:
            dropped = _dropped(settings, call.request)
            if dropped:
                said = f"{DROPPED}: {', '.join(dropped)}"
                reply = replace(reply, remarks=(said,))
        return self._received(reply, 0.0, sent)

    def _read(self, output: Any, limit: int) -> Answer | Refusal:
        """What a provider's output says; inspect_ai makes some refusals into outputs without usage."""
        if not output.choices:
            return Refusal("passing", "the response has no answer")
        choice, usage = output.choices[0], output.usage
        text, reasoning = _texts(choice.message.content)
        text, reason = self._kept(text), choice.stop_reason
        said = excerpt(self._clean(output.error or text), "")
        written = usage.output_tokens if usage else 0
        if reason == "content_filter":
            if usage is None:
                return Refusal("content", f"content_filter: {said}")
            return Answer(
                "", error=excerpt(f"the answer was ended with 'content_filter': {said}", "")
            )
        if reason == "model_length" and not written:
            return Refusal("too_long", said)
        if reason == "tool_calls" and not text.strip():
            return Answer("", error="the model called a tool instead of answering")
        unknown = reason == "unknown"
        if unknown and not text.strip():
            return Answer("", error="the answer was ended with 'unknown': ''")
        if usage is None and not (text.strip() or reasoning.strip() or _body()):
            # Google's client makes so much of an error in a good status.
            return Refusal("passing", "the response has neither a text nor a count of tokens")
        cut = reason == "model_length" or (unknown and written >= limit)
        if usage is None:
            counts = {}
        else:
            cached = usage.input_tokens_cache_read
            read = usage.input_tokens + (cached or 0) + (usage.input_tokens_cache_write or 0)
            counts = {
                "prompt_tokens": read or None,
                "cached_tokens": cached,
                "completion_tokens": written,
                "reasoning_tokens": usage.reasoning_tokens,
            }
        return Answer(
            text,
            "length" if cut else ENDS.get(reason, "stop"),
            **counts,
            reasoning=None if text.strip() or not reasoning.strip() else self._kept(reasoning),
            served=excerpt(output.model, "")[:100] or None,
            unknown_end=unknown,
        )

    def _failure(self, error: Exception, sent: tuple[list[Any], Any], n_tokens: int) -> Answer:
        """The answer after an exception of a provider's client. Raises Passing if a retry may help."""
        status, headers, content = _response(error)
        if self._through_proxy and _is_of_proxy(error, status, content):
            # A library's own text may hold the proxy's address.
            cause = next(filter(of_proxy, causes(error)), None)
            page = f"status {status}: {self._said(error)}" if status else "the reply is no answer"
            return self._by_proxy(connection_trouble(cause) if cause else page)
        if status is None and (body := _body()):
            status, content = 200, body
        if status is None:
            return self._without_status(error)
        reply = read_reply(status, content.encode(), True, self._clean, self._kept)
        if isinstance(reply, Answer):
            reply = Refusal("passing", f"the response cannot be read: {self._said(error)}")
        if reply.kind == "failed" and is_too_long(status, content, n_tokens):
            reply = Refusal("too_long", reply.said)
        wait = getattr(self._model.api.should_retry(error), "retry_after", None)
        return self._received(reply, max(retry_after(headers), wait or 0.0), sent)

    def _without_status(self, error: Exception) -> Answer:
        """The answer where no response came, or one that the client could not read."""
        cause = error.__cause__ or error
        if why := hopeless_connection(error):
            return self._give_up(f"{self._address} cannot be reached: {why}")
        if any(map(_of_connection, causes(error))):
            trouble = connection_trouble(cause)
            refused = any("Connect" in type(e).__name__ for e in (cause, error))
            if self._answered and refused and type(cause).__name__ == "ConnectError":
                raise RateLimit(trouble)
            raise Passing(trouble)
        if isinstance(error, ValueError):
            raise Passing(f"the response is not an answer: {self._said(error)}")
        return self._failed(f"{type(error).__name__}: {self._said(error)}")

    def _lower_limit(self, sent: tuple[list[Any], Any]) -> str:
        return (
            f"the provider does not allow {sent[1].max_tokens} tokens for an answer: lower `reasoning`, or "
            "leave the benchmark out"
        )


def _texts(content: Any) -> tuple[str, str]:
    """The text of a message, and the reasoning beside it."""
    if isinstance(content, str):
        return ("" if content == _NO_TEXT else content), ""
    text = "".join(part.text for part in content if part.type == "text")
    thoughts = [part.summary or part.reasoning for part in content if part.type == "reasoning"]
    return ("" if text == _NO_TEXT else text), "".join(t for t in thoughts if t)


def _dropped(settings: Any, request: Mapping[str, Any]) -> list[str]:
    """The settings that are not in a request as it was sent."""
    names = set(_names(request))
    wanted = {
        **{name: getattr(settings, name) for name in ("temperature", "top_p", "top_k", "seed")},
        "stop": settings.stop_seqs,
        "reasoning": settings.reasoning_tokens,
    }
    return [
        name
        for name, value in wanted.items()
        if value is not None and names.isdisjoint(_NAMES[name])
    ]


def _names(value: Any) -> Iterator[str]:
    """The names of fields that hold something, in lower case and without "_", but for those of messages."""
    if not isinstance(value, Mapping):
        return
    for name, own in value.items():
        if name not in ("messages", "contents", "input") and own is not None:
            yield str(name).replace("_", "").casefold()
            yield from _names(own)


def _response(error: Exception) -> tuple[int | None, Mapping[str, str], str]:
    """The status, headers and body of the response that a provider's exception holds; None without one."""
    import json

    response = getattr(error, "response", None)
    if isinstance(response, Mapping):
        # Those of Amazon.
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        headers = response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
        return status, headers, json.dumps(response.get("Error", {}))
    numbers = [getattr(error, name, None) for name in ("status_code", "code", "status")]
    status = next((n for n in numbers if type(n) is int), None)
    raw = response if response is not None else getattr(error, "raw_response", None)
    headers = getattr(raw, "headers", None) or getattr(error, "headers", None) or {}
    for body in (getattr(error, name, None) for name in ("body", "details")):
        if body:
            return status, headers, body if isinstance(body, str) else json.dumps(body)
    return status, headers, json.dumps({"error": {"message": str(error)}})


def _body() -> str:
    """The body of a response with a good status; "" if the client has not read it, or there was none."""
    response = _CAME.get()
    try:
        return str(response.text) if response is not None and response.status_code == 200 else ""
    except RuntimeError:  # a stream's
        return ""


def _is_of_proxy(error: Exception, status: int | None, content: str) -> bool:
    """Whether a proxy may have answered, or was not reached: with a page, or what the client cannot read."""
    if any(map(of_proxy, causes(error))):
        return True
    if status is None:
        return not any(map(_of_connection, causes(error)))
    own = getattr(getattr(error, "response", None), "text", None)
    return "<html" in content.casefold() or (isinstance(own, str) and not is_json(own.encode()))


def _of_connection(error: BaseException) -> bool:
    kind = type(error)
    return (
        isinstance(error, OSError)
        or kind.__name__ in _CONNECTION_ERRORS
        or kind.__module__.partition(".")[0] in _CONNECTIONS
    )


BACKEND = InspectBackend
