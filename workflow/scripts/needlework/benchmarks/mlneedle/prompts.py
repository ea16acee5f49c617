"""MLNeedle's prompts: one needle among distractors, at a position, within a token budget.

Paper sections 2.1, 2.2 and appendices A to C; the templates are its Tables 5 and 6.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from needlework.benchmarks.mlneedle.factors import COLUMNS, NAMED_BY
from needlework.benchmarks.mlneedle.plan import (
    INSTRUCTIONS,
    NAME,
    NO_HAYSTACK,
    Position,
    Slice,
    positions,
)
from needlework.contract import Built, SliceSettings
from needlework.data.comparison.normalisation import normalise
from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.prompts.counting.pieces import (
    Candidates,
    Filling,
    Frame,
    LineCosts,
    Pieces,
    fill,
    line,
)
from needlework.prompts.instances import Instances
from needlework.prompts.tokenizers import Tokenizer
from needlework.prompts.wording import Templates
from needlework.seeding import rank_key

# The factors, what the table of prompts counts, and the words of verdicts.
ALL_COLUMNS = {**COLUMNS, "n_distractors": "int32", "exhausted": "bool", "accepted": "strings"}


@dataclass(frozen=True)
class Passage:
    """The beginning of a document in a prompt."""

    # The document's name.
    source: str
    text: str
    # How many characters of the text are in the prompt.
    end: int


@dataclass
class Item:
    """A question with its needle."""

    example_id: str
    question: str
    needle: Passage
    # The accepted answers.
    references: list[str]
    # By kind of retrieval, in decreasing relevance.
    distractors: dict[str, list[Passage]] = field(default_factory=dict)


Tables = Mapping[str, Mapping[str, pa.Table]]


def build(
    slice_settings: SliceSettings, tables: Tables, templates: Iterable[str], tokenizer: Tokenizer
) -> Built:
    """The instances of a slice, and counts of prompts and questions that could not be built.

    `slice_settings` is the result of `plan.settings`. `tables` has the corpora "questions" and "passages" and
    the "distractors", each by language. `templates` are files named after their task. The counts are:

    - `no_answer_left`: items with an answer that the metric normalises to the empty text, which every text
      would contain;
    - `questions_lacking`: how many fewer questions there are than asked for;
    - `needle_too_long`: prompts whose needle alone exceeds the budget.
    """
    own = Slice(**slice_settings)
    items, counts = _items(own, tables)
    builder = _Builder(own, {Path(path).stem: path for path in templates}, tokenizer)
    for item in progress(items, desc="prompts", unit="question"):
        if own.haystack_lang == NO_HAYSTACK:
            builder.without_haystack(item)
        else:
            builder.with_haystack(item)
    builder.pieces.sums.save()
    return Built(builder.instances.table(), counts | {"needle_too_long": builder.too_long})


def _items(own: Slice, tables: Tables) -> tuple[list[Item], dict[str, int]]:
    """The sampled questions of the slice's needle language, in the order of their ids, and counts."""
    needle_lang, question_lang = own.needle_lang, own.question_lang
    rows = {
        lang: {row["example_id"]: row for row in table.to_pylist()}
        for lang, table in tables["questions"].items()
    }
    needed = {needle_lang, question_lang}
    if own.aligned:
        needed |= set(own.answer_languages)
    shared = set.intersection(*(set(rows[lang]) for lang in needed))
    if not shared:
        raise UserError(
            f"benchmarks.mlneedle: {own.needles} has no item in all of "
            f"{', '.join(sorted(needed))}: set `aligned: false`, name fewer `answer_languages`, or use "
            "`needles: xquad`, whose items are in all of its languages."
        )
    # Aligned samples are the same items in every language; others are drawn for each by itself.
    draw = "aligned" if own.aligned else needle_lang
    languages = dict.fromkeys([needle_lang, question_lang, *own.answer_languages])
    items: list[Item] = []
    dropped = 0
    for example_id in sorted(shared, key=lambda i: rank_key(NAME, "questions", own.seed, draw, i)):
        if own.questions != "all" and len(items) == own.questions:
            break
        same = [rows[lang][example_id] for lang in languages if example_id in rows[lang]]
        references = list(dict.fromkeys(answer for row in same for answer in row["answers"]))
        if not all(map(normalise, references)):
            dropped += 1
            continue
        text = rows[needle_lang][example_id]["context"]
        needle = Passage(f"{own.needles}/{needle_lang}/{example_id}", text, len(text))
        question = rows[question_lang][example_id]["question"]
        items.append(Item(example_id, question, needle, references))
    _add_distractors(items, own, tables)
    asked = own.questions if isinstance(own.questions, int) else len(items)
    counts = {"no_answer_left": dropped, "questions_lacking": asked - len(items)}
    return sorted(items, key=lambda item: item.example_id), counts


def _add_distractors(items: list[Item], own: Slice, tables: Tables) -> None:
    """Give each item its distractors in decreasing relevance; `multilingual` merges by score."""
    wanted = pa.array([item.example_id for item in items], pa.string())
    ranked: dict[tuple[str, str], list[tuple[float, str, int, str]]] = defaultdict(list)
    texts = {}
    for lang in own.haystack_languages:
        table = tables["distractors"][lang]
        for row in table.filter(pc.is_in(table["example_id"], value_set=wanted)).to_pylist():
            ranked[row["retrieval"], row["example_id"]].append(
                (-row["score"], lang, row["rank"], row["passage_id"])
            )
        ids, own_texts = (tables["passages"][lang][name] for name in ("passage_id", "text"))
        texts[lang] = dict(zip(ids.to_pylist(), own_texts.to_pylist(), strict=True))

    # Items share their passages.
    @cache
    def passage(lang: str, passage_id: str) -> Passage:
        text = texts[lang][passage_id]
        return Passage(f"{own.haystack}/{lang}/{passage_id}", text, len(text))

    for item in items:
        for retrieval in own.retrieval:
            best = sorted(ranked[retrieval, item.example_id])[: own.multilingual_top]
            item.distractors[retrieval] = [passage(lang, name) for _, lang, _, name in best]


class _Builder:
    """Collects the columns of a slice's instances."""

    def __init__(self, own: Slice, templates: Mapping[str, str], tokenizer: Tokenizer) -> None:
        self.own, self.tokenizer = own, tokenizer
        texts = Templates(own.instructions, templates, INSTRUCTIONS)
        self.templates = {task: texts.pieces(task) for task in own.tasks}
        # By whether the needle is present.
        self.verdicts = [texts.text("no", "No"), texts.text("yes", "Yes")]
        self.pieces = Pieces(tokenizer)
        self.costs = LineCosts(self.pieces)
        self.instances = Instances(NAME, ALL_COLUMNS, NAMED_BY, tokenizer, self.pieces)
        self._labels: list[int] = []
        self.too_long = 0

    def without_haystack(self, item: Item) -> None:
        """The baseline of every task (the needle alone) and the closed-book prompt (no passage)."""
        for task in self.own.tasks:
            passages = [] if task == "closed_book" else [item.needle]
            self._add(item, task, self._numbers(item, task, passages), present=bool(passages))

    def with_haystack(self, item: Item) -> None:
        """The prompts of every task, retrieval, length and position."""
        own = self.own
        for task in own.tasks:
            head, middle, end = self.templates[task]
            frame = Frame(head, middle + item.question + end, self.costs)
            places: list[Position | None] = [*positions(own.positions)]
            if task == "existence" and own.needle_absent:
                places.append(None)
            for retrieval in own.retrieval:
                texts = [passage.text for passage in item.distractors[retrieval]]
                candidates = Candidates(texts, self.costs)
                for length, position in product(own.lengths, places):
                    self._fill(item, task, frame, candidates, retrieval, length, position)

    def _fill(
        self,
        item: Item,
        task: str,
        frame: Frame,
        candidates: Candidates,
        retrieval: str,
        length: int,
        position: Position | None,
    ) -> None:
        """The prompt of a length with the needle at a position, or without it."""
        distractors = item.distractors[retrieval]
        needle = [] if position is None else [item.needle]

        def prompt(whole: int, cut: int) -> list[int]:
            chosen = distractors[:whole]
            if cut:
                chosen = [*chosen, replace(distractors[whole], end=cut)]
            index = 0 if position is None else position.place(len(chosen))
            return self._numbers(item, task, [*chosen[:index], *needle, *chosen[index:]])

        filling = fill(
            frame,
            [passage.text for passage in needle],
            candidates,
            length - self.own.answer_buffer - self.tokenizer.reserve,
            truncate_last=self.own.truncate_last,
            prompt=prompt,
        )
        if filling is None:
            self.too_long += 1
            return
        self._add(
            item,
            task,
            filling.numbers,
            filling,
            position,
            present=position is not None,
            retrieval=retrieval,
            length=length,
        )

    def _add(
        self,
        item: Item,
        task: str,
        numbers: Sequence[int],
        filling: Filling | None = None,
        position: Position | None = None,
        *,
        present: bool,
        retrieval: str = NO_HAYSTACK,
        length: int = 0,
    ) -> None:
        """Add a prompt, with or without (`present`) its needle; `filling` and the rest are of a haystack."""
        columns: dict[str, Any] = {
            "needle_lang": self.own.needle_lang,
            "haystack_lang": self.own.haystack_lang,
            "question_lang": self.own.question_lang,
            "position": position.name if position else "none",
            "depth": position.depth if position else None,
            "length": length,
            "retrieval": retrieval,
            "needle_present": present,
        }
        existence = task == "existence"
        self.instances.add(
            numbers,
            self.pieces.text(numbers),
            n_tokens=filling.n_tokens if filling else self.pieces.tokens(numbers),
            task=task,
            n_distractors=filling.whole + (filling.cut > 0) if filling else 0,
            exhausted=filling is not None and filling.exhausted,
            example_id=item.example_id,
            references=[self.verdicts[present]] if existence else item.references,
            accepted=self.verdicts if existence else [],
            metric="existence" if existence else "exact",
            max_new_tokens=self.own.max_new_tokens,
            **columns,
        )

    def _numbers(self, item: Item, task: str, passages: Sequence[Passage]) -> list[int]:
        """The spans of a prompt: instruction, numbered passages, then the question between two literals."""
        pieces = self.pieces
        *head, middle, close = self.templates[task]
        while len(self._labels) < len(passages):
            label = line(len(self._labels), "")
            self._labels.append(pieces.literal("haystack", f"\n{label}" if self._labels else label))
        numbers = [pieces.literal("instruction", text) for text in head if text]
        ends = [passage.end for passage in passages]
        if self.own.strip_context and passages:
            ends[-1] = len(passages[-1].text[: ends[-1]].rstrip())
        for numbered, passage, end in zip(self._labels, passages, ends, strict=False):
            role = "needle" if passage is item.needle else "distractor"
            numbers += (numbered, pieces.slice(role, passage.source, passage.text, 0, end))
        return [
            *numbers,
            pieces.literal("instruction", middle),
            pieces.literal("question", item.question),
            pieces.literal("answer_format", close),
        ]
