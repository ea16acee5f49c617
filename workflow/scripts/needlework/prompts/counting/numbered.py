"""The tokens of prompts around numbered lists of words ("1. one 2. two"), from those of words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from needlework.prompts.counting.pieces import Pieces
from needlework.prompts.counting.proofs import Array, Proof, supposed
from needlework.prompts.counting.sums import Part

_DIGITS = "0123456789"


class NumberedLists:
    """Lists of `words` in prompts that have the list between any two of the texts `around`.

    A list is split at two places an entry: behind its number (`cut` characters behind the digits), and behind
    its word. Each word and each number is tokenized once. `costs` are the tokens of each word beyond those
    of "a".
    """

    def __init__(self, pieces: Pieces, words: Sequence[str], around: Sequence[str]) -> None:
        self._pieces, self._texts, self._around = pieces, words, around
        cut, self._proof = _cut(pieces.sums.proof, words), pieces.sums.proof
        self._exact = pieces.sums.exact and cut is not None
        if not self._exact:
            cut, self._proof = 1, supposed(pieces.count)
        self._at = len("1") + (cut or 0)
        self._words, self._stub = self._word_tokens()
        self.costs = self._words - self._stub
        self._labels: list[str] = []
        # Entry i: the tokens from one word to the next one's number i; and the tokens of i entries "a".
        self._numbers = self._totals = np.zeros(1, dtype=np.int64)
        self._first = pieces.count("1. a")
        self._frame = pieces.count("1. a".join(around)) - (len(around) - 1) * self._first

    def text(self, ids: Array) -> str:
        """The list of these words."""
        self._grow(len(ids))
        texts = [""] * (2 * len(ids))
        texts[::2] = self._labels[: len(ids)]
        texts[1::2] = map(self._texts.__getitem__, ids.tolist())
        return "".join(texts)[1:]

    def tokens(self, ids: Array) -> int:
        """The exact tokens of the prompt with the list of these words."""
        if not self._exact:
            return self._pieces.count(self.text(ids).join(self._around))
        self._grow(len(ids))
        between = int(self._numbers[2 : len(ids) + 1].sum()) + int(self._words[ids[:-1]].sum())
        label = "1. "
        part = self._pieces.sums.part
        listed = Part(label[: self._at], between, label[self._at :] + self._texts[ids[-1]])
        first, *others = map(part, self._around)
        return self._pieces.sums.tokens([first, *chain(*((listed, other) for other in others))])

    def predict(self, entries: int, costs: int) -> int:
        """About the tokens of the prompt with a list of so many entries, whose words have `costs` in sum."""
        self._grow(entries)
        return self._frame + (len(self._around) - 1) * (costs + int(self._totals[entries]))

    def _word_tokens(self) -> tuple[Array, int]:
        """The tokens from its number to its end of each word, and of "a"."""
        listed = [*self._texts, "a"]
        ends = np.cumsum([len(word) + len(" 1. ") for word in listed])
        starts = np.concatenate([[0], ends[:-1]]) + len(" ") + self._at
        # An entry more: the last word, too, has its space.
        text = "".join(f" 1. {word}" for word in listed) + " 1."
        *words, stub = self._between(text, starts, ends)
        return np.array(words), int(stub)

    def _grow(self, n: int) -> None:
        """Count the numbers to n and some more."""
        if len(self._totals) > n:
            return
        last = 2 * n + 1024
        self._labels = [f" {i}. " for i in range(1, last + 1)]
        widths = np.array([len(str(i)) for i in range(1, last + 1)])
        ends = np.cumsum(widths + len(". a "))[:-1]
        text = " ".join(f"{i}. a" for i in range(1, last + 1)) + " "
        found = self._between(text, ends - 1, ends + widths[1:] + self._at - 1)
        self._numbers = np.concatenate([[0, 0], found])
        self._totals = np.concatenate(
            [[0, self._first], self._first + np.cumsum(found + self._stub)]
        )

    def _between(self, text: str, starts: Array, ends: Array) -> Array:
        """The tokens between each two places of a text, all of which are split."""
        found = self._proof.before(text, np.concatenate([starts, ends]))
        assert found is not None, "a proof counts lists"
        return found[len(starts) :] - found[: len(starts)]


def _cut(proof: Proof, words: Sequence[str]) -> int | None:
    """The place of the split behind each number: before or behind its "."; None where there is none."""
    if all(proof.splits(word[-1], " ") for word in [*words, "a"]):
        if all(proof.splits(digit, ".") for digit in _DIGITS):
            return 0
        if proof.splits(".", " "):
            return 1
    return None
