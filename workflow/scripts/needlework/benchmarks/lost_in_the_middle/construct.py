"""Lost in the Middle's prompts: one document with the answer among others, at an index; or pairs.

Paper sections 3, 5.2 and 6 and appendices B and C; its prompts are those of Figures 2 and 7 and of the
released code. Key-value retrieval is in `pairs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from needlework.benchmarks.contract import Built, SliceSettings
from needlework.benchmarks.lost_in_the_middle import pairs
from needlework.benchmarks.lost_in_the_middle.counting import Prompt, Sums, counter
from needlework.benchmarks.lost_in_the_middle.plan import (
    NAME,
    NQ_OPEN,
    UNTITLED,
    passage_corpus,
    question_corpus,
)
from needlework.benchmarks.lost_in_the_middle.rows import Rows
from needlework.data.comparison import subspan_normalisation
from needlework.data.comparison.subspan_screen import Answer, Text
from needlework.data.corpora.nq_open import titled
from needlework.errors import UserError
from needlework.jobs.collection import no_collection
from needlework.jobs.progress import progress
from needlework.prompts.spans import read_template
from needlework.prompts.tokenizers import Tokenizer
from needlework.seeding import rank_key, rng

Tables = Mapping[str, Mapping[str, pa.Table]]
# A document's line in a prompt: the numbers of its spans, label and document, and its text.
Line = tuple[tuple[int, int], str]

# The template of each task but key-value retrieval, and what is put into it.
_AROUND = ["documents", "question"]
_TEMPLATES: dict[str, list[str]] = {
    "closed_book": ["question"],
    "documents": _AROUND,
    "documents_random_order": _AROUND,
    "documents_query_aware": ["question", *_AROUND],
}


@dataclass
class Item:
    """A question with its gold passage and the rows of its other passages, in the prompt's order."""

    example_id: str
    question: str
    answers: list[str]
    title: str
    context: str
    source: str
    unambiguous: bool | None
    others: Sequence[int] = ()
    has_answer: Sequence[bool] = ()


@dataclass(frozen=True)
class Passages:
    """The passages of a slice, by row: documents of the corpus and their texts; and the row of each id."""

    sources: list[str]
    texts: list[str]
    rows: dict[str, int]


@no_collection()
def build(
    slice_settings: SliceSettings,
    tables: Tables,
    templates: Iterable[str],
    tokenizer: Tokenizer,
) -> Built:
    """The instances of a slice, and counts of what was left out or is worth knowing.

    `slice_settings` is what `plan.settings` gives; `tables` holds the corpora that `plan.corpora` names and
    the "distractors", each by language; `templates` are files named after their prompt. The counts, in
    questions unless said otherwise:

    - left out: `questions_lacking`, by how many there are fewer than asked for; `too_few_documents`,
      once for each number of documents that a question does not have; `gold_without_answer`, whose
      gold passage holds none of the answers;
    - kept: the same as `gold_without_answer_kept`, by that switch; `answer_of_punctuation`, an answer
      of which the metric's normalisation leaves nothing, so that every text seems to hold it;
      `distractors_with_answer`, in passages: released ones that hold an accepted answer all the same,
      so that ours would not be taken;
    - of the user's list: `unknown_questions`.
    """
    paths = {Path(path).stem: path for path in templates}
    if slice_settings["task"] == "key_value":
        return pairs.build(slice_settings, tables, paths, tokenizer)
    questions = tables["questions"][slice_settings["lang"]]
    items, counts = _items(slice_settings, questions)
    passages = _passages(slice_settings, tables)
    if passages is not None:
        counts |= _OTHERS[_kind(slice_settings)](slice_settings, tables, items, passages)
    orders = _orders(slice_settings, questions["example_id"].to_pylist())
    builder = _Builder(
        slice_settings, paths, tokenizer, passages, orders, _titles(slice_settings, items)
    )
    builder.add(items)
    return Built(builder.rows.table(), counts | builder.counts)


# Questions


def _items(slice_settings: SliceSettings, table: pa.Table) -> tuple[list[Item], dict[str, int]]:
    """The sampled questions in the order of their ids, and what there is to say of them."""
    names = ("example_id", "question", "answers", "title", "context")
    prefix = f"{question_corpus(slice_settings)}/{slice_settings['lang']}"
    wanted = None if slice_settings["unambiguous"] is None else set(slice_settings["unambiguous"])
    items = [
        Item(
            example_id,
            question,
            answers,
            title,
            context,
            f"{prefix}/{example_id}",
            None if wanted is None else question.strip() in wanted,
        )
        for example_id, question, answers, title, context in zip(
            *(table[name].to_pylist() for name in names), strict=True
        )
    ]
    counts = (
        {} if wanted is None else {"unknown_questions": _unknown(slice_settings, wanted, items)}
    )
    answered = [item for item in items if _answered(item)]
    without = len(items) - len(answered)
    if slice_settings["gold_without_answer"] == "keep":
        counts["gold_without_answer_kept"], kept = without, items
    else:
        counts["gold_without_answer"], kept = without, answered
    asked = len(kept) if slice_settings["questions"] == "all" else slice_settings["questions"]
    ranked = sorted(
        kept, key=lambda item: rank_key(NAME, "questions", slice_settings["seed"], item.example_id)
    )
    sampled = sorted(ranked[:asked], key=lambda item: item.example_id)
    return sampled, {
        **counts,
        "answer_of_punctuation": sum(
            not all(map(subspan_normalisation.normalise, item.answers)) for item in sampled
        ),
        "questions_lacking": asked - len(sampled),
    }


def _answered(item: Item) -> bool:
    """Whether the metric finds one of the answers in the gold passage."""
    text = subspan_normalisation.normalise(item.context)
    return any(subspan_normalisation.normalise(answer) in text for answer in item.answers)


def _unknown(slice_settings: SliceSettings, wanted: set[str], items: Sequence[Item]) -> int:
    """How many questions of the user's list the corpus lacks. UserError where that is not to be."""
    unknown = wanted - {item.question.strip() for item in items}
    if unknown and slice_settings["unknown_questions"] == "error":
        raise UserError(
            f"benchmarks.{NAME}.unambiguous names {len(unknown)} of {len(wanted)} questions that "
            f"{slice_settings['needles']} does not have in {slice_settings['lang']!r}, such as "
            f"{min(unknown)!r}: mend the file, or set `unknown_questions: count`."
        )
    return len(unknown)


# Passages


def _passages(slice_settings: SliceSettings, tables: Tables) -> Passages | None:
    """The passages that may stand beside the gold one."""
    corpus = passage_corpus(slice_settings)
    if corpus is None:
        return None
    table = tables["passages"][slice_settings["lang"]]
    ids = table["passage_id"].to_pylist()
    return Passages(
        [f"{corpus}/{slice_settings['lang']}/{name}" for name in ids],
        table["text"].to_pylist(),
        {name: row for row, name in enumerate(ids)},
    )


def _kind(slice_settings: SliceSettings) -> str:
    if slice_settings.get("distractors") == "random":
        return "random"
    if slice_settings["task"] == "open_domain":
        return "open_domain"
    return "ranked" if slice_settings["needles"] == NQ_OPEN else "searched"


def _ranked(
    slice_settings: SliceSettings, tables: Tables, items: Sequence[Item], passages: Passages
) -> dict[str, int]:
    """Give each question the best passages of its released ranking that are said to hold no answer."""
    most = max(n for n, _ in slice_settings["places"]) - 1
    rankings = _rankings(tables["questions"][slice_settings["lang"]], passages)
    suspect = 0
    for item in items:
        others: list[int] = []
        for row, has_answer, holds_answer in rankings[item.example_id]:
            # The released files are what remained after that choice.
            if has_answer and slice_settings["source"] == "constructed":
                continue
            if len(others) == most:
                break
            others.append(row)
            suspect += has_answer or holds_answer
        item.others = others
    return {"distractors_with_answer": suspect}


def _open_domain(
    slice_settings: SliceSettings, tables: Tables, items: Sequence[Item], passages: Passages
) -> dict[str, int]:
    """Give each question the retrieved passages as they come."""
    rankings = _rankings(tables["questions"][slice_settings["lang"]], passages)
    for item in items:
        best = rankings[item.example_id][: max(slice_settings["n_passages"])]
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
    slice_settings: SliceSettings, tables: Tables, items: Sequence[Item], passages: Passages
) -> dict[str, int]:
    """Give each question the distractors that our own retrieval found, none of which holds an answer."""
    table = tables["distractors"][slice_settings["lang"]]
    table = table.filter(pc.equal(table["retrieval"], "semantic")).sort_by("rank")
    found: dict[str, list[int]] = {}
    names = (table[name].to_pylist() for name in ("example_id", "passage_id"))
    for example_id, passage_id in zip(*names, strict=True):
        found.setdefault(example_id, []).append(passages.rows[passage_id])
    most = max(n for n, _ in slice_settings["places"]) - 1
    for item in items:
        item.others = found.get(item.example_id, [])[:most]
    return {}


def _random(
    slice_settings: SliceSettings, tables: Tables, items: Sequence[Item], passages: Passages
) -> dict[str, int]:
    """Give each question passages drawn by seed, none of which holds an answer or was found for it."""
    text = cache(lambda row: Text(passages.texts[row]))
    questions = tables["questions"][slice_settings["lang"]]
    own: dict[str, set[int]] = {}
    if slice_settings["random_from"] == "other_questions" and "passages" in questions.column_names:
        names = (questions[name].to_pylist() for name in ("example_id", "passages"))
        own = {
            example_id: {passages.rows[name] for name in found}
            for example_id, found in zip(*names, strict=True)
        }
    most, titles = max(n for n, _ in slice_settings["places"]) - 1, _titles(slice_settings, items)
    for item in progress(items, desc="random distractors", unit="question"):
        answers = list(map(Answer, item.answers))
        gold = _gold_text(item, titles)
        draw = rng(NAME, "random", slice_settings["seed"], slice_settings["lang"], item.example_id)
        forbidden = own.get(item.example_id, ())
        item.others = []
        for row in map(int, draw.permutation(len(passages.texts))):
            if len(item.others) == most:
                break
            if row in forbidden or passages.texts[row] == gold:
                continue
            if not any(answer.held_by(text(row)) for answer in answers):
                item.others.append(row)
    return {}


_OTHERS: dict[str, Callable[..., dict[str, int]]] = {
    "ranked": _ranked,
    "searched": _searched,
    "random": _random,
    "open_domain": _open_domain,
}


def _orders(
    slice_settings: SliceSettings, example_ids: Sequence[str]
) -> dict[int, dict[str, list[int]]]:
    """By number of documents and question: the places in the ranking of distractors in random order.

    `example_ids` are those of all questions, in the order of their file. The released scripts shuffle
    the distractors of one question after the other by Python's own generator, seeded once with 0, and
    leave out no question before that; so do we with their questions. Others are shuffled each by its name.
    """
    if slice_settings.get("order") != "random" or slice_settings["distractors"] != "retrieved":
        return {}
    orders: dict[int, dict[str, list[int]]] = {}
    for n, _ in slice_settings["places"]:
        released = Random(slice_settings["seed"])
        orders[n] = {example_id: list(range(n - 1)) for example_id in example_ids}
        for example_id, places in orders[n].items():
            if slice_settings["needles"] == NQ_OPEN:
                released.shuffle(places)
            else:
                rng(NAME, "order", slice_settings["seed"], example_id, n).shuffle(places)
    return orders


def _titles(slice_settings: SliceSettings, items: Sequence[Item]) -> bool:
    """Whether prompts name titles: those of all passages, or of none, which would tell the gold one."""
    untitled = slice_settings["needles"] in UNTITLED or "haystack" in slice_settings
    return not untitled and any(item.title for item in items)


def _gold_text(item: Item, titles: bool) -> str:
    """The gold passage as it stands in a prompt; without a title where the others have none."""
    return titled(item.title, item.context) if titles else item.context


# Prompts


class _Builder:
    """Builds the prompts of a slice, question by question."""

    def __init__(
        self,
        slice_settings: SliceSettings,
        templates: Mapping[str, str],
        tokenizer: Tokenizer,
        passages: Passages | None,
        orders: Mapping[int, Mapping[str, Sequence[int]]],
        titles: bool,
    ) -> None:
        self.slice_settings, self.tokenizer, self.passages = slice_settings, tokenizer, passages
        self.orders = orders
        name = "documents"
        if slice_settings["task"] == "closed_book":
            name = "closed_book"
        elif slice_settings.get("query_aware"):
            name = "documents_query_aware"
        elif orders:
            name = "documents_random_order"
        self.template = read_template(templates[name], _TEMPLATES[name])
        self.rows = Rows(slice_settings, tokenizer)
        self.titles = titles
        # A text without a title is parted from its label by a space.
        stub, self.joint = ("(Title: a) a", "") if self.titles else (" a", " ")
        self.sums = Sums(tokenizer, _line, stub, self.template[-2])
        self.counts: dict[str, int] = {}
        # They are asked for millions of times.
        self._label = cache(self._label)  # type: ignore[method-assign]  # cached
        self._document = cache(self._document)  # type: ignore[method-assign]  # cached

    def add(self, items: Sequence[Item]) -> None:
        """Add the prompts of all questions."""
        if self.slice_settings["task"] == "closed_book":
            for item in items:
                numbers = self._ask(item)
                text = self.rows.pieces.text(numbers)
                self._add(item, Prompt(numbers, text, 0), self.tokenizer.count(text), {})
            return
        self._check_numbers(items)
        if self.rows.pieces.exact is not None:
            documents = self._documents(items)
            self.rows.pieces.exact.cut_ahead(documents, self.slice_settings["slice"])
        count = counter(self.tokenizer, self.rows.pieces, items, self._prompts)
        for item in progress(items, desc="prompts", unit="question"):
            for factors, prompt in self._prompts(item):
                self._add(item, prompt, count(prompt), factors)

    def _documents(self, items: Iterable[Item]) -> Iterator[str]:
        """The texts of the documents of all prompts."""
        for item in items:
            yield item.context
            if self.passages is not None:
                yield from map(self.passages.texts.__getitem__, item.others)

    def _check_numbers(self, items: Sequence[Item]) -> None:
        """Count the questions that have too few documents. UserError where none has enough."""
        lacking = 0
        for n, least in self._numbers():
            found = sum(len(item.others) >= least for item in items)
            lacking += len(items) - found
            if items and not found:
                key = (
                    "open_domain" if self.slice_settings["task"] == "open_domain" else "n_documents"
                )
                most = max(len(item.others) for item in items) + n - least
                raise UserError(
                    f"benchmarks.{NAME}.{key} has {n}, but no question of "
                    f"{self.slice_settings['needles']} in {self.slice_settings['lang']!r} has more than "
                    f"{most} documents: choose a smaller number."
                )
        self.counts["too_few_documents"] = lacking

    def _numbers(self) -> Iterator[tuple[int, int]]:
        """Each number of documents, and how many others that takes."""
        if self.slice_settings["task"] == "open_domain":
            yield from ((n, n) for n in self.slice_settings["n_passages"])
        elif self.slice_settings["task"] == "multi_document_qa":
            yield from ((n, n - 1) for n, _ in self.slice_settings["places"])

    def _prompts(self, item: Item) -> Iterator[tuple[dict[str, Any], Prompt]]:
        """The prompts of a question, each with its factors."""
        head, tail = self._frame(item)
        pieces = self.rows.pieces
        summed = pieces.exact is None
        frame = self.sums.frame(pieces.text(head), pieces.text(tail)) if summed else 0
        for factors, lines in self._arrangements(item):
            numbers = [*head, *chain.from_iterable(line for line, _ in lines), *tail]
            predicted = frame + self.sums.lines([text for _, text in lines]) if summed else 0
            yield factors, Prompt(numbers, pieces.text(numbers), predicted)

    def _arrangements(self, item: Item) -> Iterator[tuple[dict[str, Any], list[Line]]]:
        """The documents of each prompt of a question: the numbers of their spans, and their lines' texts."""
        task = self.slice_settings["task"]
        # Most lines are those of the prompt before.
        other = cache(partial(self._other, item))
        if task == "oracle":
            yield {"n_documents": 1, "gold_index": 0}, [self._gold(item, 0)]
        elif task == "open_domain":
            ranked = {"distractors": "retrieved", "order": "relevance"}
            for n in self.slice_settings["n_passages"]:
                if n <= len(item.others):
                    present = any(item.has_answer[:n])
                    lines = [other(i, i) for i in range(n)]
                    yield {**ranked, "n_documents": n, "answer_present": present}, lines
        else:
            for n, indices in self.slice_settings["places"]:
                if n - 1 > len(item.others):
                    continue
                places = self.orders[n][item.example_id] if self.orders else range(n - 1)
                for gold in indices:
                    lines = [
                        self._gold(item, gold)
                        if index == gold
                        else other(places[index - (index > gold)], index)
                        for index in range(n)
                    ]
                    keys = ("distractors", "order", "query_aware")
                    factors = {key: self.slice_settings[key] for key in keys}
                    yield {**factors, "n_documents": n, "gold_index": gold}, lines

    def _gold(self, item: Item, index: int) -> Line:
        """The gold passage at an index. Its title is part of the label: no document holds both."""
        pieces = self.rows.pieces
        text = self.joint + _gold_text(item, self.titles)
        label = _begin(index) + text.removesuffix(item.context)
        needle = pieces.whole("needle", item.source, item.context)
        return (pieces.literal("haystack", label), needle), text

    def _other(self, item: Item, place: int, index: int) -> Line:
        """The passage at a place of the question's list, at an index of the prompt."""
        answering = bool(item.has_answer) and item.has_answer[place]
        number, text = self._document(item.others[place], "needle" if answering else "distractor")
        return (self._label(index), number), text

    def _label(self, index: int) -> int:
        """The number of the span before the passage at an index."""
        return self.rows.pieces.literal("haystack", _begin(index) + self.joint)

    def _document(self, row: int, role: str) -> tuple[int, str]:
        """The number of the span that is a passage, and its line's text."""
        assert self.passages is not None, "only prompts with documents ask"
        text = self.passages.texts[row]
        number = self.rows.pieces.whole(role, self.passages.sources[row], text)
        return number, self.joint + text

    def _frame(self, item: Item) -> tuple[list[int], list[int]]:
        """The numbers of the spans before and after the documents."""
        pieces = self.rows.pieces
        *before, middle, end = self.template
        head = [pieces.literal("instruction", before[0])]
        if len(before) == 2:
            head += [
                pieces.literal("question", item.question),
                pieces.literal("instruction", before[1]),
            ]
        tail = [
            pieces.literal("instruction", middle),
            pieces.literal("question", item.question),
            pieces.literal("answer_format", end),
        ]
        return head, tail

    def _ask(self, item: Item) -> list[int]:
        """The numbers of the spans of a prompt without documents."""
        pieces = self.rows.pieces
        head, end = self.template
        return [
            pieces.literal("instruction", head),
            pieces.literal("question", item.question),
            pieces.literal("answer_format", end),
        ]

    def _add(self, item: Item, prompt: Prompt, n_tokens: int, factors: Mapping[str, Any]) -> None:
        self.rows.add(
            prompt.numbers,
            prompt.text,
            n_tokens,
            item.example_id,
            item.answers,
            unambiguous=item.unambiguous,
            **factors,
        )


def _line(index: int, text: str) -> str:
    """A document as it stands in a prompt, without its line's end; `text` begins with its title."""
    return f"Document [{index + 1}]{text}"


def _begin(index: int) -> str:
    return ("\n" if index else "") + _line(index, "")
