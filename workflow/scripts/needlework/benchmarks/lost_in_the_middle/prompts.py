"""Lost in the Middle's prompts: one document with the answer among others, at an index; or pairs.

Paper sections 3, 5.2 and 6 and appendices B and C; the wording is that of Figures 2 and 7 and of the
released code. Key-value retrieval is in `pairs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path

from needlework.benchmarks.lost_in_the_middle import pairs
from needlework.benchmarks.lost_in_the_middle.documents import (
    CHOOSE_OTHERS,
    Item,
    Passages,
    Tables,
    has_titles,
    items_of,
    kind_of,
    orders_of,
    passages_of,
)
from needlework.benchmarks.lost_in_the_middle.plan import INSTRUCTIONS, NAME, Slice, template
from needlework.benchmarks.lost_in_the_middle.rows import Factors, Rows
from needlework.contract import Built, SliceSettings
from needlework.data.corpora.registry import CORPORA
from needlework.data.corpora.titled import titled
from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.prompts.tokenizers import Tokenizer
from needlework.prompts.wording import Templates

# A document's line in a prompt: the numbers of two spans, label and document.
Line = tuple[int, int]


def build(
    slice_settings: SliceSettings,
    tables: Tables,
    templates: Iterable[str],
    tokenizer: Tokenizer,
) -> Built:
    """The instances of a slice, and counts of questions that were left out or have a peculiarity.

    `slice_settings` is what `plan.settings` gives; `tables` holds the corpora that `plan.reads` names and
    the "distractors", each by language; `templates` are files named after their prompt. The counts, in
    questions unless said otherwise:

    - left out: `questions_lacking`, how many fewer there are than asked for; `too_few_documents`, which are
      not asked with the largest number of documents;
    - kept: `gold_without_answer_kept`, whose gold passage holds no answer; `answer_of_punctuation`,
      with an answer that the metric normalises to the empty text, so that every text seems to hold it;
      `distractors_with_answer`, in passages: released distractors that hold an accepted answer, which our
      own search would leave out.
    """
    own = Slice(**slice_settings)
    files = {Path(path).stem: path for path in templates}
    texts = Templates(own.instructions, files, INSTRUCTIONS)
    if own.task == "key_value":
        return pairs.build(own, tables, texts, tokenizer)
    questions = tables["questions"][own.lang]
    items, counts = items_of(own, questions)
    passages = passages_of(own, tables)
    if passages is not None:
        counts |= CHOOSE_OTHERS[kind_of(own)](own, tables, items, passages)
    orders = orders_of(own, questions["example_id"].to_pylist())
    titles = has_titles(own, items)
    builder = _Builder(own, texts, tokenizer, passages, orders, titles)
    builder.add(items)
    return Built(builder.rows.table(), counts | builder.counts)


# Questions


class _Builder:
    """Builds the prompts of a slice, question by question."""

    def __init__(
        self,
        own: Slice,
        texts: Templates,
        tokenizer: Tokenizer,
        passages: Passages | None,
        orders: Mapping[int, Mapping[str, Sequence[int]]],
        titles: bool,
    ) -> None:
        self.own, self.passages = own, passages
        self.orders = orders
        self.of_user = texts.of_user
        self.begin = texts.text("document", "Document [{number}]")
        usual = "" if texts.of_user else titled("{title}", "").strip()
        self.title = texts.text("title", usual) if titles else ""
        self.template = texts.pieces(template(own))
        self.rows = Rows(own, tokenizer)
        self.counts: dict[str, int] = {}
        # They are asked for millions of times.
        self._label = cache(self._label)  # type: ignore[method-assign]  # cached
        self._document = cache(self._document)  # type: ignore[method-assign]  # cached

    def add(self, items: Sequence[Item]) -> None:
        """Add the prompts of all questions."""
        if self.own.task == "closed_book":
            for item in items:
                self._add(item, self._ask(item), self._factors(item))
            return
        self._check_numbers(items)
        self.rows.pieces.sums.cut_ahead(self._documents(items), self.own.slice)
        for item in progress(items, desc="prompts", unit="question"):
            for factors, numbers in self._prompts(item):
                self._add(item, numbers, factors)

    def _documents(self, items: Iterable[Item]) -> Iterator[str]:
        """The texts of the documents of all prompts."""
        for item in items:
            yield item.context
            if self.passages is not None:
                yield from map(self.passages.texts.__getitem__, item.others)

    def _check_numbers(self, items: Sequence[Item]) -> None:
        """Count the questions that have too few documents for a number of them.

        UserError where no question has enough; of the user's own data, for the smallest number alone, since
        `own_data` has said so of the others.
        """
        numbers = sorted(self._numbers())
        of_user = self.own.needles not in CORPORA
        for place, (n, least) in enumerate(numbers):
            found = sum(len(item.others) >= least for item in items)
            if items and not found and (place == 0 or not of_user):
                key = "open_domain" if self.own.task == "open_domain" else "n_documents"
                most = max(len(item.others) for item in items) + n - least
                raise UserError(
                    f"benchmarks.{NAME}.{key} has {n}, but no question of "
                    f"{self.own.needles} in {self.own.lang!r} has more than "
                    f"{most} documents: choose a smaller number."
                )
        most = max((least for _, least in numbers), default=0)
        self.counts["too_few_documents"] = sum(len(item.others) < most for item in items)

    def _numbers(self) -> Iterator[tuple[int, int]]:
        """Each number of documents, and how many others that takes."""
        if self.own.task == "open_domain":
            yield from ((n, n) for n in self.own.n_passages)
        elif self.own.task == "multi_document_qa":
            yield from ((n, n - 1) for n, _ in self.own.places)

    def _prompts(self, item: Item) -> Iterator[tuple[Factors, list[int]]]:
        """The prompts of a question: the factors and the span numbers of each."""
        head, tail = self._frame(item)
        for factors, lines in self._arrangements(item):
            yield factors, [*head, *chain.from_iterable(lines), *tail]

    def _arrangements(self, item: Item) -> Iterator[tuple[Factors, list[Line]]]:
        """The factors of each prompt of a question, and the lines of its documents."""
        task, factors = self.own.task, self._factors(item)
        # Most lines are those of the prompt before.
        other = cache(partial(self._other, item))
        if task == "oracle":
            yield factors._replace(n_documents=1, gold_index=0), [self._gold(item, 0)]
        elif task == "open_domain":
            ranked = factors._replace(distractors="retrieved", order="relevance")
            for n in self.own.n_passages:
                if n <= len(item.others):
                    present = any(item.has_answer[:n])
                    lines = [other(i, i) for i in range(n)]
                    yield ranked._replace(n_documents=n, answer_present=present), lines
        else:
            factors = factors._replace(
                distractors=self.own.distractors,
                order=self.own.order,
                query_aware=self.own.query_aware,
            )
            for n, indices in self.own.places:
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
                    yield factors._replace(n_documents=n, gold_index=gold), lines

    def _gold(self, item: Item, index: int) -> Line:
        """The gold passage at an index. Its title is part of the label: no document holds both."""
        pieces = self.rows.pieces
        needle = pieces.slice("needle", item.source, item.context, 0, len(item.context))
        return self._label(index, self._joint(item.title)), needle

    def _other(self, item: Item, place: int, index: int) -> Line:
        """The passage at a place of the question's list, at an index of the prompt."""
        answering = bool(item.has_answer) and item.has_answer[place]
        role = "needle" if answering else "distractor"
        assert self.passages is not None, "only prompts with documents ask"
        row = item.others[place]
        if self.of_user and self.passages.titles:
            # The passage begins with its title in the paper's words.
            title = self.passages.titles[row]
            label = self._label(index, self._joint(title))
            return label, self._document(row, role, len(titled(title, "")))
        return self._label(index, "" if self.title else " "), self._document(row, role, 0)

    def _joint(self, title: str) -> str:
        """What stands between a label and the text of a document."""
        return f"{self.title.replace('{title}', title)} "

    def _label(self, index: int, joint: str) -> int:
        """The number of the span before the passage at an index."""
        begin = self.begin.replace("{number}", str(index + 1))
        return self.rows.pieces.literal("haystack", ("\n" if index else "") + begin + joint)

    def _document(self, row: int, role: str, start: int) -> int:
        """The number of the span that is a passage, from `start` on."""
        assert self.passages is not None, "only prompts with documents ask"
        text = self.passages.texts[row]
        return self.rows.pieces.slice(role, self.passages.sources[row], text, start, len(text))

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

    def _factors(self, item: Item) -> Factors:
        return Factors(self.own.lang)

    def _add(self, item: Item, numbers: list[int], factors: Factors) -> None:
        self.rows.add(numbers, item.example_id, item.answers, factors)
