"""Books: texts that are cut into sentences, between which needles stand."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from needlework.data import sentences
from needlework.errors import UserError

BOOKS = pa.schema(
    [
        ("passage_id", pa.string()),
        ("text", pa.string()),
        ("sentence_starts", pa.list_(pa.int32())),
    ]
)


def book_table(texts: Iterable[str], lang: str, rules: sentences.Rules, where: str) -> pa.Table:
    """One row of BOOKS: texts cut into sentences; no sentence crosses two texts.

    UserError with fewer than two sentences. `where` names the texts in errors.
    """
    found = [sentence for text in texts for sentence in sentences.split(text, rules)]
    if len(found) < 2:
        raise UserError(
            f"{where}: the book in {lang!r} has {len(found)} sentences, but needles stand between two: "
            "take a longer text, or correct its full stops."
        )
    starts, position = [], 0
    for sentence in found:
        starts.append(position)
        position += len(sentence) + len(rules.joiner)
    return pa.table([["book"], [rules.joiner.join(found)], [starts]], schema=BOOKS)
