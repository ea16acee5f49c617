"""The tasks with needles: one to four sentences with a key and a number among the sentences of a book.

Paper, section 2.1 and Figures 9 to 14; where the paper is silent, this follows the released code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from needlework.benchmarks.oneruler.plan import (
    AMBIGUOUS_NOUNS,
    NAME,
    SPARE_TOKENS,
    Made,
    Needles,
    Slice,
)
from needlework.benchmarks.oneruler.plan import needles as needles_of
from needlework.data.corpora.registry import corpus_table
from needlework.errors import UserError
from needlework.prompts.counting.pieces import Pieces
from needlework.seeding import rank_key, rng

# 40 equally spaced depths of 0 to 100%, rounded (released code).
DEPTHS = [round(100 * k / 39) for k in range(40)]
# Sentences of the book that a prompt holds at the least: a needle stands between two.
LEAST = 2


class Nouns(NamedTuple):
    """The nouns that may be keys, by row of the list."""

    # In the context's language, and in the instruction's.
    context: Mapping[int, str]
    asked: Mapping[int, str]
    # The context language's nouns that may not be keys, with their rows.
    left_out: Sequence[str]


def nouns(tables: Mapping[str, pa.Table], instruction: str, context: str) -> Nouns:
    """The nouns of a pair of languages; no two rows have the same noun.

    In a prompt of one language, the first of several rows with one noun stays. In a prompt of two languages,
    a row is left out if its noun stands in several rows of either language, or if its asked noun is another
    row's hidden noun. AMBIGUOUS_NOUNS are left out too.
    """
    columns = {
        lang: dict(
            zip(tables[lang]["row"].to_pylist(), tables[lang]["noun"].to_pylist(), strict=True)
        )
        for lang in {instruction, context}
    }
    rows: dict[str, dict[str, list[int]]] = {lang: {} for lang in columns}
    for lang, column in columns.items():
        for row in sorted(column):
            rows[lang].setdefault(column[row].casefold(), []).append(row)
    asked, hidden = columns[instruction], columns[context]
    if instruction == context:
        kept = {same[0] for same in rows[context].values()}
    else:
        unique = [
            {same[0] for same in by_noun.values() if len(same) == 1} for by_noun in rows.values()
        ]
        kept = set.intersection(*unique) - set(AMBIGUOUS_NOUNS)
        places = {hidden[row].casefold(): row for row in kept}
        kept = {row for row in kept if places.get(asked[row].casefold(), row) == row}
    left_out = [
        f"row {row} {noun!r}"
        + (f" ({instruction} {asked.get(row, '')!r})" if instruction != context else "")
        for row, noun in sorted(hidden.items())
        if row not in kept
    ]
    context_nouns, asked_nouns = (
        {row: column[row] for row in sorted(kept)} for column in (hidden, asked)
    )
    return Nouns(context_nouns, asked_nouns, left_out)


@dataclass(frozen=True)
class Draw:
    """The keys and values of an example: the same in every language and at every length."""

    # Of each needle in the order of the text: its depth in percent, the row of its key, and its value.
    depths: Sequence[int]
    needles: Sequence[tuple[int, str]]
    # The rows of the asked keys.
    asked: Sequence[int]
    # None if the asked key is absent.
    answers: Sequence[str] | None


def draw(
    task: str, needles: Needles, index: int, seed: int, rows: Sequence[int], taken: set[str]
) -> Draw:
    """The draw of an example among the noun `rows`; no value is one of the numbers `taken`."""
    ranked = sorted(rows, key=lambda row: rank_key(NAME, seed, task, index, "key", row))
    keys = ranked[: needles.keys]
    n = needles.keys * needles.values
    values: list[str] = []
    numbers = rng(NAME, seed, task, index, "values")
    while len(values) < n:
        value = str(numbers.integers(10**6, 10**7))
        if value not in values and value not in taken:
            values.append(value)
    made = list(zip((key for key in keys for _ in range(needles.values)), values, strict=True))
    shuffled = rng(NAME, seed, task, index, "order").permutation(n)
    depths = rng(NAME, seed, task, index, "depths").choice(DEPTHS, n, replace=False)
    asked = keys[: needles.asked] if needles.present else ranked[needles.keys : needles.keys + 1]
    return Draw(
        sorted(int(depth) for depth in depths),
        [made[i] for i in shuffled],
        asked,
        [value for key, value in made if key in asked] if needles.present else None,
    )


class Haystack:
    """The sentences of a language's books, at least two; after the last, the first follows again.

    `table` has the schema BOOKS. Sentences are counted up to `most_tokens` tokens.
    """

    def __init__(
        self, corpus: str, lang: str, table: pa.Table, pieces: Pieces, most_tokens: int
    ) -> None:
        self._pieces, self._most_tokens = pieces, most_tokens
        self.texts: list[str] = table["text"].to_pylist()
        self._names = [f"{corpus}/{lang}/{book}" for book in table["passage_id"].to_pylist()]
        books = list(zip(self.texts, table["sentence_starts"].to_pylist(), strict=True))
        # The table joins the sentences as the language does: with a space, or with nothing.
        spaced = all(text[start - 1] == " " for text, starts in books for start in starts[1:])
        self.joint = " " if spaced else ""
        # (book, first character, one after the last) of each sentence.
        self._places: list[tuple[int, int, int]] = []
        for book, (text, starts) in enumerate(books):
            ends = [*(start - len(self.joint) for start in starts[1:]), len(text)]
            self._places += [(book, start, end) for start, end in zip(starts, ends, strict=True)]
        # For each book, one after the index of its last sentence.
        self._book_ends = {book: index + 1 for index, (book, _, _) in enumerate(self._places)}

    @cached_property
    def _totals(self) -> np.ndarray:
        """About the tokens of all sentences before each one (one entry more)."""
        before = [self._pieces.document(text).before for text in self.texts]
        own = [before[book](end) - before[book](start) for book, start, end in self._places]
        tokens = np.maximum(np.array(own), 1)
        repeats = self._most_tokens // int(tokens.sum()) + 1
        return np.concatenate([[0], np.cumsum(np.tile(tokens, repeats + 1))])

    def most(self, tokens: int) -> int:
        """The approximate number of sentences, from the first, that have at most `tokens` tokens."""
        return int(np.searchsorted(self._totals, tokens, side="right")) - 1

    @property
    def longest(self) -> int:
        """The largest number of sentences that a prompt may need."""
        return len(self._totals) - 1

    def numbers(self, start: int, end: int) -> list[int]:
        """The span numbers of the sentences from `start` to before `end`: slices of the books, joined."""
        numbers: list[int] = []
        while start < end:
            first = start % len(self._places)
            book, begin, _ = self._places[first]
            n = min(end - start, self._book_ends[book] - first)
            if numbers and self.joint:
                numbers.append(self._pieces.literal("haystack", self.joint))
            span = (self._names[book], self.texts[book], begin, self._places[first + n - 1][2])
            numbers.append(self._pieces.slice("haystack", *span))
            start += n
        return numbers


_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def _filled(text: str, values: Mapping[str, str]) -> str:
    """`text` with values in the place of its placeholders; nothing in it is evaluated."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


class NeedleTasks:
    """Builds the prompts of the tasks with needles of a pair of languages.

    `prompts` has the texts of niah.txt of both, by key. As released, the needles and what joins the
    instruction's sentences are the context language's.
    """

    def __init__(
        self,
        own: Slice,
        prompts: Mapping[str, Mapping[str, str]],
        haystack: Haystack,
        nouns: Nouns,
        pieces: Pieces,
    ) -> None:
        self._own, self._haystack, self._nouns, self._pieces = own, haystack, nouns, pieces
        self._texts = prompts[own.instruction_lang]
        self._needle = prompts[own.context_lang]["needle_numbers"].rstrip()

    @cached_property
    def _numbers(self) -> set[str]:
        """The numbers that the books have already."""
        return {n for text in self._haystack.texts for n in re.findall(r"\d+", text)}

    @cached_property
    def room(self) -> int:
        """The tokens of an answer: the run's, or of the longest right one with texts that it may repeat."""
        texts, count = self._texts, self._pieces.count
        around = f"{texts['question_single_numbers']}\n{texts['answer_numbers']}"
        longest = max(count(", ".join(["8888888"] * 4)), count(texts["none"]))
        return self._own.max_new_tokens["niah"] or count(around) + longest + SPARE_TOKENS

    def draws(self, task: str) -> list[Draw]:
        """The hidden keys and values of each example of a task.

        Raises UserError if there are too few nouns.
        """
        own, rows, needles = self._own, list(self._nouns.context), needles_of(self._own, task)
        wanted = needles.keys + (not needles.present)
        if len(rows) < wanted:
            languages = sorted({own.context_lang, own.instruction_lang})
            files = " and ".join(corpus_table(f"{own.data}_nouns", lang) for lang in languages)
            left_out = "; ".join(self._nouns.left_out) or "none"
            raise UserError(
                f"{files}: {task} needs {wanted} unambiguous nouns, but there are {len(rows)} (left out, "
                f"rows counted from 0: {left_out}): add nouns to the list."
            )
        return [
            draw(task, needles, index, own.seed, rows, self._numbers)
            for index in range(own.examples)
        ]

    def build(self, drawn: Draw, budget: int, *, none_option: bool) -> Made | None:
        """The prompt of an example, filled until no further sentence fits.

        None if not even two sentences fit.
        """
        texts, pieces, joint = self._texts, self._pieces, self._haystack.joint
        before, _, after = texts["task"].partition("{context}")
        head = pieces.literal("instruction", before)
        needles = []
        for row, value in drawn.needles:
            said = _filled(self._needle, {"key": self._nouns.context[row], "value": value})
            needles.append(pieces.literal("needle", said + self._own.full_stop))
        tail = [
            pieces.literal("instruction", after),
            pieces.literal("question", self._question(drawn.asked, none_option)),
            pieces.literal(
                "answer_format", texts["answer_prefix"] + joint + texts["answer_numbers"]
            ),
        ]
        fixed = pieces.tokens(tail) + sum(pieces.tokens([number]) for number in (head, *needles))
        fitted = pieces.fit(
            prompt=lambda n: [head, *self._context(n, drawn.depths, needles), *tail],
            guess=lambda tokens: self._haystack.most(tokens - fixed),
            budget=budget,
            least=LEAST,
            most=self._haystack.longest,
        )
        if fitted is None:
            return None
        references = [texts["none"]] if drawn.answers is None else list(drawn.answers)
        text = pieces.text(fitted.numbers)
        return Made(fitted.numbers, text, fitted.n_tokens, references)

    def _question(self, asked: Sequence[int], none_option: bool) -> str:
        """The question for one or two keys, with or without the sentence that offers to answer "none".

        That sentence's text also closes the question's tag, which stays (paper, Figure 14).
        """
        texts, joint = self._texts, self._haystack.joint
        kind = "question_single_numbers" if len(asked) == 1 else "question_multi_numbers"
        keys = {f"query{i}": self._nouns.asked[row] for i, row in enumerate(asked, start=1)}
        listing = _filled(texts[kind], keys) + joint + texts["please_list"]
        sentence = texts["if_no_numbers"]
        if none_option:
            return listing + joint + sentence
        tag = sentence.rfind("</")
        return listing + sentence[tag if tag >= 0 else len(sentence.rstrip()) :]

    def _context(self, n: int, depths: Sequence[int], needles: Sequence[int]) -> list[int]:
        """The first n sentences, with each needle after as many of them as its depth says."""
        runs: list[list[int]] = []
        start = 0
        for depth, needle in zip(depths, needles, strict=True):
            place = n * depth // 100
            runs += [self._haystack.numbers(start, place), [needle]]
            start = place
        runs.append(self._haystack.numbers(start, n))
        joint = self._haystack.joint
        between = [self._pieces.literal("haystack", joint)] if joint else []
        first, *others = filter(None, runs)
        return [*first, *chain.from_iterable([*between, *run] for run in others)]
