"""The batch API of OpenAI-compatible endpoints: files of requests, answered within a day, often cheaper.

Batches are recorded in a journal of their own, before and after each submission. So if a job is killed, the
next one finds its batches again, and nothing is submitted twice.
"""

from __future__ import annotations

import json
import logging
import math
import secrets
import shlex
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.jobs.stop import check_stop, rest
from needlework.journal import Journal, Record
from needlework.models.backends.base import Answer
from needlework.models.backends.openai.batch_endpoint import (
    ENDED,
    BatchEndpoint,
    BatchRefused,
    came_too_early,
    n_done,
    why_unanswered,
)
from needlework.services.endpoints import LONGEST_PAUSE_S as LONGEST_ASKED_S
from needlework.services.endpoints import Passing

logger = logging.getLogger("needlework")

T = TypeVar("T")

# The pause between two queries of the batches; it grows while none ends.
FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 300.0
# After this number of failures in a row, about half an hour, the endpoint is given up.
ATTEMPTS = 12
# How long a batch may take to appear in the endpoint's list after its creation.
SETTLE_S = 60.0
# OpenAI's limits of a batch, which other endpoints have too.
MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000

_WHY_REFUSED = (
    "check the key, `base_url`, `name` and `batch_tokens`, and whether the endpoint has a batch API "
    "(`batch: false` sends request by request)"
)


class BatchRequest(NamedTuple):
    """A request in a batch: its key in the journal of answers, its body, its prompt's tokens."""

    key: str
    body: Mapping[str, object]
    n_tokens: int


@dataclass
class _Batch:
    """A batch that was submitted, or was about to be. `pending_keys` are the keys whose answers it has."""

    name: str
    address: str
    tokens: int
    planned: float
    pending_keys: set[str]
    # "planned": it is not known whether the endpoint has it.
    status: Literal["planned", "submitted", "ended"] = "planned"
    id: str = ""
    # When its creation was last tried, as far as the journal says.
    attempted: float = 0.0
    # Whether this run needs its answers; whether it has them, or has given them up.
    wanted: bool = False
    closed: bool = False
    # How many of its requests the endpoint has answered; how often its files were read, and incomplete.
    done: int = 0
    readings: int = 0
    # The tokens of unfinished batches when it was submitted, as far as this run knows.
    tokens_in_flight: float = math.inf
    # The endpoint's file of its requests, if this run knows it.
    file: str = ""

    def hear(self, record: Record) -> None:
        """Take in an event that the journal has recorded."""
        match record["event"]:
            case "attempted":
                self.attempted = max(self.attempted, record["time"])
            case "submitted":
                self.id = record["id"]
                # A disk that is shared may show what came later first.
                self.status = "submitted" if self.status == "planned" else self.status
            case "ended":
                self.status = "ended"
                self.pending_keys -= {*record["released"]}


class Batches:
    """The requests of one model that are answered in batches, and the state of these batches.

    `journal` records the batches that were submitted. `most_tokens` limits the tokens of all unfinished
    batches together (None: no limit). `where` is the model's place in words, `address` the endpoint's
    address.

    If a user makes a file `<name of a batch>.again` in the journal's folder, the requests of that batch may
    be submitted again.
    """

    def __init__(
        self,
        endpoint: BatchEndpoint,
        journal: Journal,
        most_tokens: int | None,
        *,
        where: str,
        address: str,
    ) -> None:
        self._endpoint, self._most_tokens = endpoint, most_tokens
        self._where, self._address = where, address
        self._journal = journal
        self._batches: dict[str, _Batch] = {}
        # Batches that were beyond the endpoint's limit, to be submitted again.
        self._held: list[_Batch] = []
        # The batch that has, or will have, the answer to a request.
        self._owner: dict[str, _Batch] = {}
        self._source: Iterator[BatchRequest] = iter(())
        self._next: BatchRequest | None = None
        # Requests taken from the source and not answered yet; answers, also to requests not taken yet.
        self._taken: set[str] = set()
        self._answers: dict[str, Answer] = {}
        # The errors with which the run ends, once all available answers are collected.
        self._troubles: list[str] = []
        # Whether the last call failed as often as calls are made.
        self._failing = False
        self._bar: Any = None
        self._read_journal()

    def answers(self, lines: Iterable[BatchRequest]) -> Iterator[tuple[str, Answer]]:
        """The answers to requests with their keys, in any order, each as soon as it is known.

        Requests are taken from `lines` only as they can be submitted. If the endpoint refuses a batch, or
        will not say what became of one, nothing more is submitted. The answers of all other batches are paid
        for, so they are waited for and yielded; then UserError is raised. Raises Stopped if the run is being
        stopped: the next run collects what is submitted.
        """
        self._source = iter(lines)
        self._next = next(self._source, None)
        pause = FIRST_PAUSE_S
        while True:
            self._submit()
            yield from self._known()
            for batch in list(self._batches.values()):
                if self._look(batch):
                    pause = FIRST_PAUSE_S
                yield from self._known()
            self._show()
            waited_for = any(batch.wanted and not batch.closed for batch in self._batches.values())
            if not waited_for and not self._held and self._next is None:
                break
            rest(pause)
            pause = min(1.5 * pause, LONGEST_PAUSE_S)
        if self._troubles:
            first, *others = self._troubles
            more = f" The log has {len(others)} more of this kind." if others else ""
            raise UserError(first + more)

    def close(self) -> None:
        """Close the journal. The batches go on at the endpoint."""
        self._journal.close()
        if self._bar is not None:
            self._bar.close()

    def _known(self) -> Iterator[tuple[str, Answer]]:
        """The answers to what was taken, each once."""
        for key in self._taken & self._answers.keys():
            self._taken.remove(key)
            yield key, self._answers.pop(key)

    def _show(self) -> None:
        """Show how far the batches are that this run waits for."""
        wanted = [batch for batch in self._batches.values() if batch.wanted]
        if self._bar is None:
            self._bar = progress(desc="batches", unit="prompt")
        self._bar.total = sum(max(len(batch.pending_keys), batch.done) for batch in wanted)
        self._bar.update(sum(batch.done for batch in wanted) - self._bar.n)

    # The journal of batches

    def _record(self, batch: _Batch, event: str, **values: object) -> None:
        self._journal.append([{"key": batch.name, "event": event, **values}])

    def _read_journal(self) -> None:
        """Take in the batches that are not known yet: at first all, then those of other jobs."""
        known = {name for name, batch in self._batches.items() if batch.status != "planned"}
        records = [record for record in self._journal.records() if record["key"] not in known]
        # Of writers that started at the same time, any may come first.
        for record in sorted(records, key=lambda record: record["event"] != "planned"):
            name = record["key"]
            if record["event"] == "planned":
                address, tokens, at = record["address"], record["tokens"], record["time"]
                self._batches[name] = _Batch(name, address, tokens, at, set(record["requests"]))
            elif name in self._batches:
                self._batches[name].hear(record)
        for name in self._batches.keys() - known:
            batch = self._batches[name]
            if batch.pending_keys and self._again(batch).exists():
                self._end(batch, batch.pending_keys)
            self._owner |= dict.fromkeys(batch.pending_keys, batch)

    def _hear(self, batch: _Batch, final: Collection[str]) -> None:
        """Take in what the journal says of a batch that is not known to be submitted.

        Raises UserError if another job has recorded one of the events `final`: its requests are that
        job's now, and would be paid for twice.
        """
        records = [record for record in self._journal.records() if record["key"] == batch.name]
        for record in records:
            if record["event"] != "ended":
                batch.hear(record)
        if not batch.id and any(record["event"] in final for record in records):
            raise UserError(
                f"{self._where}: another run has taken over the requests of the batch {batch.name}, which "
                "was not made yet: run again once that run has ended, to get their answers."
            )

    def _end(self, batch: _Batch, released: Iterable[str]) -> None:
        """Mark a batch as ended; `released` are its requests that can be submitted again."""
        released = sorted(released)
        self._record(batch, "ended", released=released)
        batch.status = "ended"
        batch.pending_keys -= {*released}
        for key in released:
            if self._owner.get(key) is batch:
                del self._owner[key]

    def _again(self, batch: _Batch) -> Path:
        """The file whose existence allows to submit a batch's requests again."""
        return self._journal.directory / f"{batch.name}.again"

    def _last_resort(self, batch: _Batch) -> str:
        """What submits a batch's requests again, in words."""
        return (
            f"after `touch {shlex.quote(str(self._again(batch)))}`, the next run submits its "
            f"{len(batch.pending_keys)} request(s) again, and they are paid for again"
        )

    # Requests that an earlier run has submitted

    def _owed(self, key: str) -> bool:
        """Whether the answer is here, or in a batch that is still to be collected, which is then marked."""
        if key in self._answers:
            return True
        batch = self._owner.get(key)
        if batch is not None and not batch.closed:
            try:
                if batch.address != self._address:
                    raise UserError(
                        f"{self._where}: a batch of its requests is at {batch.address}: set `base_url` "
                        f"to that and run again; {self._last_resort(batch)}."
                    )
                if not batch.id and not batch.file:
                    self._settle(batch)
            except UserError as error:
                self._give_up(batch, error)
            batch = self._owner.get(key)
        if batch is not None:
            batch.wanted = True
        return batch is not None

    def _settle(self, batch: _Batch) -> None:
        """Find out whether a batch was submitted whose job was killed meanwhile.

        The job may live on, in another run, and still try. So the end is announced before it is recorded:
        an attempt that is recorded later does not go out (`_attempt`), and one that was recorded before
        is waited for.
        """
        announced = False
        while True:
            self._hear(batch, {"ended"})
            left = max(batch.planned, batch.attempted) + SETTLE_S - time.time()
            found = batch.id or self._patiently(
                partial(self._endpoint.find, batch.name, batch.planned),
                f"so it cannot be told whether a batch named {batch.name} was submitted: look there; "
                f"{self._last_resort(batch)}",
            )
            if found:
                self._submitted(batch, found)
                logger.info("%s: the batch %s was submitted before.", self._where, found)
                return
            if left > 0:
                rest(min(left, FIRST_PAUSE_S))
            elif not announced:
                self._record(batch, "ending")
                announced = True
            else:
                self._end(batch, batch.pending_keys)
                return

    def _submitted(self, batch: _Batch, id_: str) -> None:
        self._record(batch, "submitted", id=id_)
        batch.id, batch.status = id_, "submitted"

    # Submitting

    def _submit(self) -> None:
        """Submit as much as the limits allow."""
        try:
            while not self._troubles and self._submit_next():
                pass
        except UserError as error:
            self._fail(error)
        if self._troubles:
            self._held.clear()
        # Batches of an earlier run are paid for, so they are collected at whatever endpoint they are.
        while self._troubles and self._next is not None:
            key = self._next.key
            if self._owed(key):
                self._taken.add(key)
            self._next = next(self._source, None)

    def _submit_next(self) -> bool:
        """Submit a batch that is held back, or the next requests; whether that was possible."""
        if not self._held and self._next is None:
            return False
        # Another job may have submitted some since.
        self._read_journal()
        if self._full():
            return False
        if self._held:
            self._create(self._held.pop(0))
            return True
        keys, content, tokens = self._next_requests()
        check_stop()
        if not keys or self._troubles:
            return False
        batch = self._new(tokens, keys)
        batch.file = self._patiently(
            partial(self._endpoint.upload, batch.name, content), _WHY_REFUSED
        )
        self._create(batch)
        return True

    def _full(self) -> bool:
        """Whether the next batch has to wait until another has ended."""
        in_flight, most = self._tokens_in_flight(), self._most_tokens
        if self._held and in_flight >= self._held[0].tokens_in_flight:
            return True
        return most is not None and in_flight > 0 and in_flight + most // 4 > most

    def _tokens_in_flight(self) -> int:
        return sum(batch.tokens for batch in self._batches.values() if self._under_way(batch))

    def _under_way(self, batch: _Batch) -> bool:
        """Whether the endpoint still works on it, as far as is known."""
        return batch.status == "submitted" and batch.address == self._address

    def _next_requests(self) -> tuple[list[str], bytes, int]:
        """The keys of the requests of the next batch, the content of its file, and its prompts' tokens."""
        most, sent_to = self._most_tokens, {"method": "POST", "url": self._endpoint.path}
        keys: list[str] = []
        content, tokens = bytearray(), 0
        while not self._troubles and (line := self._next) is not None:
            if not self._owed(line.key):
                own = {"custom_id": line.key, **sent_to, "body": line.body}
                text = json.dumps(own, ensure_ascii=False).encode() + b"\n"
                # One request beyond a limit is the endpoint's to refuse. A quarter of the limit of tokens
                # lets several batches share it.
                if keys and (
                    len(keys) >= MOST_REQUESTS
                    or len(content) + len(text) > MOST_BYTES
                    or (most is not None and tokens + line.n_tokens > most // 4)
                ):
                    break
                keys.append(line.key)
                content += text
                tokens += line.n_tokens
            self._taken.add(line.key)
            self._next = next(self._source, None)
        return keys, bytes(content), tokens

    def _new(self, tokens: int, keys: Iterable[str]) -> _Batch:
        return _Batch(secrets.token_hex(16), self._address, tokens, 0.0, {*keys}, wanted=True)

    def _create(self, batch: _Batch) -> None:
        """Submit a batch whose file the endpoint has."""
        check_stop()
        keys = sorted(batch.pending_keys)
        batch.tokens_in_flight = self._tokens_in_flight()
        batch.planned = time.time()
        planned = {"address": batch.address, "tokens": batch.tokens, "time": batch.planned}
        self._record(batch, "planned", **planned, requests=keys)
        self._submitted(batch, self._patiently(partial(self._attempt, batch), _WHY_REFUSED))
        self._batches[batch.name] = batch
        self._owner |= dict.fromkeys(keys, batch)
        logger.info("%s: submitted %d requests as %s.", self._where, len(keys), batch.id)

    def _attempt(self, batch: _Batch) -> str:
        """Try to create a batch, unless the endpoint has it; its id."""
        # An attempt whose response was lost may have been heard.
        if batch.attempted and (found := self._endpoint.find(batch.name, batch.planned)):
            return found
        if time.time() - batch.attempted < SETTLE_S:
            raise Passing("it is not known yet whether the batch was made")
        batch.attempted = time.time()
        self._record(batch, "attempted", time=batch.attempted)
        # Read after that is written: another run does these in the other order (`_settle`).
        self._hear(batch, {"ending", "ended"})
        if batch.id:
            return batch.id
        try:
            return self._endpoint.create(batch.name, batch.file)
        except BatchRefused:
            self._end(batch, batch.pending_keys)
            raise

    # Collecting

    def _look(self, batch: _Batch) -> bool:
        """Query a batch, if that matters, and collect it if it has ended; whether it is done with."""
        # Another job's batch only counts against the limits.
        counts = self._under_way(batch) and (self._most_tokens or self._held)
        if batch.closed or not (batch.wanted or counts):
            return False
        try:
            reply = self._of(batch, partial(self._endpoint.retrieve, batch.id))
            batch.done = n_done(reply)
            if reply["status"] not in ENDED or (batch.wanted and not self._collect(batch, reply)):
                return False
        except UserError as error:
            if batch.wanted:
                self._give_up(batch, error)
                return False
        batch.status = "ended"
        return True

    def _of(self, batch: _Batch, call: Callable[[], T]) -> T:
        """What `call` gives, which asks for a batch."""
        return self._patiently(
            call,
            f"so the answers of the batch {batch.id} cannot be collected: use the key that it was "
            f"submitted with; {self._last_resort(batch)}",
            f"If {batch.id} never can be: {self._last_resort(batch)}.",
        )

    def _collect(self, batch: _Batch, reply: Mapping[str, Any]) -> bool:
        """Take the answers of a batch that has ended from its files; a request that is in none has failed.

        Returns False if its files lack some answers, or are not named yet: then they are read again for
        a while. What they hold then is taken; if that is nothing, UserError is raised.
        """
        if came_too_early(reply) and batch.tokens_in_flight:
            self._hold_back(batch, reply["input_file_id"])
            return True
        results, missing = self._of(batch, partial(self._endpoint.results, reply))
        found = {key: answer for key, answer in results.items() if key in batch.pending_keys}
        lacking = batch.pending_keys - found.keys()
        if missing and lacking:
            batch.readings += 1
            logger.warning("%s: %s.", self._where, missing)
            if batch.readings < ATTEMPTS:
                return False
            if not found:
                raise UserError(
                    f"{self._where}: {missing}, though it has ended: run again to collect it. If it never "
                    f"can be: {self._last_resort(batch)}."
                )
        why = missing or why_unanswered(reply, self._endpoint.clean)
        found |= {key: Answer("", error=why) for key in lacking}
        failed = [key for key, answer in found.items() if answer.error is not None]
        said = "%s: %s is %s; %d answers, %d requests without one."
        counts = len(found) - len(failed), len(failed)
        logger.info(said, self._where, batch.id, reply["status"], *counts)
        self._answers |= found
        batch.closed, batch.done = True, len(found)
        if batch.status != "ended" or failed:
            self._end(batch, failed)
        return True

    def _hold_back(self, batch: _Batch, file: str) -> None:
        """Have a batch that was too much beside others submitted again once some of them have ended."""
        logger.info(
            "%s: %s was beyond the endpoint's limit and waits for others.", self._where, batch.id
        )
        again = self._new(batch.tokens, batch.pending_keys)
        again.file, again.tokens_in_flight = file, batch.tokens_in_flight
        self._end(batch, batch.pending_keys)
        batch.closed = True
        self._held.append(again)
        self._owner |= dict.fromkeys(again.pending_keys, again)

    # What goes wrong

    def _give_up(self, batch: _Batch, error: UserError) -> None:
        """Collect only the other batches: this batch's answers cannot be had in this run."""
        batch.closed = True
        self._fail(error)

    def _fail(self, error: UserError) -> None:
        """Have the run fail in the end, and submit nothing more."""
        self._troubles.append(str(error))
        logger.error("%s Before the job ends, it collects what is under way.", error)

    def _patiently(self, call: Callable[[], T], remedy: str, last_resort: str = "") -> T:
        """What `call` gives, after as many attempts as it takes.

        Raises Refused, with `remedy`, or UserError if no attempt helps. Until a call succeeds again,
        others are made once: an endpoint that is down is not waited for by each batch in turn.
        """
        pause, left = FIRST_PAUSE_S, 1 if self._failing else ATTEMPTS
        while True:
            try:
                found = call()
                self._failing = False
                return found
            except BatchRefused as refusal:
                raise BatchRefused(
                    f"{self._where}: {self._address} answers with {str(refusal).rstrip('.')}; {remedy}."
                ) from None
            except Passing as failure:
                logger.warning("%s: %s.", self._where, failure)
                left -= 1
                if not left or failure.pause > LONGEST_ASKED_S:
                    self._failing = True
                    raise UserError(
                        f"{self._where}: the batch API at {self._address} keeps failing ({failure}). What "
                        f"was submitted is remembered: run again to collect it. {last_resort}".rstrip()
                    ) from None
                rest(max(pause, failure.pause))
                pause = min(2 * pause, LONGEST_PAUSE_S)
