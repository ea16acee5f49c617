"""The writer of instance files. It collects prompts as columns, and holds each span once.

Most spans are in many prompts (a document, a label, an instruction); as objects they would take gigabytes.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping
from itertools import accumulate
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from needlework.prompts.spans import Span
from needlework.prompts.tokenizers import Tokenizer
from needlework.records import SPAN, instance_id, instances_schema


class Spans:
    """Spans by number; each span is held once."""

    def __init__(self) -> None:
        self._numbers: dict[Span, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, span: Span) -> int:
        """The number of a span."""
        return self._numbers.setdefault(span, len(self._numbers))

    def array(self, numbers: array[int]) -> pa.Array:
        """The spans with these numbers, as a struct array."""
        # An array of each field: the spans in their order of first use are the keys of the dictionary.
        fields = zip(*self._numbers, strict=True) if self._numbers else [()] * len(Span._fields)
        columns = [
            pa.array(column, field.type).take(pa.array(numbers, pa.int32()))
            for column, field in zip(fields, SPAN, strict=True)
        ]
        return pa.StructArray.from_arrays(columns, fields=list(SPAN))


class Instances:
    """The instances of a slice.

    `columns` maps factors and the counts that follow them to Arrow types. An instance's id is made of
    benchmark, task, text and the columns `named_by`, so a further column changes no id.
    """

    def __init__(
        self,
        benchmark: str,
        columns: Mapping[str, str],
        named_by: Collection[str],
        tokenizer: Tokenizer,
        spans: Spans,
    ) -> None:
        self.spans = spans
        self._benchmark, self._named_by, self._check = benchmark, named_by, tokenizer.check
        self._schema = instances_schema(columns)
        self._columns: dict[str, list[Any]] = {
            name: [] for name in self._schema.names if name != "prompt"
        }
        self._numbers, self._counts = array("i"), array("i")

    def add(
        self,
        numbers: Iterable[int],
        text: str,
        apart: Mapping[str, object] = MappingProxyType({}),
        /,
        *,
        task: str,
        n_tokens: int,
        **row: object,
    ) -> None:
        """Add a prompt: the numbers of its spans, its text, its length in tokens, and all other columns.

        `apart` are further values that go into its id, to distinguish prompts with equal texts.
        """
        named = {**{name: row[name] for name in self._named_by}, **apart}
        name = instance_id(self._benchmark, task, named, text)
        self._check(name, text, n_tokens, len(self._counts))
        row |= {
            "instance_id": name,
            "benchmark": self._benchmark,
            "task": task,
            "n_tokens": n_tokens,
        }
        for column, values in self._columns.items():
            values.append(row[column])
        before = len(self._numbers)
        self._numbers.extend(numbers)
        self._counts.append(len(self._numbers) - before)

    def table(self) -> pa.Table:
        """The instances so far."""
        columns = {
            name: pa.array(values, self._schema.field(name).type)
            for name, values in self._columns.items()
        }
        offsets = pa.array(accumulate(self._counts, initial=0), pa.int32())
        columns["prompt"] = pa.ListArray.from_arrays(offsets, self.spans.array(self._numbers))
        return pa.table([columns[name] for name in self._schema.names], schema=self._schema)
