"""The tasks with needles: one to four sentences with a key and a number among the sentences of a book.

Paper, section 2.1 and Figures 9 to 14; where the paper is silent, this follows the released code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import pyarrow as pa

from needlework.benchmarks.oneruler.haystack import Haystack, Run
from needlework.benchmarks.oneruler.plan import AMBIGUOUS_NOUNS, NAME, Needles, Slice
from needlework.benchmarks.oneruler.templates import (
    SPARE_TOKENS,
    Example,
    NeedlePrompt,
    corpus_file,
)
from needlework.errors import UserError
from needlework.prompts.counting.pieces import Pieces
from needlework.seeding import rank_key, rng

# 40 equally spaced depths of 0 to 100%, rounded (released code).
DEPTHS = [round(100 * k / 39) for k in range(40)]
# Sentences of the book that a prompt holds at the least: a needle stands between two.
LEAST = 2


class Nouns(NamedTuple):
    """The nouns that may be keys, by row of the list: in the context's and in the instruction's language.

    `left_out` has the context language's nouns that may not be keys, with their rows.
    """

    context: Mapping[int, str]
    asked: Mapping[int, str]
    left_out: Sequence[str]


def nouns(tables: Mapping[str, pa.Table], instruction: str, context: str) -> Nouns:
    """The nouns of a pair of languages; no two rows have the same noun.

    In a prompt of one language, the first of equal rows stays. With two languages, rows are left out if their
    noun stands in several rows of either language, or if the asked noun is another row's hidden noun; so are
    AMBIGUOUS_NOUNS.
    """
    columns = {
        lang: dict(
            zip(tables[lang]["row"].to_pylist(), tables[lang]["noun"].to_pylist(), strict=True)
        )
        for lang in {instruction, context}
    }
    rows = {lang: _rows_of(column) for lang, column in columns.items()}
    if instruction == context:
        kept = {same[0] for same in rows[context].values()}
    else:
        unique = [
            {same[0] for same in by_noun.values() if len(same) == 1} for by_noun in rows.values()
        ]
        kept = set.intersection(*unique) - set(AMBIGUOUS_NOUNS)
        asked, hidden = columns[instruction], columns[context]
        places = {hidden[row].casefold(): row for row in kept}
        kept = {row for row in kept if places.get(asked[row].casefold(), row) == row}
    context_nouns, asked_nouns = (
        {row: columns[lang][row] for row in sorted(kept)} for lang in (context, instruction)
    )
    return Nouns(context_nouns, asked_nouns, _left_out(columns, kept, instruction, context))


def _left_out(
    columns: Mapping[str, Mapping[int, str]], kept: Set[int], instruction: str, context: str
) -> list[str]:
    named = []
    for row, noun in sorted(columns[context].items()):
        if row not in kept:
            asked = f" ({instruction} {columns[instruction].get(row, '')!r})"
            named.append(f"row {row} {noun!r}" + (asked if instruction != context else ""))
    return named


def _rows_of(column: Mapping[int, str]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row in sorted(column):
        rows.setdefault(column[row].casefold(), []).append(row)
    return rows


@dataclass(frozen=True)
class Draw:
    """The hidden and the asked keys and values of an example: the same in every language and at every length.

    `depths` are in percent, `needles` are (row of the key, value) in the order of the text, `asked` are rows
    of keys. `answers` is None if the asked key is absent.
    """

    depths: Sequence[int]
    needles: Sequence[tuple[int, str]]
    asked: Sequence[int]
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
    made = [
        (key, values[i]) for i, key in enumerate(k for k in keys for _ in range(needles.values))
    ]
    shuffled = rng(NAME, seed, task, index, "order").permutation(n)
    depths = rng(NAME, seed, task, index, "depths").choice(DEPTHS, n, replace=False)
    asked = keys[: needles.asked] if needles.present else ranked[needles.keys : needles.keys + 1]
    return Draw(
        sorted(int(depth) for depth in depths),
        [made[i] for i in shuffled],
        asked,
        [value for key, value in made if key in asked] if needles.present else None,
    )


class NeedleTasks:
    """Builds the prompts of the tasks with needles of a pair of languages."""

    def __init__(
        self,
        own: Slice,
        prompt: NeedlePrompt,
        haystack: Haystack,
        nouns: Nouns,
        pieces: Pieces,
    ) -> None:
        self._own, self._prompt, self._haystack = own, prompt, haystack
        self._nouns, self._pieces = nouns, pieces

    @cached_property
    def _numbers(self) -> set[str]:
        """The numbers that the books have already."""
        return {n for text in self._haystack.documents for n in re.findall(r"\d+", text)}

    def room(self) -> int:
        """The tokens of the longest right answer, and of the texts that an answer may put around it."""
        answers = [", ".join(["8888888"] * 4), self._prompt.none]
        around = self._pieces.count(self._prompt.around_answer)
        return around + max(map(self._pieces.count, answers)) + SPARE_TOKENS

    def draws(self, task: str, needles: Needles) -> Iterator[Draw]:
        """The hidden keys and values of each example of a task.

        Raises UserError if there are too few nouns.
        """
        rows = list(self._nouns.context)
        wanted = needles.keys + (not needles.present)
        if len(rows) < wanted:
            languages = sorted({self._own.context_lang, self._own.instruction_lang})
            files = " and ".join(corpus_file(self._own.data, "nouns", x) for x in languages)
            left_out = "; ".join(self._nouns.left_out) or "none"
            raise UserError(
                f"{files}: {task} needs {wanted} unambiguous nouns, but there are {len(rows)} (left out, "
                f"rows counted from 0: {left_out}): add nouns to the list."
            )
        for index in range(self._own.examples):
            yield draw(task, needles, index, self._own.seed, rows, self._numbers)

    def build(self, drawn: Draw, budget: int, *, none_option: bool) -> Example | None:
        """The prompt of an example, filled until no sentence fits; None if two sentences do not fit."""
        context, asked = self._nouns.context, self._nouns.asked
        pieces = self._pieces
        question = self._prompt.question(
            [asked[row] for row in drawn.asked], none_option=none_option
        )
        head = pieces.literal("instruction", self._prompt.head)
        needles = [
            pieces.literal("needle", self._prompt.needle(context[row], value))
            for row, value in drawn.needles
        ]
        tail = [
            pieces.literal("instruction", self._prompt.middle),
            pieces.literal("question", question),
            pieces.literal("answer_format", self._prompt.end),
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
        references = [self._prompt.none] if drawn.answers is None else list(drawn.answers)
        text = pieces.text(fitted.numbers)
        return Example(fitted.numbers, text, fitted.n_tokens, references)

    def _context(self, n: int, depths: Sequence[int], needles: Sequence[int]) -> list[int]:
        """The first n sentences, with each needle after as many of them as its depth says."""
        runs: list[list[int]] = []
        start = 0
        for depth, needle in zip(depths, needles, strict=True):
            place = n * depth // 100
            runs += [self._haystack.numbers(Run(start, place)), [needle]]
            start = place
        runs.append(self._haystack.numbers(Run(start, n)))
        joint = self._haystack.joint
        between = [self._pieces.literal("haystack", joint)] if joint else []
        first, *others = filter(None, runs)
        return [*first, *chain.from_iterable([*between, *run] for run in others)]
