"""The tasks of common words: a shuffled, numbered list in which ten words stand more often than the others.

Paper, section 2.2; what it leaves open is as in the released code.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from needlework.benchmarks.contract import SliceSettings
from needlework.benchmarks.oneruler.numbered import NumberedSums
from needlework.benchmarks.oneruler.plan import COMMON_WORDS, NAME, Frequencies, frequencies
from needlework.benchmarks.oneruler.templates import SPARE_TOKENS, Example, WordPrompt, corpus_file
from needlework.errors import UserError
from needlework.prompts.fitting import fit
from needlework.prompts.spans import Span, literal
from needlework.prompts.sums import Counter
from needlework.prompts.tokenizers import Tokenizer
from needlework.records import DOCUMENTS
from needlework.seeding import rng

Array = npt.NDArray[np.int64]


def vocabulary(words: Iterable[str]) -> list[str]:
    """The different words, sorted; the metric does not see case or width, so these make no other word."""
    seen: dict[str, str] = {}
    for word in sorted(set(words)):
        seen.setdefault(unicodedata.normalize("NFKC", word).casefold().strip(), word)
    return list(seen.values())


class WordTasks:
    """Builds the prompts of the tasks of common words of a pair of languages, and the lists in them.

    Raises UserError where there are too few words.
    """

    def __init__(
        self,
        slice_settings: SliceSettings,
        prompt: WordPrompt,
        words: Iterable[str],
        tokenizer: Tokenizer,
        counter: Counter | None = None,
    ) -> None:
        self._slice_settings, self._count = slice_settings, tokenizer.count
        self._words = vocabulary(words)
        if len(self._words) <= COMMON_WORDS:
            raise UserError(
                f"{corpus_file(slice_settings['data'], 'words', slice_settings['context_lang'])}: the "
                "dictionary has "
                f"{len(self._words)} different nouns, adjectives and verbs (words that differ only in case "
                f"or width are one), but {COMMON_WORDS + 1} are needed: add words to it."
            )
        self._pieces, self._around_answer = prompt.pieces, prompt.around_answer
        self._lists = len(self._pieces) - 1
        # In a list each word and each number is tokenized once, between neighbours as they are there.
        self._shortest = self._count("1. a")
        self._counter = counter
        self._exact = None if counter is None else NumberedSums.of(counter, self._words)
        if self._exact is not None:
            self._word_costs = self._exact.words - self._exact.shortest
        else:
            follower = self._count("1. a 2. a") - self._shortest
            self._word_costs = np.array(
                [self._count(f"1. {word} 2. a") - self._shortest - follower for word in self._words]
            )
        self._labels: list[str] = []
        self._label_costs = np.zeros(1, dtype=np.int64)
        self._frame = self._count(self._around("1. a")) - self._lists * self._shortest
        self._ids: list[npt.NDArray[np.int32]] = []
        self._names: list[str] = []

    def room(self) -> int:
        """The tokens of the ten longest words, numbered, with what may stand around them."""
        longest = np.argsort(self._word_costs, kind="stable")[-COMMON_WORDS:]
        answer = "\n".join(f"{i}. {self._words[k]}" for i, k in enumerate(longest, start=1))
        return self._count(self._around_answer) + self._count(answer) + SPARE_TOKENS

    def build(self, task: str, length: int, index: int, budget: int) -> Example | None:
        """The prompt of an example, with as many different words as fit; None where eleven do not.

        The words are drawn for task and example: a longer list has those of a shorter one.
        """
        names = (
            NAME,
            self._slice_settings["seed"],
            task,
            self._slice_settings["context_lang"],
            index,
        )
        drawn = rng(*names, "words").permutation(len(self._words))
        counts = frequencies(self._slice_settings, task, length)
        word_costs = self._total_costs(drawn, counts)
        texts: dict[int, str] = {}

        @cache
        def order(n: int) -> Array:
            each = np.repeat(drawn[:n], _repeats(n, counts))
            return each[rng(*names, "order", length).permutation(len(each))]

        def text(n: int) -> str:
            if n not in texts:
                texts[n] = self._list(order(n))
            return texts[n]

        def count(n: int) -> int:
            if self._counter is None or self._exact is None:
                return self._count(self._around(text(n)))
            listed, part = self._exact.part(order(n)), self._counter.part
            first, *others = self._pieces
            return self._counter.tokens(
                [part(first), *chain(*((listed, part(piece)) for piece in others))]
            )

        def predict(n: int) -> int:
            listed = _entries(n, counts)
            return self._frame + self._lists * int(word_costs[n] + self._label_total(listed))

        fitted = fit(
            predict=predict,
            count=count,
            guess=lambda tokens: self._guess(tokens, word_costs, counts),
            budget=budget,
            least=COMMON_WORDS + 1,
            most=len(drawn),
        )
        if fitted is None:
            return None
        n, n_tokens = fitted
        return Example(
            self._spans(f"{task}-{length}-{index:03}", order(n), text(n)),
            self._around(text(n)),
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

    def _around(self, text: str) -> str:
        return text.join(self._pieces)

    def _list(self, ids: Array) -> str:
        self._label_total(len(ids))
        texts = [""] * (2 * len(ids))
        texts[::2] = self._labels[: len(ids)]
        texts[1::2] = map(self._words.__getitem__, ids.tolist())
        return "".join(texts)[1:]

    def _total_costs(self, drawn: Array, counts: Frequencies) -> Array:
        """Entry n: what the words of a list of n different ones cost, without their numbers."""
        own = self._word_costs[drawn]
        weighted = own * _repeats(len(drawn), counts)
        return np.concatenate([[0], np.cumsum(weighted)])

    def _label_total(self, n: int) -> int:
        """What n numbers, each with the shortest word, cost."""
        while len(self._label_costs) <= n:
            size = 2 * len(self._labels) + 1024
            start = len(self._labels)
            labels = [f"{i}. " for i in range(start + 1, size + 1)]
            if self._exact is not None:
                costs = self._exact.numbers(size)[start + 1 : size + 1] + self._exact.shortest
            else:
                costs = np.array(
                    [self._count(f"1. a {label}a") - self._shortest for label in labels]
                )
            if not start:
                costs[0] = self._shortest
            self._labels += [f" {label}" for label in labels]
            total = self._label_costs[-1] + np.cumsum(costs)
            self._label_costs = np.concatenate([self._label_costs, total])
        return int(self._label_costs[n])

    def _guess(self, tokens: int, word_costs: Array, counts: Frequencies) -> int:
        """About how many different words make a prompt of so many tokens: bisection of the prediction."""
        low, high = 0, len(word_costs) - 1
        room = (tokens - self._frame) / self._lists
        while low < high:
            middle = (low + high + 1) // 2
            if word_costs[middle] + self._label_total(_entries(middle, counts)) <= room:
                low = middle
            else:
                high = middle - 1
        return low

    def _spans(self, name: str, ids: Array, text: str) -> list[Span]:
        self._names.append(name)
        self._ids.append(ids.astype(np.int32))
        source = f"{NAME}/{self._slice_settings['slice']}/{name}"
        first, *others = self._pieces
        spans = [literal("instruction", first)]
        for piece in others[:-1]:
            spans += [Span("haystack", source, 0, len(text)), literal("instruction", piece)]
        return [*spans, Span("haystack", source, 0, len(text)), literal("question", others[-1])]


def _repeats(n: int, counts: Frequencies) -> Array:
    """How often each of n different words stands in the list: the common ones come first."""
    repeats = np.full(n, counts.other, dtype=np.int64)
    repeats[:COMMON_WORDS] = counts.common
    return repeats


def _entries(n: int, counts: Frequencies) -> int:
    """How long the list of n different words is."""
    common = min(n, COMMON_WORDS)
    return common * counts.common + (n - common) * counts.other
