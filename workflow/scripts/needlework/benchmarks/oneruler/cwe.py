"""The tasks of common words: a shuffled, numbered list in which ten words are more frequent than the others.

Paper, section 2.2; where the paper is silent, this follows the released code.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache, cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from needlework.benchmarks.oneruler.plan import (
    COMMON_WORDS,
    NAME,
    SPARE_TOKENS,
    Made,
    Slice,
    frequencies,
)
from needlework.data.corpora.registry import corpus_table
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
    """Builds the prompts, and the lists in them, of the tasks of common words in a pair of languages.

    `prompt` is the text of cwe.txt: it has the list once, in Vietnamese twice. Raises UserError if there are
    too few words.
    """

    def __init__(self, own: Slice, prompt: str, words: Iterable[str], pieces: Pieces) -> None:
        self._own, self._pieces = own, pieces
        self._words = vocabulary(words)
        if len(self._words) <= COMMON_WORDS:
            raise UserError(
                f"{corpus_table(f'{own.data}_words', own.context_lang)}: the dictionary has "
                f"{len(self._words)} different nouns, adjectives and verbs (words that differ only in case "
                f"or width are one), but {COMMON_WORDS + 1} are needed: add words to it."
            )
        self._around = prompt.split("{context}")
        self._lists = NumberedLists(pieces, self._words, self._around)
        self._ids: list[npt.NDArray[np.int32]] = []
        self._names: list[str] = []

    @cached_property
    def room(self) -> int:
        """The tokens of an answer: the run's, or of the ten longest words, numbered, and the question's."""
        longest = np.argsort(self._lists.costs, kind="stable")[-COMMON_WORDS:]
        answer = "\n".join(f"{i}. {self._words[k]}" for i, k in enumerate(longest, start=1))
        measured = self._pieces.count(self._around[-1].strip()) + self._pieces.count(answer)
        return self._own.max_new_tokens["cwe"] or measured + SPARE_TOKENS

    def build(self, task: str, length: int, index: int, budget: int) -> Made | None:
        """The prompt of an example, with as many different words as fit; None if eleven words do not fit.

        The words are drawn by task and example, so a longer list contains the words of a shorter list.
        """
        names = (NAME, self._own.seed, task, self._own.context_lang, index)
        drawn = rng(*names, "words").permutation(len(self._words))
        counts = frequencies(self._own, task, length)
        # Of the first n words: how long their list is, and what they cost in it without their numbers.
        repeats = np.full(len(drawn), counts.other, dtype=np.int64)
        repeats[:COMMON_WORDS] = counts.common
        entries = np.concatenate([[0], np.cumsum(repeats)])
        costs = np.concatenate([[0], np.cumsum(self._lists.costs[drawn] * repeats)])

        @cache
        def order(n: int) -> Array:
            each = np.repeat(drawn[:n], repeats[:n])
            return each[rng(*names, "order", length).permutation(len(each))]

        def predict(n: int) -> int:
            return self._lists.predict(int(entries[n]), int(costs[n]))

        fitted = fit(
            predict=predict,
            count=cache(lambda n: self._lists.tokens(order(n))),
            guess=lambda tokens: bisect_right(range(1, len(drawn) + 1), tokens, key=predict),
            budget=budget,
            least=COMMON_WORDS + 1,
            most=len(drawn),
        )
        if fitted is None:
            return None
        n, n_tokens = fitted
        listed = self._lists.text(order(n))
        return Made(
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
