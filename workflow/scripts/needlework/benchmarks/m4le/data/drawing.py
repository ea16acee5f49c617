"""How a row of M4LE is drawn from documents (paper, section 3.3): seeded by names, and with limits.

The paper takes n = bucket / median length documents at random, and draws again where they are too
long. So do we, with two limits: after DRAWS draws that do not fit, n changes a little, and a bucket for
which no n fits has no rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from needlework import seeding
from needlework.benchmarks.m4le.data.frames import Frame, Item, fill, render
from needlework.benchmarks.m4le.data.numerals import counted
from needlework.benchmarks.m4le.data.records import Record
from needlework.benchmarks.m4le.data.rows import Row
from needlework.benchmarks.m4le.data.tasks import BUCKETS, Task
from needlework.benchmarks.m4le.data.units import length
from needlework.data.language_names import language_name

DRAWS = 100
# Tasks whose prompt tells the last document's title.
TOPICS = ("wow", "drcd_explicit-single")
_TRIED_COUNTS = 200


class Recipe(NamedTuple):
    """What is made: the buckets, the rows of each, the seed beside the names, and the study of places."""

    lengths: Sequence[int]
    examples: int
    seed: int
    study: Study | None = None


class Study(NamedTuple):
    """Rows in which the asked document stands at each of `places` places among `candidates` (Figure 6)."""

    places: int
    candidates: int
    examples: int

    def at(self, n: int) -> list[int]:
        """The places among n, evenly spread."""
        last = max(1, self.places - 1)
        return sorted({round(k * (n - 1) / last) for k in range(self.places)})


class Draft(NamedTuple):
    """A prompt before its ids: its documents, the places of the needles, and what else it says."""

    items: Sequence[Item]
    gold: Sequence[int]
    values: Mapping[str, str]
    answers: Sequence[str]


def lower_bound(bucket: int) -> int:
    """The length that a row of the bucket exceeds; it depends on no other bucket of a run."""
    return max((known for known in BUCKETS if known < bucket), default=0)


def positions(name: str, n: int) -> list[int]:
    """The places that the asked document takes in turn among n (released scripts)."""
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
    """Shared by all families: from a draft to a row, and the search for a number of documents."""

    least = 1

    def __init__(self, task: Task, frame: Frame, pool: list[Record]) -> None:
        self.task, self.frame, self.pool = task, frame, pool
        self._overhead = self._length(
            fill(
                frame.instruction + frame.example + frame.opening + frame.late + frame.end, Blank()
            )
        )
        self.costs = np.array([self._cost(record) for record in pool])

    @property
    def usable(self) -> bool:
        """Whether there is anything to ask about."""
        return bool(self.pool)

    def rows(self, bucket: int, recipe: Recipe) -> list[Row]:
        """The rows of a bucket: with the number of documents that gives all of them, or the most."""
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
        """A draft of n documents for the row `index`; None of what is longer than `room`, or impossible."""
        raise NotImplementedError

    def moved(self, study: Study, seed: int) -> Iterator[Row]:
        """Rows without a bucket: the same documents and question, the asked one at each place in turn.

        Of topics twice as many examples (appendix B).
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
        """As `draw`, with the asked document at `place`."""
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
        ids = self._ids(rng, len(draft.items))
        items = [item._replace(id=id_) for item, id_ in zip(draft.items, ids, strict=True)]
        values = _values(self.task, items, draft, self._example_ids(rng, ids))
        text, found = render(self.frame, items, values, draft.gold)
        listed = self.frame.id_join.join(items[place].id for place in draft.gold)
        answers = [
            fill(self.frame.answer, {**values, "answer": answer or listed})
            for answer in draft.answers
        ]
        total = self._length(text) + max(map(self._length, answers))
        return Row(
            self.task.name, text, found, answers, bucket, total, list(draft.gold), len(items)
        )

    def _ids(self, rng: np.random.Generator, n: int) -> list[str]:
        if self.frame.ids == "number":
            return [str(number) for number in range(1, n + 1)]
        if self.frame.ids != "hex":
            return [""] * n
        return _hex(rng, n, self.frame.example)

    def _example_ids(self, rng: np.random.Generator, taken: Sequence[str]) -> dict[str, str]:
        if "{example_" not in self.frame.example:
            return {}
        drawn = _hex(rng, 3, " ".join(taken))
        return {f"example_{number}": id_ for number, id_ in enumerate(drawn, start=1)}

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


def _values(
    task: Task, items: Sequence[Item], draft: Draft, example_ids: Mapping[str, str]
) -> dict[str, str]:
    """What fills the frame's placeholders."""
    n, gold = len(items), draft.gold[0] if draft.gold else None
    return {
        **example_ids,
        "n": str(n),
        "next": str(n + 1),
        "count": counted(n, task.answer_lang),
        "language": language_name(task.second),
        "last": items[-1].id,
        "last_title": items[-1].title,
        "gold": items[gold].id if gold is not None else "",
        **draft.values,
    }


class Blank(dict[str, str]):
    """A mapping in which a missing value is the empty text."""

    def __missing__(self, key: str) -> str:
        return ""
