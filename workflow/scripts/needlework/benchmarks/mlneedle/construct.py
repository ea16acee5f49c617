"""MLNeedle's prompts: one needle among distractors, at a position, within a token budget.

Paper sections 2.1, 2.2 and appendices A to C; the templates are its Tables 5 and 6.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from needlework.benchmarks.contract import Built, SliceSettings
from needlework.benchmarks.mlneedle.factors import COLUMNS
from needlework.benchmarks.mlneedle.plan import (
    NAME,
    NO_HAYSTACK,
    Position,
    haystack_languages,
    positions,
)
from needlework.data.comparison.normalisation import normalise
from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.prompts.budget import Candidates, Filling, Frame, LineCosts, fill, line
from needlework.prompts.instances import Instances, Spans
from needlework.prompts.spans import Span, literal, read_template
from needlework.prompts.tokenizers import Tokenizer
from needlework.seeding import rank_key

# The factors, and what the table of prompts counts.
ALL_COLUMNS = {**COLUMNS, "n_distractors": "int32", "exhausted": "bool"}


@dataclass(frozen=True)
class Passage:
    """A passage of a prompt: the document that it begins, and as much of its text as stands there."""

    source: str
    text: str


@dataclass
class Item:
    """A question with its needle, its accepted answers and its distractors by kind of retrieval."""

    example_id: str
    question: str
    needle: Passage
    references: list[str]
    distractors: dict[str, list[Passage]] = field(default_factory=dict)


Tables = Mapping[str, Mapping[str, pa.Table]]


def build(
    slice_settings: SliceSettings,
    tables: Tables,
    templates: Iterable[str],
    tokenizer: Tokenizer,
) -> Built:
    """The instances of a slice, and the counts of what could not be built.

    `slice_settings` is what `plan.settings` gives; `tables` holds the corpora "questions" and "passages" and
    the "distractors", each by language; `templates` are files named after their task. The counts:
    `no_answer_left`, items one of whose answers the metric's normalisation empties (every text would
    contain it); `questions_lacking`, by how many there are fewer than asked for; `needle_too_long`,
    prompts whose needle alone exceeds the budget.
    """
    items, counts = _items(slice_settings, tables)
    builder = _Builder(slice_settings, {Path(path).stem: path for path in templates}, tokenizer)
    for item in progress(items, desc="prompts", unit="question"):
        if slice_settings["haystack_lang"] == NO_HAYSTACK:
            builder.without_haystack(item)
        else:
            builder.with_haystack(item)
    builder.costs.save()
    return Built(builder.instances.table(), counts | {"needle_too_long": builder.too_long})


def _items(slice_settings: SliceSettings, tables: Tables) -> tuple[list[Item], dict[str, int]]:
    """The sampled questions of the slice's needle language, in the order of their ids."""
    needle_lang, question_lang = slice_settings["needle_lang"], slice_settings["question_lang"]
    rows = {lang: _by_id(table) for lang, table in tables["questions"].items()}
    # Aligned samples are the same items in every language; others are drawn for each by itself.
    draw = "aligned" if slice_settings["aligned"] else needle_lang
    needed = {needle_lang, question_lang}
    if slice_settings["aligned"]:
        needed |= set(slice_settings["answer_languages"])
    shared = set.intersection(*(set(rows[lang]) for lang in needed))
    if not shared:
        raise UserError(
            f"benchmarks.mlneedle: {slice_settings['needles']} has no item in all of "
            f"{', '.join(sorted(needed))}: set `aligned: false`, name fewer `answer_languages`, or use "
            "`needles: xquad`, whose items "
            "are in all of its languages."
        )
    ranked = sorted(
        shared, key=lambda i: rank_key(NAME, "questions", slice_settings["seed"], draw, i)
    )
    languages = dict.fromkeys([needle_lang, question_lang, *slice_settings["answer_languages"]])
    items: list[Item] = []
    dropped = 0
    for example_id in ranked:
        if slice_settings["questions"] != "all" and len(items) == slice_settings["questions"]:
            break
        own = [rows[lang][example_id] for lang in languages if example_id in rows[lang]]
        references = list(dict.fromkeys(answer for row in own for answer in row["answers"]))
        if not all(map(normalise, references)):
            dropped += 1
            continue
        needle = rows[needle_lang][example_id]
        source = f"{slice_settings['needles']}/{needle_lang}/{example_id}"
        items.append(
            Item(
                example_id,
                rows[question_lang][example_id]["question"],
                Passage(source, needle["context"]),
                references,
            )
        )
    _add_distractors(items, slice_settings, tables)
    asked = len(items) if slice_settings["questions"] == "all" else slice_settings["questions"]
    counts = {"no_answer_left": dropped, "questions_lacking": asked - len(items)}
    return sorted(items, key=lambda item: item.example_id), counts


def _by_id(table: pa.Table) -> dict[str, dict[str, Any]]:
    return {row["example_id"]: row for row in table.to_pylist()}


def _add_distractors(items: list[Item], slice_settings: SliceSettings, tables: Tables) -> None:
    """Give each item its distractors in decreasing relevance; `multilingual` merges by score."""
    languages = haystack_languages(slice_settings)
    if not languages:
        return
    wanted = pa.array([item.example_id for item in items])
    ranked: dict[tuple[str, str], list[tuple[float, str, int, str]]] = defaultdict(list)
    for lang in languages:
        table = tables["distractors"][lang]
        table = table.filter(pc.is_in(table["example_id"], value_set=wanted))
        for row in table.to_pylist():
            ranked[row["retrieval"], row["example_id"]].append(
                (-row["score"], lang, row["rank"], row["passage_id"])
            )
    texts = {
        lang: dict(zip(t["passage_id"].to_pylist(), t["text"].to_pylist(), strict=True))
        for lang, t in tables["passages"].items()
    }
    passages: dict[tuple[str, str], Passage] = {}
    top = slice_settings.get("multilingual_top")
    for item in items:
        for retrieval in slice_settings["retrieval"]:
            best = sorted(ranked[retrieval, item.example_id])[:top]
            for _, lang, _, passage_id in best:
                if (lang, passage_id) not in passages:
                    source = f"{slice_settings['haystack']}/{lang}/{passage_id}"
                    passages[lang, passage_id] = Passage(source, texts[lang][passage_id])
            item.distractors[retrieval] = [passages[lang, pid] for _, lang, _, pid in best]


class _Builder:
    """Collects the columns of a slice's instances."""

    def __init__(
        self,
        slice_settings: SliceSettings,
        templates: Mapping[str, str],
        tokenizer: Tokenizer,
    ) -> None:
        self.slice_settings, self.tokenizer = slice_settings, tokenizer
        self.templates = {
            task: read_template(
                templates[task], ["question"] if task == "closed_book" else ["passages", "question"]
            )
            for task in slice_settings["tasks"]
        }
        self.costs = LineCosts(tokenizer)
        self.spans = Spans()
        self.instances = Instances(NAME, ALL_COLUMNS, tokenizer, self.spans)
        self._labels: list[int] = []
        self.too_long = 0

    def without_haystack(self, item: Item) -> None:
        """The baseline of every task (the needle alone) and the closed-book prompt (no passage)."""
        for task in self.slice_settings["tasks"]:
            passages = [] if task == "closed_book" else [item.needle]
            self._add(item, task, passages, needle=item.needle if passages else None)

    def with_haystack(self, item: Item) -> None:
        """The prompts of every task, retrieval, length and position."""
        for task in self.slice_settings["tasks"]:
            head, middle, end = self.templates[task]
            frame = Frame(head, middle + item.question + end, self.costs, self.tokenizer)
            for retrieval in self.slice_settings["retrieval"]:
                texts = [passage.text for passage in item.distractors[retrieval]]
                candidates = Candidates(texts, self.costs)
                for length in self.slice_settings["lengths"]:
                    for position in self._positions(task):
                        self._fill(item, task, frame, candidates, retrieval, length, position)

    def _positions(self, task: str) -> list[Position | None]:
        """Where the needle goes; None for the prompt without one, which existence accuracy needs."""
        wanted: list[Position | None] = list(positions(self.slice_settings["positions"]))
        if task == "existence" and self.slice_settings["needle_absent"]:
            wanted.append(None)
        return wanted

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
        distractors = item.distractors[retrieval]
        needle = [] if position is None else [item.needle]

        def arrange(whole: int, cut: int) -> list[Passage]:
            chosen = distractors[:whole]
            if cut:
                last = distractors[whole]
                chosen = [*chosen, Passage(last.source, last.text[:cut])]
            index = 0 if position is None else position.place(len(chosen))
            return [*chosen[:index], *needle, *chosen[index:]]

        filling = fill(
            frame,
            [passage.text for passage in needle],
            candidates,
            length - self.slice_settings["answer_buffer"] - self.tokenizer.reserve,
            truncate_last=self.slice_settings["truncate_last"],
            render=lambda whole, cut: _text(frame.head, arrange(whole, cut), frame.tail),
            last=lambda whole, cut: arrange(whole, cut)[-1].text,
        )
        if filling is None:
            self.too_long += 1
            return
        self._add(
            item,
            task,
            arrange(filling.whole, filling.cut),
            needle=item.needle if needle else None,
            filling=filling,
            position=position,
            length=length,
            retrieval=retrieval,
        )

    def _add(
        self,
        item: Item,
        task: str,
        passages: Sequence[Passage],
        *,
        needle: Passage | None,
        filling: Filling | None = None,
        position: Position | None = None,
        length: int = 0,
        retrieval: str = NO_HAYSTACK,
    ) -> None:
        factors = {
            "needle_lang": self.slice_settings["needle_lang"],
            "haystack_lang": self.slice_settings["haystack_lang"],
            "question_lang": self.slice_settings["question_lang"],
            "position": position.name if position else "none",
            "depth": position.depth if position else None,
            "length": length,
            "retrieval": retrieval,
            "needle_present": needle is not None,
        }
        *frame, end = self.templates[task]
        tail = f"{frame[-1]}{item.question}{end}"
        head = frame[0] if len(frame) == 2 else ""
        prompt = _text(head, passages, tail)
        existence = task == "existence"
        self.instances.add(
            self._numbers(head, passages, needle, (frame[-1], item.question, end)),
            prompt,
            named=factors,
            n_tokens=filling.n_tokens if filling else self.tokenizer.count(prompt),
            task=task,
            n_distractors=len(passages) - (needle is not None),
            exhausted=filling is not None and filling.exhausted,
            example_id=item.example_id,
            references=[("No", "Yes")[needle is not None]] if existence else item.references,
            metric="existence" if existence else "exact",
            max_new_tokens=self.slice_settings["max_new_tokens"],
            **factors,
        )

    def _numbers(
        self,
        head: str,
        passages: Sequence[Passage],
        needle: Passage | None,
        tail: tuple[str, str, str],
    ) -> Iterator[int]:
        """The spans: instruction, numbered passages, then the question between its two literals."""
        number = self.spans.number
        while len(self._labels) < len(passages):
            label = line(len(self._labels), "")
            text = f"\n{label}" if self._labels else label
            self._labels.append(number(literal("haystack", text)))
        if head:
            yield number(literal("instruction", head))
        for numbered, passage in zip(self._labels, passages, strict=False):
            yield numbered
            role = "needle" if passage is needle else "distractor"
            yield number(Span(role, passage.source, 0, len(passage.text)))
        for role, text in zip(("instruction", "question", "answer_format"), tail, strict=True):
            yield number(literal(role, text))


def _text(head: str, passages: Sequence[Passage], tail: str) -> str:
    body = "\n".join(line(i, passage.text) for i, passage in enumerate(passages))
    return f"{head}{body}{tail}"
