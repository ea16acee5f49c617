"""The exact tokens of numbered lists of words ("1. one 2. two"), from those of their words and numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from needlework.prompts.proofs import Array
from needlework.prompts.sums import Counter, Part

_DIGITS = "0123456789"


class NumberedSums:
    """Of lists of these words, split at two places an entry: behind its number, and behind its word.

    `words` are the tokens from the one to the other of each word, `shortest` those of "a".
    """

    def __init__(self, counter: Counter, words: Sequence[str], cut: int, own: Array) -> None:
        self._counter, self._texts, self._cut = counter, words, cut
        *each, shortest = own
        self.words, self.shortest = np.array(each), int(shortest)
        self._numbers = np.zeros(2, dtype=np.int64)

    @classmethod
    def of(cls, counter: Counter, words: Sequence[str]) -> NumberedSums | None:
        """None where the tokenizer is not known to split there."""
        splits, listed = counter.proof.splits, [*words, "a"]
        if not all(splits(word[-1], " ") for word in listed):
            return None
        if all(splits(digit, ".") for digit in _DIGITS):
            cut = 0
        elif splits(".", " "):
            cut = 1
        else:
            return None
        ends = np.cumsum([len(word) + len(" 1. ") for word in listed])
        starts = np.concatenate([[0], ends[:-1]]) + len(" 1") + cut
        # An entry more: the last word, too, has its space.
        text = "".join(f" 1. {word}" for word in listed) + " 1."
        found = counter.proof.before(text, np.concatenate([starts, ends]))
        if found is None:
            return None
        own = found[len(listed) :] - found[: len(listed)]
        return cls(counter, words, cut, own)

    def numbers(self, n: int) -> Array:
        """The tokens from one word to the next one's number, by this number: entries 2 to n or more."""
        if len(self._numbers) <= n:
            last = 2 * n + 1024
            width = [len(str(i)) for i in range(1, last + 1)]
            ends = np.cumsum(np.array(width) + len(". a "))
            starts = ends[:-1] - 1
            cuts = ends[:-1] + np.array(width[1:]) + self._cut
            text = " ".join(f"{i}. a" for i in range(1, last + 1)) + " "
            found = self._counter.proof.before(text, np.concatenate([starts, cuts]))
            assert found is not None, "the text is plain ASCII"
            self._numbers = np.concatenate([[0, 0], found[last - 1 :] - found[: last - 1]])
        return self._numbers

    def part(self, ids: Array) -> Part:
        """The list of these words, as a piece of a prompt."""
        between = int(self.numbers(len(ids))[2 : len(ids) + 1].sum())
        label = "1. "
        at = 1 + self._cut
        return Part(
            label[:at],
            between + int(self.words[ids[:-1]].sum()),
            label[at:] + self._texts[ids[-1]],
        )
