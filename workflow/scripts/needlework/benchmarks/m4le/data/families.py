"""The families of M4LE's tasks: each draws documents in its own way (paper, section 3.3) and asks about them.

The paper draws n = bucket / median length documents, and draws again if they are too long. This module does
the same within two limits. After DRAWS draws that do not fit, n changes a little. A bucket for which no n
fits has no rows.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import numpy as np

from needlework import seeding
from needlework.benchmarks.m4le.data.rows import POSITIVE, Record, Row, beginning, counted, length
from needlework.benchmarks.m4le.data.tasks import BUCKETS, Frame, Item, Task, fill, render
from needlework.data.language_names import language_name
from needlework.errors import UserError

DRAWS = 100
# Tasks whose prompt tells the last document's title.
TOPICS = ("wow", "drcd_explicit-single")
_TRIED_COUNTS = 200


class Recipe(NamedTuple):
    """The settings of construction."""

    # The buckets.
    lengths: Sequence[int]
    # The rows per bucket.
    examples: int
    seed: int
    # The study of places.
    study: Study | None = None


class Study(NamedTuple):
    """The rows of Figure 6."""

    # The asked document stands at each of this many places.
    places: int
    # The number of documents in a prompt.
    candidates: int
    examples: int

    def at(self, n: int) -> list[int]:
        """The indices of `places` evenly spread places among n."""
        last = max(1, self.places - 1)
        return sorted({round(k * (n - 1) / last) for k in range(self.places)})


class Draft(NamedTuple):
    """A prompt before it gets ids."""

    # Its documents.
    items: Sequence[Item]
    # The indices of the needles.
    gold: Sequence[int]
    # Its other texts.
    values: Mapping[str, str]
    answers: Sequence[str]


def lower_bound(bucket: int) -> int:
    """The length that a row of the bucket must exceed. It does not depend on the run's other buckets."""
    return max((known for known in BUCKETS if known < bucket), default=0)


def positions(name: str, n: int) -> list[int]:
    """The places among n at which the released scripts put the asked document, in turn."""
    if name in TOPICS:
        # The last topic is told in the prompt.
        n -= 1
    if name.startswith("news-commentary") and n < 5:
        return sorted({0, n - 1})
    if name == "drcd_semantic-single" and n in (2, 3):
        return [0, 1]
    sparse = name in (*TOPICS, "nq-open") and n >= 200
    step = 10 if sparse else 5
    return [0, *range(step - 1, n, step)]


class Family:
    """The base of all families: it turns drafts into rows, and searches for a number of documents."""

    least = 1

    def __init__(self, task: Task, frame: Frame, pool: list[Record]) -> None:
        self.task, self.frame, self.pool = task, frame, pool
        self._overhead = self._length(
            fill(
                frame.instruction + frame.example + frame.opening + frame.late + frame.end, Blank()
            )
        )
        self.costs = np.array([self._cost(record) for record in pool])

    def rows(self, bucket: int, recipe: Recipe) -> list[Row]:
        """The rows of a bucket.

        The number of documents in a row is one with which all rows can be made, or else the most rows.
        """
        if len(self.pool) < self.least:
            return []
        best: list[Row] = []
        n, step = self._first_count(bucket), 0
        for _ in range(_TRIED_COUNTS):
            if not self.least <= n <= self._most():
                break
            made, too_long = self._with_count(n, bucket, recipe)
            if len(made) > len(best):
                best = made
            if len(best) >= recipe.examples or (step and step != (-1 if too_long else 1)):
                break
            step = -1 if too_long else 1
            # A fiftieth of many documents, which are often far from what fits: the mean length of a source
            # may be twice its median.
            n += step * max(1, n // 50)
        return best

    def draw(self, rng: np.random.Generator, n: int, index: int, room: int) -> Draft | None:
        """A draft of n documents for the row `index`; None if it is longer than `room`, or cannot be made.

        The asked document's place cycles through the prompt.
        """
        places = positions(self.task.name, n)
        return self.placed(rng, n, places[index % len(places)], room)

    def moved(self, study: Study, seed: int) -> Iterator[Row]:
        """Rows without a bucket: equal documents and question, with the asked document at each place in turn.

        Tasks that ask for topics get twice as many examples (appendix B).
        """
        n = min(study.candidates, self._most())
        twice = 1 + (self.task.task_type == "RET")
        for index in range(study.examples * twice):
            for place in study.at(n - (self.task.name in TOPICS)):
                rng = seeding.rng("m4le", self.task.name, "places", n, index, seed)
                draft = self.placed(rng, n, place, math.inf)
                if draft is not None:
                    yield self.row(draft, 0, rng)

    def placed(self, rng: np.random.Generator, n: int, place: int, room: float) -> Draft | None:
        """A draft as from `draw`, but with the asked document at `place`."""
        raise NotImplementedError

    def _first_count(self, bucket: int) -> int:
        typical = max(1.0, float(median(self.costs)))
        room = max(0, bucket - self._overhead)
        return min(self._most(), max(self.least, round(room / typical)))

    def _most(self) -> int:
        return len(self.pool)

    def _with_count(self, n: int, bucket: int, recipe: Recipe) -> tuple[list[Row], bool]:
        """Rows of n documents, until one does not come about; whether it was too long."""
        made: list[Row] = []
        low = lower_bound(bucket)
        for index in range(recipe.examples):
            long = 0
            for attempt in range(DRAWS):
                rng = seeding.rng("m4le", self.task.name, bucket, n, index, attempt, recipe.seed)
                draft = self.draw(rng, n, index, bucket - self._overhead)
                if draft is None:
                    # If there are too few documents of a kind, a larger number fails too.
                    long += 1
                    continue
                row = self.row(draft, bucket, rng)
                if low < row.length <= bucket:
                    made.append(row)
                    break
                long += row.length > bucket
            else:
                return made, long > 0
        return made, False

    def row(self, draft: Draft, bucket: int, rng: np.random.Generator) -> Row:
        """The row of a draft; its items' ids are drawn here."""
        task, frame, n = self.task, self.frame, len(draft.items)
        ids = [""] * n
        if frame.ids == "number":
            ids = [str(number) for number in range(1, n + 1)]
        elif frame.ids == "hex":
            ids = _hex(rng, n, frame.example)
        examples = _hex(rng, 3, " ".join(ids)) if "{example_" in frame.example else []
        items = [item._replace(id=id_) for item, id_ in zip(draft.items, ids, strict=True)]
        values = {
            **{f"example_{number}": id_ for number, id_ in enumerate(examples, start=1)},
            **{"n": str(n), "next": str(n + 1), "count": counted(n, task.answer_lang)},
            "language": language_name(task.second),
            **{"last": ids[-1], "last_title": items[-1].title},
            "gold": ids[draft.gold[0]] if draft.gold else "",
            **draft.values,
        }
        text, found = render(frame, items, values, draft.gold)
        listed = frame.id_join.join(ids[place] for place in draft.gold)
        answers = [
            fill(frame.answer, {**values, "answer": answer or listed}) for answer in draft.answers
        ]
        total = self._length(text) + max(map(self._length, answers))
        return Row(task.name, text, found, answers, bucket, total, list(draft.gold), n)

    def _length(self, text: str) -> int:
        return length(text, self.task.unit)

    def _cost(self, record: Record) -> int:
        return self._length(fill(self.frame.item, Blank(self.item(record)._asdict())))

    def item(self, record: Record) -> Item:
        """A record as it stands in a prompt."""
        return Item(record.text, record.title)


def _hex(rng: np.random.Generator, n: int, avoid: str) -> list[str]:
    """n different ids of six upper-case hexadecimal digits, none of which stands in `avoid`."""
    ids: dict[str, None] = {}
    while len(ids) < n:
        id_ = rng.bytes(3).hex().upper()
        if id_ not in avoid:
            ids[id_] = None
    return list(ids)


class Blank(dict[str, str]):
    """A mapping in which a missing value is the empty text."""

    def __missing__(self, key: str) -> str:
        return ""


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

    Raises UserError if the source holds nothing to ask about.
    """
    every = list(records)
    pool = [r for r in every if r.text.strip() or any(part.text.strip() for part in r.parts)]
    if empty := len(every) - len(pool):
        logger.warning(
            "%s: %d of %d documents are empty and left out", task.name, empty, len(every)
        )
    family = FAMILIES[task.draws](task, frame, pool)
    if not family.pool:
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
    """One of n documents is asked about."""

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

    # Whether a row may be as long as the bucket's lower end, or as its upper end.
    at_start = True

    def rows(self, bucket: int, recipe: Recipe) -> list[Row]:
        drafts, made = self._drafts(bucket), list[Row]()
        seeds = ("m4le", self.task.name, bucket)
        low, shift = lower_bound(bucket), int(self.at_start)
        for number in sorted(drafts, key=lambda i: seeding.rank_key(*seeds, recipe.seed, i)):
            if len(made) == recipe.examples:
                break
            rng = seeding.rng(*seeds, number, recipe.seed)
            row = self.row(drafts[number], bucket, rng)
            if low < row.length + shift <= bucket:
                made.append(row)
        return made

    def _cost(self, record: Record) -> int:
        return sum(self._length(part.text) for part in record.parts) or self._length(record.text)

    def _drafts(self, bucket: int) -> dict[int, Draft]:
        """The drafts of which a bucket's rows are made, by number."""
        low = lower_bound(bucket)
        # A text far from the bucket need not be put together.
        return {
            number: self._draft(record)
            for number, (record, cost) in enumerate(zip(self.pool, self.costs, strict=True))
            if low < cost + 2 * self._overhead and cost < bucket
        }

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

    at_start = False

    def _drafts(self, bucket: int) -> dict[int, Draft]:
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
        return dict(enumerate(drafts))


def _chunks(sizes: Sequence[int], room: int) -> Iterator[int]:
    """Where chunks of sizes that fit into the room end."""
    taken = 0
    for place, size in enumerate(sizes):
        if taken and taken + size > room:
            yield place
            taken = 0
        taken += size
    yield len(sizes)


FAMILIES: dict[str, type[Family]] = {
    **{"single": _Single, "topics": _Topics, "class": _OfClass, "count": _Count},
    **{"continuation": _Continuation, "retrieved": _Retrieved},
    **{"natural": _Natural, "gathered": _Gathered},
}
