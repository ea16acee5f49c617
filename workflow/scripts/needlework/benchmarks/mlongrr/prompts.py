"""mLongRR's prompts in a language: every task, length, depth and example, cut to a budget or as released."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from needlework.benchmarks.mlongrr.factors import ABSENT, FACTORS, NAMED_BY, REASONING
from needlework.benchmarks.mlongrr.haystack import Haystack, fertility
from needlework.benchmarks.mlongrr.plan import (
    NAME,
    RELEASED,
    PromptKind,
    Slice,
    prompt_kinds,
    reads,
)
from needlework.benchmarks.mlongrr.prompt_files import Prompt, PromptKey
from needlework.contract import Built, SliceSettings
from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.prompts.counting.pieces import Pieces
from needlework.prompts.instances import Instances
from needlework.prompts.tokenizers import Tokenizer
from needlework.scoring.metrics import numbers as numbers_in
from needlework.seeding import rank_key, rng

logger = logging.getLogger(__name__)

# Tokens that a released haystack leaves free of its length.
RELEASED_MARGIN = 100
# The share of a length that may stay free where the text ends before a haystack counts as exhausted.
FREE = 0.01


class Needle(NamedTuple):
    """A needle's city, by its name in English and in the haystack's language, and its number."""

    english: str
    city: str
    number: str

    @property
    def names(self) -> list[str]:
        """The city's distinct names: in the haystack's language, then in English."""
        return list(dict.fromkeys([self.city, self.english]))


class BuiltPrompt(NamedTuple):
    """A prompt as spans, with facts about its haystack."""

    # In the order of the text.
    needles: list[Needle]
    # The columns that say how its haystack turned out.
    factors: Mapping[str, object]
    # Numbers of spans (`Pieces`).
    spans: list[int]
    n_tokens: int


def build(
    slice_settings: SliceSettings,
    tables: Mapping[str, Mapping[str, pa.Table]],
    templates: Iterable[str],
    tokenizer: Tokenizer,
) -> Built:
    """The instances of a slice. `slice_settings` is the result of `plan.settings`.

    `tables` holds "needles", and "haystack" or the released "released_1" and "released_3", each by language.
    `templates` is empty, since the prompts are data. The counts are `exhausted`, prompts whose text ended
    before their length, and `long_numbers`, numbers in the text with seven digits or more, which are never
    drawn.
    """
    own = Slice(**slice_settings)
    read = {kind: tables[kind][own.lang] for kind in reads(slice_settings)}
    rows = read["needles"].to_pylist()
    prompts = {
        PromptKey(*json.loads(row["key"])): Prompt(*row["values"])
        for row in rows
        if row["kind"] == "prompt"
    }
    cities = [tuple(row["values"]) for row in rows if row["kind"] == "city"]
    made: _Constructed | _Released
    if own.source == "released":
        made = _Released(own, read, cities, tokenizer)
    else:
        wording = ("needle", own.wording)
        needle = next(row["values"][0] for row in rows if (row["kind"], row["key"]) == wording)
        made = _Constructed(own, read, cities, needle, tokenizer)
    # A further prompt is asked of the tasks that it has. Without needles all examples would be one prompt.
    wanted = [
        (length, kind, index)
        for length in own.lengths
        for kind in prompt_kinds(own)
        if kind.key in prompts
        for index in range(1 if kind.task == ABSENT else own.examples)
    ]
    columns = {factor.name: factor.type for factor in FACTORS}
    instances = Instances(NAME, columns, NAMED_BY, tokenizer, made.pieces)
    tokens_a_word, exhausted = fertility(read["haystack"], tokenizer), 0
    for length, kind, index in progress(wanted, desc="prompts", total=len(wanted), unit="prompt"):
        prompt = prompts[kind.key]
        built = made.build(kind, length, index, prompt)
        depth = "none" if kind.depth is None else f"{kind.depth:03}"
        instances.add(
            built.spans,
            made.pieces.text(built.spans),
            task=kind.task,
            n_tokens=built.n_tokens,
            example_id=f"{length}-{depth}-{index:03}",
            max_new_tokens=own.max_new_tokens,
            lang=own.lang,
            haystack=own.haystack,
            length=length,
            fertility=tokens_a_word,
            **built.factors,
            **_answers(kind, prompt, built.needles),
        )
        exhausted += bool(built.factors["exhausted"])
    made.pieces.sums.save()
    if made.taken:
        logger.info("numbers of seven digits or more in the text: %s", ", ".join(made.taken[:20]))
    return Built(instances.table(), {"exhausted": exhausted, "long_numbers": len(made.taken)})


def _answers(kind: PromptKind, prompt: Prompt, needles: Sequence[Needle]) -> dict[str, object]:
    """The columns that say what a prompt asks for, and what its needles say."""
    if kind.task == ABSENT:
        references = [prompt.unanswerable]
    else:
        gold = max(needles, key=lambda needle: int(needle.number))
        references = [gold.number] if kind.question == "number" else gold.names
    return {
        "n_needles": kind.n_needles,
        "question": kind.question,
        "depth": kind.depth,
        "template": kind.template,
        "chance": 1 / kind.n_needles if kind.task == REASONING else None,
        "references": references,
        "metric": ABSENT if kind.task == ABSENT else kind.question,
        "numbers": " ".join(needle.number for needle in needles),
        "cities": "|".join(f"{needle.english}/{needle.city}" for needle in needles),
        "unanswerable": prompt.unanswerable,
    }


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
        cities: Sequence[tuple[str, str]],
        needle: str,
        tokenizer: Tokenizer,
    ) -> None:
        self._own, self._cities, self._needle = own, cities, needle
        self._reserve = tokenizer.reserve
        self.pieces = Pieces(tokenizer, max(own.lengths))
        self._haystack = Haystack(
            *(own.haystack, own.lang, tables["haystack"], self.pieces, max(own.lengths))
        )
        self.taken = long_numbers("\n".join(dict.fromkeys(self._haystack.texts)))

    def build(self, kind: PromptKind, length: int, index: int, prompt: Prompt) -> BuiltPrompt:
        """An example's prompt. Raises UserError if its length has no room for a sentence."""
        own, haystack = self._own, self._haystack
        where = (own.seed, length, kind.depth, index)
        n_needles = 0 if kind.task == ABSENT else kind.n_needles
        needles = draw(where, n_needles, self._cities, set(self.taken))
        texts = [self._needle.format(city=one.city, number=one.number) for one in needles]

        def sentences_before(size: int) -> list[int]:
            """Of so many sentences, those before each needle."""
            if kind.depth is None:
                return []
            depths = kind.depth, kind.depth + (kind.spread if n_needles > 1 else 0)
            first, last = (haystack.before(size, depth, own.depth_rule) for depth in depths)
            return places(where, n_needles, first, last)

        def spans(size: int) -> list[int]:
            context = haystack.numbers(size, sentences_before(size), texts)
            return _around(self.pieces, prompt, context)

        if own.budget == "released":
            budget = length - RELEASED_MARGIN - self._reserve
            size = haystack.most(budget)
            n_tokens = self.pieces.tokens(spans(size)) if size else 0
            used = haystack.tokens(size)
        else:
            budget = length - own.max_new_tokens - self._reserve
            around = (prompt.head, prompt.middle + prompt.asks + prompt.tail)
            joined = (haystack.joint + text for text in texts)
            fixed = sum(map(self.pieces.of_texts, (*around, *joined)))
            fitted = self.pieces.fit(
                prompt=spans,
                guess=lambda tokens: haystack.guess(tokens - fixed),
                budget=budget,
                least=1,
                most=haystack.longest,
            )
            size, n_tokens = (fitted.size, fitted.n_tokens) if fitted else (0, 0)
            used = n_tokens
        if not size:
            raise UserError(
                f"benchmarks.{NAME}.lengths has {length}, but in language {own.lang!r} a prompt with one "
                "sentence and room for its answer is longer: leave the length out."
            )
        before = sentences_before(size)[0] if needles else None
        ended = haystack.all_known and size == haystack.longest
        factors = {
            "real_depth": None if before is None else haystack.real_depth(size, before),
            "haystack_tokens": haystack.tokens(size),
            "sentences": size,
            "sentences_before": before,
            "exhausted": ended and budget - used > FREE * length,
        }
        return BuiltPrompt(needles, factors, spans(size), n_tokens)


class _Released:
    """The released haystacks with their needles, as they are."""

    def __init__(
        self,
        own: Slice,
        tables: Mapping[str, pa.Table],
        cities: Sequence[tuple[str, str]],
        tokenizer: Tokenizer,
    ) -> None:
        self.pieces = Pieces(tokenizer)
        self.taken: list[str] = []
        self._english = {city: english for english, city in reversed(cities)}
        # By number of needles, length and depth: the name of a haystack, and its row.
        self._rows = {
            (task.n, row["length"], row["depth"]): (
                f"{RELEASED[task.n]}/{own.lang}/{row['passage_id']}",
                row,
            )
            for task in own.tasks
            for row in tables[f"released_{task.n}"].to_pylist()
        }

    def build(self, kind: PromptKind, length: int, index: int, prompt: Prompt) -> BuiltPrompt:
        """The prompt of a released row."""
        assert kind.depth is not None
        name, row = self._rows[kind.n_needles, length, kind.depth]
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
        tokens = self.pieces.count(" ".join(filter(None, texts)))
        spans = _around(self.pieces, prompt, context)
        factors = {
            "real_depth": 100 * self.pieces.count(texts[0]) / tokens,
            "haystack_tokens": tokens,
            "sentences": row["sentences"],
            "sentences_before": row["sentences_before"][0],
            "exhausted": False,
        }
        return BuiltPrompt(needles, factors, spans, self.pieces.tokens(spans))


# What is hidden in an example: the same for every language and question.


def draw(
    where: tuple[object, ...], n: int, cities: Sequence[tuple[str, str]], taken: Set[str]
) -> list[Needle]:
    """n needles with different cities and numbers; `taken` are numbers that the text already has.

    `where` names the draw (seed, length, depth, example). If fewer needles are drawn, they are the first of
    those that a larger draw has, so tasks with different numbers of needles can be compared in pairs. A row
    of cities means the same in every language.
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
    """How many sentences stand before each of n needles: `first` for the first needle.

    For the others, each boundary from `first` to `last` is equally likely. No two of them share a boundary,
    unless there are too few boundaries (released code).
    """
    found, free = [first], list(range(first, last + 1))
    for share in rng(NAME, *where, "places").random(n - 1):
        found.append(free.pop(int(share * len(free))) if free else last)
    return sorted(found)


def long_numbers(text: str) -> list[str]:
    """The numbers of seven digits or more in a text, as the metric reads them."""
    return [str(number) for number in sorted(numbers_in(text)) if number >= 10**6]
