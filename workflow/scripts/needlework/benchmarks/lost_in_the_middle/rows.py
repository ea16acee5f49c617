"""The instances of a slice, collected as columns: a prompt is a list of numbers of spans.

Most spans are in many prompts (a document, a label, an instruction), so each is held once.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any

import pyarrow as pa

from needlework.benchmarks.lost_in_the_middle.factors import COLUMNS
from needlework.benchmarks.lost_in_the_middle.plan import NAME
from needlework.prompt import Span
from needlework.records import SPAN, instance_id, instances_schema

SCHEMA = instances_schema(COLUMNS)


class Pieces:
    """Spans by number, each once, with their texts."""

    def __init__(self) -> None:
        self._numbers: dict[Span, int] = {}
        self.texts: list[str] = []

    def literal(self, role: str, text: str) -> int:
        """The number of a span that holds its own text."""
        return self._number(Span(role, text=text), text)

    def slice(self, role: str, source: str, document: str, start: int, end: int) -> int:
        """The number of the span [start, end) of a document."""
        span = Span(role, source, start, end)
        number = self._numbers.get(span)
        return self._number(span, document[start:end]) if number is None else number

    def whole(self, role: str, source: str, document: str) -> int:
        """The number of the span of a whole document."""
        return self._number(Span(role, source, 0, len(document)), document)

    def _number(self, span: Span, text: str) -> int:
        number = self._numbers.setdefault(span, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number

    def text(self, numbers: Iterable[int]) -> str:
        """The spans' texts, one after the other."""
        return "".join(map(self.texts.__getitem__, numbers))

    def array(self, numbers: array) -> pa.Array:
        """The spans of these numbers, as a struct array."""
        # An array of each field: the spans in their order of first use are the keys of the dictionary.
        fields = zip(*self._numbers, strict=True) if self._numbers else [()] * len(Span._fields)
        columns = [
            pa.array(column, field.type).take(pa.array(numbers, pa.int32()))
            for column, field in zip(fields, SPAN, strict=True)
        ]
        return pa.StructArray.from_arrays(columns, fields=list(SPAN))


class Rows:
    """The instances of a slice."""

    def __init__(self, chosen: Mapping[str, Any]) -> None:
        self.pieces = Pieces()
        self._chosen = chosen
        self._columns: dict[str, list[Any]] = {
            name: [] for name in SCHEMA.names if name != "prompt"
        }
        self._numbers = array("i")
        self._counts: list[int] = []

    def add(
        self,
        numbers: list[int],
        text: str,
        n_tokens: int,
        example_id: str,
        references: list[str],
        **factors: Any,
    ) -> None:
        """Add a prompt: the numbers of its spans, its text, its length, and the factors that it has.

        Factors that are not named are those of a prompt without documents.
        """
        task = self._chosen["task"]
        factors = {
            "lang": self._chosen["lang"],
            "n_documents": 0,
            "gold_index": None,
            "distractors": "none",
            "order": "none",
            "query_aware": False,
            "answer_present": None,
            "unambiguous": None,
            "keys": "none",
            "length": 0,
            **factors,
        }
        row = {
            **factors,
            # Two questions of one wording are two prompts.
            "instance_id": instance_id(NAME, task, {**factors, "example": example_id}, text),
            "benchmark": NAME,
            "task": task,
            "example_id": example_id,
            "references": references,
            "metric": "key_value" if task == "key_value" else "best_subspan_em",
            "max_new_tokens": self._chosen["max_new_tokens"],
            "n_tokens": n_tokens,
        }
        for name, column in self._columns.items():
            column.append(row[name])
        self._numbers.extend(numbers)
        self._counts.append(len(numbers))

    def table(self) -> pa.Table:
        """The rows so far."""
        columns = {
            name: pa.array(values, SCHEMA.field(name).type)
            for name, values in self._columns.items()
        }
        offsets = pa.array(accumulate(self._counts, initial=0), pa.int32())
        columns["prompt"] = pa.ListArray.from_arrays(offsets, self.pieces.array(self._numbers))
        return pa.table([columns[name] for name in SCHEMA.names], schema=SCHEMA)
