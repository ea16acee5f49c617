"""The batch API of OpenAI-compatible endpoints: files of requests, answered within a day, often cheaper.

What was submitted stands in a journal of its own, written before and after each submission. So a job
that is killed at any moment finds its batches again, and nothing is submitted twice.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from needlework.backends.base import Answer
from needlework.endpoints import Passing, excerpt, may_pass
from needlework.errors import UserError
from needlework.journal import Journal
from needlework.openai_protocol import MALFORMED, TOO_LONG, message_of, read_completion
from needlework.progress import progress

logger = logging.getLogger("needlework")

T = TypeVar("T")

# Between two looks at the batches; longer and longer as long as nothing ends.
FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 300.0
# An endpoint that fails so often in a row is waited for no longer: about half an hour.
ATTEMPTS = 12
# A file may take so long to come or go; other calls have the model's own limit.
TRANSFER_S = 3600.0
# How long a batch may take to appear in the endpoint's list after its creation.
SETTLE_S = 60.0

_ENDED = {"completed", "failed", "expired", "cancelled"}

_WHY_REFUSED = (
    "check the key, `base_url`, `name` and `batch_limits`, and whether the endpoint has a batch API "
    "(`batch: false` sends request by request)"
)

# The name under which the endpoint keeps our name of a batch.
_TAG = "needlework"


class Line(NamedTuple):
    """A request in a batch: its key in the journal of answers, its body, its prompt's tokens."""

    key: str
    body: Mapping[str, Any]
    n_tokens: int


class Limits(NamedTuple):
    """The most that a batch may hold; `tokens` (None: no limit) is of all batches under way."""

    requests: int
    megabytes: float
    tokens: int | None


class Refused(UserError):
    """The endpoint will not do it, however often it is asked."""


@dataclass
class _Batch:
    """A batch that was submitted, or was about to be. `owes` are the keys whose answers it has."""

    name: str
    address: str
    tokens: int
    planned: float
    owes: set[str]
    id: str | None = None
    # What the endpoint, or the journal, says; that this run asks for its answers; that it has them.
    ended: bool = False
    wanted: bool = False
    collected: bool = False
    done: int = 0
    # The tokens that were under way when it was submitted, as far as this run knows.
    beside: float = math.inf
    # The endpoint's file of its requests, where this run knows it.
    file: str | None = None


class Endpoint:
    """The batch API of one endpoint, through the official client, one call after the other.

    `chat` is whether it is asked for chat completions; `clean` takes what is secret out of a text. Every
    call raises Passing or Refused where it fails.
    """

    def __init__(
        self,
        client: Any,
        run: Callable[[Coroutine[Any, Any, Any]], Any],
        *,
        chat: bool,
        headers: Mapping[str, Any],
        timeout: float,
        clean: Callable[[str], str],
    ) -> None:
        self._client, self._run, self._chat = client, run, chat
        self.path = "/v1/chat/completions" if chat else "/v1/completions"
        self._headers, self._timeout, self._clean = headers, timeout, clean

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
        """What the endpoint says of a batch."""
        return self._json(
            self._client.batches.with_raw_response.retrieve(batch, extra_headers=self._headers)
        )

    def find(self, name: str, since: float) -> str | None:
        """The id of the batch of our name, among those created since a time (seconds)."""

        async def look() -> str | None:
            listed = self._client.batches.list(limit=100, extra_headers=self._headers)
            try:
                async for batch in listed:
                    if (batch.metadata or {}).get(_TAG) == name:
                        return batch.id
                    # Newest first; a day is for clocks that differ.
                    if (batch.created_at or since) < since - 86400:
                        break
            except MALFORMED as error:
                raise Passing(f"the list cannot be read ({type(error).__name__})") from None
            return None

        return self._call(look())

    def results(self, said: Mapping[str, Any]) -> dict[str, Answer]:
        """The answers in the files of a batch of which the endpoint says `said`, by their keys.

        A request without an answer is paid for again, so files that lack some are passing trouble.
        """
        right, wrong = (self._read(said.get(file)) for file in ("output_file_id", "error_file_id"))
        done = _count(said, "completed")
        # Endpoints differ in what they count as completed, and whether failures are in a file.
        if len(right) < done and len(right) + len(wrong) < _done(said):
            raise Passing(f"the files of {said.get('id')} hold {len(right)} of {done} results")
        return right | wrong

    def _read(self, file: Any) -> dict[str, Answer]:
        """The answers in a file of results; none where there is no file."""
        if not isinstance(file, str):
            return {}

        async def read() -> list[tuple[str, Answer] | None]:
            content = self._client.files.with_streaming_response.content
            async with content(file, extra_headers=self._headers) as response:
                lines = _split(response.iter_bytes())
                return [self._answer(line) async for line in lines if line.strip()]

        found = self._call(read(), TRANSFER_S)
        if None in found:
            raise Passing(f"{found.count(None)} line(s) of the file {file} cannot be read")
        return dict(found)

    def _answer(self, line: bytes) -> tuple[str, Answer] | None:
        """A result's key and answer; None of a line that is no result."""
        try:
            result = json.loads(self._clean(line.decode("utf-8", "replace")))
            key = result["custom_id"]
        except MALFORMED:
            return None
        return (key, read_result(result, self._chat)) if isinstance(key, str) else None

    def _id(self, call: Coroutine[Any, Any, Any], timeout: float | None = None) -> str:
        found = self._json(call, timeout).get("id")
        if not isinstance(found, str):
            raise Passing("the response has no id")
        return found

    def _json(self, call: Coroutine[Any, Any, Any], timeout: float | None = None) -> dict[str, Any]:
        content = self._clean(self._call(call, timeout).http_response.text)
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise Passing(f"the response is no JSON object: {excerpt(content, '')}")
        return body

    def _call(self, call: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
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
            raise Passing(f"the connection failed ({type(error.__cause__).__name__})") from None
        except openai.APIStatusError as error:
            said = excerpt(self._clean(message_of(error.response.text)), "")
            said = f"status {error.status_code}: {said}"
            raise (Passing if may_pass(error.status_code) else Refused)(said) from None
        except httpx2.HTTPError as error:
            # While the lines of a file are read, the client hands on its library's own.
            raise Passing(f"the connection failed ({type(error).__name__})") from None


class Batches:
    """The requests of one model that are answered in batches, and what became of them.

    `folder` is the journal of what was submitted; `where` the model's place in words; `address` the
    endpoint's.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        folder: Path,
        limits: Limits,
        *,
        where: str,
        address: str,
    ) -> None:
        self._endpoint, self._limits = endpoint, limits
        self._where, self._address = where, address
        self._journal = Journal(folder)
        self._batches: dict[str, _Batch] = {}
        self._held: list[_Batch] = []
        self._owner: dict[str, _Batch] = {}
        self._source: Iterator[Line] = iter(())
        self._next: Line | None = None
        self._answers: dict[str, Answer] = {}
        self._bar: Any = None
        self._read_journal()

    def expect(self, lines: Iterable[Line]) -> None:
        """Requests that `answer` will be asked for, in this order; read as far as they can be submitted."""
        self._source = chain(self._source, lines)

    def answer(self, key: str) -> Answer:
        """The answer to an expected request; waits until it is there.

        Raises UserError where the endpoint refuses a batch, or does not know one any more.
        """
        pause = FIRST_PAUSE_S
        while True:
            while self._submit_next():
                pass
            if key not in self._answers and self._look():
                pause = FIRST_PAUSE_S
            if key in self._answers:
                return self._answers.pop(key)
            if key not in self._owner and self._peek() is None:
                raise KeyError(f"{key} was not expected")
            time.sleep(pause)
            pause = min(1.5 * pause, LONGEST_PAUSE_S)

    def close(self) -> None:
        """Close the journal. The batches go on."""
        self._journal.close()
        if self._bar is not None:
            self._bar.close()

    # What was submitted

    def _read_journal(self) -> None:
        """Take in the batches that are not known yet: at first all, then those of other jobs."""
        known = {name for name, batch in self._batches.items() if batch.id or batch.ended}
        records = [record for record in self._journal.records() if record["key"] not in known]
        # Of writers that started in the same second, any may come first.
        for record in sorted(records, key=lambda record: record["event"] != "planned"):
            name = record["key"]
            match record["event"]:
                case "planned":
                    address, tokens, at = record["address"], record["tokens"], record["time"]
                    self._batches[name] = _Batch(name, address, tokens, at, set(record["requests"]))
                # A disk that is shared may show what came later first.
                case "submitted" if name in self._batches:
                    self._batches[name].id = record["id"]
                case "ended" if name in self._batches:
                    self._batches[name].ended = True
                    self._batches[name].owes -= {*record["released"], *record["skipped"]}
                    for key, error in record["skipped"].items():
                        self._answers[key] = Answer("", "skipped", error=error)
        for name in self._batches.keys() - known:
            batch = self._batches[name]
            self._owner |= dict.fromkeys(batch.owes, batch)

    def _record(self, batch: _Batch, event: str, **values: Any) -> None:
        self._journal.append([{"key": batch.name, "event": event, **values}])

    def _end(
        self, batch: _Batch, released: Iterable[str], skipped: Mapping[str, str] | None = None
    ) -> None:
        """A batch does nothing any more; `released` are its requests that can be submitted again."""
        released = sorted(released)
        self._record(batch, "ended", released=released, skipped=skipped or {})
        batch.ended = True
        for key in [*released, *(skipped or {})]:
            batch.owes.discard(key)
            if self._owner.get(key) is batch:
                del self._owner[key]

    def _settle(self, batch: _Batch) -> None:
        """Find out whether a batch was submitted whose job was killed meanwhile."""
        while True:
            found = self._patiently(
                partial(self._endpoint.find, batch.name, batch.planned),
                f"so it cannot be told whether a batch named {batch.name} was submitted: look there, "
                f"and delete {self._journal.directory} to submit it again",
            )
            left = batch.planned + SETTLE_S - time.time()
            if found is not None:
                batch.id = found
                self._record(batch, "submitted", id=found)
                logger.info("%s: the batch %s was submitted before.", self._where, found)
                return
            if left <= 0:
                self._end(batch, batch.owes)
                return
            time.sleep(min(left, FIRST_PAUSE_S))

    def _owed(self, key: str) -> bool:
        """Whether the answer is here, or some batch owes it; that one is then collected."""
        if key in self._answers:
            return True
        batch = self._owner.get(key)
        if batch is not None and batch.address != self._address:
            raise UserError(
                f"{self._where}: a batch of its requests is at {batch.address}: set `base_url` to that "
                f"and run again, or delete {self._journal.directory} to submit it here."
            )
        if batch is not None and batch.id is None and batch.file is None:
            self._settle(batch)
            batch = self._owner.get(key)
        if batch is not None:
            batch.wanted = True
        return batch is not None

    # Submitting

    def _submit_next(self) -> bool:
        """Submit a batch that is held back, or one of what is expected.

        Returns whether there was something, and the limits allow it.
        """
        if (not self._held and self._peek() is None) or self._full():
            return False
        # Another job may have submitted some since.
        self._read_journal()
        if self._full():
            return False
        if self._held:
            self._create(self._held.pop(0))
            return True
        most, share = self._limits, self._share
        keys, content, tokens = [], bytearray(), 0
        while (line := self._peek()) is not None:
            if not self._owed(line.key):
                text = self._encoded(line)
                # One request beyond a limit is the endpoint's to refuse.
                if keys and (
                    len(keys) >= most.requests
                    or len(content) + len(text) > most.megabytes * 1_000_000
                    or (share is not None and tokens + line.n_tokens > share)
                ):
                    break
                keys.append(line.key)
                content += text
                tokens += line.n_tokens
            self._next = None
        if keys:
            self._submit(keys, bytes(content), tokens)
        return bool(keys)

    @property
    def _share(self) -> int | None:
        """How many tokens a batch may hold, so that several share what may be under way."""
        most = self._limits.tokens
        return None if most is None else most // 4

    def _full(self) -> bool:
        """Whether the next batch has to wait until another has ended."""
        under_way, most = self._tokens_under_way(), self._limits.tokens
        if self._held and under_way >= self._held[0].beside:
            return True
        return most is not None and under_way > 0 and under_way + self._share > most

    def _tokens_under_way(self) -> int:
        return sum(batch.tokens for batch in self._batches.values() if self._under_way(batch))

    def _peek(self) -> Line | None:
        """The first expected request that was not taken yet."""
        if self._next is None:
            self._next = next(self._source, None)
        return self._next

    def _encoded(self, line: Line) -> bytes:
        request = {
            "custom_id": line.key,
            "method": "POST",
            "url": self._endpoint.path,
            "body": line.body,
        }
        return json.dumps(request, ensure_ascii=False).encode() + b"\n"

    def _submit(self, keys: list[str], content: bytes, tokens: int) -> None:
        batch = self._new(tokens, keys)
        batch.file = self._patiently(
            partial(self._endpoint.upload, batch.name, content), _WHY_REFUSED
        )
        self._create(batch)

    def _new(self, tokens: int, keys: Iterable[str]) -> _Batch:
        name = secrets.token_hex(16)
        return _Batch(name, self._address, tokens, 0.0, set(keys), wanted=True)

    def _create(self, batch: _Batch) -> None:
        """Submit a batch whose file the endpoint has."""
        name, keys = batch.name, sorted(batch.owes)
        batch.beside = self._tokens_under_way()
        batch.planned = time.time()
        self._record(
            batch,
            "planned",
            address=self._address,
            tokens=batch.tokens,
            time=batch.planned,
            requests=keys,
        )
        asked = 0.0

        def create() -> str:
            nonlocal asked
            # An attempt whose response was lost may have been heard.
            if asked and (found := self._endpoint.find(name, batch.planned)) is not None:
                return found
            if time.time() - asked < SETTLE_S:
                raise Passing("it is not known yet whether the batch was made")
            asked = time.time()
            return self._endpoint.create(name, batch.file)

        try:
            batch.id = self._patiently(create, _WHY_REFUSED)
        except Refused:
            self._end(batch, keys)
            raise
        self._record(batch, "submitted", id=batch.id)
        self._batches[name] = batch
        self._owner |= dict.fromkeys(keys, batch)
        logger.info("%s: submitted %d requests as %s.", self._where, len(keys), batch.id)

    # Collecting

    def _look(self) -> bool:
        """Ask how the batches are, and collect those that have ended; whether one has."""
        some = False
        for batch in self._batches.values():
            if batch.wanted and not batch.collected:
                said = self._of(batch, partial(self._endpoint.retrieve, batch.id))
                batch.done = _done(said)
                if said.get("status") in _ENDED:
                    some = True
                    self._collect(batch, said)
            elif (self._limits.tokens or self._held) and self._under_way(batch):
                # Another job's, which collects it; here it only counts against the limit.
                try:
                    said = self._of(batch, partial(self._endpoint.retrieve, batch.id))
                    batch.ended = said.get("status") in _ENDED
                except Refused:
                    batch.ended = True
                some |= batch.ended
        self._show()
        return some

    def _under_way(self, batch: _Batch) -> bool:
        """Whether the endpoint still works on it, as far as is known."""
        return batch.id is not None and not batch.ended and batch.address == self._address

    def _of(self, batch: _Batch, call: Callable[[], T]) -> T:
        return self._patiently(
            call,
            f"so the answers of the batch {batch.id} cannot be collected: use the key that it was "
            f"submitted with, or delete {self._journal.directory} to submit it again",
        )

    def _collect(self, batch: _Batch, said: Mapping[str, Any]) -> None:
        """Take the answers that a batch owes from its files; what is in none has failed."""
        if _came_too_early(said) and batch.beside:
            self._hold_back(batch, said["input_file_id"])
            return
        results = self._of(batch, partial(self._endpoint.results, said))
        found = {key: answer for key, answer in results.items() if key in batch.owes}
        why = _reason(said)
        for key in batch.owes - found.keys():
            found[key] = Answer("", error=why)
        failed = [k for k, a in found.items() if a.error and a.finish_reason != "skipped"]
        skipped = {k: a.error for k, a in found.items() if a.finish_reason == "skipped"}
        logger.info(
            "%s: %s is %s; %d answers, %d failed.",
            self._where,
            batch.id,
            said["status"],
            len(found) - len(failed),
            len(failed),
        )
        self._answers |= found
        batch.collected, batch.done = True, len(found)
        if not batch.ended or failed or skipped:
            self._end(batch, failed, skipped)

    def _hold_back(self, batch: _Batch, file: str) -> None:
        """Have a batch that was too much beside others submitted again once some of them have ended."""
        again = self._new(batch.tokens, batch.owes)
        again.file, again.beside = file, batch.beside
        logger.info(
            "%s: %s was beyond the endpoint's limit and waits for others.", self._where, batch.id
        )
        self._end(batch, batch.owes)
        batch.collected = True
        self._held.append(again)
        self._owner |= dict.fromkeys(again.owes, again)

    def _show(self) -> None:
        """How far the batches are that this run waits for."""
        wanted = [batch for batch in self._batches.values() if batch.wanted]
        if self._bar is None:
            self._bar = progress(desc="batches", unit="prompt")
        self._bar.total = sum(max(len(batch.owes), batch.done) for batch in wanted)
        self._bar.update(sum(batch.done for batch in wanted) - self._bar.n)

    def _patiently(self, call: Callable[[], T], remedy: str) -> T:
        """What `call` gives, after as many attempts as it takes."""
        pause = FIRST_PAUSE_S
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return call()
            except Refused as refusal:
                raise Refused(
                    f"{self._where}: {self._address} answers with {str(refusal).rstrip('.')}; {remedy}."
                ) from None
            except Passing as failure:
                logger.warning("%s: %s.", self._where, failure)
                if attempt == ATTEMPTS:
                    raise UserError(
                        f"{self._where}: the batch API at {self._address} keeps failing ({failure}). What "
                        "was submitted is remembered: run again to collect it."
                    ) from None
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)
        raise AssertionError


def _done(said: Mapping[str, Any]) -> int:
    """How many requests of a batch are done, as far as the endpoint says."""
    return _count(said, "completed") + _count(said, "failed")


def _count(said: Mapping[str, Any], which: str) -> int:
    counts = said.get("request_counts")
    count = counts.get(which) if isinstance(counts, dict) else None
    return count if type(count) is int else 0


def read_result(line: Mapping[str, Any], chat: bool) -> Answer:
    """The answer in a line of a file of results."""
    try:
        response = line.get("response")
        if not response:
            return Answer("", error=_refusal(line.get("error")))
        if response["status_code"] == 200:
            return read_completion(response["body"], chat)
        content = json.dumps(response.get("body"))
        said = f"status {response['status_code']}: {excerpt(message_of(content), '')}"
    except MALFORMED:
        return Answer("", error=f"the line is no completion: {excerpt(json.dumps(line), '')}")
    return Answer("", "skipped" if TOO_LONG.search(content) else "error", error=said)


def _refusal(error: Any) -> str:
    """Why a request has no response, in the words of the line's field `error`."""
    content = json.dumps(error)
    return excerpt(f"not answered: {message_of(content)}", "")


def _reason(said: Mapping[str, Any]) -> str:
    """Why a batch that has ended lacks an answer."""
    status = said["status"]
    if status == "completed":
        return "the batch has no answer to it"
    message = _first_error(said).get("message")
    how = f"the batch {'failed' if status == 'failed' else f'was ended as {status}'}"
    return excerpt(f"{how}: {message}" if message else how, "")


def _came_too_early(said: Mapping[str, Any]) -> bool:
    """Whether a batch was refused for what was under way beside it."""
    code = _first_error(said).get("code")
    refused = said["status"] == "failed" and code == "token_limit_exceeded"
    return refused and isinstance(said.get("input_file_id"), str)


def _first_error(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first error that the endpoint names of a batch as a whole; empty where it names none."""
    errors = said.get("errors")
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
    if rest:
        yield rest
