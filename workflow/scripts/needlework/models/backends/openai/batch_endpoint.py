"""The batch API of one endpoint, called through the official client; and how its replies are read."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from needlework.errors import UserError
from needlework.models.backends.base import Answer
from needlework.models.openai_protocol import (
    MALFORMED,
    NO_MONEY,
    Refusal,
    connection_trouble,
    count_of,
    is_json,
    json_or_text,
    message_of,
    of_proxy,
    read_body,
)
from needlework.services.endpoints import Passing, excerpt, may_pass, retry_after

T = TypeVar("T")

# The time limit of an upload or download; other calls have the model's own limit.
TRANSFER_S = 3600.0
# The field of the endpoint's metadata that holds our name of a batch.
_TAG = "needlework"

ENDED = {"completed", "failed", "expired", "cancelled"}
_UNDER_WAY = {"validating", "in_progress", "finalizing", "cancelling"}


class BatchRefused(UserError):
    """The endpoint refuses; a retry will not help."""


@dataclass
class BatchEndpoint:
    """The batch API of one endpoint. Calls are made one after the other.

    Every call raises Passing or Refused if it fails.
    """

    # An openai.AsyncOpenAI.
    client: Any
    # Waits for a coroutine.
    run: Callable[[Coroutine[Any, Any, Any]], Any]
    # Whether the endpoint gives chat completions.
    chat: bool
    # Go with each call.
    headers: Mapping[str, object]
    # In seconds.
    timeout: float
    # Removes secrets from a text that is shown.
    clean: Callable[[str], str]
    # Removes secrets from parsed JSON that is kept.
    keep: Callable[[Any], Any]
    # Is applied to each answer.
    named: Callable[[Answer], Answer]
    # The proxy through which a local address is asked, in words; "" if there is none.
    proxy: str = ""

    @property
    def path(self) -> Literal["/v1/chat/completions", "/v1/completions"]:
        """The path to which each request of a batch is sent."""
        return "/v1/chat/completions" if self.chat else "/v1/completions"

    def upload(self, name: str, content: bytes) -> str:
        """Store a file of requests; the file's id."""
        file, create = (f"{_TAG}-{name}.jsonl", content), self.client.files.with_raw_response.create
        return self._id(create(file=file, purpose="batch", extra_headers=self.headers), TRANSFER_S)

    def create(self, name: str, file: str) -> str:
        """Submit an uploaded file as a batch; the batch's id."""
        own = {"input_file_id": file, "endpoint": self.path, "completion_window": "24h"}
        create = self.client.batches.with_raw_response.create
        return self._id(create(**own, metadata={_TAG: name}, extra_headers=self.headers))

    def retrieve(self, batch: str) -> dict[str, Any]:
        """The endpoint's description of a batch, with a status that is known."""
        retrieve = self.client.batches.with_raw_response.retrieve
        reply = self._json(retrieve(batch, extra_headers=self.headers))
        if reply.get("status") not in ENDED | _UNDER_WAY:
            status = excerpt(self.clean(repr(reply.get("status"))), "")
            said = "which says neither that it goes on nor that it has ended"
            raise Passing(f"the status of the batch {batch} is {status}, {said}")
        return reply

    def find(self, name: str, since: float) -> str | None:
        """The id of the batch with our name, created at or after a time (Unix seconds)."""

        async def look() -> str | None:
            listed = self.client.batches.list(limit=100, extra_headers=self.headers)
            try:
                async for batch in listed:
                    if (batch.metadata or {}).get(_TAG) == name:
                        if not batch.id:
                            raise Passing("the list names the batch without its id")
                        return batch.id
                    # Newest first; a day is for clocks that differ.
                    if (batch.created_at or since) < since - 86400:
                        break
            except MALFORMED as error:
                raise Passing(f"the list cannot be read ({type(error).__name__})") from None
            return None

        return self._call(look())

    def results(self, reply: Mapping[str, object]) -> tuple[dict[str, Answer], str]:
        """The answers in the files of a batch, by their keys; and what seems to be missing, in words, or "".

        `reply` is the endpoint's description of the batch.
        """
        right, wrong = (self._read(reply.get(f"{kind}_file_id")) for kind in ("output", "error"))
        found = wrong | right
        done = count_of(reply.get("request_counts"), "completed") or 0
        # Endpoints differ in what they count as completed, and whether failures are in a file.
        if len(right) < done and len(found) < n_done(reply):
            return found, f"the files of {reply.get('id')} hold {len(right)} of {done} results"
        # An endpoint may say that a batch has ended before it names the files.
        silent = not (found or n_done(reply) or _first_error(reply))
        if silent and reply.get("status") == "completed":
            return found, f"{reply.get('id')} is completed, without any result so far"
        return found, ""

    def _read(self, file: object) -> dict[str, Answer]:
        """The answers in a file of results by their keys; none without a file."""
        # Some endpoints write "" for none.
        if not isinstance(file, str) or not file:
            return {}
        content = self.client.files.content(file, extra_headers=self.headers)
        lines = io.BytesIO(self._call(content, TRANSFER_S).content)
        return dict(found for line in lines if (found := self._answer(line)) is not None)

    def _answer(self, line: bytes) -> tuple[str, Answer] | None:
        """A result's key and answer; None for a line that is not a result."""
        try:
            result = self.keep(json.loads(line.decode("utf-8", "replace")))
            key = result["custom_id"]
        except MALFORMED:
            return None
        if not isinstance(key, str):
            return None
        return key, self.named(read_result(result, self.chat, self.clean))

    def _id(self, call: Awaitable[Any], timeout: float | None = None) -> str:
        found = self._json(call, timeout).get("id")
        if not isinstance(found, str) or not found:
            raise Passing("the response has no id")
        return found

    def _json(self, call: Awaitable[Any], timeout: float | None = None) -> dict[str, Any]:
        content = self._call(call, timeout).http_response.text
        body = self.keep(json_or_text(content))
        if not isinstance(body, dict):
            raise Passing(f"the response is not a JSON object: {excerpt(self.clean(content), '')}")
        return body

    def _call(self, call: Awaitable[T], timeout: float | None = None) -> T:
        import openai

        seconds = timeout or self.timeout

        async def within() -> T:
            async with asyncio.timeout(seconds):
                return await call

        try:
            return self.run(within())
        except TimeoutError:
            raise Passing(f"no response within {seconds:g} s") from None
        except openai.APIConnectionError as error:
            trouble = connection_trouble(error.__cause__)
            if self.proxy and of_proxy(error.__cause__):
                raise BatchRefused(f"{trouble}; {self.proxy}") from None
            raise Passing(trouble) from None
        except openai.APIStatusError as error:
            content = error.response.text
            shown = excerpt(self.clean(message_of(json_or_text(content))), "")
            reply = f"status {error.status_code}: {shown}"
            if self.proxy and not is_json(error.response.content):
                raise BatchRefused(f"{reply}; {self.proxy}") from None
            if may_pass(error.status_code) and not NO_MONEY.search(content):
                raise Passing(reply, retry_after(error.response.headers)) from None
            raise BatchRefused(reply) from None


def n_done(reply: Mapping[str, object]) -> int:
    """How many requests of a batch are done, as far as the endpoint says."""
    counts = reply.get("request_counts")
    return sum(count_of(counts, which) or 0 for which in ("completed", "failed"))


def read_result(line: Mapping[str, Any], chat: bool, clean: Callable[[str], str]) -> Answer:
    """The answer in a line of a file of results. `clean` removes secrets from messages of errors."""
    try:
        response = line.get("response")
        if not response:
            said = f"not answered: {clean(message_of(line.get('error')))}"
            return Answer("", error=excerpt(said, ""))
        status = response["status_code"]
        found = read_body(status, response.get("body"), chat, clean)
    except MALFORMED:
        shown = excerpt(clean(json.dumps(line)), "")
        return Answer("", error=f"the line is not a completion: {shown}")
    if not isinstance(found, Refusal):
        return found
    if found.kind == "too_long":
        return Answer("", "skipped", error=found.said, refused=True)
    return Answer("", error=found.said)


def why_unanswered(reply: Mapping[str, Any], clean: Callable[[str], str]) -> str:
    """Why a batch that has ended has no answer to a request."""
    status = reply["status"]
    if status == "completed":
        return "the batch has no answer to it"
    message = _first_error(reply).get("message")
    how = f"the batch {'failed' if status == 'failed' else f'was ended as {status}'}"
    return excerpt(f"{how}: {clean(str(message))}" if message else how, "")


def came_too_early(reply: Mapping[str, Any]) -> bool:
    """Whether a batch was refused because of other unfinished batches."""
    code = _first_error(reply).get("code")
    refused = reply["status"] == "failed" and code == "token_limit_exceeded"
    return refused and isinstance(reply.get("input_file_id"), str)


def _first_error(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first error that the endpoint names of a batch as a whole; empty if it names none."""
    errors = reply.get("errors")
    listed = errors.get("data") if isinstance(errors, dict) else None
    first = listed[0] if isinstance(listed, list) and listed else None
    return first if isinstance(first, dict) else {}
