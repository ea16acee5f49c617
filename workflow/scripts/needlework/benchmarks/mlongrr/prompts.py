"""mLongRR's prompts in a language: every task, length, depth and example, cut to a budget or as released."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from needlework.benchmarks.mlongrr.factors import ABSENT, COLUMNS, NAMED_BY
from needlework.benchmarks.mlongrr.haystack import Haystack, fertility
from needlework.benchmarks.mlongrr.plan import (
    FREE,
    NAME,
    RELEASED_MARGIN,
    Cell,
    Slice,
    cells,
    chance,
    reads,
    released_haystacks,
)
from needlework.benchmarks.mlongrr.prompt_files import Prompt, PromptKey, find_prompt, has_prompt
from needlework.contract import Built, SliceSettings
from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.prompts.counting.pieces import Pieces
from needlework.prompts.instances import Instances
from needlework.prompts.tokenizers import Tokenizer
from needlework.scoring.metrics import numbers as numbers_in
from needlework.seeding import rank_key, rng

logger = logging.getLogger(__name__)

Tables = Mapping[str, Mapping[str, pa.Table]]


class Context(NamedTuple):
    """The contents of a prompt's haystack in the order of the text, and the factors that describe it."""

    needles: list[Needle]
    factors: Factors


class Factors(NamedTuple):
    """The factors of a haystack, which are columns of instances; None without a needle."""

    real_depth: float | None
    haystack_tokens: int
    sentences: int
    sentences_before: int | None
    exhausted: bool
    fertility: float


class Words(NamedTuple):
    """The needles, cities and prompts of a language."""

    needle: str
    cities: list[tuple[str, str]]
    prompts: dict[PromptKey, Prompt]


def build(
    slice_settings: SliceSettings,
    tables: Tables,
    templates: Iterable[str],
    tokenizer: Tokenizer,
) -> Built:
    """The instances of a slice. `slice_settings` is what `plan.settings` gives.

    `tables` holds "needles", and "haystack" or the released "released_1" and "released_3", each by
    language; `templates` is empty, since the prompts are data. The counts: `exhausted`, prompts whose text
    ended before their length, and `long_numbers`, numbers of the text with seven digits or more, which are
    never drawn.
    """
    own = Slice(**slice_settings)
    lang = own.lang
    words = _words(tables["needles"][lang], own.wording)
    builder = _Released if own.source == "released" else _Constructed
    made = builder(
        own,
        {kind: tables[kind][lang] for kind in reads(slice_settings)},
        words,
        tokenizer,
    )
    # A further prompt is asked of the tasks that it has.
    wanted = [
        cell
        for cell in cells(own)
        if has_prompt(words.prompts, cell.template, cell.n, cell.question, lang)
    ]
    total = sum(_examples(own, cell) for cell in wanted) * len(own.lengths)
    rows = _rows(own, wanted, words, made)
    instances = Instances(NAME, COLUMNS, NAMED_BY, tokenizer, made.pieces)
    exhausted = 0
    for spans, row in progress(rows, desc="prompts", total=total, unit="prompt"):
        instances.add(spans, made.pieces.text(spans), **row)
        exhausted += row["exhausted"]
    made.pieces.sums.save()
    if made.taken:
        logger.info("numbers of seven digits or more in the text: %s", ", ".join(made.taken[:20]))
    return Built(instances.table(), {"exhausted": exhausted, "long_numbers": len(made.taken)})


def _words(table: pa.Table, wording: str) -> Words:
    rows = table.to_pylist()
    return Words(
        next(r["values"][0] for r in rows if (r["kind"], r["key"]) == ("needle", wording)),
        [tuple(row["values"]) for row in rows if row["kind"] == "city"],
        {
            PromptKey(*json.loads(row["key"])): Prompt(*row["values"])
            for row in rows
            if row["kind"] == "prompt"
        },
    )


def _rows(
    own: Slice,
    wanted: list[Cell],
    words: Words,
    made: _Constructed | _Released,
) -> Iterator[tuple[list[int], dict[str, Any]]]:
    """The span numbers and the row of every prompt."""
    lang = own.lang
    for length in own.lengths:
        for cell in wanted:
            prompt = find_prompt(words.prompts, cell.template, cell.n, cell.question, lang)
            for index in range(_examples(own, cell)):
                context, numbers, n_tokens = made.build(cell, length, index, prompt)
                factors = {
                    **{"lang": lang, "haystack": own.haystack, "length": length},
                    **{"n_needles": cell.n, "question": cell.question, "depth": cell.depth},
                    "template": cell.template,
                    **context.factors._asdict(),
                    "chance": chance(cell.n, cell.task),
                    "numbers": " ".join(needle.number for needle in context.needles),
                    "cities": "|".join(f"{n.english}/{n.city}" for n in context.needles),
                    "unanswerable": prompt.unanswerable,
                }
                row = {
                    **factors,
                    "task": cell.task,
                    "example_id": f"{length}-{_shown(cell.depth)}-{index:03}",
                    "references": _references(cell, context.needles, prompt),
                    "metric": ABSENT if cell.task == ABSENT else cell.question,
                    "max_new_tokens": own.max_new_tokens,
                    "n_tokens": n_tokens,
                }
                yield numbers, row


def _examples(own: Slice, cell: Cell) -> int:
    # Without needles all examples would be one prompt.
    return 1 if cell.task == ABSENT else own.examples


def _shown(depth: int | None) -> str:
    return "none" if depth is None else f"{depth:03}"


def _references(cell: Cell, needles: list[Needle], prompt: Prompt) -> list[str]:
    """The accepted answers: the number or the city's names of the needle with the largest number."""
    if cell.task == ABSENT:
        return [prompt.unanswerable]
    gold = max(needles, key=lambda needle: int(needle.number))
    return [gold.number] if cell.question == "number" else gold.names


def _around(pieces: Pieces, prompt: Prompt, context: Sequence[int]) -> list[int]:
    """The span numbers of a prompt with its context."""

    def literal(role: str, text: str) -> list[int]:
        return [pieces.literal(role, text)] if text else []

    return [
        *literal("instruction", prompt.head),
        *context,
        *literal("instruction", prompt.middle),
        *literal("question", prompt.asks),
        *literal("answer_format", prompt.tail),
    ]


class _Constructed:
    """Cuts haystacks from a text and puts needles into them (paper, sections 3.2 and 3.3)."""

    def __init__(
        self,
        own: Slice,
        tables: Mapping[str, pa.Table],
        words: Words,
        tokenizer: Tokenizer,
    ) -> None:
        self._own, self._words = own, words
        self._reserve = tokenizer.reserve
        self.pieces = Pieces(tokenizer, max(own.lengths))
        self._fertility = fertility(tables["haystack"], tokenizer)
        self._haystack = Haystack(
            *(own.haystack, own.lang, tables["haystack"]),
            *(self.pieces, max(own.lengths)),
        )
        self.taken = long_numbers("\n".join(dict.fromkeys(self._haystack.texts)))

    def build(
        self, cell: Cell, length: int, index: int, prompt: Prompt
    ) -> tuple[Context, list[int], int]:
        """The prompt of a cell's example: its needles and factors, span numbers and tokens."""
        where = (self._own.seed, length, cell.depth, index)
        n = 0 if cell.task == ABSENT else cell.n
        needles = draw(where, n, self._words.cities, set(self.taken))
        texts = [
            self._words.needle.format(city=needle.city, number=needle.number) for needle in needles
        ]

        def numbers(size: int) -> list[int]:
            places = self._places(cell, where, size) if needles else []
            return _around(self.pieces, prompt, self._haystack.numbers(size, places, texts))

        if self._own.budget == "released":
            budget = length - RELEASED_MARGIN - self._reserve
            size = self._haystack.most(budget)
            n_tokens = self.pieces.tokens(numbers(size)) if size else 0
            used = self._haystack.tokens(size)
        else:
            budget = length - self._own.max_new_tokens - self._reserve
            size, n_tokens = self._fit(prompt, texts, numbers, budget)
            used = n_tokens
        if not size:
            raise UserError(
                f"benchmarks.{NAME}.lengths has {length}, but in language "
                f"{self._own.lang!r} a prompt with one sentence and room for its "
                "answer is longer: leave the length out."
            )
        before = self._places(cell, where, size)[0] if needles else None
        ended = self._haystack.all_known and size == self._haystack.longest
        factors = Factors(
            real_depth=None if before is None else self._haystack.real_depth(size, before),
            haystack_tokens=self._haystack.tokens(size),
            sentences=size,
            sentences_before=before,
            exhausted=ended and budget - used > FREE * length,
            fertility=self._fertility,
        )
        return Context(needles, factors), numbers(size), n_tokens

    def _fit(
        self,
        prompt: Prompt,
        needles: list[str],
        numbers: Callable[[int], list[int]],
        budget: int,
    ) -> tuple[int, int]:
        """The most sentences whose prompt has at most `budget` tokens, and its tokens; (0, 0) if none has."""
        around = (prompt.head, prompt.middle + prompt.asks + prompt.tail)
        joined = (self._haystack.joint + needle for needle in needles)
        fixed = sum(map(self.pieces.of_texts, (*around, *joined)))
        fitted = self.pieces.fit(
            prompt=numbers,
            guess=lambda tokens: self._haystack.guess(tokens - fixed),
            budget=budget,
            least=1,
            most=self._haystack.longest,
        )
        return (fitted.size, fitted.n_tokens) if fitted else (0, 0)

    def _places(self, cell: Cell, where: tuple[object, ...], size: int) -> list[int]:
        """After how many of so many sentences each needle stands."""
        assert cell.depth is not None
        rule = self._own.depth_rule
        first = self._haystack.before(size, cell.depth, rule)
        last = self._haystack.before(size, cell.depth + cell.spread, rule) if cell.n > 1 else first
        return places(where, cell.n, first, last)


class _Released:
    """The released haystacks with their needles, as they are."""

    def __init__(
        self,
        own: Slice,
        tables: Mapping[str, pa.Table],
        words: Words,
        tokenizer: Tokenizer,
    ) -> None:
        self.pieces = Pieces(tokenizer)
        self._fertility = fertility(tables["haystack"], tokenizer)
        self._english = {city: english for english, city in reversed(words.cities)}
        self._rows: dict[tuple[int, int, int], tuple[str, Mapping[str, Any]]] = {}
        self.taken: list[str] = []
        for kind, (corpus, lang) in released_haystacks(own).items():
            for row in tables[kind].to_pylist():
                name = f"{corpus}/{lang}/{row['passage_id']}"
                self._rows[len(row["numbers"]), row["length"], row["depth"]] = (name, row)

    def build(
        self, cell: Cell, length: int, index: int, prompt: Prompt
    ) -> tuple[Context, list[int], int]:
        """The prompt of a released row: its needles and factors, span numbers and tokens."""
        assert cell.depth is not None
        name, row = self._rows[cell.n, length, cell.depth]
        # A user's table may lack a released city.
        needles = [
            Needle(self._english.get(city, city), city, number)
            for city, number in zip(map(str.strip, row["cities"]), row["numbers"], strict=True)
        ]
        span = partial(self.pieces.slice, source=name, document=row["text"])
        context, texts, end = [], [], 0
        for start, text in zip(row["needle_starts"], row["needles"], strict=True):
            context += [
                span("haystack", start=end, end=start),
                span("needle", start=start, end=start + len(text)),
            ]
            texts.append(row["text"][end:start].strip())
            end = start + len(text)
        context.append(span("haystack", start=end, end=len(row["text"])))
        texts.append(row["text"][end:].strip())
        count = self.pieces.count
        tokens = count(" ".join(filter(None, texts)))
        numbers = _around(self.pieces, prompt, context)
        factors = Factors(
            real_depth=100 * count(texts[0]) / tokens,
            haystack_tokens=tokens,
            sentences=row["sentences"],
            sentences_before=row["sentences_before"][0],
            exhausted=False,
            fertility=self._fertility,
        )
        return Context(needles, factors), numbers, self.pieces.tokens(numbers)


# What is hidden in an example: the same for every language and question.


@dataclass(frozen=True)
class Needle:
    """A needle's city, by its name in English and in the haystack's language, and its number."""

    english: str
    city: str
    number: str

    @property
    def names(self) -> list[str]:
        """The city's distinct names: in the haystack's language, then in English."""
        return list(dict.fromkeys([self.city, self.english]))


def draw(
    where: tuple[object, ...], n: int, cities: Sequence[tuple[str, str]], taken: Set[str]
) -> list[Needle]:
    """n needles with different cities and numbers; `taken` are numbers that the text has already.

    `where` names the draw (seed, length, depth, example). A draw of fewer needles is the beginning of a draw
    of more, so that tasks with different numbers of needles can be compared in pairs. A row of cities means
    the same in every language.
    """
    ranked = sorted(range(len(cities)), key=lambda row: rank_key(NAME, *where, "city", row))
    drawn: dict[str, str] = {}
    for row in ranked:
        if len(drawn) < n:
            drawn.setdefault(*cities[row])
    values: list[str] = []
    generator = rng(NAME, *where, "numbers")
    while len(values) < n:
        number = str(generator.integers(10**6, 10**7))
        if number not in values and number not in taken:
            values.append(number)
    return [
        Needle(english, city, number)
        for (english, city), number in zip(drawn.items(), values, strict=True)
    ]


def places(where: tuple[object, ...], n: int, first: int, last: int) -> list[int]:
    """Sentences before each of n needles: `first` for the first needle, `first` to `last` for the others.

    Every boundary from `first` on is equally likely for the others, `first` too. No two of them share a
    boundary, unless there are too few (released code).
    """
    found, free = [first], list(range(first, last + 1))
    for share in rng(NAME, *where, "places").random(n - 1):
        found.append(free.pop(int(share * len(free))) if free else last)
    return sorted(found)


def long_numbers(text: str) -> list[str]:
    """The numbers of seven digits or more in a text, as the metric reads them."""
    return [str(number) for number in sorted(numbers_in(text)) if number >= 10**6]
