"""One endpoint's batch API, through the official client, and what its replies say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from needlework.errors import UserError
from needlework.models.backends.base import Answer
from needlework.models.openai_protocol import (
    MALFORMED,
    NO_MONEY,
    Refusal,
    connection_trouble,
    message_of,
    parsed,
    read_body,
)
from needlework.services.bounded_replies import REPLY_BYTES
from needlework.services.endpoints import Passing, excerpt, may_pass, retry_after

if TYPE_CHECKING:
    import openai

T = TypeVar("T")

# The time limit of an upload or download; other calls have the model's own limit.
TRANSFER_S = 3600.0
# The field of the endpoint's metadata that holds our name of a batch.
_TAG = "needlework"


class Refused(UserError):
    """The endpoint refuses; a retry will not help."""


class Endpoint:
    """The batch API of one endpoint, through the official client, one call after the other.

    `chat` is whether it gives chat completions; `clean` removes secrets from a text that is shown, `keep`
    from parsed JSON that is kept; `read` is applied to each answer. Every call raises Passing or Refused
    if it fails.
    """

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        run: Callable[[Coroutine[Any, Any, Any]], Any],
        *,
        chat: bool,
        headers: Mapping[str, str | openai.Omit],
        timeout: float,
        clean: Callable[[str], str],
        keep: Callable[[Any], Any],
        read: Callable[[Answer], Answer],
    ) -> None:
        self._client, self._run, self._chat = client, run, chat
        self.path: Literal["/v1/chat/completions", "/v1/completions"]
        self.path = "/v1/chat/completions" if chat else "/v1/completions"
        self._headers, self._timeout, self._keep = headers, timeout, keep
        self.clean, self._read_answer = clean, read

    def create(self, name: str, file: str) -> str:
        """Submit an uploaded file as a batch; the batch's id."""
        return self._id(
            self._client.batches.with_raw_response.create(
                input_file_id=file,
                endpoint=self.path,
                completion_window="24h",
                metadata={_TAG: name},
                extra_headers=self._headers,
            )
        )

    def upload(self, name: str, content: bytes) -> str:
        """Store a file of requests; the file's id."""
        return self._id(
            self._client.files.with_raw_response.create(
                file=(f"{_TAG}-{name}.jsonl", content),
                purpose="batch",
                extra_headers=self._headers,
            ),
            TRANSFER_S,
        )

    def retrieve(self, batch: str) -> dict[str, Any]:
        """The endpoint's description of a batch."""
        return self._json(
            self._client.batches.with_raw_response.retrieve(batch, extra_headers=self._headers)
        )

    def find(self, name: str, since: float) -> str | None:
        """The id of the batch with our name, created at or after a time (Unix seconds)."""

        async def look() -> str | None:
            listed = self._client.batches.list(limit=100, extra_headers=self._headers)
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
        """The answers in the files of a batch by their keys; `reply` is how the endpoint describes it.

        And what seems to be missing there, in words, or "". Of several lines with one key the first
        that succeeded counts, or else the first.
        """
        right, torn = self._read(reply.get("output_file_id"))
        wrong, also_torn = self._read(reply.get("error_file_id"))
        found: dict[str, Answer] = {}
        for key, answer in (*right, *wrong):
            if key not in found or (found[key].error is not None and answer.error is None):
                found[key] = answer
        done, n_right, n_all = _count(reply, "completed"), len(dict(right)), len(found)
        # Endpoints differ in what they count as completed, and whether failures are in a file.
        if n_right < done and n_all < n_done(reply):
            return found, f"the files of {reply.get('id')} hold {n_right} of {done} results"
        if torn + also_torn:
            return found, f"{torn + also_torn} line(s) of {reply.get('id')} cannot be read"
        # An endpoint may say that a batch has ended before it names the files.
        if reply.get("status") == "completed" and not (
            found or n_done(reply) or _first_error(reply)
        ):
            return found, f"{reply.get('id')} is completed, without any result so far"
        return found, ""

    def _read(self, file: object) -> tuple[list[tuple[str, Answer]], int]:
        """The answers in a file of results, and the number of unreadable lines; nothing without a file."""
        # Some endpoints write "" for none.
        if not isinstance(file, str) or not file:
            return [], 0

        async def read() -> list[tuple[str, Answer] | None]:
            content = self._client.files.with_streaming_response.content
            async with content(file, extra_headers=self._headers) as response:
                lines = _split(response.iter_bytes())
                return [self._answer(line) async for line in lines if line.strip()]

        found = self._call(read(), TRANSFER_S)
        return [line for line in found if line is not None], found.count(None)

    def _answer(self, line: bytes) -> tuple[str, Answer] | None:
        """A result's key and answer; None for a line that is not a result."""
        try:
            result = self._keep(json.loads(line.decode("utf-8", "replace")))
            key = result["custom_id"]
        except MALFORMED:
            return None
        if not isinstance(key, str):
            return None
        return key, self._read_answer(read_result(result, self._chat, self.clean))

    def _id(self, call: Awaitable[Any], timeout: float | None = None) -> str:
        found = self._json(call, timeout).get("id")
        if not isinstance(found, str) or not found:
            raise Passing("the response has no id")
        return found

    def _json(self, call: Awaitable[Any], timeout: float | None = None) -> dict[str, Any]:
        content = self._call(call, timeout).http_response.text
        try:
            body = self._keep(json.loads(content))
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            shown = excerpt(self.clean(content), "")
            raise Passing(f"the response is not a JSON object: {shown}")
        return body

    def _call(self, call: Awaitable[T], timeout: float | None = None) -> T:
        import httpx2
        import openai

        seconds = timeout or self._timeout

        async def within() -> T:
            async with asyncio.timeout(seconds):
                return await call

        try:
            return self._run(within())
        except TimeoutError:
            raise Passing(f"no response within {seconds:g} s") from None
        except openai.APIConnectionError as error:
            raise Passing(connection_trouble(error.__cause__)) from None
        except openai.APIStatusError as error:
            content = error.response.text
            shown = excerpt(self.clean(message_of(parsed(content))), "")
            reply = f"status {error.status_code}: {shown}"
            if may_pass(error.status_code) and not NO_MONEY.search(content):
                raise Passing(reply, retry_after(error.response.headers)) from None
            raise Refused(reply) from None
        except httpx2.HTTPError as error:
            # While the lines of a file are read, the client hands on its library's own.
            raise Passing(connection_trouble(error)) from None


def n_done(reply: Mapping[str, object]) -> int:
    """How many requests of a batch are done, as far as the endpoint says."""
    return _count(reply, "completed") + _count(reply, "failed")


def _count(reply: Mapping[str, object], which: str) -> int:
    counts = reply.get("request_counts")
    count = counts.get(which) if isinstance(counts, dict) else None
    return count if type(count) is int else 0


def read_result(line: Mapping[str, Any], chat: bool, clean: Callable[[str], str]) -> Answer:
    """The answer in a line of a file of results; `clean` removes secrets from what an error shows."""
    try:
        response = line.get("response")
        if not response:
            return Answer("", error=_refusal(line.get("error"), clean))
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


def _refusal(error: object, clean: Callable[[str], str]) -> str:
    """Why a request has no response, in the words of the line's field `error`."""
    return excerpt(f"not answered: {clean(message_of(error))}", "")


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


async def _split(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines of a stream of bytes. Text has more kinds of line breaks, and JSON holds them."""
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line
        if len(rest) > REPLY_BYTES:
            raise Passing("a line of the file of results is too long")
    if rest:
        yield rest
