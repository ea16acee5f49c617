"""A book as an endless sequence of sentences, each with what it adds to a prompt in tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from needlework.prompts.spans import Span, literal
from needlework.prompts.sums import Counter, Document, Part
from needlework.prompts.tokenizers import Tokenizer

# More characters than a token has in running text.
_CHARACTERS = 8


class Text(NamedTuple):
    """A piece of a prompt and its tokens, counted by itself."""

    text: str
    tokens: int


class Run(NamedTuple):
    """The sentences `start` to `end`, without `end`."""

    start: int
    end: int


class Haystack:
    """The sentences of a language's books (rows of BOOKS, two at the least), from the first again after
    the last.

    With a `counter`, runs are counted from the books' running sums. Without, from their sentences' costs;
    that is exact where a sentence changes the tokens of no other than its neighbours. `most_tokens` is as
    far as sentences are ever wanted.
    """

    def __init__(
        self,
        corpus: str,
        lang: str,
        table: pa.Table,
        tokenizer: Tokenizer,
        most_tokens: int,
        counter: Counter | None = None,
    ) -> None:
        self._count, self._most_tokens = tokenizer.count, most_tokens
        self._counter = counter
        self._texts: list[str] = table["text"].to_pylist()
        self._names = [f"{corpus}/{lang}/{book}" for book in table["passage_id"].to_pylist()]
        # (book, first character, one after the last) of each sentence.
        self._places: list[tuple[int, int, int]] = []
        starts: list[list[int]] = table["sentence_starts"].to_pylist()
        boundaries = [
            text[start - 1]
            for text, own in zip(self._texts, starts, strict=True)
            for start in own[1:]
        ]
        # The table joins the sentences as the language does: with a space, or with nothing.
        self.joint = " " if all(character == " " for character in boundaries) else ""
        for book, (text, own) in enumerate(zip(self._texts, starts, strict=True)):
            ends = [start - len(self.joint) for start in own[1:]] + [len(text)]
            self._places += [(book, start, end) for start, end in zip(own, ends, strict=True)]

    def sentence(self, index: int) -> str:
        """The text of a sentence."""
        book, start, end = self._places[index % len(self._places)]
        return self._texts[book][start:end]

    @cached_property
    def _costs(self) -> tuple[np.ndarray, np.ndarray]:
        """Tokens of each sentence alone, and of all sentences before each one (one entry more)."""
        n = len(self._places)
        own, gains, total = [], [], 0
        for i in range(n):
            if total > self._most_tokens:
                break
            own.append(self._count(self.sentence(i)))
            gains.append(own[0] if i == 0 else self._gain(i, own[i - 1]))
            total += gains[-1]
        if total <= self._most_tokens:
            # The book again and again, with the cost of its first sentence after its last.
            again = [self._gain(n, own[-1]), *gains[1:]]
            repeats = self._most_tokens // max(1, sum(again)) + 1
            own, gains = own * (repeats + 1), gains + again * repeats
        return np.array(own), np.concatenate([[0], np.cumsum(gains)])

    @cached_property
    def _sums(self) -> list[Document]:
        """The books with their running sums, as far as sentences are ever wanted."""
        return [self._summed(text) for text in self._texts]

    def _summed(self, text: str) -> Document:
        assert self._counter is not None
        beginning = self._counter.document(text[: _CHARACTERS * self._most_tokens])
        if len(beginning.text) == len(text) or beginning.tokens > self._most_tokens:
            return beginning
        return self._counter.document(text)

    @cached_property
    def _totals(self) -> np.ndarray:
        """The tokens of all sentences before each one (one entry more); with a counter, about."""
        if self._counter is None:
            return self._costs[1]
        own = np.array(
            [
                sums.before(end) - sums.before(start)
                for book, start, end in self._places
                for sums in [self._sums[book]]
            ]
        )
        own = np.maximum(own, 1)
        repeats = self._most_tokens // int(own.sum()) + 1
        return np.concatenate([[0], np.cumsum(np.tile(own, repeats + 1))])

    def _gain(self, index: int, before: int) -> int:
        """The tokens that a sentence adds to the one before it, which has `before`."""
        pair = self.sentence(index - 1) + self.joint + self.sentence(index)
        return self._count(pair) - before

    def most(self, tokens: int) -> int:
        """How many sentences from the first have at most so many tokens."""
        return int(np.searchsorted(self._totals, tokens, side="right")) - 1

    @property
    def longest(self) -> int:
        """How many sentences there are costs of."""
        return len(self._totals) - 1

    def parts(self, run: Run) -> Iterator[Part]:
        """A run as pieces for the counter."""
        assert self._counter is not None
        for i, (first, last) in enumerate(self._stretches(run)):
            if i and self.joint:
                yield self._counter.part(self.joint)
            book, start, _ = self._places[first]
            yield self._sums[book].part(start, self._places[last][2])

    def edge(self, index: int) -> Text:
        """A sentence and its tokens."""
        return Text(self.sentence(index), int(self._costs[0][index]))

    def cost(self, run: Run) -> int:
        """The tokens of a run of at least one sentence."""
        own, totals = self._costs
        return int(own[run.start] + totals[run.end] - totals[run.start + 1])

    def spans(self, run: Run) -> list[Span]:
        """A run as slices of the books, joined."""
        spans: list[Span] = []
        for first, last in self._stretches(run):
            if spans and self.joint:
                spans.append(literal("haystack", self.joint))
            book, start, _ = self._places[first]
            spans.append(Span("haystack", self._names[book], start, self._places[last][2]))
        return spans

    def _stretches(self, run: Run) -> Sequence[tuple[int, int]]:
        """The first and last sentence of each part of a run that stands in one piece in a book."""
        n = len(self._places)
        parts, start = [], run.start
        while start < run.end:
            first = start % n
            stop = min(run.end - start, self._book_ends[self._places[first][0]] - first)
            parts.append((first, first + stop - 1))
            start += stop
        return parts

    @cached_property
    def _book_ends(self) -> dict[int, int]:
        """For each book, one after the index of its last sentence."""
        return {book: index + 1 for index, (book, _, _) in enumerate(self._places)}

    @property
    def documents(self) -> dict[str, str]:
        """The books by the names under which spans refer to them."""
        return dict(zip(self._names, self._texts, strict=True))
