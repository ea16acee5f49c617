"""The documents that prompts refer to, each once, and spans that refer to them by number."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from needlework.prompts.spans import ROLES, Documents, numbered
from needlework.results.explorer.shards import json_bytes

# Characters of text in a shard: one is decompressed within some milliseconds.
SHARD_CHARACTERS = 1 << 19


class Sharded:
    """JSON values in numbered shards of about SHARD_CHARACTERS; `write(number, payload)` takes each."""

    def __init__(self, write: Callable[[int, bytes], None]) -> None:
        self._write = write
        self._values: list[Any] = []
        self._size = 0
        # The first value of each shard.
        self.starts: list[int] = []
        self.count = 0

    def add(self, value: Any, size: int) -> None:
        """Add a value of about `size` characters."""
        if self._values and self._size + size > SHARD_CHARACTERS:
            self.flush()
        if not self._values:
            self.starts.append(self.count)
        self._values.append(value)
        self._size += size
        self.count += 1

    def flush(self) -> None:
        """Write what is not written yet."""
        if self._values:
            self._write(len(self.starts) - 1, json_bytes(self._values))
        self._values, self._size = [], 0


class DocumentShards:
    """Documents, numbered in the order in which prompts first refer to them.

    So what one prompt needs lies together. A shard holds strings, and lists of words for numbered lists.
    """

    def __init__(self, write: Callable[[int, bytes], None]) -> None:
        self._shards = Sharded(write)
        self._numbers: dict[tuple[str, str], int] = {}
        self._lengths: list[int] = []
        # Where characters outside the basic plane stand, of documents that have any: a browser counts
        # them twice.
        self._astral: dict[int, list[int]] = {}

    @property
    def starts(self) -> list[int]:
        """The first document of each shard."""
        return self._shards.starts

    def __len__(self) -> int:
        return len(self._lengths)

    def number(self, scope: str, source: str, documents: Documents) -> int:
        """The number of a document; `scope` parts documents of the same name."""
        key = (scope, source)
        if key not in self._numbers:
            piece = documents.piece(source)
            text = piece if isinstance(piece, str) else numbered(piece)
            number = self._numbers[key] = len(self._lengths)
            if not text.isascii() and (astral := [i for i, c in enumerate(text) if c > "\uffff"]):
                self._astral[number] = astral
            self._lengths.append(len(text) + len(self._astral.get(number, ())))
            self._shards.add(piece, len(text))
        return self._numbers[key]

    def units(self, number: int, place: int) -> int:
        """A place in a document's code points as one in UTF-16 units."""
        astral = self._astral.get(number)
        return place if astral is None else place + bisect_left(astral, place)

    def length(self, number: int) -> int:
        """A document's length in UTF-16 units."""
        return self._lengths[number]

    def flush(self) -> None:
        """Write the last shard."""
        self._shards.flush()


def spans(
    prompts: pa.ChunkedArray, scope: str, documents: Documents, numbers: DocumentShards
) -> Iterator[tuple[list[list[Any]], int, int]]:
    """For each prompt: its spans, its length in UTF-16 units, and where its first needle begins (or -1).

    A span is [role, text], [role, document] (all of it) or [role, document, start, end], with the role
    as its place in `needlework.prompts.spans.ROLES`.
    """
    own = {role: code for code, role in enumerate(ROLES)}
    needle = own["needle"]
    for chunk in prompts.chunks:
        for first in range(0, len(chunk), 256):
            part = chunk.slice(first, 256)
            flat = part.flatten()
            fields = [
                flat.field(name).to_pylist() for name in ("role", "source", "start", "end", "text")
            ]
            rows = iter(zip(*fields, strict=True))
            for count in part.value_lengths().to_pylist():
                found, total, at = [], 0, -1
                for _ in range(count):
                    role, source, start, end, text = next(rows)
                    code = own[role]
                    if code == needle and at < 0:
                        at = total
                    if source is None:
                        found.append([code, text or ""])
                        total += len(text or "")
                        continue
                    # What the construction made is told apart by tokenizer, a corpus is not.
                    number = numbers.number(
                        scope if source.startswith(f"{scope.partition('/')[0]}/") else "",
                        source,
                        documents,
                    )
                    start, end = numbers.units(number, start), numbers.units(number, end)
                    whole = start == 0 and end == numbers.length(number)
                    found.append([code, number] if whole else [code, number, start, end])
                    total += end - start
                yield found, total, at
