"""A book as an endless sequence of sentences, with the tokens that each adds to a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from needlework.prompts.counting.pieces import Pieces


class Run(NamedTuple):
    """The sentences from `start` to before `end`."""

    start: int
    end: int


class Haystack:
    """The sentences of a language's books, at least two; after the last, the first follows again.

    `table` has the schema BOOKS. Sentences are counted up to `most_tokens` tokens.
    """

    def __init__(
        self, corpus: str, lang: str, table: pa.Table, pieces: Pieces, most_tokens: int
    ) -> None:
        self._pieces, self._most_tokens = pieces, most_tokens
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
    def _totals(self) -> np.ndarray:
        """About the tokens of all sentences before each one (one entry more)."""
        documents = [self._pieces.document(text) for text in self._texts]
        own = np.array(
            [
                document.before(end) - document.before(start)
                for book, start, end in self._places
                for document in [documents[book]]
            ]
        )
        own = np.maximum(own, 1)
        repeats = self._most_tokens // int(own.sum()) + 1
        return np.concatenate([[0], np.cumsum(np.tile(own, repeats + 1))])

    def most(self, tokens: int) -> int:
        """The approximate number of sentences, from the first, that have at most `tokens` tokens."""
        return int(np.searchsorted(self._totals, tokens, side="right")) - 1

    @property
    def longest(self) -> int:
        """The largest number of sentences that a prompt may need."""
        return len(self._totals) - 1

    def numbers(self, run: Run) -> list[int]:
        """The span numbers of a run: slices of the books, joined."""
        numbers: list[int] = []
        for first, last in self._stretches(run):
            if numbers and self.joint:
                numbers.append(self._pieces.literal("haystack", self.joint))
            book, start, _ = self._places[first]
            end = self._places[last][2]
            numbers.append(
                self._pieces.slice("haystack", self._names[book], self._texts[book], start, end)
            )
        return numbers

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
    def documents(self) -> list[str]:
        """The texts of the books."""
        return self._texts
