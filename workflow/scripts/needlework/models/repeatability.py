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
from needlework.models.backends.base import Backend, Request
from needlework.models.generation import is_answer, outcome, request_key
from needlework.models.thoughts import KNOWN, Mark, answer_row
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
    """The conditions of a model by name, the reference first. `entry` is its block.

    Batches of an endpoint are not used: the order is the endpoint's there.
    """
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
        found = {name: how._replace(changes={"batch": False}) for name, how in found.items()}
        found["one at a time"] = Condition({"batch": False, "concurrency": 1})
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
    *,
    marks: Sequence[Mark] = KNOWN,
    opened: bool = False,
) -> pa.Table:
    """The answers to `requests` under a condition (GENERATIONS), in their order.

    `load` makes the model's backend, with changes to its entry. Of several passes the last counts.
    Reasoning is separated from answers as in a run (`generation.generate`).
    """
    backend = load(condition.changes)
    identity = [dict(backend.identity()), name]
    order = list(requests)[::-1] if condition.reverse else list(requests)
    keys = [
        request_key({"repeatability": identity}, r.prompt, r.sample, r.max_new_tokens)
        for r in order
    ]
    known = {
        # Older records have an error, which is none.
        key: {name: value for name, value in record.items() if name != "error"}
        for key, record in journal.load(
            set(keys), lambda record: is_answer(record) and backend.holds(record)
        ).items()
    }
    # Equal prompts are sent once.
    first = {key: place for place, key in reversed(list(enumerate(keys)))}
    if missing := sorted(place for key, place in first.items() if key not in known):
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
                            known[key] = {"key": key, **outcome(answer)}
                            if answer.error is None:
                                journal.append([known[key]])
        finally:
            backend.close()
    by_request = {(r.instance_id, r.sample): known[k] for r, k in zip(order, keys, strict=True)}
    rows = []
    for request in requests:
        record: Record = by_request[request.instance_id, request.sample]
        named = {"instance_id": request.instance_id, "sample": request.sample}
        rows.append({**answer_row(record, marks, opened), "request_key": record["key"], **named})
    return pa.Table.from_pylist(rows, schema=GENERATIONS)
