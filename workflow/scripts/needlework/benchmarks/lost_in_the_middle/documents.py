"""The questions of Lost in the Middle, their gold documents, and their distractors in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from needlework.benchmarks.lost_in_the_middle.plan import (
    NAME,
    NQ_OPEN,
    UNTITLED,
    Slice,
    passage_corpus,
)
from needlework.data.comparison.subspan_normalisation import normalise
from needlework.data.comparison.subspan_screen import SoughtAnswer, Text
from needlework.data.corpora.titled import titled
from needlework.jobs.job import no_collection
from needlework.jobs.progress import progress
from needlework.seeding import rank_key, rng

Tables = Mapping[str, Mapping[str, pa.Table]]
Counts = dict[str, int]


@dataclass
class Item:
    """A question with its gold passage, and its other passages in the prompt's order."""

    example_id: str
    question: str
    answers: list[str]
    title: str
    context: str
    # The rows of its other passages.
    others: Sequence[int] = ()
    # Of passages that are shown as they were retrieved: whether each holds an answer.
    has_answer: Sequence[bool] = ()


class Passages(NamedTuple):
    """The passages of a slice, by row."""

    # Names of documents.
    sources: list[str]
    texts: list[str]
    # The titles with which the texts begin, if they begin with titles.
    titles: list[str]
    # The row of each id.
    rows: dict[str, int]


@no_collection()
def items_of(own: Slice, table: pa.Table) -> tuple[list[Item], Counts]:
    """The sampled questions in the order of their ids, and counts of peculiar questions by reason."""
    columns = table.select(["example_id", "question", "answers", "title", "context"])
    items = [Item(**row) for row in columns.to_pylist()]
    asked = own.questions if isinstance(own.questions, int) else len(items)
    ranked = sorted(items, key=lambda item: rank_key(NAME, "questions", own.seed, item.example_id))
    sampled = sorted(ranked[:asked], key=lambda item: item.example_id)
    return sampled, {
        "gold_without_answer_kept": sum(not _answered(item) for item in items),
        "answer_of_punctuation": sum(not all(map(normalise, item.answers)) for item in sampled),
        "questions_lacking": asked - len(sampled),
    }


def _answered(item: Item) -> bool:
    """Whether the metric finds one of the answers in the gold passage."""
    text = normalise(item.context)
    return any(normalise(answer) in text for answer in item.answers)


def passages_of(own: Slice, tables: Tables) -> Passages | None:
    """The passages that may be distractors of the gold passage."""
    corpus = passage_corpus(own)
    if corpus is None:
        return None
    table = tables["passages"][own.lang]
    ids = table["passage_id"].to_pylist()
    return Passages(
        [f"{corpus}/{own.lang}/{name}" for name in ids],
        table["text"].to_pylist(),
        table["title"].to_pylist() if "title" in table.column_names else [],
        {name: row for row, name in enumerate(ids)},
    )


def choose_others(own: Slice, tables: Tables, items: Sequence[Item], passages: Passages) -> Counts:
    """Give each question its other passages; return how many released distractors hold an answer."""
    retrieved = own.task == "open_domain"
    most = max(own.n_passages) if retrieved else max(n for n, _ in own.places) - 1
    questions = tables["questions"][own.lang]
    if own.distractors == "random":
        _draw(own, questions, items, passages, most)
        return {}
    if own.needles != NQ_OPEN:
        _search(tables["distractors"][own.lang], items, passages, most)
        return {}
    # The released files are what remained after the choice of passages without an answer.
    choose = not retrieved and own.source == "constructed"
    ranked = _by_question(questions, "passages", "has_answer", "holds_answer")
    suspect = 0
    for item in items:
        best = list(zip(*ranked[item.example_id], strict=True))
        best = [found for found in best if not (choose and found[1])][:most]
        item.others = [passages.rows[name] for name, _, _ in best]
        if retrieved:
            item.has_answer = [has_answer for _, has_answer, _ in best]
        suspect += sum(has_answer or holds_answer for _, has_answer, holds_answer in best)
    return {} if retrieved else {"distractors_with_answer": suspect}


def _by_question(questions: pa.Table, *names: str) -> dict[str, tuple[list[Any], ...]]:
    """The values of these columns, which are lists, by question."""
    columns = zip(*(questions[name].to_pylist() for name in names), strict=True)
    return dict(zip(questions["example_id"].to_pylist(), columns, strict=True))


def _search(found: pa.Table, items: Sequence[Item], passages: Passages, most: int) -> None:
    """Give each question the distractors that our own retrieval found, none of which holds an answer."""
    found = found.filter(pc.equal(found["retrieval"], "semantic")).sort_by("rank")
    others: dict[str, list[int]] = {}
    names = (found[name].to_pylist() for name in ("example_id", "passage_id"))
    for example_id, passage_id in zip(*names, strict=True):
        others.setdefault(example_id, []).append(passages.rows[passage_id])
    for item in items:
        item.others = others.get(item.example_id, [])[:most]


def _draw(
    own: Slice, questions: pa.Table, items: Sequence[Item], passages: Passages, most: int
) -> None:
    """Give each question passages drawn by seed, none of which holds an answer or was found for it."""
    text = cache(lambda row: Text(passages.texts[row]))
    near: dict[str, set[int]] = {}
    if own.random_from == "other_questions" and "passages" in questions.column_names:
        for example_id, (found,) in _by_question(questions, "passages").items():
            near[example_id] = {passages.rows[name] for name in found}
    titles = has_titles(own, items)
    for item in progress(items, desc="random distractors", unit="question"):
        answers = list(map(SoughtAnswer, item.answers))
        gold = gold_text(item, titles)
        forbidden = near.get(item.example_id, ())
        draw = rng(NAME, "random", own.seed, own.lang, item.example_id)
        item.others = []
        for row in map(int, draw.permutation(len(passages.texts))):
            if len(item.others) == most:
                break
            if row in forbidden or passages.texts[row] == gold:
                continue
            if not any(answer.held_by(text(row)) for answer in answers):
                item.others.append(row)


def orders_of(own: Slice, ids: Sequence[str]) -> dict[int, dict[str, list[int]]]:
    """Random orders: for each number of documents and question, the ranks of the distractors in prompt order.

    `ids` are the ids of all questions, in the order of their file. The released scripts seed Python's
    generator once with 0 and shuffle the distractors of one question after the other, without leaving out a
    question. For the released questions, this function does the same. The distractors of other questions are
    shuffled with a seed made from the question's name.
    """
    if own.order != "random" or own.distractors != "retrieved":
        return {}
    orders: dict[int, dict[str, list[int]]] = {}
    for n, _ in own.places:
        released = Random(own.seed)
        orders[n] = {example_id: list(range(n - 1)) for example_id in ids}
        for example_id, places in orders[n].items():
            if own.needles == NQ_OPEN:
                released.shuffle(places)
            else:
                rng(NAME, "order", own.seed, example_id, n).shuffle(places)
    return orders


def has_titles(own: Slice, items: Sequence[Item]) -> bool:
    """Whether the passages in prompts have titles.

    Either all have one or none: a single title would reveal the gold passage.
    """
    untitled = own.needles == UNTITLED or own.haystack is not None
    return not untitled and any(item.title for item in items)


def gold_text(item: Item, titles: bool) -> str:
    """The gold passage as it stands in a prompt: without a title if the other passages have none."""
    return titled(item.title, item.context) if titles else item.context
