"""The tasks of common words: a shuffled, numbered list in which ten words are more frequent than the others.

Paper, section 2.2; where the paper is silent, this follows the released code.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from needlework.benchmarks.oneruler.plan import (
    COMMON_WORDS,
    NAME,
    Frequencies,
    Slice,
    frequencies,
)
from needlework.benchmarks.oneruler.templates import SPARE_TOKENS, Example, WordPrompt, corpus_file
from needlework.errors import UserError
from needlework.prompts.counting.pieces import NumberedLists, Pieces, fit
from needlework.prompts.spans import Span
from needlework.records import DOCUMENTS
from needlework.seeding import rng

Array = npt.NDArray[np.int64]


def vocabulary(words: Iterable[str]) -> list[str]:
    """The different words, sorted. Words that differ in case or width only are one word, as in the metric."""
    seen: dict[str, str] = {}
    for word in sorted(set(words)):
        seen.setdefault(unicodedata.normalize("NFKC", word).casefold().strip(), word)
    return list(seen.values())


class WordTasks:
    """Builds the prompts of the tasks of common words of a pair of languages, and the lists in them.

    Raises UserError if there are too few words.
    """

    def __init__(
        self,
        own: Slice,
        prompt: WordPrompt,
        words: Iterable[str],
        pieces: Pieces,
    ) -> None:
        self._own, self._pieces = own, pieces
        self._words = vocabulary(words)
        if len(self._words) <= COMMON_WORDS:
            raise UserError(
                f"{corpus_file(own.data, 'words', own.context_lang)}: the "
                "dictionary has "
                f"{len(self._words)} different nouns, adjectives and verbs (words that differ only in case "
                f"or width are one), but {COMMON_WORDS + 1} are needed: add words to it."
            )
        self._around, self._around_answer = prompt.pieces, prompt.around_answer
        self._lists = NumberedLists(pieces, self._words, self._around)
        self._ids: list[npt.NDArray[np.int32]] = []
        self._names: list[str] = []

    def room(self) -> int:
        """The tokens of the longest right answer: the ten longest words, numbered, and texts around them."""
        longest = np.argsort(self._lists.costs, kind="stable")[-COMMON_WORDS:]
        answer = "\n".join(f"{i}. {self._words[k]}" for i, k in enumerate(longest, start=1))
        return self._pieces.count(self._around_answer) + self._pieces.count(answer) + SPARE_TOKENS

    def build(self, task: str, length: int, index: int, budget: int) -> Example | None:
        """The prompt of an example, with as many different words as fit; None if eleven words do not fit.

        The words are drawn by task and example, so a longer list contains the words of a shorter list.
        """
        names = (NAME, self._own.seed, task, self._own.context_lang, index)
        drawn = rng(*names, "words").permutation(len(self._words))
        counts = frequencies(self._own, task, length)
        word_costs = self._total_costs(drawn, counts)

        @cache
        def order(n: int) -> Array:
            each = np.repeat(drawn[:n], _repeats(n, counts))
            return each[rng(*names, "order", length).permutation(len(each))]

        def predict(n: int) -> int:
            return self._lists.predict(_entries(n, counts), int(word_costs[n]))

        fitted = fit(
            predict=predict,
            count=cache(lambda n: self._lists.tokens(order(n))),
            guess=lambda tokens: _most(predict, tokens, len(drawn)),
            budget=budget,
            least=COMMON_WORDS + 1,
            most=len(drawn),
        )
        if fitted is None:
            return None
        n, n_tokens = fitted
        listed = self._lists.text(order(n))
        return Example(
            self._numbers(f"{task}-{length}-{index:03}", order(n), listed),
            listed.join(self._around),
            n_tokens,
            [self._words[k] for k in drawn[:COMMON_WORDS]],
            exhausted=n == len(drawn),
        )

    def documents(self) -> pa.Table:
        """The lists made so far, as rows of records.DOCUMENTS."""
        lengths = [len(ids) for ids in self._ids]
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int32)
        ids = np.concatenate(self._ids) if self._ids else np.zeros(0, dtype=np.int32)
        words = pa.array(self._words, pa.string()).take(pa.array(ids))
        columns = [
            pa.array(self._names, pa.string()),
            pa.nulls(len(self._names), pa.string()),
            pa.ListArray.from_arrays(pa.array(offsets), words),
        ]
        return pa.table(columns, schema=DOCUMENTS)

    def _total_costs(self, drawn: Array, counts: Frequencies) -> Array:
        """Entry n: what the words of a list of n different ones cost, without their numbers."""
        own = self._lists.costs[drawn]
        weighted = own * _repeats(len(drawn), counts)
        return np.concatenate([[0], np.cumsum(weighted)])

    def _numbers(self, name: str, ids: Array, text: str) -> list[int]:
        """The span numbers of a prompt with a list, which becomes a document."""
        self._names.append(name)
        self._ids.append(ids.astype(np.int32))
        source = f"{NAME}/{self._own.slice}/{name}"
        # The text of the list is not held: there are gigabytes of them.
        listed = self._pieces.number(Span("haystack", source, 0, len(text)))
        roles = [*["instruction"] * (len(self._around) - 1), "question"]
        first, *others = map(self._pieces.literal, roles, self._around)
        return [first, *chain.from_iterable((listed, other) for other in others)]


def _most(predict: Callable[[int], int], tokens: int, most: int) -> int:
    """The most different words whose prompt is predicted to have at most `tokens` tokens, by bisection."""
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        if predict(middle) <= tokens:
            low = middle
        else:
            most = middle - 1
    return low


def _repeats(n: int, counts: Frequencies) -> Array:
    """How often each of n different words stands in the list: the common ones come first."""
    repeats = np.full(n, counts.other, dtype=np.int64)
    repeats[:COMMON_WORDS] = counts.common
    return repeats


def _entries(n: int, counts: Frequencies) -> int:
    """How long the list of n different words is."""
    common = min(n, COMMON_WORDS)
    return common * counts.common + (n - common) * counts.other
