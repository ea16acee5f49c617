"""A model behind an OpenAI-compatible endpoint, through the official client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from needlework.errors import UserError, not_installed
from needlework.jobs.stop import Stopped
from needlework.models.answer_folders import journal_of
from needlework.models.backends.base import Answer, Request, sample_seed
from needlework.models.backends.openai.batch_endpoint import BatchEndpoint
from needlework.models.backends.openai.batches import Batches, BatchRequest
from needlework.models.local_models import regime
from needlework.models.openai_protocol import (
    Refusal,
    connection_trouble,
    hopeless_connection,
    is_json,
    is_too_long,
    of_proxy,
    read_reply,
)
from needlework.models.remote_models import RateLimit, RemoteModel
from needlework.models.request_keys import request_key
from needlework.prompts.spans import messages
from needlework.services.bounded_replies import (
    FILE_BYTES,
    REPLY_BYTES,
    answer_bytes,
    bounded_async,
    is_too_large,
)
from needlework.services.endpoints import (
    PROXY_REMEDY,
    PROXY_TROUBLE,
    Passing,
    api_key,
    excerpt,
    retry_after,
    secrets_in,
    shown_url,
)

if TYPE_CHECKING:
    from needlework.models.backends.openai.settings import Openai

logger = logging.getLogger("needlework")

# OpenAI's own endpoint. The organization and project in the environment are for no other.
OPENAI = "https://api.openai.com/v1"

# Fields of `request` that change how a reply comes, and no answer.
_TRANSPORT = ("stream", "stream_options")
# What `sampling: {top_k: ...}` was by default.
FORMER_TOP_K = 50


class OpenaiBackend(RemoteModel):
    """The model `name` at `base_url`, with the API key in the variable that `key_env` names.

    With `chat`, each prompt is sent as a user's message, and the endpoint puts it into its chat template.
    Without it, the prompt is sent as it is, to be completed. `concurrency` requests run at once, each for at
    most `timeout` seconds. The fields in `request` go into every request.

    With `batch`, requests go through the endpoint's batch API, and the job waits for the answers. Batches are
    recorded in `<journal>/batches/<name and identity>`.
    """

    config: Openai
    _remedy = (
        "Check the key, `base_url`, `name`, and whether the endpoint accepts all fields (`sampling: {top_k: "
        "null}` and `request: {seed: null}` leave some out)"
    )

    def __init__(self, config: Openai, model: str, journal: str | Path) -> None:
        super().__init__(config, model, journal, shown_url(config.base_url))
        self._secret = ""
        self._url_secrets = secrets_in(config.base_url)
        self._client: Any = None
        # The highest limit of all answers that were asked for.
        self._most_tokens = 0
        self._batches: Batches | None = None

    @property
    def _secrets(self) -> list[str]:
        return [*filter(None, [self._secret]), *self._url_secrets, *self._logins]

    def identity(self) -> Mapping[str, object]:
        """The model and its settings, wherever it is served."""
        config, request = self.config, dict(self.config.request)
        return {
            "backend": "openai",
            "name": config.name,
            "revision": config.revision,
            "chat": config.chat,
            "sampling": dict(config.sampling),
            "request": {k: v for k, v in request.items() if k not in _TRANSPORT},
            **regime(config),
        }

    def former_identity(self) -> Mapping[str, object] | None:
        """The identity of older records.

        If the configuration has no `top_k`, older versions sent `top_k: 50`.
        """
        sampling = self.config.sampling
        if sampling.top_k is not None:
            return None
        return {**self.identity(), "sampling": {**dict(sampling), "top_k": FORMER_TOP_K}}

    def load(self) -> None:
        """Make the client; nothing is sent. Raises UserError if the key is missing."""
        try:
            import httpx2
            import openai
        except ImportError as error:
            raise not_installed(self.where, error) from None
        # Their logs may hold URLs and headers, and so secrets, of ours or of the server's.
        for library in ("openai", "httpx2", "httpcore2"):
            logging.getLogger(library).setLevel(logging.WARNING)
        config = self.config
        if config.key_env:
            self._secret = api_key(config.key_env, f"the model {self.where}")
        # Without a key the client would look for others in the environment, and insist on one.
        self._headers = {} if self._secret else {"Authorization": openai.Omit()}
        if config.base_url.rstrip("/") != OPENAI:
            # The client takes them from OPENAI_ORG_ID and OPENAI_PROJECT_ID.
            own = ("OpenAI-Organization", "OpenAI-Project")
            self._headers |= dict.fromkeys(own, openai.Omit())
        limit = {"response": [bounded_async(httpx2, self._limit)]}
        address, _, query = config.base_url.partition("?")
        try:
            # A redirected request would lose its body.
            http_client = openai.DefaultAsyncHttpxClient(
                event_hooks=limit, follow_redirects=False, params=dict(parse_qsl(query))
            )
        except OSError:
            raise UserError(
                f"{self.where}: the file or folder that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read: "
                "correct or unset the variable."
            ) from None
        except (httpx2.InvalidURL, ImportError, ValueError):
            # Its own text may hold a part of a password.
            raise UserError(f"{self.where}: {PROXY_TROUBLE}: {PROXY_REMEDY}.") from None
        self._client = openai.AsyncOpenAI(
            api_key=self._secret,
            admin_api_key="",
            base_url=address,
            timeout=None,
            max_retries=0,
            http_client=http_client,
        )
        super().load()
        if config.batch:
            self._batches = self._batch_api()

    def _limit(self, response: Any) -> int:
        """How many bytes a response may have: files of a batch's results are larger than others."""
        path = response.url.path
        if path.endswith("/content"):
            return FILE_BYTES
        return answer_bytes(self._most_tokens) if path.endswith("/completions") else REPLY_BYTES

    def as_sent(self, prompt: str) -> tuple[str, str]:
        """How the endpoint gets a prompt, in words, and the prompt.

        The chat template is the endpoint's own.
        """
        return "as a user's message" if self.config.chat else "as raw text", prompt

    def answers(self, requests: Iterable[Request]) -> Iterator[tuple[int, Answer]]:
        """The answers with their places, as they come; see RemoteModel."""
        return super().answers(requests) if self._batches is None else self._collect(requests)

    def close(self) -> None:
        """Close the connections."""
        if self._batches is not None:
            self._batches.close()
        if self._client is not None:
            self._runner.run(self._client.close())
            self._client = None
        self._runner.close()

    # In batches

    def _batch_api(self) -> Batches:
        config = self.config
        endpoint = BatchEndpoint(
            self._client,
            self._runner.run,
            chat=config.chat,
            headers=self._headers,
            timeout=config.timeout,
            clean=self._clean,
            keep=self._kept,
            named=self._named,
            proxy=self._proxy,
        )
        journal = journal_of(self.journal / "batches", self.identity(), self.model)
        # Other entries' batches would count against the limits.
        del journal.older[1:]
        return Batches(
            endpoint,
            journal,
            config.batch_tokens,
            where=self.where,
            address=self._address,
        )

    def _collect(self, requests: Iterable[Request]) -> Iterator[tuple[int, Answer]]:
        places: dict[str, int] = {}

        def lines() -> Iterator[BatchRequest]:
            for place, request in enumerate(requests):
                self._show_first(request)
                key = self._key(request)
                places[key] = place
                yield BatchRequest(key, self._prepared(request), request.n_tokens)

        assert self._batches is not None, "`load` has made them"
        try:
            for key, answer in self._batches.answers(lines()):
                yield places.pop(key), answer
        except Stopped as stopped:
            paid = "batches go on at the endpoint and are paid for: the next run collects them"
            raise Stopped(f"{stopped}; {paid}") from None

    def _key(self, request: Request) -> str:
        """The request's key in the journal of answers."""
        return request_key(self.identity(), request.prompt, request.sample, request.max_new_tokens)

    # One request

    def _prepared(self, request: Request) -> dict[str, object]:
        """The request's fields; the configuration's own come last, and null takes one out."""
        config, sampling = self.config, self.config.sampling
        # Half a character, which JSON cannot hold, becomes a question mark.
        text = request.prompt.encode("utf-8", "replace").decode("utf-8")
        asked = {"messages": messages(text, config.system)} if config.chat else {"prompt": text}
        body = {
            "model": config.name,
            **asked,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k,
            "seed": sample_seed(sampling.seed, text, request.sample),
            "max_tokens": request.max_new_tokens,
            "stop": list(config.stop) or None,
            **dict(config.request),
        }
        limits = (body.get(field) for field in ("max_tokens", "max_completion_tokens"))
        self._most_tokens = max(self._most_tokens, *(n for n in limits if type(n) is int), 0)
        return {field: value for field, value in body.items() if value is not None}

    async def _attempt(self, sent: Mapping[str, object], n_tokens: int) -> Answer:
        """Send a request once; its prompt has `n_tokens`. Raises Passing if a retry may help."""
        import openai

        body, client, chat = sent, self._client, self.config.chat
        resource = client.chat.completions if chat else client.completions
        text = "messages" if chat else "prompt"
        rest = {field: value for field, value in body.items() if field not in ("model", text)}
        try:
            async with asyncio.timeout(self.config.timeout):
                response = await resource.with_raw_response.create(
                    model=body["model"],
                    **{text: body[text]},
                    extra_body=rest,
                    extra_headers=self._headers,
                )
            status, headers, content = 200, response.headers, response.http_response.content
        except TimeoutError:
            raise Passing(f"no answer within {self.config.timeout} s") from None
        except openai.APIConnectionError as error:
            if is_too_large(error.__cause__):
                # It is paid for, and would be again.
                return self._failed(connection_trouble(error.__cause__))
            if why := hopeless_connection(error.__cause__):
                return self._give_up(f"{self._address} cannot be reached: {why}")
            trouble = connection_trouble(error.__cause__)
            if self._through_proxy and of_proxy(error.__cause__):
                return self._by_proxy(trouble)
            if self._answered and type(error.__cause__).__name__ == "ConnectError":
                # It was there: it is started anew.
                raise RateLimit(trouble) from None
            raise Passing(trouble) from None
        except openai.APIStatusError as error:
            status, headers, content = (
                error.status_code,
                error.response.headers,
                error.response.content,
            )
        if self._through_proxy and not is_json(content):
            shown = excerpt(self._clean(content.decode("utf-8", "replace")), "")
            return self._by_proxy(f"status {status}: {shown}")
        if 300 <= status < 400:
            place = excerpt(self._clean(shown_url(headers.get("Location", ""))), "")
            return self._give_up(f"{self._address} has moved (status {status}, Location {place})")
        reply = read_reply(status, content, chat, self._clean, self._kept)
        said = content.decode("utf-8", "replace")
        if (
            isinstance(reply, Refusal)
            and reply.kind == "failed"
            and is_too_long(status, said, n_tokens)
        ):
            reply = Refusal("too_long", reply.said)
        if isinstance(reply, Answer) and reply.unknown_end:
            limit = body.get("max_completion_tokens", body.get("max_tokens"))
            if isinstance(limit, int) and (reply.completion_tokens or 0) >= limit:
                reply = replace(reply, finish_reason="length")
        return self._received(reply, retry_after(headers), body)

    def _lower_limit(self, sent: Mapping[str, object]) -> str:
        request = dict(self.config.request)
        for field in ("max_completion_tokens", "max_tokens"):
            if request.get(field) is not None:
                return f"lower or remove `request: {field}` ({request[field]})"
        return (
            f"it does not allow the benchmark's limit of {sent.get('max_tokens')} tokens for an answer: use "
            "a server with a longer context, or leave the benchmark out"
        )


BACKEND = OpenaiBackend
