"""Prompts of made-up passages in files of instances, and readers of them that are watched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa

from needlework.models.backends.base import Answer, Request
from needlework.models.backends.lexical import Lexical
from needlework.prompts.spans import Span, literal
from needlework.records import instances_schema

TOWNS = ("Orveld", "Tamsin", "Quillmouth", "Brackwater", "Ilmar", "Sedgeby")


def documents(count: int = 40) -> dict[str, str]:
    return {
        f"made/en/{n}": f"{TOWNS[n % 6]} has a harbour. House {n} of {TOWNS[n % 6]} was built in "
        f"{1500 + n}. Nobody lives there."
        for n in range(count)
    }


def instances(count: int = 24, passages: int = 10) -> pa.Table:
    """`count` prompts: which year was house n built, among `passages` passages."""
    texts = documents()
    rows = []
    for n in range(count):
        shown = [(n + step) % 40 for step in range(passages)]
        spans = [literal("instruction", "Answer.\n")]
        for place in shown:
            source = f"made/en/{place}"
            role = "needle" if place == n % 40 else "distractor"
            spans += [literal("haystack", "\n"), Span(role, source, 0, len(texts[source]))]
        spans += [
            literal("instruction", "\nQuestion: "),
            literal("question", f"When was house {n % 40} of {TOWNS[n % 40 % 6]} built?"),
            literal("answer_format", f"\nAnswer {n}:"),
        ]
        rows.append(
            {
                "instance_id": f"{(n * 37) % 101:064x}",
                "benchmark": "made",
                "task": "exact",
                "length": 512 * (n % 3),
                "example_id": str(n),
                "prompt": [span._asdict() for span in spans],
                "references": [str(1500 + n % 40)],
                "metric": "exact",
                "max_new_tokens": 16,
                "n_tokens": 100 + n,
            }
        )
    return pa.Table.from_pylist(rows, schema=instances_schema({"length": "int32"}))


class Watched(Lexical):
    """The lexical reader, keeping count of what it is asked."""

    def __init__(self, config: Mapping[str, object] | None = None) -> None:
        super().__init__(config or {})
        self.loads, self.closes, self.asked = 0, 0, Counter()

    def load(self) -> None:
        self.loads += 1

    def close(self) -> None:
        self.closes += 1

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        self.asked.update((r.instance_id, r.sample) for r in batch)
        return super().generate(batch)


class Changing(Watched):
    """The same reader with another answer in place of each."""

    asks_a_model = True

    def __init__(self, change: Callable[[Request, Answer], Answer]) -> None:
        super().__init__()
        self.change = change

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        for request, answer in zip(batch, super().generate(batch), strict=True):
            yield self.change(request, answer)


# The sizes of prompts that a model refuses.
BAD = frozenset({103, 107, 120})


def refuse_bad(request: Request, answer: Answer) -> Answer:
    return Answer("", error=f"refused {request.n_tokens}") if request.n_tokens in BAD else answer
