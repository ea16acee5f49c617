"""Key-value retrieval: a JSON object of pairs, one of which is asked for (paper, section 4)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from needlework.benchmarks.lost_in_the_middle.pairs_corpus import SEPARATOR, Object, pair, row
from needlework.benchmarks.lost_in_the_middle.plan import NAME, Slice, template
from needlework.benchmarks.lost_in_the_middle.rows import Factors, Rows
from needlework.contract import Built
from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.prompts.tokenizers import Tokenizer
from needlework.prompts.wording import Templates
from needlework.records import DOCUMENTS
from needlework.seeding import rank_key, rng

Tables = Mapping[str, Mapping[str, pa.Table]]


def build(
    own: Slice,
    tables: Tables,
    texts: Templates,
    tokenizer: Tokenizer,
) -> Built:
    """The instances of a slice of key-value retrieval.

    Released objects are taken as they are; if there are more than `examples`, a sample is drawn by seed. All
    other objects are drawn by seed. The pair that is asked for is then moved to each index, while the other
    pairs keep their order. The counts: `examples_lacking`, the number of examples that could not be made;
    `unusable_words`, words of the vocabulary that cannot be used (see `_vocabulary`); `value_within_a_word`,
    examples in which every value is part of another word.
    """
    counts: dict[str, int] = {}
    if own.keys == "words":
        objects = _with_words(own, tables["words"][own.lang], counts)
    elif own.source == "constructed":
        objects = _with_uuids(own)
    else:
        objects = _released(own, tables, counts)
    builder = _Builder(own, texts, tokenizer)
    builder.add(objects)
    documents = None
    if own.keys == "words" or own.source == "constructed":
        documents = _documents(objects)
    return Built(builder.rows.table(), counts, documents)


Objects = dict[int, list[Object]]


def _released(own: Slice, tables: Tables, counts: dict[str, int]) -> Objects:
    """The released objects, by their number of pairs, in the order of their ids."""
    objects: Objects = {}
    lacking = 0
    for n, _ in own.places:
        ((lang, table),) = tables[f"pairs_{n}"].items()
        rows = table.to_pylist()
        prefix = f"key_value_{n}/{lang}"
        ranked = sorted(rows, key=lambda r: rank_key(NAME, "examples", own.seed, r["passage_id"]))[
            : own.examples
        ]
        objects[n] = [
            Object(**found, source=f"{prefix}/{found['passage_id']}")
            for found in sorted(ranked, key=lambda r: r["passage_id"])
        ]
        lacking += own.examples - len(ranked)
    counts["examples_lacking"] = lacking
    return objects


def _with_uuids(own: Slice) -> Objects:
    """Objects of random UUIDs, as the released ones are, but drawn by seed."""
    return {
        n: [
            _made(own, n, example, [_uuid(draw) for _ in range(2 * n)], 0)
            for example in range(own.examples)
            for draw in [rng(NAME, "uuids", own.seed, n, example)]
        ]
        for n, _ in own.places
    }


def _uuid(draw: Any) -> str:
    return str(uuid.UUID(bytes=draw.bytes(16), version=4))


def _with_words(own: Slice, words: pa.Table, counts: dict[str, int]) -> Objects:
    """Objects whose keys and values are distinct words of the vocabulary, drawn by seed."""
    lang = own.lang
    vocabulary, counts["unusable_words"] = _vocabulary(words)
    counts["value_within_a_word"] = 0
    objects: Objects = {}
    for n, _ in own.places:
        if len(vocabulary) < 2 * n:
            raise UserError(
                f"benchmarks.{NAME}.n_pairs has {n}, which takes {2 * n} words, but "
                f"{own.words} has {len(vocabulary)} in {lang!r}: choose a smaller "
                "number, or leave the language out of "
                "`key_languages`."
            )
        objects[n] = []
        for example in range(own.examples):
            draw = rng(NAME, "words", own.seed, lang, n, example)
            drawn = [vocabulary[i] for i in draw.choice(len(vocabulary), 2 * n, replace=False)]
            asked = _apart(drawn)
            if asked is None:
                counts["value_within_a_word"] += 1
            else:
                objects[n].append(_made(own, n, example, drawn, asked))
    return objects


def _vocabulary(words: pa.Table) -> tuple[list[str], int]:
    """The words that can be keys and values, in a fixed order, and how many rows give none.

    Words that differ in case only are one; those that JSON writes otherwise than they are (with
    quotes, for instance) and those with white space are none.
    """
    found: dict[str, str] = {}
    for word in words["word"].to_pylist():
        if (
            word
            and not any(map(str.isspace, word))
            and json.dumps(word, ensure_ascii=False)[1:-1] == word
        ):
            found.setdefault(word.casefold(), word)
    return sorted(found.values()), words.num_rows - len(found)


def _apart(drawn: Sequence[str]) -> int | None:
    """The first pair whose value is part of no other word: an answer that holds it means it."""
    folded = [word.casefold() for word in drawn]
    for i in range(len(drawn) // 2):
        value = folded[2 * i + 1]
        if sum(value in word for word in folded) == 1:
            return i
    return None


def _made(own: Slice, n: int, example: int, drawn: Sequence[str], asked: int) -> Object:
    """A row of PAIRS from key, value, key, value and so on."""
    pairs = list(zip(drawn[::2], drawn[1::2], strict=True))
    key, value = pairs.pop(asked)
    name = f"{n}-{example:04d}"
    return row(name, pairs, key, value, f"{NAME}/{own.slice}")


def _documents(objects: Objects) -> pa.Table:
    """The objects that no corpus file holds, as records.DOCUMENTS."""
    rows = [
        {"passage_id": found.passage_id, "text": found.text}
        for rows in objects.values()
        for found in rows
    ]
    return pa.Table.from_pylist(rows, schema=DOCUMENTS)


class _Builder:
    """Puts the pair that is asked for at each index of its object."""

    def __init__(self, own: Slice, texts: Templates, tokenizer: Tokenizer) -> None:
        self.own = own
        self.template = texts.pieces(template(own))
        self.rows = Rows(own, tokenizer)

    def add(self, objects: Objects) -> None:
        """Add the prompts of all objects."""
        asked = [(n, found) for n, rows in objects.items() for found in rows]
        texts = (found.text for _, found in asked)
        self.rows.pieces.sums.sum_ahead(texts, self.own.slice)
        for n, found in progress(asked, desc="prompts", unit="example"):
            for index, numbers in self._prompts(n, found):
                self.rows.add(
                    numbers,
                    f"{n}-{found.passage_id.rpartition('-')[2]}",
                    [found.value],
                    Factors(
                        self.own.lang,
                        n_documents=n,
                        gold_index=index,
                        query_aware=self.own.query_aware,
                        keys=self.own.keys,
                    ),
                )

    def _prompts(self, n: int, found: Object) -> Iterator[tuple[int, list[int]]]:
        """The span numbers of an object's prompts, each with the index of the pair that is asked for."""
        pieces, key = self.rows.pieces, found.key
        needle = pair(key, found.value)
        *before, middle, end = self.template
        head = [pieces.literal("instruction", before[0])]
        if len(before) == 2:
            head += [pieces.literal("question", key), pieces.literal("instruction", before[1])]
        head.append(pieces.literal("haystack", "{"))
        tail = [
            pieces.literal("haystack", "}"),
            pieces.literal("instruction", middle),
            pieces.literal("question", key),
            pieces.literal("answer_format", end),
        ]
        ((_, indices),) = [place for place in self.own.places if place[0] == n]
        for index in indices:
            yield index, [*head, *self._object(found, needle, index), *tail]

    def _object(self, found: Object, needle: str, index: int) -> list[int]:
        """The spans of the object, without its braces."""
        pieces, source, text = self.rows.pieces, found.source, found.text
        asked, separator = pieces.literal("needle", needle), pieces.literal("haystack", SEPARATOR)
        starts = found.starts
        if index == len(starts):
            return [pieces.slice("distractor", source, text, 0, len(text)), separator, asked]
        start = starts[index]
        rest = pieces.slice("distractor", source, text, start, len(text))
        before = [pieces.slice("distractor", source, text, 0, start)] if start else []
        return [*before, asked, separator, rest]
