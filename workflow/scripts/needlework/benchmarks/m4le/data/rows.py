"""The table of every source of M4LE, and the documents that its rows are made of.

A row is a finished prompt with its pieces and answers. A document of any source data set is a `Record`.
Lengths are counted as M4LE counts them, and topics are numbered in words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from needlework.benchmarks.m4le.data.frames import Piece
from needlework.data.words import word_starts
from needlework.errors import UserError

# Chinese characters, and the punctuation and full-width forms that stand between them.
_CHINESE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


def length(text: str, unit: str) -> int:
    """The length in "words" (between white space), "characters", "mixed", or "any".

    Any counts words of any script: between white space, or characters where a script has none.
    Mixed counts Chinese characters one by one and the words between them. (The released scripts add
    up lengths of parts by hand; released rows keep the bucket that they came with.)
    """
    if unit == "words":
        return len(text.split())
    if unit == "characters":
        return len(text)
    if unit == "any":
        return len(word_starts(text))
    rest, chinese = _CHINESE.subn(" ", text)
    return chinese + len(rest.split())


def beginning(text: str, n: int, unit: str) -> str:
    """The first `n` words or characters of a text."""
    if unit == "words":
        return " ".join(text.split()[:n])
    if unit == "any":
        starts = word_starts(text)
        return text[: starts[n]].rstrip() if n < len(starts) else text
    return text[:n]


_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_DIGITS = "零一二三四五六七八九"
_PLACES = ((1000, "千"), (100, "百"), (10, "十"))


def counted(n: int, lang: str) -> str:
    """A number from 0 to 9999 in English words ("sixty one") or Chinese ones ("六十一"), else in digits."""
    if lang == "zh":
        return _chinese(n)
    return _english(n) if lang == "en" else str(n)


def _english(n: int) -> str:
    if n < 20:
        return _UNITS[n]
    if n < 100:
        return _TENS[n // 10 - 2] + (f" {_UNITS[n % 10]}" if n % 10 else "")
    if n < 1000:
        return f"{_UNITS[n // 100]} hundred" + (f" and {_english(n % 100)}" if n % 100 else "")
    return f"{_english(n // 1000)} thousand" + (f", {_english(n % 1000)}" if n % 1000 else "")


def _chinese(n: int) -> str:
    if n < 10:
        return _DIGITS[n]
    if n < 20:
        return "十" + (_DIGITS[n % 10] if n % 10 else "")
    for place, name in _PLACES:
        if n >= place:
            rest = n % place
            # A missing place is read as one zero.
            gap = "零" if rest and rest < place // 10 else ""
            if rest and 10 <= rest < 20:
                return _DIGITS[n // place] + name + gap + "一" + _chinese(rest)
            return _DIGITS[n // place] + name + (gap + _chinese(rest) if rest else "")
    raise ValueError(n)


# The class of a good review.
POSITIVE = "positive"


class Question(NamedTuple):
    """A question with its accepted answers, best first."""

    text: str
    answers: tuple[str, ...]


class Document(NamedTuple):
    """A document that belongs to a record: one of its own paragraphs, or a retrieved passage."""

    text: str
    title: str = ""


class Record(NamedTuple):
    """A document, and what can be asked about it.

    `title` is what the document is called, `asked` what it is asked by where that is something else
    (keywords). `label` is its class, `answers` its summary or translation. `parts` are its paragraphs
    or, of a question, the documents that come with it.
    """

    text: str
    title: str = ""
    asked: str = ""
    label: str = ""
    answers: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    parts: tuple[Document, ...] = ()


PIECE = pa.struct([("role", pa.string()), ("start", pa.int32()), ("end", pa.int32())])

# `passage_id` is task, bucket and number. `text` is the whole prompt, which `pieces` cover; `gold` are the
# places of the needles among `n_items` items; `length` is that of prompt and answer in the task's own unit.
ROWS = pa.schema(
    [
        ("passage_id", pa.string()),
        ("task", pa.string()),
        ("text", pa.string()),
        ("pieces", pa.list_(PIECE)),
        ("answers", pa.list_(pa.string())),
        ("bucket", pa.int32()),
        ("length", pa.int32()),
        ("gold", pa.list_(pa.int32())),
        ("n_items", pa.int32()),
    ]
)


class Row(NamedTuple):
    """A row of ROWS, but for its id."""

    task: str
    text: str
    pieces: list[Piece]
    answers: Sequence[str]
    bucket: int
    length: int
    gold: Sequence[int]
    n_items: int


def rows_table(rows: Iterable[Row], what: str) -> pa.Table:
    """ROWS in the given order; UserError if there is none."""
    columns: dict[str, list[Any]] = {name: [] for name in ROWS.names}
    counts: Counter[tuple[str, int]] = Counter()
    for row in rows:
        number = counts[row.task, row.bucket]
        counts[row.task, row.bucket] += 1
        columns["passage_id"].append(f"{row.task}-{row.bucket:06d}-{number:04d}")
        columns["pieces"].append([piece._asdict() for piece in row.pieces])
        for name in ("task", "text", "answers", "bucket", "length", "gold", "n_items"):
            columns[name].append(getattr(row, name))
    if not counts:
        raise UserError(
            f"{what} has no row of the wanted lengths: correct benchmarks.m4le.lengths."
        )
    return pa.table([pa.array(columns[f.name], f.type) for f in ROWS], schema=ROWS)
