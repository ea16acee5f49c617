"""The key-value pairs that Lost in the Middle released: JSON objects of random UUIDs, one pair asked for.

A row's text is the object without the pair that is asked for. The prompt inserts this pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from needlework.data.corpora.json_lines import Line, read_lines

# `text`: the other pairs in their order, joined by SEPARATOR; `starts`: where in it each begins, in
# characters; `key` and `value`: the pair that is asked for.
PAIRS = pa.schema(
    [
        ("passage_id", pa.string()),
        ("text", pa.string()),
        ("starts", pa.list_(pa.int32())),
        ("key", pa.string()),
        ("value", pa.string()),
    ]
)

# A pair a line, as the released prompts print the object.
SEPARATOR = ",\n "


def pair(key: str, value: str) -> str:
    """A pair as it stands in a prompt."""
    return f'"{key}": "{value}"'


class Object(NamedTuple):
    """A row of PAIRS."""

    passage_id: str
    text: str
    starts: list[int]
    key: str
    value: str


def row(name: str, others: Sequence[tuple[str, str]], key: str, value: str) -> Object:
    """A row of PAIRS, of the pair that is asked for and the others."""
    pairs = [pair(*other) for other in others]
    starts = accumulate((len(text) + len(SEPARATOR) for text in pairs[:-1]), initial=0)
    return Object(name, SEPARATOR.join(pairs), list(starts), key, value)


def table(corpus: str, lang: str, files: Sequence[str], settings: Mapping[str, object]) -> pa.Table:
    """The corpus `key_value_<n>` from its one file, as the rule `read_corpus` asks for it."""
    return read(files[0], int(corpus.rpartition("_")[2]))


def read(path: str | Path, n: int) -> pa.Table:
    """PAIRS rows of a file whose objects have `n` pairs each, in the order of the file and of the ids.

    UserError if the file is damaged, a line lacks a field, a key occurs twice in an object, there
    are not `n` pairs, or the pair that is asked for is not among them.
    """
    rows = [_row(line, number, n)._asdict() for number, line in enumerate(read_lines(path))]
    return pa.Table.from_pylist(rows, schema=PAIRS)


def _row(line: Line, number: int, n: int) -> Object:
    pairs = line.get("ordered_kv_records", list)
    key, value = line.get("key", str), line.get("value", str)
    if not all(isinstance(found, list) and [*map(type, found)] == [str, str] for found in pairs):
        raise line.wrong("has 'ordered_kv_records' that are not pairs of texts")
    if len(pairs) != n:
        raise line.wrong(f"has {len(pairs)} pairs in 'ordered_kv_records' instead of {n}")
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise line.wrong(f"has the key {name!r} twice in 'ordered_kv_records'")
        seen.add(name)
    if [key, value] not in pairs:
        raise line.wrong(f"asks for the 'key' {key!r}, whose pair is not in 'ordered_kv_records'")
    return row(f"{number:04d}", [(k, v) for k, v in pairs if k != key], key, value)
