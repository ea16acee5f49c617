"""Does a model repeat its answer to the same prompt? In the same order, another one, in other batches.

A sample of prompts is sent under conditions that should change nothing. Each condition is compared with
the first, answer by answer. Answers are cached in a journal of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from needlework import seeding
from needlework.entry import Entry
from needlework.journal import Journal, Record
from needlework.models.backends.base import Answer, Backend, Request
from needlework.models.generation import generate
from needlework.models.thoughts import KNOWN, Mark

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
    """The answers to `requests` under a condition, as `generation.generate` gives them.

    `load` makes the model's backend, with changes to its entry. Of several passes the last counts.
    """
    backend = _Under(load(condition.changes), name, condition.passes)
    order = list(requests)[::-1] if condition.reverse else list(requests)
    return generate(order, backend, journal, max_failed=len(order), marks=marks, opened=opened)


class _Under(Backend):
    """A model under a condition: its answers are those of the condition alone."""

    def __init__(self, model: Backend, name: str, passes: int) -> None:
        super().__init__(model.config)
        self._model, self._name, self._passes = model, name, passes

    def identity(self) -> Mapping[str, object]:
        """The model's, and the condition."""
        return {"repeatability": [dict(self._model.identity()), self._name]}

    def holds(self, record: Record) -> bool:
        """Whether an answer of the journal is still valid for the model."""
        return self._model.holds(record)

    def load(self) -> None:
        """Load the model."""
        self._model.load()

    def close(self) -> None:
        """Release the model."""
        self._model.close()

    def generate(self, batch: Sequence[Request]) -> Iterable[Answer]:
        """The model's answers."""
        return self._model.generate(batch)

    def answers(self, requests: Iterable[Request]) -> Iterator[tuple[int, Answer]]:
        """The model's answers in its last pass."""
        asked = list(requests)
        for _ in range(self._passes - 1):
            for _ in self._model.answers(iter(asked)):
                pass
        yield from self._model.answers(iter(asked))
