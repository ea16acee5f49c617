"""The batch API of OpenAI-compatible endpoints: files of requests, answered within a day, often cheaper.

Batches are recorded in a journal of their own, before and after each submission. So after a kill at any
moment a job finds its batches again, and nothing is submitted twice.
"""

from __future__ import annotations

import json
import logging
import math
import secrets
import shlex
import time
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
)
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.journal import Journal
from needlework.models.backends.base import Answer
from needlework.models.openai_batch_endpoint import (
    Endpoint,
    Refused,
    came_too_early,
    n_done,
    why_unanswered,
)
from needlework.services.endpoints import LONGEST_PAUSE_S as LONGEST_ASKED_S
from needlework.services.endpoints import Passing, excerpt

logger = logging.getLogger("needlework")

T = TypeVar("T")

# The pause between two queries of the batches; it grows while none ends.
FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 300.0
# After this number of failures in a row, about half an hour, the endpoint is given up.
ATTEMPTS = 12
# How long a batch may take to appear in the endpoint's list after its creation.
SETTLE_S = 60.0

_ENDED = {"completed", "failed", "expired", "cancelled"}
_UNDER_WAY = {"validating", "in_progress", "finalizing", "cancelling"}
# How long a batch with an unknown status is queried.
UNKNOWN_S = 3600.0

_WHY_REFUSED = (
    "check the key, `base_url`, `name` and `batch_limits`, and whether the endpoint has a batch API "
    "(`batch: false` sends request by request)"
)


class Line(NamedTuple):
    """A request in a batch: its key in the journal of answers, its body, its prompt's tokens."""

    key: str
    body: Mapping[str, object]
    n_tokens: int


class Limits(NamedTuple):
    """The limits of a batch; `tokens` (None: no limit) is for all unfinished batches together."""

    requests: int
    megabytes: float
    tokens: int | None


@dataclass
class _Batch:
    """A batch that was submitted, or was about to be. `pending_keys` are the keys whose answers it has."""

    name: str
    address: str
    tokens: int
    planned: float
    pending_keys: set[str]
    id: str | None = None
    # When its creation was last tried, as far as the journal says.
    attempted: float = 0.0
    # The status from the endpoint or the journal; whether this run needs its answers; whether it has
    # them, or has given them up.
    ended: bool = False
    wanted: bool = False
    closed: bool = False
    done: int = 0
    # The tokens of unfinished batches when it was submitted, as far as this run knows.
    tokens_in_flight: float = math.inf
    # The endpoint's file of its requests, where this run knows it.
    file: str | None = None
    # Since when its status is unknown.
    unknown_since: float | None = None


class Batches:
    """The requests of one model that are answered in batches, and the state of these.

    `folder` is the journal of what was submitted; `where` the model's place in words; `address` the
    endpoint's. A file `<name of a batch>.again` in that folder, which a user makes, says that the
    requests of that batch may be submitted again.
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
        # Requests taken from the source and not answered yet; answers, also to requests not taken yet.
        self._taken: set[str] = set()
        self._answers: dict[str, Answer] = {}
        # The error with which the run ends, once all available answers are collected.
        self._troubles: list[str] = []
        # Whether the last call failed as often as calls are made.
        self._failing = False
        self._bar: Any = None
        self._read_journal()

    def answers(self, lines: Iterable[Line]) -> Iterator[tuple[str, Answer]]:
        """The answers to requests with their keys, in any order, each as soon as it is known.

        `lines` are read as far as they can be submitted. Raises UserError if the endpoint refuses a
        batch, or will not say what became of one. Nothing more is submitted then, and the answers of
        all other batches, which are paid for, are waited for and given before.
        """
        self._source = iter(lines)
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
            if not waited_for and not self._held and self._peek() is None:
                break
            time.sleep(pause)
            pause = min(1.5 * pause, LONGEST_PAUSE_S)
        if self._troubles:
            first, *others = self._troubles
            more = f" The log has {len(others)} more of this kind." if others else ""
            raise UserError(first + more)

    def _known(self) -> Iterator[tuple[str, Answer]]:
        """The answers to what was taken, each once."""
        for key in self._taken & self._answers.keys():
            self._taken.remove(key)
            yield key, self._answers.pop(key)

    def close(self) -> None:
        """Close the journal. The batches go on at the endpoint."""
        self._journal.close()
        if self._bar is not None:
            self._bar.close()

    # Submitted batches

    def _read_journal(self) -> None:
        """Take in the batches that are not known yet: at first all, then those of other jobs."""
        known = {name for name, batch in self._batches.items() if batch.id or batch.ended}
        records = [
            record
            for record in self._journal.records()
            if record["key"] not in known and _is_event(record)
        ]
        # Of writers that started at the same time, any may come first.
        for record in sorted(records, key=lambda record: record["event"] != "planned"):
            name = record["key"]
            match record["event"]:
                case "planned":
                    address, tokens, at = record["address"], record["tokens"], record["time"]
                    self._batches[name] = _Batch(name, address, tokens, at, set(record["requests"]))
                # A disk that is shared may show what came later first.
                case "attempted" if name in self._batches:
                    batch = self._batches[name]
                    batch.attempted = max(batch.attempted, record["time"])
                case "submitted" if name in self._batches:
                    self._batches[name].id = record["id"]
                case "ended" if name in self._batches:
                    self._batches[name].ended = True
                    self._batches[name].pending_keys -= {*record["released"]}
        for name in self._batches.keys() - known:
            batch = self._batches[name]
            if batch.pending_keys and self._again(batch).exists():
                self._end(batch, batch.pending_keys)
            self._owner |= dict.fromkeys(batch.pending_keys, batch)

    def _record(self, batch: _Batch, event: str, **values: Any) -> None:
        self._journal.append([{"key": batch.name, "event": event, **values}])

    def _again(self, batch: _Batch) -> Path:
        """The file whose existence allows to submit a batch's requests again."""
        return self._journal.directory / f"{batch.name}.again"

    def _last_resort(self, batch: _Batch) -> str:
        """What submits a batch's requests again, in words."""
        return (
            f"after `touch {shlex.quote(str(self._again(batch)))}`, the next run submits its "
            f"{len(batch.pending_keys)} request(s) again, and they are paid for again"
        )

    def _end(self, batch: _Batch, released: Iterable[str]) -> None:
        """Mark a batch as ended; `released` are its requests that can be submitted again."""
        released = sorted(released)
        self._record(batch, "ended", released=released)
        batch.ended = True
        for key in released:
            batch.pending_keys.discard(key)
            if self._owner.get(key) is batch:
                del self._owner[key]

    def _settle(self, batch: _Batch) -> None:
        """Find out whether a batch was submitted whose job was killed meanwhile.

        The job may live on, in another run, and still try. So the end is announced before it is recorded:
        an attempt that is recorded later does not go out (`_create`), and one that was recorded before is
        waited for.
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
            if found is not None:
                batch.id = found
                self._record(batch, "submitted", id=found)
                logger.info("%s: the batch %s was submitted before.", self._where, found)
                return
            if left > 0:
                time.sleep(min(left, FIRST_PAUSE_S))
            elif not announced:
                self._record(batch, "ending")
                announced = True
            else:
                self._end(batch, batch.pending_keys)
                return

    def _hear(self, batch: _Batch, final: Collection[str]) -> None:
        """Take in what the journal says of a batch that is not known to be submitted.

        Raises UserError if another job has recorded one of the events `final`: its requests are that
        job's now, and would be paid for twice.
        """
        records = [
            record
            for record in self._journal.records()
            if record["key"] == batch.name and _is_event(record)
        ]
        for record in records:
            if record["event"] == "attempted":
                batch.attempted = max(batch.attempted, record["time"])
            elif record["event"] == "submitted":
                batch.id = record["id"]
        if batch.id is None and any(record["event"] in final for record in records):
            raise UserError(
                f"{self._where}: another run has taken over the requests of the batch {batch.name}, which "
                "was not made yet: run again once that run has ended, to get their answers."
            )

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
                if batch.id is None and batch.file is None:
                    self._settle(batch)
            except UserError as error:
                self._give_up(batch, error)
            batch = self._owner.get(key)
        if batch is not None:
            batch.wanted = True
        return batch is not None

    # What goes wrong

    def _give_up(self, batch: _Batch, error: UserError) -> None:
        """Collect only the other batches: this batch's answers cannot be had in this run."""
        batch.closed = True
        self._fail(error)

    def _fail(self, error: UserError) -> None:
        """Have the run fail in the end, and submit nothing more."""
        self._troubles.append(str(error))
        logger.error("%s Before the job ends, it collects what is under way.", error)

    # Submitting

    def _submit(self) -> None:
        """Submit as much as the limits allow."""
        while not self._troubles:
            try:
                if not self._submit_next():
                    return
            except UserError as error:
                self._fail(error)
        self._held.clear()
        # Batches of an earlier run are paid for, so they are collected at whatever endpoint they are.
        while (line := self._peek()) is not None:
            if self._owed(line.key):
                self._taken.add(line.key)
            self._next = None

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
        keys: list[str] = []
        content, tokens = bytearray(), 0
        while not self._troubles and (line := self._peek()) is not None:
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
            self._taken.add(line.key)
            self._next = None
        if not keys or self._troubles:
            return False
        self._upload(keys, bytes(content), tokens)
        return True

    @property
    def _share(self) -> int | None:
        """How many tokens a batch may hold, so that several batches share the limit."""
        most = self._limits.tokens
        return None if most is None else most // 4

    def _full(self) -> bool:
        """Whether the next batch has to wait until another has ended."""
        under_way, most = self._tokens_under_way(), self._limits.tokens
        if self._held and under_way >= self._held[0].tokens_in_flight:
            return True
        return most is not None and under_way > 0 and under_way + (self._share or 0) > most

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

    def _upload(self, keys: list[str], content: bytes, tokens: int) -> None:
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
        name, keys, uploaded = batch.name, sorted(batch.pending_keys), batch.file
        assert uploaded is not None, "`_upload` has sent it"
        batch.tokens_in_flight = self._tokens_under_way()
        batch.planned = time.time()
        self._record(
            batch,
            "planned",
            address=self._address,
            tokens=batch.tokens,
            time=batch.planned,
            requests=keys,
        )

        def create() -> str:
            # An attempt whose response was lost may have been heard.
            asked = batch.attempted
            if asked and (found := self._endpoint.find(name, batch.planned)) is not None:
                return found
            if time.time() - asked < SETTLE_S:
                raise Passing("it is not known yet whether the batch was made")
            batch.attempted = time.time()
            self._record(batch, "attempted", time=batch.attempted)
            # Read after that is written: another run does these in the other order (`_settle`).
            self._hear(batch, {"ending", "ended"})
            if batch.id is not None:
                return batch.id
            try:
                return self._endpoint.create(name, uploaded)
            except Refused:
                self._end(batch, keys)
                raise

        batch.id = self._patiently(create, _WHY_REFUSED)
        self._record(batch, "submitted", id=batch.id)
        self._batches[name] = batch
        self._owner |= dict.fromkeys(keys, batch)
        logger.info("%s: submitted %d requests as %s.", self._where, len(keys), batch.id)

    # Collecting

    def _look(self, batch: _Batch) -> bool:
        """Ask how a batch is, if that matters, and collect it where it has ended; whether it has."""
        if batch.wanted:
            if batch.closed:
                return False
            try:
                reply = self._of(batch, partial(self._endpoint.retrieve, _id_of(batch)))
                batch.done = n_done(reply)
                if reply.get("status") not in _ENDED:
                    self._check_status(batch, reply.get("status"))
                    return False
                self._collect(batch, reply)
            except UserError as error:
                self._give_up(batch, error)
                return False
            return True
        if not (self._limits.tokens or self._held) or not self._under_way(batch):
            return False
        # Another job's, which collects it; here it only counts against the limit.
        try:
            reply = self._of(batch, partial(self._endpoint.retrieve, _id_of(batch)))
            batch.ended = reply.get("status") in _ENDED
        except UserError:
            batch.ended = True
        return batch.ended

    def _check_status(self, batch: _Batch, status: object) -> None:
        """Raise UserError if a batch has had a status for long of which nothing is known."""
        if status in _UNDER_WAY:
            batch.unknown_since = None
            return
        batch.unknown_since = batch.unknown_since or time.time()
        if time.time() - batch.unknown_since >= UNKNOWN_S:
            shown = excerpt(self._endpoint.clean(repr(status)), "")
            raise UserError(
                f"{self._where}: {self._address} calls the status of the batch {batch.id} {shown}, which "
                "says neither that it goes on nor that it has ended: look there; "
                f"{self._last_resort(batch)}."
            )

    def _under_way(self, batch: _Batch) -> bool:
        """Whether the endpoint still works on it, as far as is known."""
        return batch.id is not None and not batch.ended and batch.address == self._address

    def _of(self, batch: _Batch, call: Callable[[], T]) -> T:
        return self._patiently(
            call,
            f"so the answers of the batch {batch.id} cannot be collected: use the key that it was "
            f"submitted with; {self._last_resort(batch)}",
            f"If {batch.id} never can be: {self._last_resort(batch)}.",
        )

    def _collect(self, batch: _Batch, reply: Mapping[str, Any]) -> None:
        """Take the answers that a batch owes from its files; what is in none has failed."""
        if came_too_early(reply) and batch.tokens_in_flight:
            self._hold_back(batch, reply["input_file_id"])
            return
        results, missing = self._results(batch, reply)
        found = {key: answer for key, answer in results.items() if key in batch.pending_keys}
        why = missing or why_unanswered(reply, self._endpoint.clean)
        for key in batch.pending_keys - found.keys():
            found[key] = Answer("", error=why)
        failed = [key for key, answer in found.items() if answer.error is not None]
        logger.info(
            "%s: %s is %s; %d answers, %d requests without one.",
            self._where,
            batch.id,
            reply["status"],
            len(found) - len(failed),
            len(failed),
        )
        self._answers |= found
        batch.closed, batch.done = True, len(found)
        if not batch.ended or failed:
            self._end(batch, failed)

    def _results(self, batch: _Batch, reply: Mapping[str, Any]) -> tuple[dict[str, Answer], str]:
        """The answers in a batch's files, and in words what is missing there, or "".

        Files that lack some, or are not named yet, are read again for a while, as the endpoint then
        describes the batch; what they hold then is taken. Raises UserError where they cannot be had, or
        nothing in them can be read.
        """
        found: dict[str, Answer] = {}
        missing = ""
        latest: Mapping[str, Any] | None = reply

        def read() -> None:
            nonlocal latest, missing
            missing = ""
            described = latest or self._endpoint.retrieve(_id_of(batch))
            latest = None
            results, lacking = self._endpoint.results(described)
            for key, answer in results.items():
                if key not in found or found[key].error is not None:
                    found[key] = answer
            if lacking and not batch.pending_keys <= found.keys():
                missing = lacking
                raise Passing(lacking)

        try:
            self._of(batch, read)
        except UserError:
            if not (missing and batch.pending_keys & found.keys()):
                raise
            self._failing = False
            logger.error(
                "%s: %s; its %d answers are taken, the other requests are submitted again.",
                self._where,
                missing,
                len(batch.pending_keys & found.keys()),
            )
        return found, missing

    def _hold_back(self, batch: _Batch, file: str) -> None:
        """Have a batch that was too much beside others submitted again once some of them have ended."""
        again = self._new(batch.tokens, batch.pending_keys)
        again.file, again.tokens_in_flight = file, batch.tokens_in_flight
        logger.info(
            "%s: %s was beyond the endpoint's limit and waits for others.", self._where, batch.id
        )
        self._end(batch, batch.pending_keys)
        batch.closed = True
        self._held.append(again)
        self._owner |= dict.fromkeys(again.pending_keys, again)

    def _show(self) -> None:
        """How far the batches are that this run waits for."""
        wanted = [batch for batch in self._batches.values() if batch.wanted]
        if self._bar is None:
            self._bar = progress(desc="batches", unit="prompt")
        self._bar.total = sum(max(len(batch.pending_keys), batch.done) for batch in wanted)
        self._bar.update(sum(batch.done for batch in wanted) - self._bar.n)

    def _patiently(self, call: Callable[[], T], remedy: str, last_resort: str = "") -> T:
        """What `call` gives, after as many attempts as it takes.

        Raises Refused, with `remedy`, or UserError if no attempt helps. Until a call succeeds again,
        others are made once: an endpoint that is down is not waited for by each batch in turn.
        """
        pause = FIRST_PAUSE_S
        attempts = 1 if self._failing else ATTEMPTS
        for attempt in range(1, attempts + 1):
            try:
                found = call()
            except Refused as refusal:
                raise Refused(
                    f"{self._where}: {self._address} answers with {str(refusal).rstrip('.')}; {remedy}."
                ) from None
            except Passing as failure:
                logger.warning("%s: %s.", self._where, failure)
                if attempt == attempts or failure.pause > LONGEST_ASKED_S:
                    self._failing = True
                    raise UserError(
                        f"{self._where}: the batch API at {self._address} keeps failing ({failure}). What "
                        f"was submitted is remembered: run again to collect it. {last_resort}".rstrip()
                    ) from None
                time.sleep(max(pause, failure.pause))
                pause = min(2 * pause, LONGEST_PAUSE_S)
            else:
                self._failing = False
                return found
        raise AssertionError


def _id_of(batch: _Batch) -> str:
    assert batch.id is not None, "only what was submitted is looked at"
    return batch.id


def _is_event(record: Mapping[str, Any]) -> bool:
    """Whether a record of the journal tells of a batch; a damaged one is left out, with a warning."""
    fields: dict[str, dict[str, Any]] = {
        "planned": {"address": str, "tokens": int, "time": (int, float), "requests": list},
        "attempted": {"time": (int, float)},
        "ending": {},
        "submitted": {"id": str},
        "ended": {"released": list},
    }
    event = record.get("event")
    wanted = fields.get(event) if isinstance(event, str) else None
    sound = wanted is not None and all(
        isinstance(record.get(name), kind) for name, kind in wanted.items()
    )
    if not sound:
        logger.warning("A record of the batch %s in the journal cannot be read.", record["key"])
    return sound
