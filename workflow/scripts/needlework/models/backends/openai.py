"""A model behind an OpenAI-compatible endpoint, through the official client."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from needlework.entry import Entry
from needlework.errors import UserError, not_installed
from needlework.models.backends.base import Answer, Backend, Request, in_order, sample_seed
from needlework.models.generation import request_key
from needlework.models.local_models import messages, regime
from needlework.models.openai_batch_endpoint import Endpoint
from needlework.models.openai_batches import Batches, Limits, Line
from needlework.models.openai_protocol import (
    ITS_OWN_FAULT,
    Refusal,
    connection_trouble,
    hopeless_connection,
    is_too_long,
    other_model,
    read_reply,
)
from needlework.services.bounded_replies import (
    FILE_BYTES,
    REPLY_BYTES,
    answer_bytes,
    bounded_async,
    is_too_large,
)
from needlework.services.endpoints import (
    ATTEMPTS,
    FIRST_PAUSE_S,
    LONGEST_PAUSE_S,
    PROXY_REMEDY,
    PROXY_TROUBLE,
    Passing,
    api_key,
    excerpt,
    retry_after,
    secrets_in,
    shown_url,
    without,
    without_secrets,
)

logger = logging.getLogger("needlework")

# OpenAI's own endpoint. The organization and project in the environment are for no other.
OPENAI = "https://api.openai.com/v1"

# How long requests are retried while the endpoint answers nothing but 429 (too many requests); most limits
# are by the minute.
RATE_LIMIT_S = 1800.0
LONGEST_RATE_PAUSE_S = 60.0

# Fields of `request` that change how a reply comes, and no answer.
_TRANSPORT = ("stream", "stream_options")
# What `sampling: {top_k: ...}` was by default.
FORMER_TOP_K = 50

# After this number of failures in a row, no further request is sent.
FAILURES_IN_A_ROW = 20


class _RateLimit(Passing):
    """The endpoint got too many requests (status 429); this request is not at fault."""


class OpenAI(Backend):
    """The model `name` at `base_url`, with the API key in the variable that `key_env` names.

    `chat` sends each prompt as a user's message, and the endpoint puts it into its chat template;
    without it the prompt is sent as it is, to be completed. `concurrency` requests run at once, each for
    at most `timeout` seconds. The fields in `request` go into every request.

    `batch` sends them through the endpoint's batch API instead, and waits for the answers; batches are
    recorded in `<journal>/batches/<model>`.
    """

    def __init__(self, config: Entry) -> None:
        super().__init__(config)
        self._where = f"models.{config['model']}"
        self._address = shown_url(config["base_url"])
        self._origin = hashlib.sha256(self._address.encode()).hexdigest()[:8]
        self._secret = ""
        self._url_secrets = secrets_in(config["base_url"])
        self._client: Any = None
        self._runner = asyncio.Runner()
        self._not_before = 0.0
        self._limited_since: float | None = None
        self._shown = False
        self._answered = self._others = False
        # The highest limit of all answers that were asked for.
        self._most_tokens = 0
        self._failures = 0
        self._batches: Batches | None = None

    def identity(self) -> Mapping[str, object]:
        """The model and its settings, wherever it is served."""
        own = ("name", "revision", "chat", "sampling")
        request = {k: v for k, v in self.config["request"].items() if k not in _TRANSPORT}
        return {
            "backend": "openai",
            **{key: self.config[key] for key in own},
            "request": request,
            **regime(self.config),
        }

    def former_identity(self) -> Mapping[str, object] | None:
        """Older records were asked with `top_k: 50` where the configuration has none."""
        identity = self.identity()
        sampling = self.config["sampling"]
        if sampling["top_k"] is not None:
            return None
        return {**identity, "sampling": {**sampling, "top_k": FORMER_TOP_K}}

    def reads_control_tokens(self, prompt: str) -> bool:
        """Whether the server may: it tokenizes prompts itself, and takes them as text alone."""
        return True

    def load(self) -> None:
        """Make the client; nothing is sent. Raises UserError if the key is missing."""
        try:
            import httpx2
            import openai
        except ImportError as error:
            raise not_installed(self._where, error) from None
        # Their logs may hold URLs and headers, and so secrets, of ours or of the server's.
        for library in ("openai", "httpx2", "httpcore2"):
            logging.getLogger(library).setLevel(logging.WARNING)
        config = self.config
        if config["key_env"]:
            self._secret = api_key(config["key_env"], f"the model {self._where}")
        # Without a key the client would look for others in the environment, and insist on one.
        self._headers = {} if self._secret else {"Authorization": openai.Omit()}
        if config["base_url"].rstrip("/") != OPENAI:
            # The client takes them from OPENAI_ORG_ID and OPENAI_PROJECT_ID.
            own = ("OpenAI-Organization", "OpenAI-Project")
            self._headers |= dict.fromkeys(own, openai.Omit())
        limit = {"response": [bounded_async(httpx2, self._limit)]}
        address, _, query = config["base_url"].partition("?")
        try:
            # A redirected request would lose its body.
            http_client = openai.DefaultAsyncHttpxClient(
                event_hooks=limit, follow_redirects=False, params=dict(parse_qsl(query))
            )
        except OSError:
            raise UserError(
                f"{self._where}: the file or folder that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read: "
                "correct or unset the variable."
            ) from None
        except (httpx2.InvalidURL, ImportError, ValueError):
            # Its own text may hold a part of a password.
            raise UserError(f"{self._where}: {PROXY_TROUBLE}: {PROXY_REMEDY}.") from None
        self._client = openai.AsyncOpenAI(
            api_key=self._secret,
            admin_api_key="",
            base_url=address,
            timeout=None,
            max_retries=0,
            http_client=http_client,
        )
        loop = self._runner.get_loop()
        self._slots = asyncio.Semaphore(config["concurrency"])
        self._hopeless: asyncio.Future[str] = loop.create_future()
        if config.get("batch"):
            self._batches = self._batch_api()

    def _limit(self, response: Any) -> int:
        """How many bytes a response may have: files of a batch's results are larger than others."""
        path = response.url.path
        if path.endswith("/content"):
            return FILE_BYTES
        return answer_bytes(self._most_tokens) if path.endswith("/completions") else REPLY_BYTES

    def as_sent(self, prompt: str) -> tuple[str, str]:
        """In words, how the endpoint gets a prompt, and the prompt: its template is its own."""
        return "as a user's message" if self.config["chat"] else "as raw text", prompt

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        """The answers in order, each as soon as it and those before it are known.

        Raises as `answers` does.
        """
        return in_order(self.answers(batch))

    def answers(self, requests: Iterable[Request]) -> Iterator[tuple[int, Answer]]:
        """The answers with their places, as they come.

        Raises UserError if the endpoint no longer answers: its key, its address or the model's name is
        wrong, or it keeps failing. Nothing more is sent then; answers to requests already sent, which
        are paid for, are yielded before.
        """
        if self._batches is not None:
            yield from self._collect(requests)
            return
        loop = self._runner.get_loop()
        unsent = enumerate(requests)
        places: dict[asyncio.Task[Answer], int] = {}
        try:
            while True:
                free = self.config["concurrency"] - len(places)
                for place, request in islice(unsent, 0 if self._hopeless.done() else free):
                    self._show_first(request)
                    places[loop.create_task(self._answer(request))] = place
                if not places:
                    break
                loop.run_until_complete(asyncio.wait(places, return_when=asyncio.FIRST_COMPLETED))
                for task in [task for task in places if task.done()]:
                    yield places.pop(task), task.result()
            if not self._hopeless.done():
                return
            raise UserError(
                f"{self._where}: {self._hopeless.result()}. Check the key, `base_url`, `name`, and "
                "whether the endpoint accepts all fields (`sampling: {top_k: null}` and `request: "
                "{seed: null}` leave some out); the answers until then are in the journal."
            )
        finally:
            # `close` may have come first.
            if places and not loop.is_closed():
                for task in places:
                    task.cancel()
                loop.run_until_complete(asyncio.gather(*places, return_exceptions=True))

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
        endpoint = Endpoint(
            self._client,
            self._runner.run,
            chat=config["chat"],
            headers=self._headers,
            timeout=config["timeout"],
            clean=self._clean,
            keep=self._kept,
            read=self._named,
        )
        return Batches(
            endpoint,
            Path(config["journal"]) / "batches" / config["model"],
            Limits(**config["batch_limits"]),
            where=self._where,
            address=self._address,
        )

    def _collect(self, requests: Iterable[Request]) -> Iterator[tuple[int, Answer]]:
        places: dict[str, int] = {}

        def lines() -> Iterator[Line]:
            for place, request in enumerate(requests):
                self._show_first(request)
                key = self._key(request)
                places[key] = place
                yield Line(key, self._body(request), request.n_tokens)

        assert self._batches is not None, "`load` has made them"
        for key, answer in self._batches.answers(lines()):
            yield places.pop(key), answer

    def _key(self, request: Request) -> str:
        """The request's key in the journal of answers."""
        return request_key(self.identity(), request.prompt, request.sample, request.max_new_tokens)

    # One request

    def _show_first(self, request: Request) -> None:
        if not self._shown:
            self._shown = True
            logger.info("The first prompt, sent %s:\n%s", *self.as_sent(request.prompt))

    async def _answer(self, request: Request) -> Answer:
        """The answer, after as many attempts as it takes."""
        async with self._slots:
            body = self._body(request)
            attempt, left, pause = 1, ATTEMPTS, FIRST_PAUSE_S
            while True:
                await self._wait_for_the_rate()
                if self._hopeless.done():
                    return Answer("", error=self._hopeless.result())
                try:
                    return await self._attempt(body, request.n_tokens)
                except _RateLimit as failure:
                    if self._limited_for() > RATE_LIMIT_S or failure.pause > LONGEST_PAUSE_S:
                        return self._failed(f"{failure} (attempt {attempt})")
                    self._slow_down(failure)
                except Passing as failure:
                    left -= 1
                    if not left or failure.pause > LONGEST_PAUSE_S:
                        return self._failed(f"{failure} (attempt {attempt})")
                    logger.warning("%s: %s; the request is retried.", self._where, failure)
                    self._rest(failure.pause)
                    await self._sleep(pause)
                    pause *= 2
                attempt += 1

    def _body(self, request: Request) -> dict[str, object]:
        """The request's fields; the configuration's own come last, and null takes one out."""
        config, sampling = self.config, self.config["sampling"]
        # Half a character, which JSON cannot hold, becomes a question mark.
        text = request.prompt.encode("utf-8", "replace").decode("utf-8")
        asked = {"messages": messages(config, text)} if config["chat"] else {"prompt": text}
        body = {
            "model": config["name"],
            **asked,
            "temperature": sampling["temperature"],
            "top_p": sampling["top_p"],
            "top_k": sampling["top_k"],
            "seed": sample_seed(sampling["seed"], text, request.sample),
            "max_tokens": request.max_new_tokens,
            "stop": config.get("stop") or None,
            **config["request"],
        }
        limits = (body.get(field) for field in ("max_tokens", "max_completion_tokens"))
        self._most_tokens = max(self._most_tokens, *(n for n in limits if type(n) is int), 0)
        return {field: value for field, value in body.items() if value is not None}

    async def _attempt(self, body: Mapping[str, object], n_tokens: int) -> Answer:
        """Send a request once; its prompt has `n_tokens`. Raises Passing if a retry may help."""
        import openai

        client, chat = self._client, self.config["chat"]
        resource = client.chat.completions if chat else client.completions
        text = "messages" if chat else "prompt"
        rest = {field: value for field, value in body.items() if field not in ("model", text)}
        try:
            async with asyncio.timeout(self.config["timeout"]):
                response = await resource.with_raw_response.create(
                    model=body["model"],
                    **{text: body[text]},
                    extra_body=rest,
                    extra_headers=self._headers,
                )
            status, headers, content = 200, response.headers, response.http_response.content
        except TimeoutError:
            raise Passing(f"no answer within {self.config['timeout']} s") from None
        except openai.APIConnectionError as error:
            if is_too_large(error.__cause__):
                # It is paid for, and would be again.
                return self._failed(connection_trouble(error.__cause__))
            if why := hopeless_connection(error.__cause__):
                return self._give_up(f"{self._address} cannot be reached: {why}")
            trouble = connection_trouble(error.__cause__)
            if self._answered and type(error.__cause__).__name__ == "ConnectError":
                # It was there: it is started anew.
                raise _RateLimit(trouble) from None
            raise Passing(trouble) from None
        except openai.APIStatusError as error:
            status, headers, content = (
                error.status_code,
                error.response.headers,
                error.response.content,
            )
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
        if not (isinstance(reply, Refusal) and reply.kind == "limited"):
            self._limited_since = None
        if isinstance(reply, Refusal):
            return self._refused(reply, retry_after(headers), body)
        if reply.error is not None and not ITS_OWN_FAULT.search(reply.error):
            return self._failed(reply.error)
        self._answered, self._failures = True, 0
        limit = body.get("max_completion_tokens", body.get("max_tokens"))
        if reply.unknown_end and isinstance(limit, int) and (reply.completion_tokens or 0) >= limit:
            reply = replace(reply, finish_reason="length")
        return self._named(reply)

    def _named(self, answer: Answer) -> Answer:
        """The answer, with where it came from, and the model's name if that is another than was asked."""
        answer = replace(answer, origin=self._origin)
        if answer.served is None or not other_model(self.config["name"], answer.served):
            return replace(answer, served=None)
        if not self._others:
            logger.warning(
                "%s: %s was asked for the model %s, and its reply names %s.",
                self._where,
                self._address,
                self.config["name"],
                answer.served,
            )
        self._others = True
        return answer

    def _clean(self, content: str) -> str:
        """A server's text, to be shown, without the key, which it may repeat."""
        for secret in self._secrets:
            content = without(content, secret)
        return content

    def _kept(self, body: Any) -> Any:
        """What a server's JSON holds, to be kept, without the key, which may stand even in an answer."""
        return without_secrets(body, self._secrets)

    @property
    def _secrets(self) -> list[str]:
        return [*filter(None, [self._secret]), *self._url_secrets]

    def _limited_for(self) -> float:
        """For how many seconds the endpoint has answered nothing but 429."""
        since = self._limited_since
        return 0.0 if since is None else self._runner.get_loop().time() - since

    def _slow_down(self, failure: _RateLimit) -> None:
        """Pause all requests for as long again as the limit has lasted: pauses double."""
        if self._limited_since is None:
            self._limited_since = self._runner.get_loop().time()
            logger.warning("%s: %s; all requests wait and are retried.", self._where, failure)
        pause = max(FIRST_PAUSE_S, min(self._limited_for(), LONGEST_RATE_PAUSE_S))
        # Jitter, so that jobs that were refused together do not come back together.
        self._rest(max(pause, failure.pause) * random.uniform(1.0, 1.5))

    def _rest(self, pause: float) -> None:
        """Send no request for this number of seconds: a pause that the endpoint asks of one holds for all."""
        self._not_before = max(self._not_before, self._runner.get_loop().time() + pause)

    async def _wait_for_the_rate(self) -> None:
        loop = self._runner.get_loop()
        while (left := self._not_before - loop.time()) > 0 and not self._hopeless.done():
            await self._sleep(left)

    async def _sleep(self, seconds: float) -> None:
        """Wait this number of seconds, or until the endpoint is given up."""
        await asyncio.wait([self._hopeless], timeout=seconds)

    def _refused(self, refusal: Refusal, pause: float, body: Mapping[str, object]) -> Answer:
        """The answer after a reply without one. Raises Passing if a retry may help."""
        said = refusal.said
        match refusal.kind:
            case "fatal":
                lacks = "" if re.search(r"/v\d", self._address) else " (`base_url` has no /v1)"
                return self._give_up(f"{self._address}{lacks} answers with {said}")
            case "limited":
                raise _RateLimit(said, pause)
            case "passing":
                raise Passing(said, pause)
            case "too_long":
                return Answer("", "skipped", error=said, refused=True)
            case "limit":
                return self._failed(f"{said}; {_lower_limit(body, self.config['request'])}")
            # Neighbouring prompts share text, so many in a row may be refused for their content. If no
            # request was ever answered, the content is not the cause.
            case "content" if self._answered:
                return Answer("", error=said)
        return self._failed(said)

    def _failed(self, what: str) -> Answer:
        """The answer to a failed request whose content is not known to be the cause."""
        self._failures += 1
        if self._failures >= FAILURES_IN_A_ROW:
            return self._give_up(
                f"{self._failures} requests in a row failed at {self._address}, the last with {what}"
            )
        return Answer("", error=what)

    def _give_up(self, why: str) -> Answer:
        """Send no further request."""
        if not self._hopeless.done():
            self._hopeless.set_result(why.rstrip("."))
        return Answer("", error=why)


def _lower_limit(body: Mapping[str, object], request: Mapping[str, object]) -> str:
    """What to do about a limit of the answer that the endpoint does not allow."""
    for field in ("max_completion_tokens", "max_tokens"):
        if request.get(field) is not None:
            return f"lower or remove `request: {field}` ({request[field]})"
    return (
        f"it does not allow the benchmark's limit of {body.get('max_tokens')} tokens for an answer: use a "
        "server with a longer context, or leave the benchmark out"
    )


BACKEND = OpenAI
