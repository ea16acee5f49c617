"""The questions of Lost in the Middle, their gold documents, and their distractors in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

import pyarrow as pa
import pyarrow.compute as pc

from needlework.benchmarks.lost_in_the_middle.plan import (
    NAME,
    NQ_OPEN,
    UNTITLED,
    Slice,
    passage_corpus,
    question_corpus,
)
from needlework.data.comparison import subspan_normalisation
from needlework.data.comparison.subspan_screen import Answer, Text
from needlework.data.corpora.titled import titled
from needlework.jobs.job import no_collection
from needlework.jobs.progress import progress
from needlework.seeding import rank_key, rng

Tables = Mapping[str, Mapping[str, pa.Table]]


@dataclass
class Item:
    """A question with its gold passage and the rows of its other passages, in the prompt's order."""

    example_id: str
    question: str
    answers: list[str]
    title: str
    context: str
    source: str
    others: Sequence[int] = ()
    has_answer: Sequence[bool] = ()


@dataclass(frozen=True)
class Passages:
    """The passages of a slice: their document names and texts by row, and the row of each id.

    `titles` are the titles with which the texts begin, if they begin with titles.
    """

    sources: list[str]
    texts: list[str]
    rows: dict[str, int]
    titles: list[str]


@no_collection()
def items_of(own: Slice, table: pa.Table) -> tuple[list[Item], dict[str, int]]:
    """The sampled questions in the order of their ids, and counts of peculiar questions by reason."""
    names = ("example_id", "question", "answers", "title", "context")
    prefix = f"{question_corpus(own)}/{own.lang}"
    items = [
        Item(
            example_id,
            question,
            answers,
            title,
            context,
            f"{prefix}/{example_id}",
        )
        for example_id, question, answers, title, context in zip(
            *(table[name].to_pylist() for name in names), strict=True
        )
    ]
    asked = own.questions if isinstance(own.questions, int) else len(items)
    ranked = sorted(items, key=lambda item: rank_key(NAME, "questions", own.seed, item.example_id))
    sampled = sorted(ranked[:asked], key=lambda item: item.example_id)
    return sampled, {
        "gold_without_answer_kept": sum(not _answered(item) for item in items),
        "answer_of_punctuation": sum(
            not all(map(subspan_normalisation.normalise, item.answers)) for item in sampled
        ),
        "questions_lacking": asked - len(sampled),
    }


def _answered(item: Item) -> bool:
    """Whether the metric finds one of the answers in the gold passage."""
    text = subspan_normalisation.normalise(item.context)
    return any(subspan_normalisation.normalise(answer) in text for answer in item.answers)


# Passages


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
        {name: row for row, name in enumerate(ids)},
        table["title"].to_pylist() if "title" in table.column_names else [],
    )


def kind_of(own: Slice) -> str:
    if own.distractors == "random":
        return "random"
    if own.task == "open_domain":
        return "open_domain"
    return "ranked" if own.needles == NQ_OPEN else "searched"


def _ranked(
    own: Slice, tables: Tables, items: Sequence[Item], passages: Passages
) -> dict[str, int]:
    """Give each question the best passages of its released ranking that are said to hold no answer."""
    most = max(n for n, _ in own.places) - 1
    rankings = _rankings(tables["questions"][own.lang], passages)
    suspect = 0
    for item in items:
        others: list[int] = []
        for row, has_answer, holds_answer in rankings[item.example_id]:
            # The released files are what remained after that choice.
            if has_answer and own.source == "constructed":
                continue
            if len(others) == most:
                break
            others.append(row)
            suspect += has_answer or holds_answer
        item.others = others
    return {"distractors_with_answer": suspect}


def _open_domain(
    own: Slice, tables: Tables, items: Sequence[Item], passages: Passages
) -> dict[str, int]:
    """Give each question the retrieved passages as they come."""
    rankings = _rankings(tables["questions"][own.lang], passages)
    for item in items:
        best = rankings[item.example_id][: max(own.n_passages)]
        item.others = [row for row, _, _ in best]
        item.has_answer = [has_answer for _, has_answer, _ in best]
    return {}


def _rankings(questions: pa.Table, passages: Passages) -> dict[str, list[tuple[int, bool, bool]]]:
    """By question, the rows of its passages, best first, and whether each has an answer."""
    names = ("passages", "has_answer", "holds_answer")
    return {
        example_id: [
            (passages.rows[name], has, holds) for name, has, holds in zip(*lists, strict=True)
        ]
        for example_id, *lists in zip(
            questions["example_id"].to_pylist(),
            *(questions[name].to_pylist() for name in names),
            strict=True,
        )
    }


def _searched(
    own: Slice, tables: Tables, items: Sequence[Item], passages: Passages
) -> dict[str, int]:
    """Give each question the distractors that our own retrieval found, none of which holds an answer."""
    table = tables["distractors"][own.lang]
    table = table.filter(pc.equal(table["retrieval"], "semantic")).sort_by("rank")
    found: dict[str, list[int]] = {}
    names = (table[name].to_pylist() for name in ("example_id", "passage_id"))
    for example_id, passage_id in zip(*names, strict=True):
        found.setdefault(example_id, []).append(passages.rows[passage_id])
    most = max(n for n, _ in own.places) - 1
    for item in items:
        item.others = found.get(item.example_id, [])[:most]
    return {}


def _random(
    own: Slice, tables: Tables, items: Sequence[Item], passages: Passages
) -> dict[str, int]:
    """Give each question passages drawn by seed, none of which holds an answer or was found for it."""
    text = cache(lambda row: Text(passages.texts[row]))
    questions = tables["questions"][own.lang]
    near: dict[str, set[int]] = {}
    if own.random_from == "other_questions" and "passages" in questions.column_names:
        names = (questions[name].to_pylist() for name in ("example_id", "passages"))
        near = {
            example_id: {passages.rows[name] for name in found}
            for example_id, found in zip(*names, strict=True)
        }
    most, titles = (
        max(n for n, _ in own.places) - 1,
        has_titles(own, items),
    )
    for item in progress(items, desc="random distractors", unit="question"):
        answers = list(map(Answer, item.answers))
        gold = gold_text(item, titles)
        draw = rng(NAME, "random", own.seed, own.lang, item.example_id)
        forbidden = near.get(item.example_id, ())
        item.others = []
        for row in map(int, draw.permutation(len(passages.texts))):
            if len(item.others) == most:
                break
            if row in forbidden or passages.texts[row] == gold:
                continue
            if not any(answer.held_by(text(row)) for answer in answers):
                item.others.append(row)
    return {}


CHOOSE_OTHERS: dict[str, Callable[..., dict[str, int]]] = {
    "ranked": _ranked,
    "searched": _searched,
    "random": _random,
    "open_domain": _open_domain,
}


def orders_of(own: Slice, example_ids: Sequence[str]) -> dict[int, dict[str, list[int]]]:
    """Random orders: for each number of documents and question, the ranks of the distractors in prompt order.

    `example_ids` are the ids of all questions, in the order of their file. The released scripts seed
    Python's generator once with 0 and shuffle the distractors of one question after the other, without
    leaving out a question; this function does the same for the released questions. The distractors of other
    questions are shuffled with a seed made from the question's name.
    """
    if own.order != "random" or own.distractors != "retrieved":
        return {}
    orders: dict[int, dict[str, list[int]]] = {}
    for n, _ in own.places:
        released = Random(own.seed)
        orders[n] = {example_id: list(range(n - 1)) for example_id in example_ids}
        for example_id, places in orders[n].items():
            if own.needles == NQ_OPEN:
                released.shuffle(places)
            else:
                rng(NAME, "order", own.seed, example_id, n).shuffle(places)
    return orders


def has_titles(own: Slice, items: Sequence[Item]) -> bool:
    """Whether the passages in prompts have titles.

    Either all passages of a prompt have a title or none has: a title alone would reveal the gold passage.
    """
    untitled = own.needles in UNTITLED or own.haystack is not None
    return not untitled and any(item.title for item in items)


def gold_text(item: Item, titles: bool) -> str:
    """The gold passage as it stands in a prompt: without a title if the other passages have none."""
    return titled(item.title, item.context) if titles else item.context


# Prompts
