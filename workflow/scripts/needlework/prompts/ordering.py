"""Prompts in an order in which neighbours share the longest prefix, and where to cut it into shards.

An engine with prefix caching computes the common prefix of two prompts once, if the second comes while the
cache still holds the first. The prefixes of all prompts form a tree. A walk through it, which is the
lexicographic order, leaves a prefix only after all prompts that begin with it, so a cache of little more
than one prompt suffices. Prompts are compared as sequences of spans, without rendering them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise, takewhile
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from needlework.prompts.spans import Span, span_text

# The number of characters of a span that are compared as text. Beyond them, only spans that begin at the
# same place of the same document count as having more in common.
HEAD = 512

# A document's text is read only if some span of it has at most this number of characters. Others are books
# and lists of words: their names suffice, and their texts take long to put together.
SHORT = 20_000

# How many spans are compared at first. Prompts that have these in common are compared in the next,
# twice as many, and so on.
FIRST_SPANS = 64

# How far a shard's tokens may be from an even share, as a part of that share.
TOLERANCE = 0.1

# The keys by which spans are compared: their text, or its head and then their place.
Key = tuple[str, str, int, int]


class Order(NamedTuple):
    """An order of prompts."""

    # The indices of the prompts, in the order of sending.
    places: list[int]
    # For each prompt in this order, how many characters it has in common with the beginning of the previous
    # prompt (int64).
    shared: np.ndarray
    # For each prompt in this order, its number of characters (int64).
    characters: np.ndarray

    def shares(self) -> np.ndarray:
        """By a prompt's index, which share of it is the beginning of another prompt too."""
        most = np.maximum(self.shared, np.append(self.shared[1:], 0)[: len(self.shared)])
        found = np.zeros(len(most))
        found[self.places] = most / np.maximum(1, self.characters)
        return found


class PromptStore(Sequence[list[Span]]):
    """Prompts in memory. Each distinct span is held once, and takes 4 bytes in each prompt."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._ids: dict[Span, int] = {}
        self._prompts: list[np.ndarray] = []

    def add(self, column: pa.ChunkedArray) -> None:
        """Add the prompts of an instance file: its column `prompt`."""
        for chunk in column.chunks:
            spans = chunk.flatten()
            codes, firsts = _distinct(spans)
            named = (Span(**span) for span in spans.take(firsts).to_pylist())
            ids = np.array([self._id(span) for span in named], np.int32)
            lengths = chunk.value_lengths().to_numpy(zero_copy_only=False)
            self._prompts += np.split(ids[codes], np.cumsum(lengths))[:-1]

    def _id(self, span: Span) -> int:
        found = self._ids.setdefault(span, len(self._spans))
        if found == len(self._spans):
            self._spans.append(span)
        return found

    def __len__(self) -> int:
        return len(self._prompts)

    def __getitem__(self, place: int) -> list[Span]:  # type: ignore[override]  # no slices
        return [self._spans[i] for i in self._prompts[place]]

    def order(self, documents: Mapping[str, str]) -> Order:
        """The order in which neighbours share the longest prefix.

        Which of two prompts comes first depends only on these two: on the texts of their spans and, for long
        texts, on their documents' names. Equal prompts keep their order. The role of a span is ignored.
        """
        keys = _keys(self._spans, documents)
        distinct = sorted(set(keys))
        rank = {key: n for n, key in enumerate(distinct)}
        ranks = np.array([rank[key] for key in keys], np.int32)
        places = list(_lexicographic(self._prompts, ranks, range(len(self)), 0, FIRST_SPANS))
        prompts = [self._prompts[place] for place in places]
        lengths = [end - start if source else len(text) for text, source, start, end in distinct]
        return Order(places, *_shared(prompts, ranks, distinct, np.array(lengths, np.int64)))


def _distinct(spans: pa.StructArray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct spans: which of them each span is, and the place of the first of each."""
    codes = np.zeros(len(spans), np.int64)
    for field in spans.flatten():
        values = field.dictionary_encode(null_encoding="encode")
        # A pair of numbers below the number of spans fits into 64 bits.
        pairs = codes * len(values.dictionary) + values.indices.to_numpy()
        codes = pa.array(pairs).dictionary_encode().indices.to_numpy().astype(np.int64)
    firsts = np.zeros(codes.max(initial=-1) + 1, np.int64)
    # Of several values for one element, the last is assigned.
    firsts[codes[::-1]] = np.arange(len(codes))[::-1]
    return codes, firsts


def _place(span: Span) -> tuple[str | None, int, int]:
    """The document of a span and the characters of it; a span of its own text has none."""
    return span.source, span.start or 0, span.end or 0


def _keys(spans: Iterable[Span], documents: Mapping[str, str]) -> list[Key]:
    """The key by which each span is compared: short spans of the same text have the same key."""
    shortest: dict[tuple[str, int], Span] = {}
    for span in spans:
        source, start, end = _place(span)
        if source is not None:
            first = shortest.setdefault((source, start), span)
            if end < _place(first)[2]:
                shortest[source, start] = span
    heads = {}
    for (source, start), span in shortest.items():
        short = _place(span)[2] - start <= SHORT
        heads[source, start] = (
            span_text(span._replace(end=start + HEAD), documents) if short else ""
        )
    keys: list[Key] = []
    for span in spans:
        source, start, end = _place(span)
        if source is None:
            keys.append((span.text or "", "", 0, 0))
        elif end - start <= HEAD:
            keys.append((heads[source, start][: end - start], "", 0, 0))
        else:
            keys.append((heads[source, start], source, start, end))
    return keys


def _lexicographic(
    prompts: Sequence[np.ndarray], ranks: np.ndarray, places: Iterable[int], first: int, step: int
) -> Iterator[int]:
    """The places sorted by the ranks of their prompts' spans from number `first` on."""
    # Big-endian numbers compare as their bytes do.
    keys = {n: ranks[prompts[n][first : first + step]].astype(">u4").tobytes() for n in places}
    for key, group in groupby(sorted(keys, key=keys.__getitem__), keys.__getitem__):
        same = list(group)
        if len(same) > 1 and len(key) == 4 * step:
            yield from _lexicographic(prompts, ranks, same, first + step, 2 * step)
        else:
            yield from same


def _shared(
    prompts: Sequence[np.ndarray], ranks: np.ndarray, keys: Sequence[Key], lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How many characters each prompt has in common with the one before it (0 for the first), and has.

    `lengths` are those of the `keys`, of which `ranks` are the numbers.
    """
    shared = np.zeros(len(prompts), np.int64)
    for n in range(1, len(prompts)):
        both = min(len(prompts[n - 1]), len(prompts[n]))
        before, after = (ranks[prompt[:both]] for prompt in prompts[n - 1 : n + 1])
        differ = before != after
        same = int(differ.argmax()) if differ.any() else both
        shared[n] = lengths[after[:same]].sum()
        if same < both:
            one, other = keys[before[same]], keys[after[same]]
            if one[1] and one[1:3] == other[1:3]:
                shared[n] += min(lengths[before[same]], lengths[after[same]])
            else:
                shared[n] += common(one[0], other[0])
    return shared, np.array([lengths[ranks[own]].sum() for own in prompts], np.int64)


def common(one: Sequence[object], other: Sequence[object]) -> int:
    """The length of the common prefix of two sequences."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def cut(
    tokens: Sequence[int] | np.ndarray,
    shared: Sequence[int] | np.ndarray,
    n: int,
    tolerance: float = TOLERANCE,
) -> list[range]:
    """The places of the n shards of an order: contiguous, in order, and together all of it.

    `tokens` and `shared` have a value for each prompt in the order. Shards are cut where neighbours share
    least, at places that keep each shard's tokens within `tolerance` of an even share. If there is no such
    place, as with few or very different prompts, the nearest place is taken, and shards can be empty.
    """
    before = np.concatenate([[0], np.cumsum(np.asarray(tokens, np.int64))])
    between = np.concatenate([np.asarray(shared, np.int64), [0]])
    share = before[-1] / n
    cuts = [0]
    for k in range(1, n):
        distance = np.abs(before - k * share)
        # Both ends of a shard move.
        near = np.flatnonzero(distance <= share * tolerance / 2)
        if not near.size:
            near = np.flatnonzero(distance == distance.min())
        cuts.append(int(min(near, key=lambda place: (between[place], distance[place], place))))
    cuts.append(len(before) - 1)
    return [range(first, last) for first, last in pairwise(cuts)]
