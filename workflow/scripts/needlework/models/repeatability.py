"""Does a model repeat its answer to the same prompt? In the same order, another one, in other batches.

A sample of prompts is sent under conditions that should change nothing. Each condition is compared with
the first, answer by answer. Answers are cached in a journal of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from needlework import seeding
from needlework.entry import Entry
from needlework.jobs.progress import progress
from needlework.journal import Journal, Record
from needlework.models.backends.base import Answer, Backend, Request
from needlework.models.generation import request_key
from needlework.records import GENERATIONS

# The reference: a new engine, its first answers, in the order of a run.
REFERENCE = "reference"
_ENGINES = ("vllm", "openvino")


class Condition(NamedTuple):
    """How a sample is sent: changes to the model's entry, whether in reverse order, and how often."""

    changes: Mapping[str, object]
    reverse: bool = False
    passes: int = 1


def conditions(entry: Entry) -> dict[str, Condition]:
    """The conditions of a model by name, the reference first. `entry` is its block."""
    found = {
        REFERENCE: Condition({}),
        "same again": Condition({}),
        "second pass, warm": Condition({}, passes=2),
        "reverse order": Condition({}, reverse=True),
    }
    backend, engine = entry["backend"], entry["engine"]
    if backend in ("openvino", "transformers"):
        own = entry["batch_size"] or (1 if backend == "openvino" else 8)
        other = 8 if own == 1 else 1
        found[f"{own} at once, then {other}"] = Condition({"batch_size": other})
    elif backend == "vllm":
        alone = engine | {"max_num_seqs": 1}
        found["one at a time"] = Condition({"engine": alone})
    else:
        found["one at a time"] = Condition({"concurrency": 1})
    if backend in _ENGINES:
        found["no prefix cache"] = Condition({"engine": engine | {"enable_prefix_caching": False}})
    return found


def draw(requests: Sequence[Request], n: int, seed: int) -> list[Request]:
    """`n` of the requests by seed, in their order; all of them where there are fewer."""
    names = sorted(requests, key=lambda r: seeding.rank_key(seed, r.instance_id, r.sample))
    chosen = {(request.instance_id, request.sample) for request in names[:n]}
    return [request for request in requests if (request.instance_id, request.sample) in chosen]


def ask(
    requests: Sequence[Request],
    name: str,
    condition: Condition,
    load: Callable[[Mapping[str, object]], Backend],
    journal: Journal,
) -> pa.Table:
    """The answers to `requests` under a condition (GENERATIONS), in their order.

    `load` makes the model's backend, with changes to its entry. Of several passes the last counts.
    """
    backend = load(condition.changes)
    identity = [dict(backend.identity()), name]
    order = list(requests)[::-1] if condition.reverse else list(requests)
    keys = [
        request_key({"repeatability": identity}, r.prompt, r.sample, r.max_new_tokens)
        for r in order
    ]
    known = journal.load(set(keys))
    if missing := [place for place, key in enumerate(keys) if key not in known]:
        try:
            backend.load()
            for number in range(condition.passes):
                asked = (order[place] for place in missing)
                title = f"answers, {name}"
                with progress(desc=title, total=len(missing), unit="prompt", told=True) as bar:
                    for place, answer in backend.answers(asked):
                        bar.update()
                        if number == condition.passes - 1:
                            key = keys[missing[place]]
                            known[key] = _record(key, answer)
                            if answer.error is None:
                                journal.append([known[key]])
        finally:
            backend.close()
    by_request = {(r.instance_id, r.sample): known[k] for r, k in zip(order, keys, strict=True)}
    return pa.Table.from_pylist(
        [_row(request, by_request[request.instance_id, request.sample]) for request in requests],
        schema=GENERATIONS,
    )


def _record(key: str, answer: Answer) -> Record:
    failed = "skipped" if answer.finish_reason == "skipped" else "error"
    reason = answer.finish_reason if answer.error is None else failed
    text = answer.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return {"key": key, "text": text, "finish_reason": reason, "error": answer.error}


def _row(request: Request, record: Record) -> dict[str, object]:
    own = {name: record[name] for name in ("text", "finish_reason", "error")}
    named = {"instance_id": request.instance_id, "sample": request.sample}
    return {"request_key": record["key"], **named, **own}
