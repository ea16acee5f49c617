"""The documents that prompts refer to, each once, and spans that refer to them by number."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from needlework.prompts.spans import ROLES, Documents
from needlework.results.explorer.data_files import column_shard, json_bytes

# Characters of text in a shard: one is decompressed within some milliseconds.
SHARD_CHARACTERS = 1 << 19


class Sharded:
    """Values in numbered shards of about SHARD_CHARACTERS characters.

    `write(number, values)` is called for each shard.
    """

    def __init__(self, write: Callable[[int, list[Any]], None]) -> None:
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
        """Write the documents that are not written yet."""
        if self._values:
            self._write(len(self.starts) - 1, self._values)
        self._values, self._size = [], 0


class DocumentShards:
    """Documents, numbered in the order in which prompts first refer to them.

    So what one prompt needs lies together. A shard's header has `pieces`: a text, or the vocabulary and the
    length of a numbered list of words. The words are places in the vocabulary, of all lists of a shard in
    arrays of their bytes: "low" and, where a vocabulary is that large, "middle" and "high". Bytes of one
    kind are compressed to what is random in them.

    `write(number, payload, shuffled)` takes each shard; `shuffled` says that it has no repetitions to find.
    `words(number, payload)` takes each vocabulary.
    """

    def __init__(
        self, write: Callable[[int, bytes, bool], None], words: Callable[[int, bytes], None]
    ) -> None:
        self._shards = Sharded(self._write_shard)
        self._write, self._write_words = write, words
        self._vocabularies: dict[str, tuple[int, npt.NDArray[np.int64]]] = {}
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
        """The number of a document. `scope` distinguishes documents with the same name."""
        key = (scope, source)
        if key not in self._numbers:
            number = self._numbers[key] = len(self._lengths)
            if words := documents.words(source):
                self._add_list(scope, *words)
            else:
                self._add_text(number, str(documents[source]))
        return self._numbers[key]

    def _add_text(self, number: int, text: str) -> None:
        if not text.isascii() and (astral := [i for i, c in enumerate(text) if c > "\uffff"]):
            self._astral[number] = astral
        self._lengths.append(len(text) + len(self._astral.get(number, ())))
        self._shards.add(text, len(text))

    def _add_list(self, scope: str, name: str, words: pa.StringArray, codes: pa.Int32Array) -> None:
        name = f"{scope}/{name}"
        if name not in self._vocabularies:
            texts = words.to_pylist()
            place = len(self._vocabularies)
            self._write_words(place, json_bytes(texts))
            lengths = [len(text.encode("utf-16-le", "surrogatepass")) // 2 for text in texts]
            self._vocabularies[name] = (place, np.asarray(lengths, dtype=np.int64))
        place, units = self._vocabularies[name]
        places = codes.to_numpy()
        self._lengths.append(numbered_length(units[places]))
        self._shards.add((place, places), 2 * len(places))

    def _write_shard(
        self, number: int, values: Sequence[str | tuple[int, npt.NDArray[np.int32]]]
    ) -> None:
        pieces = [v if isinstance(v, str) else [v[0], len(v[1])] for v in values]
        lists = [v[1] for v in values if not isinstance(v, str)]
        every = np.concatenate([np.empty(0, np.int32), *lists])
        largest = int(every.max(initial=0))
        planes = {
            name: (every >> shift).astype(np.uint8)
            for name, shift in (("low", 0), ("middle", 8), ("high", 16))
            if shift == 0 or largest >> shift
        }
        shuffled = len(every) > sum(len(v) for v in values if isinstance(v, str))
        self._write(number, column_shard({"pieces": pieces}, planes), shuffled)

    def units(self, number: int, place: int) -> int:
        """Convert an offset in code points of a document into UTF-16 units."""
        astral = self._astral.get(number)
        return place if astral is None else place + bisect_left(astral, place)

    def length(self, number: int) -> int:
        """A document's length in UTF-16 units."""
        return self._lengths[number]

    def flush(self) -> None:
        """Write the last shard."""
        self._shards.flush()


def numbered_length(lengths: npt.NDArray[np.int64]) -> int:
    """The length of a numbered list of words with these lengths (`needlework.prompts.spans.numbered`)."""
    n = len(lengths)
    digits = sum(n - 10**power + 1 for power in range(len(str(n))) if n >= 10**power)
    return int(lengths.sum()) + digits + 3 * n - 1 if n else 0


def spans(
    prompts: pa.ChunkedArray, scope: str, documents: Documents, numbers: DocumentShards
) -> Iterator[tuple[list[list[Any]], int, int, str]]:
    """For each prompt: (spans, length in UTF-16 units, where its first needle begins or -1, what it asks).

    A prompt asks its questions, or its instructions if it has no question of its own. A span is [role, text],
    [role, document] (all of it) or [role, document, start, end]. The role is its place in
    `needlework.prompts.spans.ROLES`.
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
                asked: dict[str, list[str]] = {"question": [], "instruction": []}
                for _ in range(count):
                    role, source, start, end, text = next(rows)
                    code = own[role]
                    if role in asked:
                        own_text = text if source is None else documents[source][start:end]
                        asked[role].append(own_text or "")
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
                yield found, total, at, _joined(asked["question"]) or _joined(asked["instruction"])


def _joined(texts: Iterable[str]) -> str:
    """Texts in one line; some prompts ask before and after the haystack, in the same words."""
    return " ".join(dict.fromkeys(" ".join(text.split()) for text in texts))
