"""The families of M4LE's tasks: each draws documents in its own way, and asks about them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from needlework import seeding
from needlework.benchmarks.m4le.data.drawing import (
    TOPICS,
    Blank,
    Draft,
    Family,
    Recipe,
    lower_bound,
    positions,
)
from needlework.benchmarks.m4le.data.frames import Frame, Item, fill
from needlework.benchmarks.m4le.data.records import POSITIVE, Record
from needlework.benchmarks.m4le.data.rows import Row
from needlework.benchmarks.m4le.data.tasks import Task
from needlework.benchmarks.m4le.data.units import beginning
from needlework.errors import UserError

logger = logging.getLogger(__name__)

# The tasks in which the place of the asked document is studied (paper, appendix B).
STUDIED = (
    *("nq-open", "duorc", "drcd_semantic-single", "c3"),
    *("wikihow", "cnnnews", "news2016", "lcsts", *TOPICS),
)
# Documents of WoW and DRCD stand in the prompt with their first 110 words or characters.
TOPIC_LENGTH = 110


def construct(task: Task, frame: Frame, records: Iterable[Record], recipe: Recipe) -> Iterator[Row]:
    """The rows of a task, bucket by bucket; the log counts missing rows and empty documents.

    UserError if the source holds nothing to ask about.
    """
    every = list(records)
    pool = [r for r in every if r.text.strip() or any(part.text.strip() for part in r.parts)]
    if empty := len(every) - len(pool):
        logger.warning(
            "%s: %d of %d documents are empty and left out", task.name, empty, len(every)
        )
    family = _FAMILIES.get(task.follows, _Single)(task, frame, pool)
    if not family.usable:
        raise UserError(
            f"m4le's {task.name}: the files of {task.source} hold no document that can be asked about: "
            "get the files again."
        )
    for bucket in sorted(recipe.lengths):
        made = list(family.rows(bucket, recipe))
        if len(made) < recipe.examples:
            logger.warning("%s at %d: %d of %d rows", task.name, bucket, len(made), recipe.examples)
        yield from made
    if recipe.study is not None and task.name in STUDIED:
        yield from family.moved(recipe.study, recipe.seed)


class _Single(Family):
    """One of n documents is asked about, at a place that cycles through the prompt."""

    def draw(self, rng: np.random.Generator, n: int, index: int, room: int) -> Draft | None:
        places = positions(self.task.name, n)
        return self.placed(rng, n, places[index % len(places)], room)

    def placed(self, rng: np.random.Generator, n: int, place: int, room: float) -> Draft | None:
        chosen = rng.choice(len(self.pool), n, replace=False)
        if self.costs[chosen].sum() > room:
            return None
        asked, *others = (self.pool[number] for number in chosen)
        values = {
            "label": asked.label,
            "title": asked.title,
            "question": asked.asked or asked.title,
        }
        answers = asked.answers
        if asked.questions:
            question = asked.questions[rng.integers(len(asked.questions))]
            values["question"], answers = question
        items = list(map(self.item, others))
        items.insert(place, self.item(asked))
        return Draft(items, [place], values, answers or ("",))


class _Topics(_Single):
    """Topics with the beginnings of their articles; the last topic is told as an example."""

    least = 2

    def item(self, record: Record) -> Item:
        return Item(beginning(record.text, TOPIC_LENGTH, self.task.unit), record.title)


class _OfClass(Family):
    """All documents of a class are asked for by their ids."""

    least = 2

    def draw(self, rng: np.random.Generator, n: int, index: int, room: int) -> Draft | None:
        chosen = rng.choice(len(self.pool), n, replace=False)
        if self.costs[chosen].sum() > room:
            return None
        places: dict[str, list[int]] = {}
        for place, number in enumerate(chosen):
            places.setdefault(self.pool[number].label, []).append(place)
        several = sorted(label for label, found in places.items() if len(found) > 1)
        if self.task.follows in ("marc", "online-shopping"):
            label = POSITIVE
        else:
            label = str(rng.choice(several or sorted(places)))
        if label not in places:
            return None
        items = [self.item(self.pool[number]) for number in chosen]
        return Draft(items, places[label], {"question": label}, ("",))


class _Count(Family):
    """The documents of a class are counted: one to six of them, in turn."""

    least = 3

    def __init__(self, task: Task, frame: Frame, pool: list[Record]) -> None:
        super().__init__(task, frame, pool)
        self._labels = np.array([record.label for record in pool])
        self._classes = sorted(set(self._labels.tolist()))

    def draw(self, rng: np.random.Generator, n: int, index: int, room: int) -> Draft | None:
        count = index % max(2, min(6, n - 2)) + 1
        label = str(rng.choice(self._classes))
        of_class = np.flatnonzero(self._labels == label)
        others = np.flatnonzero(self._labels != label)
        if len(of_class) < count or len(others) < n - count:
            return None
        chosen = np.concatenate(
            [
                rng.choice(of_class, count, replace=False),
                rng.choice(others, n - count, replace=False),
            ]
        )
        if self.costs[chosen].sum() > room:
            return None
        chosen = rng.permutation(chosen)
        gold = [place for place, number in enumerate(chosen) if self._labels[number] == label]
        items = [self.item(self.pool[number]) for number in chosen]
        return Draft(items, gold, {"question": label}, (str(count),))


class _Continuation(Family):
    """Which paragraph continues the first? One follows it in its article, the others are from others."""

    least = 2

    def __init__(self, task: Task, frame: Frame, pool: list[Record]) -> None:
        super().__init__(task, frame, [record for record in pool if len(record.parts) > 1])

    def _cost(self, record: Record) -> int:
        costs = [self._length(fill(self.frame.item, Blank({"text": p.text}))) for p in record.parts]
        return round(sum(costs) / len(costs))

    def draw(self, rng: np.random.Generator, n: int, index: int, room: int) -> Draft | None:
        first, *others = (
            self.pool[place] for place in rng.choice(len(self.pool), n, replace=False)
        )
        start = int(rng.integers(len(first.parts) - 1))
        places = positions(self.task.name, n)
        gold = places[index % len(places)]
        texts = [other.parts[int(rng.integers(len(other.parts)))].text.strip() for other in others]
        texts.insert(gold, first.parts[start + 1].text.strip())
        query = first.parts[start].text.strip()
        if sum(map(self._length, [*texts, query])) > room:
            return None
        return Draft([Item(text) for text in texts], [gold], {"query": query}, ("",))


class _Retrieved(Family):
    """A question's gold passage among the first ones that a retriever found for it."""

    least = 2

    def _first_count(self, bucket: int) -> int:
        few = {1000: 5, 2000: 10, 4000: 30, 6000: 40, 8000: 60, 16000: 120, 32000: 200, 64000: 400}
        return min(self._most(), few.get(bucket) or super()._first_count(bucket))

    def _most(self) -> int:
        return 1 + max(len(record.parts) for record in self.pool)

    def draw(self, rng: np.random.Generator, n: int, index: int, room: int) -> Draft | None:
        places = positions(self.task.name, n)
        return self.placed(rng, n, places[index % len(places)], room)

    def placed(self, rng: np.random.Generator, n: int, place: int, room: float) -> Draft | None:
        record = self.pool[int(rng.integers(len(self.pool)))]
        if len(record.parts) < n - 1:
            return None
        items = [Item(part.text, part.title) for part in record.parts[: n - 1]]
        items.insert(place, Item(record.text, record.title))
        question = record.questions[0]
        if sum(self._length(item.text) + self._length(item.title) for item in items) > room:
            return None
        return Draft(items, [place], {"question": question.text}, question.answers)


class _Natural(Family):
    """A source's own document, or its own documents, as it is; of each bucket a sample."""

    def rows(self, bucket: int, recipe: Recipe) -> list[Row]:
        ranked = sorted(
            range(len(self.pool)),
            key=lambda i: seeding.rank_key("m4le", self.task.name, bucket, recipe.seed, i),
        )
        low = lower_bound(bucket)
        made: list[Row] = []
        for number in ranked:
            if len(made) == recipe.examples:
                break
            # A text far from the bucket need not be put together.
            if not low < self.costs[number] + 2 * self._overhead or self.costs[number] >= bucket:
                continue
            rng = seeding.rng("m4le", self.task.name, bucket, number, recipe.seed)
            row = self.row(self._draft(self.pool[number]), bucket, rng)
            if low <= row.length < bucket:
                made.append(row)
        return made

    def _cost(self, record: Record) -> int:
        return sum(self._length(part.text) for part in record.parts) or self._length(record.text)

    def _draft(self, record: Record) -> Draft:
        items = [Item(part.text, part.title) for part in record.parts] or [self.item(record)]
        values = {"label": record.label, "title": record.title}
        answers = record.answers
        if record.questions:
            values["question"], answers = record.questions[0]
        return Draft(items, [], values, answers or ("",))


class _Gathered(_Natural):
    """Consecutive pairs of a document and its answer, joined until the next would not fit.

    A record's parts are the pairs: `text`, and the answer as `title`.
    """

    def rows(self, bucket: int, recipe: Recipe) -> list[Row]:
        space = "" if self.task.answer_lang == "zh" else " "
        between = "" if self.task.lang == "en,zh" and self.task.answer_lang == "en" else " "
        between = "\n" if self.task.lang == "en" else between
        drafts: list[Draft] = []
        for record in self.pool:
            sizes = [self._length(part.text) + self._length(part.title) for part in record.parts]
            ends = list(_chunks(sizes, bucket - self._overhead - 1))
            for start, end in pairwise([0, *ends]):
                chunk = record.parts[start:end]
                text = between.join(part.text for part in chunk)
                answer = space.join(part.title for part in chunk)
                drafts.append(Draft([Item(text)], [], {}, (answer,)))
        order = sorted(
            range(len(drafts)),
            key=lambda i: seeding.rank_key("m4le", self.task.name, bucket, recipe.seed, i),
        )
        made: list[Row] = []
        for number in order:
            if len(made) == recipe.examples:
                break
            rng = seeding.rng("m4le", self.task.name, bucket, number, recipe.seed)
            row = self.row(drafts[number], bucket, rng)
            if lower_bound(bucket) < row.length <= bucket:
                made.append(row)
        return made


def _chunks(sizes: Sequence[int], room: int) -> Iterator[int]:
    """Where chunks of sizes that fit into the room end."""
    taken = 0
    for place, size in enumerate(sizes):
        if taken and taken + size > room:
            yield place
            taken = 0
        taken += size
    yield len(sizes)


_FAMILIES: dict[str, type[Family]] = {
    **dict.fromkeys(TOPICS, _Topics),
    **dict.fromkeys(
        (
            "mnds-news_explicit-multiple",
            "thucnews_explicit-multiple",
            "marc",
            "online-shopping",
        ),
        _OfClass,
    ),
    **dict.fromkeys(("mnds-news_semantic-multiple", "thucnews_semantic-multiple"), _Count),
    **dict.fromkeys(("wikitext-103", "wiki2019zh"), _Continuation),
    "nq-open": _Retrieved,
    **dict.fromkeys(
        (
            *("hotpotqa", "dureader", "triviaqa", "bigpatent_global_cls", "bigpatent_global_sum"),
            *("arxiv", "pubmed", "cnewsum", "clts"),
        ),
        _Natural,
    ),
    **dict.fromkeys(("booksum", "open-subtitles-en2zh", "open-subtitles-zh2en"), _Gathered),
}
