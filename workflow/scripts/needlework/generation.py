"""From instances to a model's answers, through a journal, so that no finished request is sent twice."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from needlework.backends.base import Answer, Backend, Request
from needlework.errors import UserError
from needlework.journal import Journal, Record
from needlework.progress import progress
from needlework.prompt import Span
from needlework.records import GENERATIONS, read_table

# A slow model's answers reach the disk at least this often, whatever the batch.
SYNC_SECONDS = 1.0

COUNTS = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")


class InstanceRequests(Iterable[Request]):
    """The requests of instance files, each instance asked `samples` times.

    With `lengths`, only the instances whose factor `length` is among them or 0 (no haystack): models
    that share a tokenizer share instance files, and may want different lengths of them.

    Every iteration reads the files again, one at a time, and renders nothing by itself, so memory
    holds one file's spans and never the prompts.
    """

    COLUMNS = (
        "instance_id",
        "task",
        "prompt",
        "references",
        "max_new_tokens",
        "n_tokens",
    )

    def __init__(
        self,
        files: Sequence[str | Path],
        documents: Mapping[str, str],
        *,
        samples: int = 1,
        lengths: Collection[int] | None = None,
    ) -> None:
        self.files, self.documents, self.samples = files, documents, samples
        self.lengths = None if lengths is None else pa.array({0, *lengths}, pa.int32())

    def __iter__(self) -> Iterator[Request]:
        for file in self.files:
            if self.lengths is None:
                table = read_table(file, self.COLUMNS)
            else:
                table = read_table(file, [*self.COLUMNS, "length"])
                wanted = pc.is_in(table["length"], value_set=self.lengths)
                table = table.filter(wanted).drop_columns("length")
            for batch in table.to_batches(max_chunksize=64):
                for row in batch.to_pylist():
                    row["spans"] = [Span(**span) for span in row.pop("prompt")]
                    for sample in range(self.samples):
                        yield Request(sample=sample, documents=self.documents, **row)


def request_key(
    identity: Mapping[str, Any], prompt: str, sample: int, max_new_tokens: int, extra: Any = None
) -> str:
    """The sha256 of all that an answer depends on: the key of the journal.

    `identity` is the model's (`Backend.identity`), `extra` what its answer depends on beyond the
    prompt (`Backend.depends_on`); both hold JSON values.
    """
    head = json.dumps([dict(identity), sample, max_new_tokens, extra], sort_keys=True)
    # The head has no raw line break, so it cannot be mistaken for the beginning of a prompt.
    digest = hashlib.sha256(head.encode() + b"\n")
    digest.update(prompt.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def generate(
    requests: Iterable[Request],
    backend: Backend,
    journal: Journal,
    *,
    context: int | None = None,
    batch_size: int = 256,
    max_failed: int = 0,
) -> pa.Table:
    """The model's answers, one row a request (schema GENERATIONS), by instance_id and sample.

    What the journal holds is taken from there; the backend is loaded only if something is missing,
    gets that in batches in the order of `requests`, and each answer is in the journal when its batch
    is done. `requests` is iterated twice, first for the keys and then for the missing prompts, so it
    must not be an iterator. Requests with the same key are asked once.

    A prompt of more than `context` tokens (None: no limit), or of more than the backend takes with
    its chat template, is `skipped`. A request that fails is `error` in the table. Both stay out of
    the journal, so the next run asks them again.

    Raises UserError where more than `max_failed` requests failed, after all the others are done,
    and where the backend refuses the requests.
    """
    identity = backend.identity()
    rows: list[tuple[str, int, str]] = []
    outcomes: dict[str, Record] = {}
    for request in progress(requests, desc="keys", unit="prompt"):
        key = request_key(
            identity,
            request.prompt,
            request.sample,
            request.max_new_tokens,
            backend.depends_on(request),
        )
        rows.append((request.instance_id, request.sample, key))
        if context is not None and request.n_tokens > context:
            outcomes[key] = _skipped(request.n_tokens, context)
    known = {(instance, sample) for instance, sample, _ in rows}
    asked = {(instance, sample) for instance, sample, key in rows if key not in outcomes}
    backend.check(known, asked)

    keys = [key for _, _, key in rows]
    wanted = dict.fromkeys(key for key in keys if key not in outcomes)
    outcomes |= journal.load(wanted)
    missing = wanted.keys() - outcomes.keys()
    if missing:
        outcomes |= _ask(requests, keys, missing, backend, journal, batch_size)
    _refuse_failures([outcomes[key] for key in wanted], max_failed)
    return pa.Table.from_pylist(
        [
            {"request_key": key, "instance_id": instance, "sample": sample, **outcomes[key]}
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
    batch_size: int,
) -> dict[str, Record]:
    """The outcomes of the requests whose keys are `missing`; finished ones are in the journal."""
    outcomes: dict[str, Record] = {}
    fresh: list[Record] = []
    synced = time.monotonic()
    try:
        backend.load()
        answers = _answers(requests, keys, missing, backend, batch_size)
        for key, answer in progress(answers, desc="answers", total=len(missing), unit="prompt"):
            outcomes[key] = _outcome(answer)
            if answer.error is None:
                fresh.append({"key": key, **outcomes[key]})
            if len(fresh) >= batch_size or time.monotonic() - synced > SYNC_SECONDS:
                journal.append(fresh)
                fresh, synced = [], time.monotonic()
    finally:
        try:
            journal.append(fresh)
        finally:
            backend.close()
    return outcomes


def _answers(
    requests: Iterable[Request],
    keys: Sequence[str],
    missing: Set[str],
    backend: Backend,
    batch_size: int,
) -> Iterator[tuple[str, Answer]]:
    """The backend's answers by key, a batch at a time; the same key is asked once."""
    left = set(missing)

    def to_ask() -> Iterator[tuple[str, Request]]:
        for request, key in zip(requests, keys, strict=True):
            if key in left:
                left.remove(key)
                yield key, request

    stream = to_ask()
    while batch := list(islice(stream, batch_size)):
        answers = backend.generate([request for _, request in batch])
        yield from zip((key for key, _ in batch), answers, strict=True)


def _outcome(answer: Answer) -> Record:
    """The columns of a row that come from the answer; what is not known is left out."""
    if answer.error is not None:
        reason = "skipped" if answer.finish_reason == "skipped" else "error"
        return {"text": "", "finish_reason": reason, "error": _well_formed(answer.error)}
    counts = {name: getattr(answer, name) for name in COUNTS}
    return {
        "text": _well_formed(answer.text),
        "finish_reason": answer.finish_reason,
        **{name: count for name, count in counts.items() if count is not None},
    }


def _skipped(n_tokens: int, context: int) -> Record:
    error = f"the prompt has {n_tokens} tokens, the model's context {context}"
    return {"text": "", "finish_reason": "skipped", "error": error}


def _well_formed(text: str) -> str:
    """The text without lone surrogates, which models emit and no file format takes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _refuse_failures(outcomes: Sequence[Record], max_failed: int) -> None:
    """Raise UserError where too many of the outcomes are errors."""
    errors = [outcome["error"] for outcome in outcomes if outcome["finish_reason"] == "error"]
    if len(errors) > max_failed:
        raise UserError(
            f"{len(errors)} of {len(outcomes)} requests failed, more than `max_failed: {max_failed}` "
            f"allows; the first: {errors[0]}. The other answers are in the journal: correct the cause "
            "and run again."
        )
