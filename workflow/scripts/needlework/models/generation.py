"""From instances to a model's answers.

A journal is the cache, so that no finished request is sent twice.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from needlework.answer_states import ERROR, FAILED, LENGTH, PROMPT_CUT, REFUSED, SKIPPED, STOP
from needlework.errors import UserError
from needlework.folders import entries
from needlework.jobs.progress import progress, tell
from needlework.jobs.stop import check_stop, stopping
from needlework.journal import Journal, Record
from needlework.models import selection
from needlework.models.backends.base import Answer, Backend, Request
from needlework.models.other_runs import Others, Turns
from needlework.models.outcomes import Outcomes, PromptSize
from needlework.models.request_keys import RequestKeys
from needlework.models.selection import Selection
from needlework.models.thoughts import KNOWN, AnswerRow, ReasoningMark, marks_of, reasoning_of
from needlework.models.work_done import WorkDone
from needlework.prompts.ordering import Order, PromptStore, cut
from needlework.records import GENERATIONS, read_names, read_table

if TYPE_CHECKING:
    from needlework.models.settings import AnyModel

logger = logging.getLogger("needlework")

COUNTS = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")
# Fields of an answer beside its text. Only the journal stores all of them.
TOLD = (*COUNTS, "cut_at", "whole", "special", "mark", "reasoning", "served", "remarks", "origin")
_TEXTS = ("whole", "reasoning", "served", "origin")
# So many requests are passed over one by one.
_SKIPPED = 256


class InstanceRequests(Iterable[Request]):
    """The requests of instance files, each instance asked `samples` times.

    - `lengths`: only instances whose factor `length` is among these or 0 (no haystack). Models that share a
      tokenizer share instance files, and may want different lengths of them.
    - `only`: only the selected values of other factors (`selection`).
    - `shard` (i, n): only the i-th (from 0) of n parts.
    - `backwards`: the last request comes first.

    Requests come in the order in which neighbours share the longest prefix (`ordering`), whatever the files'
    order. Shards are split where neighbours share least. The files are read once. Memory holds prompts only
    as references to their spans, 4 bytes each.
    """

    COLUMNS = ("instance_id", "task", "references", "max_new_tokens", "n_tokens")

    def __init__(
        self,
        files: Sequence[str | Path],
        documents: Mapping[str, str],
        *,
        samples: int = 1,
        lengths: Collection[int] | None = None,
        only: Selection | None = None,
        shard: tuple[int, int] = (0, 1),
        backwards: bool = False,
    ) -> None:
        if not 0 <= shard[0] < shard[1]:
            raise ValueError(f"there is no shard {shard[0]} of {shard[1]}")
        self.files, self.documents, self.samples, self.shard = files, documents, samples, shard
        self.only, self.backwards = only or {}, backwards
        self.lengths = None if lengths is None else pa.array({0, *lengths}, pa.int32())

    def __iter__(self) -> Iterator[Request]:
        return self.starting_at(0)

    def starting_at(self, request: int) -> Iterator[Request]:
        """The requests from number `request` on. Earlier requests are not built."""
        instance, sample = divmod(request, self.samples)
        places = self._places
        for first in range(instance, len(places), 64):
            some = places[first : first + 64]
            for place, row in zip(some, self._rows.take(some).to_pylist(), strict=True):
                spans = self._prompts[place]
                row["kind"] = f"{row['task']} {row.pop('languages')}"
                row["shared"] = int(self._shared[place])
                for number in range(sample, self.samples):
                    yield Request(sample=number, spans=spans, documents=self.documents, **row)
                sample = 0

    def sizes(self) -> dict[str, PromptSize]:
        """The size of each instance of all shards."""
        rows = self._rows
        kinds = pc.binary_join_element_wise(rows["task"], rows["languages"], " ")
        names = "example_id" if "example_id" in rows.column_names else "instance_id"
        tokens = rows["n_tokens"]
        shared = self._shared if self.samples == 1 else tokens
        columns = (kinds, rows[names], tokens, rows["max_new_tokens"], pa.array(shared))
        made = map(PromptSize, *(column.to_pylist() for column in columns))
        return dict(zip(rows["instance_id"].to_pylist(), made, strict=True))

    def longest(self, context: int) -> int:
        """The tokens of the longest prompt that fits into the context, with its answer if that fits too."""
        fitting = self._rows.filter(pc.less_equal(self._rows["n_tokens"], context))
        prompt = fitting["n_tokens"]
        both = pc.add(prompt, fitting["max_new_tokens"])
        return pc.max(pc.if_else(pc.less_equal(both, context), both, prompt)).as_py() or 0

    def known(self) -> set[tuple[str, int]]:
        """The (instance_id, sample) of the requests of all shards."""
        names = self._rows["instance_id"].to_pylist()
        return {(name, sample) for name in names for sample in range(self.samples)}

    @cached_property
    def _places(self) -> list[int]:
        """The places of this shard's instances among all that were read, in the order of sending."""
        order = self._order
        shard, n = self.shard
        tokens = self._rows["n_tokens"].to_numpy()[order.places]
        places = [order.places[place] for place in cut(tokens, order.shared, n)[shard]]
        return places[::-1] if self.backwards else places

    @cached_property
    def _order(self) -> Order:
        return self._prompts.order(self.documents)

    @cached_property
    def _shared(self) -> np.ndarray:
        """By place, how many tokens of each instance are the beginning of another one too."""
        return (self._order.shares() * self._rows["n_tokens"].to_numpy()).astype(np.int64)

    @property
    def _rows(self) -> pa.Table:
        """All that a request needs but its prompt, in the order of the files."""
        return self._read[0]

    @property
    def _prompts(self) -> PromptStore:
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[pa.Table, PromptStore]:
        columns = [*self.COLUMNS, "prompt"] + ["length"] * (self.lengths is not None)
        prompts, rows = PromptStore(), []
        seen: dict[str, set[object]] = {}
        for file in progress(self.files, desc="instances", unit="file"):
            own = selection.columns(self.only, read_names(file)) if self.only else []
            table = read_table(file, list(dict.fromkeys([*columns, *own, *of_kind(file)])))
            for factor in own:
                seen.setdefault(factor, set()).update(table[factor].unique().to_pylist())
            if self.lengths is not None:
                table = table.filter(pc.is_in(table["length"], value_set=self.lengths))
            if own:
                table = table.filter(selection.mask(table, self.only))
            prompts.add(table["prompt"])
            kept = [name for name in table.column_names if name == "example_id"]
            named = table.select([*self.COLUMNS, *kept])
            rows.append(named.append_column("languages", languages(table)))
        for factor, values in seen.items():
            absent = [value for value in self.only[factor] if value not in values]
            if absent:
                logger.warning(
                    "No prompt has %s %s, which the model's `only` names. The model gets the other prompts.",
                    factor,
                    selection.listed(absent),
                )
        return pa.concat_tables(rows).combine_chunks(), prompts


def of_kind(file: str | Path) -> list[str]:
    """The columns of an instance file that name a prompt's example and languages."""
    return [name for name in read_names(file) if name == "example_id" or name.endswith("lang")]


def languages(table: pa.Table) -> pa.ChunkedArray:
    """The languages of each prompt, as one text."""
    names = [name for name in table.column_names if name.endswith("lang")]
    named = [table[name] for name in names if pa.types.is_string(table[name].type)]
    if not named:
        return pa.chunked_array([[""] * table.num_rows], pa.string())
    return pc.binary_join_element_wise(*named, " ", null_handling="skip")


@dataclass(frozen=True)
class Policy:
    """Which requests of a model are sent, how its answers are read, and how many may fail."""

    # In tokens; None: no limit.
    context: int | None = None
    # The number of requests that may fail.
    max_failed: int = 0
    # Separate reasoning from answers.
    marks: Sequence[ReasoningMark] = KNOWN
    # Whether the model always reasons (`thoughts.part`).
    opened: bool = False
    # Outcomes (`cut`, `empty`) of answers that are asked again though they were paid for
    # (`generation.again`).
    again: Collection[str] = ()

    @classmethod
    def of(cls, model: AnyModel, again: Collection[str] = ()) -> Policy:
        """The policy of a model's entry in the configuration."""
        reasoning = reasoning_of(model)
        own = marks_of(model.thoughts, reasoning)
        return cls(model.context, model.max_failed, own, bool(reasoning), again)


def generate(
    requests: Iterable[Request],
    backend: Backend,
    journal: Journal,
    policy: Policy = Policy(),
    *,
    known: Set[tuple[str, int]] | None = None,
    loaded: Callable[[], None] = lambda: None,
    told: Callable[[list[AnswerRow]], None] = lambda rows: None,
) -> pa.Table:
    """The model's answers, one row a request (schema GENERATIONS), by instance_id and sample.

    Answers in the journal are taken from there. The backend is loaded only if some are missing. It gets these
    requests in the order of `requests`, beginning where no other run is (`Turns`), and each answer goes into
    the journal as soon as the backend returns it. Requests with the same key are sent once.

    `requests` is iterated several times, first for the keys and then for the missing prompts, so it must not
    be an iterator. If `requests` are a shard, `known` are the (instance_id, sample) of the whole benchmark.
    `loaded` is called once the backend is loaded, before any request. `told` gets all rows, even before a
    UserError; a request that was not sent until then is `unasked`.

    A request is `skipped` if its prompt has more tokens than the context, or than the backend takes with its
    chat template. A request is an `error` if it fails, or if a server refuses it as too long though prompt
    and answer fit into the context. Neither is in the journal, so the next run sends it again. A prompt that
    the server cut (`cut_prompts`) is an `error` too; its answer, which was paid for, is in the journal.

    Runs that share the journal end with the same answers (`Journal.settled`). If another run has finished a
    request when its turn comes, it is not sent.

    Raises UserError if more than `max_failed` requests failed, after all others are done; if every request
    that was sent failed; and if the backend refuses the requests.
    """
    job = _Job(requests, backend, journal, policy)
    backend.check(job.names() if known is None else known, job.names(job.wanted))
    job.read_journal()
    if job.missing:
        try:
            job.ask(loaded)
        except BaseException:
            told(job.rows())
            raise
    rows = job.rows()
    told(rows)
    # Counted in rows, as in all shards together: two rows may have one request.
    _refuse_failures(rows, policy.max_failed, backend.asks_a_model)
    return pa.Table.from_pylist(rows, schema=GENERATIONS)


class _Job:
    """The requests of a job by their keys, and what has become of each so far."""

    def __init__(
        self, requests: Iterable[Request], backend: Backend, journal: Journal, policy: Policy
    ) -> None:
        self._requests, self._backend, self._journal = requests, backend, journal
        self._policy = policy
        # By request: instance_id, sample, key.
        self._asked: list[tuple[str, int, str]] = []
        self._sizes: dict[str, PromptSize] = {}
        # The text of a control token in a prompt whose engine may read it as one.
        self._controls: dict[str, str] = {}
        self._outcomes: dict[str, Record] = {}
        # The keys of requests that the backend has answered in this job, or failed to.
        self._sent: set[str] = set()
        self._retried: Set[str] = set()
        # The keys of the requests whose prompts fit into the context; of those, the ones to be sent.
        self.wanted: dict[str, None] = {}
        self.missing: Set[str] = set()
        self._today = datetime.now(UTC).date().isoformat()
        keys = RequestKeys(backend.identity())
        for request in progress(requests, desc="keys", unit="prompt"):
            self._add(request, keys)
        self.wanted = dict.fromkeys(key for _, _, key in self._asked if key not in self._outcomes)

    def _add(self, request: Request, keys: RequestKeys) -> None:
        key, quoted = keys.of(request, self._backend.depends_on(request))
        self._asked.append((request.instance_id, request.sample, key))
        self._sizes[key] = PromptSize.of(request)
        if quoted and self._backend.reads_control_tokens(request.prompt):
            self._controls[key] = quoted
        context = self._policy.context
        if context is not None and request.n_tokens > context:
            self._outcomes[key] = _skipped(request.n_tokens, context)

    def names(self, keys: Collection[str] | None = None) -> set[tuple[str, int]]:
        """The (instance_id, sample) of all requests, or of the requests with these keys."""
        return {
            (instance, sample)
            for instance, sample, key in self._asked
            if keys is None or key in keys
        }

    def _holds(self, record: Record) -> bool:
        return is_answer(record) and self._backend.holds(record)

    def read_journal(self) -> None:
        """Take the answers that the journal has, and find out which requests are missing."""
        self._outcomes |= self._journal.settled(self.wanted, self._holds)
        self._take_former()
        policy = self._policy
        self._found = Outcomes(
            self._outcomes,
            self._sizes,
            self._controls,
            policy.context,
            policy.marks,
            policy.opened,
            self._backend.asks_a_model,
        )
        self._found.replace(self._journal, self.wanted, self._holds)
        self._retried = self._found.retried(policy.again) & self.wanted.keys()
        self.missing = (self.wanted.keys() - self._outcomes.keys()) | self._retried

    def _take_former(self) -> None:
        """Take the answers of older records, which have keys by the model's former identity."""
        former, journal = self._backend.former_identity(), self._journal
        left = self.wanted.keys() - self._outcomes.keys()
        # Another entry may have the former identity today: its folder is none of ours.
        older = journal.older[:1] or [journal.directory]
        if former is None or not left or not any(entries(folder, ".jsonl") for folder in older):
            return
        keys, renamed = RequestKeys(former), {}
        for request, (_, _, key) in zip(self._requests, self._asked, strict=True):
            if key in left and key not in renamed:
                renamed[key] = keys.of(request, self._backend.depends_on(request))[0]
        own = Journal(journal.directory, journal.older[:1])
        found = own.settled(set(renamed.values()), self._holds)
        journal.days |= own.days
        self._outcomes |= {key: found[old] for key, old in renamed.items() if old in found}
        self.wanted = {key: None for key in self.wanted if renamed.get(key) not in found}

    def ask(self, loaded: Callable[[], None]) -> None:
        """Send the missing requests; their answers are in the journal, and then taken from there."""
        before = {key: self._outcomes[key] for key in self._retried}
        self._send(loaded)
        # Another run may have answered some of it too, and have ended with its own answers.
        self._outcomes |= self._journal.settled(self.missing - self._retried, self._holds)
        # What was paid for stays, if the second request failed.
        self._outcomes |= {k: old for k, old in before.items() if "error" in self._outcomes[k]}
        self._found.replace(self._journal, self.wanted, self._holds)

    def _send(self, loaded: Callable[[], None]) -> None:
        """Send the missing requests; what becomes of each is in `_outcomes` as soon as it is known.

        Raises Stopped if the run is being stopped and some are left.
        """
        check_stop()
        # Each request's first place, in the order of sending.
        places: dict[str, int] = {}
        for place, (_, _, key) in enumerate(self._asked):
            if key in self.missing:
                places.setdefault(key, place)
        others = Others(self._journal, [*places], self._is_news)
        # Two runs must not jump alike, so the dice are not seeded: no answer depends on them.
        turns = Turns(len(places), self._journal.begin(), random.Random())
        writer = _Writer(self._journal)
        try:
            work = WorkDone(self._sizes, places)
            if self._backend.asks_a_model:
                tell(
                    f"will send {len(places):,} prompts of {work.all.prompts:,} tokens in all; answers "
                    f"may have up to {work.all.limits:,} tokens."
                )
            self._backend.load()
            loaded()
            left = _missing(self._requests, places, turns, others)
            self._keep(_answers(left, self._backend), writer, work)
            elsewhere = others.found.keys() - self._sent
            self._outcomes |= {key: others.found[key] for key in elsewhere}
            n_known = len(self._sent | others.found.keys())
            if n_known != len(places):
                check_stop()
                raise ValueError(f"{n_known} answers to {len(places)} requests")
        finally:
            try:
                writer.close()
            finally:
                self._backend.close()

    def _is_news(self, record: Record) -> bool:
        """Whether another run's record answers a request that is missing."""
        if not self._holds(record):
            return False
        return record["key"] not in self._retried or self._found.better(record)

    def _keep(self, answers: Iterable[tuple[str, Answer]], writer: _Writer, work: WorkDone) -> None:
        """Take answers as they come, and write those without an error into the journal."""
        failed, total = 0, len(self.missing)
        with progress(
            desc="answers", total=total, unit="prompt", told=True, left=work.seconds_left
        ) as bar:

            def ready() -> None:
                bar.begin()
                work.begin()

            self._backend.when_ready = ready
            for key, answer in answers:
                self._sent.add(key)
                self._outcomes[key] = outcome(answer)
                if answer.error is None:
                    writer.put({"key": key, **self._outcomes[key]})
                failed += self._outcomes[key]["finish_reason"] == ERROR
                work.answered(key, answer.completion_tokens, answer.error is not None)
                bar.set_postfix_str(f"{failed} failed", refresh=False)
                bar.update()

    def rows(self) -> list[AnswerRow]:
        """One row per request, by instance_id and sample.

        With `now`, whether this job sent it (the first, of equal ones), and with `origin`, on which day and
        at which address its answer was asked for.
        """
        sent = set(self._sent)
        found: list[AnswerRow] = []
        for instance, sample, key in sorted(self._asked):
            # Under which the journal has the answer: an older one, for an older record.
            record = self._outcomes.get(key, {})
            name = record.get("key", key)
            row: AnswerRow = {**self._found.row(key), "request_key": name, "now": key in sent}
            if key in self._sent and not row["now"]:
                # Equal prompts are one request.
                row["origin"] = None
            elif record and "error" not in record:
                day = self._journal.days.get(name, self._today)
                row["origin"] = f"{day} {record.get('origin', '')}"
            found.append({**row, "instance_id": instance, "sample": sample})
            sent.discard(key)
        return found


class _Writer:
    """Appends records to a journal while the work goes on.

    It syncs without a pause, each time the records that have come meanwhile. So a record is on the disk
    within two syncs, some milliseconds, and no caller waits for the disk.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._queue: SimpleQueue[Record | None] = SimpleQueue()
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def put(self, record: Record) -> None:
        """Append a record soon. Raises what appending an earlier one raised."""
        if self._failure is not None:
            raise self._failure
        self._queue.put(record)

    def close(self) -> None:
        """Return when all is on the disk. Raises what appending raised."""
        self._queue.put(None)
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        last = False
        try:
            while not last:
                records = [self._queue.get()]
                while not self._queue.empty():
                    records.append(self._queue.get())
                last = records[-1] is None
                self._journal.append(record for record in records if record is not None)
        except BaseException as error:  # for the thread that does the work
            self._failure = error


def _answers(
    requests: Iterable[tuple[str, Request]], backend: Backend
) -> Iterator[tuple[str, Answer]]:
    """The backend's answers by key, as they come."""
    under_way: dict[int, str] = {}

    def asked() -> Iterator[Request]:
        for place, (key, request) in enumerate(requests):
            if stopping():
                return
            under_way[place] = key
            yield request

    for place, answer in backend.answers(asked()):
        yield under_way.pop(place), answer


def _missing(
    requests: Iterable[Request], places: Mapping[str, int], turns: Turns, others: Others
) -> Iterator[tuple[str, Request]]:
    """The missing requests with their keys, each key once, without those that other runs finish first.

    `places` are those of the missing keys in `requests`.
    """
    keys = list(places)
    coming, at = iter(requests), 0
    while True:
        turns.finished(others.look())
        turn = turns.next()
        if turn is None:
            return
        place = places[keys[turn]]
        if place < at or (place > at + _SKIPPED and isinstance(requests, InstanceRequests)):
            # A run that goes on elsewhere does not make what lies between.
            coming, at = _from(requests, place), place
        yield keys[turn], next(islice(coming, place - at, None))
        at = place + 1


def _from(requests: Iterable[Request], place: int) -> Iterator[Request]:
    """The requests from a place on."""
    if place and isinstance(requests, InstanceRequests):
        return requests.starting_at(place)
    return islice(requests, place, None)


def is_answer(record: Record) -> bool:
    """Whether a record of the journal has the form of an answer; a damaged one may not."""
    counts = [record.get(name) for name in COUNTS]
    return (
        isinstance(record.get("text"), str)
        and all(isinstance(record.get(name, ""), str) for name in _TEXTS)
        and all(isinstance(t, str) for name in ("special", "remarks") for t in record.get(name, ()))
        and record.get("finish_reason") in (STOP, LENGTH)
        and all(count is None or type(count) is int for count in counts)
    )


def outcome(answer: Answer) -> Record:
    """The fields of an answer that the journal keeps, without unknown ones."""
    if answer.error is not None:
        reason = SKIPPED if answer.finish_reason == SKIPPED else ERROR
        said = {"text": "", "finish_reason": reason, "error": _well_formed(answer.error)}
        return {**said, "refused": True} if answer.refused else said
    told = {name: getattr(answer, name) for name in TOLD}
    for name in _TEXTS:
        if told[name] is not None:
            told[name] = _well_formed(told[name])
    if answer.unknown_end:
        told["unknown_end"] = True
    return {
        "text": _well_formed(answer.text),
        "finish_reason": answer.finish_reason,
        **{name: value for name, value in told.items() if value is not None},
    }


def _skipped(n_tokens: int, context: int) -> Record:
    error = f"the prompt has {n_tokens} tokens, the model's context {context}"
    return {"text": "", "finish_reason": SKIPPED, "error": error}


def _well_formed(text: str) -> str:
    """The text without lone surrogates, which models emit and no file format accepts."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _refuse_failures(rows: Sequence[AnswerRow], max_failed: int, asked: bool = True) -> None:
    """Raise UserError if too many of the requests failed, or all that were sent."""
    errors = [row for row in rows if row["finish_reason"] == ERROR]
    sent = [row for row in rows if row["outcome"] != SKIPPED]
    others = "The other answers are in the journal: correct the cause and run again"
    if any(row["outcome"] == PROMPT_CUT for row in errors):
        others += " (`generation: {again: [cut]}` asks those again whose prompts were cut)"
    if len(errors) > max_failed:
        raise UserError(
            f"{len(errors)} of {len(rows)} requests failed, more than `max_failed: {max_failed}` "
            f"allows; the first: {errors[0]['error']}. {others}."
        )
    # A server that cuts prompts answers: `max_failed` alone says whether that ends the run.
    none = [row for row in sent if row["outcome"] in (REFUSED, FAILED)]
    if asked and sent and len(none) == len(sent):
        raise UserError(
            f"all {len(sent)} requests that were sent were refused or failed; the first: "
            f"{none[0]['error']}. Correct the cause and run again."
        )
