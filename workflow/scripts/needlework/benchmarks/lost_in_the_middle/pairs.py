"""Key-value retrieval: a prompt has a JSON object of pairs and asks for one of them (paper, section 4)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from needlework.benchmarks.lost_in_the_middle.corpus import SEPARATOR, Object, pair, row
from needlework.benchmarks.lost_in_the_middle.plan import NAME, Slice
from needlework.contract import Built
from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.records import DOCUMENTS
from needlework.seeding import rank_key, rng

if TYPE_CHECKING:
    from needlework.benchmarks.lost_in_the_middle.prompts import Rows

Tables = Mapping[str, Mapping[str, pa.Table]]
Counts = dict[str, int]


class Example(NamedTuple):
    """An object with its number of pairs, and the document that has its text ("corpus/lang/name")."""

    n: int
    source: str
    found: Object


def build(rows: Rows, tables: Tables) -> Built:
    """The instances of a slice of key-value retrieval.

    Released objects are taken as they are; if there are more than `examples`, a sample is drawn by seed. All
    other objects are drawn by seed. The asked pair is then moved to each index, while the other pairs keep
    their order. The counts are:

    - `examples_lacking`, the number of examples that could not be made;
    - `unusable_words`, words of the vocabulary that cannot be used (see `_vocabulary`);
    - `value_within_a_word`, examples in which every value is part of another word.
    """
    own, counts, drawn = rows.own, Counts(), True
    if own.keys == "words":
        examples = _of_words(own, tables["words"][own.lang], counts)
    elif own.source == "constructed":
        examples = _of_uuids(own)
    else:
        examples, drawn = _released(own, tables, counts), False
    rows.pieces.sums.sum_ahead((example.found.text for example in examples), own.slice)
    indices = dict(own.places)
    for example in progress(examples, desc="prompts", unit="example"):
        n, _, found = example
        head, tail = rows.frame(found.key)
        brace, end = (rows.pieces.literal("haystack", text) for text in "{}")
        for index in indices[n]:
            rows.add(
                [*head, brace, *_spans(rows, example, index), end, *tail],
                f"{n}-{found.passage_id.rpartition('-')[2]}",
                [found.value],
                n_documents=n,
                gold_index=index,
                query_aware=own.query_aware,
                keys=own.keys,
            )
    documents = [{"passage_id": e.found.passage_id, "text": e.found.text} for e in examples]
    # No corpus file holds the drawn ones.
    made = pa.Table.from_pylist(documents, schema=DOCUMENTS) if drawn else None
    return Built(rows.table(), counts, made)


def _spans(rows: Rows, example: Example, index: int) -> list[int]:
    """The numbers of an object's spans, without its braces."""
    pieces, (_, source, found) = rows.pieces, example
    asked = pieces.literal("needle", pair(found.key, found.value))
    separator, last = pieces.literal("haystack", SEPARATOR), len(found.text)
    if index == len(found.starts):
        return [pieces.slice("distractor", source, found.text, 0, last), separator, asked]
    start = found.starts[index]
    before = [pieces.slice("distractor", source, found.text, 0, start)] if start else []
    rest = pieces.slice("distractor", source, found.text, start, last)
    return [*before, asked, separator, rest]


def _released(own: Slice, tables: Tables, counts: Counts) -> list[Example]:
    """The released objects, by their number of pairs, in the order of their ids."""
    examples: list[Example] = []
    for n, _ in own.places:
        ((lang, table),) = tables[f"pairs_{n}"].items()
        objects = [Object(**found) for found in table.to_pylist()]
        objects.sort(key=lambda o: rank_key(NAME, "examples", own.seed, o.passage_id))
        examples += [
            Example(n, f"key_value_{n}/{lang}/{found.passage_id}", found)
            for found in sorted(objects[: own.examples], key=lambda o: o.passage_id)
        ]
    counts["examples_lacking"] = own.examples * len(own.places) - len(examples)
    return examples


def _names(own: Slice) -> Iterator[tuple[int, int]]:
    """The number of pairs of each object that is drawn, and its own number."""
    for n, _ in own.places:
        yield from ((n, number) for number in range(own.examples))


def _of_uuids(own: Slice) -> list[Example]:
    """Objects of random UUIDs, as the released ones are, but drawn by seed."""
    examples = []
    for n, number in _names(own):
        draw = rng(NAME, "uuids", own.seed, n, number)
        drawn = [str(uuid.UUID(bytes=draw.bytes(16), version=4)) for _ in range(2 * n)]
        examples.append(_made(own, n, number, drawn, 0))
    return examples


def _of_words(own: Slice, table: pa.Table, counts: Counts) -> list[Example]:
    """Objects whose keys and values are distinct words of the vocabulary, drawn by seed."""
    words = _vocabulary(table)
    counts |= {"unusable_words": table.num_rows - len(words), "value_within_a_word": 0}
    examples = []
    for n, number in _names(own):
        if len(words) < 2 * n:
            raise UserError(
                f"benchmarks.{NAME}.n_pairs has {n}, which takes {2 * n} words, but {own.words} has "
                f"{len(words)} in {own.lang!r}: choose a smaller number, or leave the language out of "
                "`key_languages`."
            )
        draw = rng(NAME, "words", own.seed, own.lang, n, number)
        drawn = [words[i] for i in draw.choice(len(words), 2 * n, replace=False)]
        asked = _apart(drawn)
        if asked is None:
            counts["value_within_a_word"] += 1
        else:
            examples.append(_made(own, n, number, drawn, asked))
    return examples


def _vocabulary(table: pa.Table) -> list[str]:
    """The words that can be keys and values, in a fixed order.

    Words that differ in case only are one; those that JSON writes otherwise than they are (with
    quotes, for instance) and those with white space are none.
    """
    found: dict[str, str] = {}
    for word in table["word"].to_pylist():
        plain = word and json.dumps(word, ensure_ascii=False)[1:-1] == word
        if plain and not any(map(str.isspace, word)):
            found.setdefault(word.casefold(), word)
    return sorted(found.values())


def _apart(drawn: Sequence[str]) -> int | None:
    """The first pair whose value is part of no other word: an answer that holds it means it."""
    folded = [word.casefold() for word in drawn]
    for i, value in enumerate(folded[1::2]):
        if sum(value in word for word in folded) == 1:
            return i
    return None


def _made(own: Slice, n: int, number: int, drawn: Sequence[str], asked: int) -> Example:
    """An object from key, value, key, value and so on."""
    pairs = list(zip(drawn[::2], drawn[1::2], strict=True))
    key, value = pairs.pop(asked)
    name = f"{n}-{number:04d}"
    return Example(n, f"{NAME}/{own.slice}/{name}", row(name, pairs, key, value))
