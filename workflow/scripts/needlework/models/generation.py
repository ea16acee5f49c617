"""From instances to a model's answers, with a journal as cache, so that no finished request is sent twice."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

import pyarrow as pa
import pyarrow.compute as pc

from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.journal import Journal, Record
from needlework.models import selection
from needlework.models.backends.base import Answer, Backend, Request
from needlework.models.other_runs import Others, start_place
from needlework.models.selection import Selection
from needlework.models.thoughts import KNOWN, Mark, answer_row
from needlework.prompts.ordering import Prompts, cut
from needlework.records import GENERATIONS, read_names, read_table

logger = logging.getLogger("needlework")

COUNTS = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")
# Fields of an answer beside its text. Only the journal stores all of them.
TOLD = (*COUNTS, "cut_at", "whole", "special", "mark")


class InstanceRequests(Iterable[Request]):
    """The requests of instance files, each instance asked `samples` times.

    With `lengths`, only the instances whose factor `length` is among them or 0 (no haystack): models
    that share a tokenizer share instance files, and may want different lengths of them. With `only`,
    those of the selected values of other factors too (`selection`). With `shard`
    (i, n), only the i-th (from 0) of n parts.

    They come in the order in which neighbours share the longest prefix (`ordering`), whatever the
    files' order. Shards are split where neighbours share least. The files are read once. Memory holds
    the prompts as references to their spans, 4 bytes each, and never their texts.
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
    ) -> None:
        if not 0 <= shard[0] < shard[1]:
            raise ValueError(f"there is no shard {shard[0]} of {shard[1]}")
        self.files, self.documents, self.samples, self.shard = files, documents, samples, shard
        self.only = only or {}
        self.lengths = None if lengths is None else pa.array({0, *lengths}, pa.int32())

    def __iter__(self) -> Iterator[Request]:
        places = self._places
        for first in range(0, len(places), 64):
            some = places[first : first + 64]
            for place, row in zip(some, self._rows.take(some).to_pylist(), strict=True):
                spans = self._prompts[place]
                for sample in range(self.samples):
                    yield Request(sample=sample, spans=spans, documents=self.documents, **row)

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
        order = self._prompts.order(self.documents)
        shard, n = self.shard
        tokens = self._rows["n_tokens"].to_numpy()[order.places]
        return [order.places[place] for place in cut(tokens, order.shared, n)[shard]]

    @property
    def _rows(self) -> pa.Table:
        """All that a request needs but its prompt, in the order of the files."""
        return self._read[0]

    @property
    def _prompts(self) -> Prompts:
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[pa.Table, Prompts]:
        columns = [*self.COLUMNS, "prompt"] + ["length"] * (self.lengths is not None)
        prompts, rows = Prompts(), []
        seen: dict[str, set[object]] = {}
        for file in progress(self.files, desc="instances", unit="file"):
            own = selection.columns(self.only, read_names(file)) if self.only else []
            table = read_table(file, list(dict.fromkeys([*columns, *own])))
            for factor in own:
                seen.setdefault(factor, set()).update(table[factor].unique().to_pylist())
            if self.lengths is not None:
                table = table.filter(pc.is_in(table["length"], value_set=self.lengths))
            if own:
                table = table.filter(selection.mask(table, self.only))
            prompts.add(table["prompt"])
            rows.append(table.select(self.COLUMNS))
        for factor, values in seen.items():
            absent = [value for value in self.only[factor] if value not in values]
            if absent:
                logger.warning(
                    "No prompt has %s %s, which the model's `only` names: it gets the others alone.",
                    factor,
                    selection.listed(absent),
                )
        return pa.concat_tables(rows).combine_chunks(), prompts


def request_key(
    identity: Mapping[str, object],
    prompt: str,
    sample: int,
    max_new_tokens: int,
    extra: object = None,
) -> str:
    """The sha256 of all that an answer depends on: the key of the journal.

    `identity` is the model's (`Backend.identity`), `extra` what its answer depends on beyond the
    prompt (`Backend.depends_on`); both hold JSON values.
    """
    head = json.dumps([dict(identity), sample, max_new_tokens, extra], sort_keys=True)
    # The head has no line break, so it cannot be mistaken for the beginning of a prompt.
    digest = hashlib.sha256(head.encode() + b"\n")
    digest.update(prompt.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def generate(
    requests: Iterable[Request],
    backend: Backend,
    journal: Journal,
    *,
    context: int | None = None,
    max_failed: int = 0,
    known: Set[tuple[str, int]] | None = None,
    marks: Sequence[Mark] = KNOWN,
    opened: bool = False,
    loaded: Callable[[], None] = lambda: None,
) -> pa.Table:
    """The model's answers, one row a request (schema GENERATIONS), by instance_id and sample.

    Answers in the journal are taken from there. The backend is loaded only if some are missing; it gets
    these requests in the order of `requests`, and each answer goes into the journal as soon as the
    backend returns it. `requests` is iterated twice, first for the keys and then for the
    missing prompts, so it must not be an iterator. Requests with the same key are sent once. `known`
    are the (instance_id, sample) of the whole benchmark, if `requests` are a shard of it. Reasoning is
    separated from answers by `marks`; `opened` is whether the model always reasons (`thoughts.part`).
    `loaded` is called once the backend is loaded, before any request.

    A prompt of more than `context` tokens (None: no limit), or of more than the backend takes with
    its chat template, is `skipped`. A request that fails is `error` in the table. Both stay out of
    the journal, so the next run sends them again.

    Runs that share the journal end with the same answers (`Journal.settled`), and what another run has
    finished when its turn comes is not sent.

    Raises UserError if more than `max_failed` requests failed, after all the others are done,
    and if the backend refuses the requests.
    """
    identity, former = backend.identity(), backend.former_identity()
    rows: list[tuple[str, int, str]] = []
    # What older records have for a key.
    renamed: dict[str, str] = {}
    outcomes: dict[str, Record] = {}
    for request in progress(requests, desc="keys", unit="prompt"):
        # Rendered once: `request.prompt` renders it each time.
        prompt, extra = request.prompt, backend.depends_on(request)
        limits = (request.sample, request.max_new_tokens)
        key = request_key(identity, prompt, *limits, extra)
        rows.append((request.instance_id, request.sample, key))
        if former is not None:
            renamed[key] = request_key(former, prompt, *limits, extra)
        if context is not None and request.n_tokens > context:
            outcomes[key] = _skipped(request.n_tokens, context)
    if known is None:
        known = {(instance, sample) for instance, sample, _ in rows}
    asked = {(instance, sample) for instance, sample, key in rows if key not in outcomes}
    backend.check(known, asked)

    keys = [key for _, _, key in rows]
    wanted = dict.fromkeys(key for key in keys if key not in outcomes)

    def holds(record: Record) -> bool:
        return is_answer(record) and backend.holds(record)

    if former is not None:
        older = journal.settled({renamed[key] for key in wanted}, holds)
        outcomes |= {key: older[renamed[key]] for key in wanted if renamed[key] in older}
        wanted = {key: None for key in wanted if key not in outcomes}
    outcomes |= journal.settled(wanted, holds)
    missing = wanted.keys() - outcomes.keys()
    if missing:
        outcomes |= _ask(requests, keys, missing, backend, journal, holds, loaded)
        # Another run may have answered some of it too, and have ended with its own answers.
        outcomes |= journal.settled(wanted, holds)
    # Counted in rows, as in all shards together: two rows may have one request.
    _refuse_failures([outcomes[key] for key in keys], max_failed)
    return pa.Table.from_pylist(
        [
            {
                **answer_row(outcomes[key], marks, opened),
                # Under which the journal has the answer: an older one, for an older record.
                "request_key": outcomes[key].get("key", key),
                **{"instance_id": instance, "sample": sample},
            }
            for instance, sample, key in sorted(rows)
        ],
        schema=GENERATIONS,
    )


def _ask(
    requests: Iterable[Request],
    keys: Sequence[str],
    missing: Set[str],
    backend: Backend,
    journal: Journal,
    holds: Callable[[Record], bool],
    loaded: Callable[[], None],
) -> dict[str, Record]:
    """The outcomes of the requests whose keys are `missing`; finished ones are in the journal."""
    outcomes: dict[str, Record] = {}
    others = Others(journal, missing, holds)
    start = start_place(keys, missing, journal.begin())
    writer = _Writer(journal)
    try:
        backend.load()
        loaded()
        left = _missing(requests, keys, missing, start, others.answer)
        answers, failed = _answers(left, backend), 0
        with progress(desc="answers", total=len(missing), unit="prompt", told=True) as bar:
            for key, answer in answers:
                outcomes[key] = outcome(answer)
                if answer.error is None:
                    writer.put({"key": key, **outcomes[key]})
                failed += outcomes[key]["finish_reason"] == "error"
                bar.set_postfix_str(f"{failed} failed", refresh=False)
                bar.update()
        outcomes |= others.used
        if len(outcomes) != len(missing):
            raise ValueError(f"{len(outcomes)} answers to {len(missing)} requests")
    finally:
        try:
            writer.close()
        finally:
            backend.close()
    return outcomes


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
            under_way[place] = key
            yield request

    for place, answer in backend.answers(asked()):
        yield under_way.pop(place), answer


def _missing(
    requests: Iterable[Request],
    keys: Sequence[str],
    missing: Set[str],
    start: int,
    finished: Callable[[str], bool],
) -> Iterator[tuple[str, Request]]:
    """The missing requests with their keys, each key once, from a place on, and then those before it.

    A request that is `finished` when its turn comes is left out.
    """
    left = set(missing)
    for first, last in ((start, len(keys)), (0, start)):
        if first == last:
            continue
        for place, (request, key) in enumerate(zip(requests, keys, strict=True)):
            if first <= place < last and key in left:
                left.remove(key)
                if not finished(key):
                    yield key, request


def is_answer(record: Record) -> bool:
    """Whether a record of the journal has the form of an answer; a damaged one may not."""
    counts = [record.get(name) for name in COUNTS]
    return (
        isinstance(record.get("text"), str)
        and isinstance(record.get("whole", ""), str)
        and all(isinstance(token, str) for token in record.get("special", ()))
        and record.get("finish_reason") in ("stop", "length")
        and all(count is None or type(count) is int for count in counts)
    )


def outcome(answer: Answer) -> Record:
    """The fields of an answer that the journal keeps, without unknown ones."""
    if answer.error is not None:
        reason = "skipped" if answer.finish_reason == "skipped" else "error"
        return {"text": "", "finish_reason": reason, "error": _well_formed(answer.error)}
    told = {name: getattr(answer, name) for name in TOLD}
    if answer.whole is not None:
        told["whole"] = _well_formed(answer.whole)
    return {
        "text": _well_formed(answer.text),
        "finish_reason": answer.finish_reason,
        **{name: value for name, value in told.items() if value is not None},
    }


def _skipped(n_tokens: int, context: int) -> Record:
    error = f"the prompt has {n_tokens} tokens, the model's context {context}"
    return {"text": "", "finish_reason": "skipped", "error": error}


def _well_formed(text: str) -> str:
    """The text without lone surrogates, which models emit and no file format accepts."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _refuse_failures(outcomes: Sequence[Record], max_failed: int) -> None:
    """Raise UserError if too many of the outcomes are errors."""
    errors = [outcome["error"] for outcome in outcomes if outcome["finish_reason"] == "error"]
    if len(errors) > max_failed:
        raise UserError(
            f"{len(errors)} of {len(outcomes)} requests failed, more than `max_failed: {max_failed}` "
            f"allows; the first: {errors[0]}. The other answers are in the journal: correct the cause "
            "and run again."
        )


def merge(files: Sequence[str | Path], max_failed: int = 0) -> pa.Table:
    """The answers of all shards of a benchmark, in the rows and the order that `generate` gives of it.

    Raises UserError if more than `max_failed` requests failed in all shards together.
    """
    tables = [read_table(file) for file in files]
    merged = pa.concat_tables(tables).sort_by(
        [("instance_id", "ascending"), ("sample", "ascending")]
    )
    errors = [table.filter(pc.field("finish_reason") == "error")["error"] for table in tables]
    if sum(map(len, errors)) > max_failed:
        failed = [str(file) for file, found in zip(files, errors, strict=True) if len(found)]
        first = next(found[0] for found in errors if len(found))
        raise UserError(
            f"{sum(map(len, errors))} of {len(merged)} requests failed in all shards, more than "
            f"`max_failed: {max_failed}` allows; the first: {first}. Correct the cause, delete "
            f"{', '.join(failed)} and run again to retry them."
        )
    return merged.combine_chunks().cast(GENERATIONS)
