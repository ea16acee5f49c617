"""Lost in the Middle's prompts: one document with the answer among others, at an index; or pairs.

Paper sections 3, 5.2 and 6 and appendices B and C; the wording is that of Figures 2 and 7 and of the
released code. Key-value retrieval is in `pairs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from needlework.benchmarks.lost_in_the_middle import pairs
from needlework.benchmarks.lost_in_the_middle.documents import (
    Item,
    Passages,
    Tables,
    choose_others,
    has_titles,
    items_of,
    orders_of,
    passages_of,
)
from needlework.benchmarks.lost_in_the_middle.factors import COLUMNS, NAMED_BY, WITHOUT_DOCUMENTS
from needlework.benchmarks.lost_in_the_middle.plan import (
    INSTRUCTIONS,
    NAME,
    Slice,
    question_corpus,
    template,
)
from needlework.contract import Built, SliceSettings
from needlework.data.corpora.registry import CORPORA
from needlework.data.corpora.titled import titled
from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.prompts.counting.pieces import Pieces
from needlework.prompts.instances import Instances
from needlework.prompts.tokenizers import Tokenizer
from needlework.prompts.wording import Templates

# A document's line in a prompt: the numbers of two spans, label and document.
Line = tuple[int, int]


def build(
    slice_settings: SliceSettings, tables: Tables, templates: Iterable[str], tokenizer: Tokenizer
) -> Built:
    """The instances of a slice, and counts of questions that were left out or are peculiar.

    `slice_settings` is the result of `plan.settings`. `tables` holds the corpora that `plan.reads` names and
    the "distractors", each by language. `templates` are files named after their prompt. The counts, in
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
        return pairs.build(Rows(own, texts, tokenizer), tables)
    questions = tables["questions"][own.lang]
    items, counts = items_of(own, questions)
    passages = passages_of(own, tables)
    if passages is not None:
        counts |= choose_others(own, tables, items, passages)
    rows = _Documents(own, texts, tokenizer, passages, has_titles(own, items))
    rows.orders = orders_of(own, questions["example_id"].to_pylist())
    if own.task != "closed_book":
        counts["too_few_documents"] = _lacking(own, items)
    rows.add_all(items)
    return Built(rows.table(), counts)


def _lacking(own: Slice, items: Sequence[Item]) -> int:
    """The number of questions that have too few documents for the largest number of them.

    Raises UserError if no question has enough for a number; of the user's own data, for the smallest number
    alone, since `own_data` has said so of the others.
    """
    # By number of documents, how many others that takes.
    needed = {n: n - 1 for n, _ in own.places} | {n: n for n in own.n_passages}
    most = max((len(item.others) for item in items), default=0)
    for place, (n, least) in enumerate(sorted(needed.items())):
        if items and most < least and (place == 0 or own.needles in CORPORA):
            key = "open_domain" if own.task == "open_domain" else "n_documents"
            raise UserError(
                f"benchmarks.{NAME}.{key} has {n}, but no question of {own.needles} in {own.lang!r} has more "
                f"than {most + n - least} documents: choose a smaller number."
            )
    largest = max(needed.values(), default=0)
    return sum(len(item.others) < largest for item in items)


class Rows:
    """The instances of a slice, added prompt by prompt."""

    def __init__(self, own: Slice, texts: Templates, tokenizer: Tokenizer) -> None:
        self.own, self.pieces = own, Pieces(tokenizer)
        self._template = texts.pieces(template(own))
        self._instances = Instances(NAME, COLUMNS, NAMED_BY, tokenizer, self.pieces)

    def frame(self, asked: str) -> tuple[list[int], list[int]]:
        """The numbers of the spans before and after the documents or pairs.

        Without documents or pairs, all spans are after.
        """
        literal, (*before, middle, end) = self.pieces.literal, self._template
        head = [literal("instruction", text) for text in before]
        if len(before) == 2:
            head.insert(1, literal("question", asked))
        tail = [literal("instruction", middle), literal("question", asked)]
        return head, [*tail, literal("answer_format", end)]

    def add(self, spans: list[int], example: str, references: list[str], **factors: Any) -> None:
        """Add a prompt: the numbers of its spans, and the factors that are not WITHOUT_DOCUMENTS."""
        self._instances.add(
            spans,
            self.pieces.text(spans),
            # Two questions of one wording are two prompts. Ids are also made of a column that went.
            {"example": example, "unambiguous": None},
            n_tokens=self.pieces.tokens(spans),
            task=self.own.task,
            example_id=example,
            references=references,
            metric="key_value" if self.own.task == "key_value" else "best_subspan_em",
            max_new_tokens=self.own.max_new_tokens,
            **{"lang": self.own.lang, **WITHOUT_DOCUMENTS, **factors},
        )

    def table(self) -> pa.Table:
        """The rows so far; the token counts of their texts are kept for other jobs."""
        self.pieces.sums.save()
        return self._instances.table()


class _Documents(Rows):
    """The instances of a slice with documents, or of closed book, added question by question."""

    # Of a random order: for each number of documents and question, the ranks of its other passages.
    orders: dict[int, dict[str, list[int]]]

    def __init__(
        self,
        own: Slice,
        texts: Templates,
        tokenizer: Tokenizer,
        passages: Passages | None,
        titles: bool,
    ) -> None:
        super().__init__(own, texts, tokenizer)
        self._passages = passages or Passages([], [], [], {})
        self._of_user = texts.of_user
        self._begin = texts.text("document", "Document [{number}]")
        usual = "" if texts.of_user else titled("{title}", "").strip()
        self._title = texts.text("title", usual) if titles else ""
        self._source = f"{question_corpus(own)}/{own.lang}"
        # They are asked for millions of times.
        self._label = cache(self._label)  # type: ignore[method-assign]  # cached
        self._document = cache(self._document)  # type: ignore[method-assign]  # cached

    def add_all(self, items: Sequence[Item]) -> None:
        """Add the prompts of all questions."""
        if self.own.task != "closed_book":
            text = self._passages.texts.__getitem__
            documents = ([item.context, *map(text, item.others)] for item in items)
            self.pieces.sums.cut_ahead(chain.from_iterable(documents), self.own.slice)
        for item in progress(items, desc="prompts", unit="question"):
            head, tail = self.frame(item.question)
            for factors, lines in self._arrangements(item):
                spans = [*head, *chain.from_iterable(lines), *tail]
                self.add(spans, item.example_id, item.answers, **factors)

    def _arrangements(self, item: Item) -> Iterator[tuple[dict[str, Any], list[Line]]]:
        """The factors of each prompt of a question, and the lines of its documents."""
        own = self.own
        # Most lines are those of the prompt before.
        other = cache(partial(self._other, item))
        if own.task == "closed_book":
            yield {}, []
        elif own.task == "oracle":
            yield {"n_documents": 1, "gold_index": 0}, [self._gold(item, 0)]
        elif own.task == "open_domain":
            for n in (n for n in own.n_passages if n <= len(item.others)):
                ranked = {"n_documents": n, "distractors": "retrieved", "order": "relevance"}
                present = any(item.has_answer[:n])
                yield ranked | {"answer_present": present}, [other(i, i) for i in range(n)]
        else:
            factors = {name: getattr(own, name) for name in ("distractors", "order", "query_aware")}
            for n, indices in own.places:
                if n - 1 > len(item.others):
                    continue
                places = self.orders[n][item.example_id] if self.orders else range(n - 1)
                for gold in indices:
                    lines = [other(place, i + (i >= gold)) for i, place in enumerate(places)]
                    lines.insert(gold, self._gold(item, gold))
                    yield factors | {"n_documents": n, "gold_index": gold}, lines

    def _gold(self, item: Item, index: int) -> Line:
        """The gold passage at an index. Its title is part of the label: no document holds both."""
        source, text = f"{self._source}/{item.example_id}", item.context
        needle = self.pieces.slice("needle", source, text, 0, len(text))
        return self._label(index, item.title), needle

    def _other(self, item: Item, place: int, index: int) -> Line:
        """The passage at a place of the question's list, at an index of the prompt."""
        role = "needle" if item.has_answer and item.has_answer[place] else "distractor"
        row = item.others[place]
        if self._of_user and self._passages.titles:
            # The passage begins with its title in the paper's words.
            title = self._passages.titles[row]
            return self._label(index, title), self._document(row, role, len(titled(title, "")))
        return self._label(index, None), self._document(row, role, 0)

    def _label(self, index: int, title: str | None) -> int:
        """The number of the span before the passage at an index; None: its text has the title, if any."""
        begin = ("\n" if index else "") + self._begin.replace("{number}", str(index + 1))
        if title is not None:
            begin += self._title.replace("{title}", title)
        space = "" if title is None and self._title else " "
        return self.pieces.literal("haystack", begin + space)

    def _document(self, row: int, role: str, start: int) -> int:
        """The number of the span that is a passage, from `start` on."""
        text = self._passages.texts[row]
        return self.pieces.slice(role, self._passages.sources[row], text, start, len(text))
