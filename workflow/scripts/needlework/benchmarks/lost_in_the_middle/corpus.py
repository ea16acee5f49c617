"""NaturalQuestions-Open as Lost in the Middle released it: questions, gold passages, retrieved passages.

Three kinds of file; each corpus is read from one:

- `nq_open`, `nq_gold`: the oracle file, one gold passage a question.
- `nq_open_released`: a file of 30 documents a question, one of them the gold passage. The others are
  the retriever's best without an answer, so that every smaller setting is a part of it.
- `nq_open_retrieved`: the retrieval results that those files were made from: the retriever's passages,
  best first, and the annotated gold passage.

The last two give a second table each, `<corpus>_passages`, with the passages that the rankings name.
A question's example_id is its line's place in the file, which is the same in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from needlework.data.comparison.subspan_screen import SoughtAnswer as Answer
from needlework.data.comparison.subspan_screen import Text
from needlework.data.corpora.json_lines import JsonLine as Line
from needlework.data.corpora.json_lines import read_lines
from needlework.data.corpora.titled import TITLED, titled
from needlework.jobs.job import no_collection
from needlework.records import QUESTIONS

# Questions with their passages, best first: whether the release says that a passage has an answer
# (`has_answer`), and whether title or text holds one as the metric or we compare them (`holds_answer`).
# Both are empty in the oracle file.
RANKED_QUESTIONS = pa.schema(
    [
        *QUESTIONS,
        ("passages", pa.list_(pa.string())),
        ("has_answer", pa.list_(pa.bool_())),
        ("holds_answer", pa.list_(pa.bool_())),
    ]
)

_SUFFIX = "_passages"


class Passage(NamedTuple):
    """A passage of a question; `has_answer` is the release's own flag for it."""

    title: str
    text: str
    has_answer: bool


class Entry(NamedTuple):
    """A line: a question with its gold passage and the others, best first."""

    question: str
    answers: list[str]
    gold: Passage
    others: list[Passage]


@no_collection()
def table(corpus: str, lang: str, files: Sequence[str], settings: Mapping[str, object]) -> pa.Table:
    """The corpus from its one file, as the rule `read_corpus` asks for it."""
    kind = corpus.removesuffix(_SUFFIX)
    return (read_passages if corpus.endswith(_SUFFIX) else read_questions)(kind, files[0])


def read_questions(kind: str, path: str | Path) -> pa.Table:
    """RANKED_QUESTIONS rows of a file of this kind, in the file's order, which is the order of the ids.

    An answer that does not stand verbatim in the gold passage has the place -1. UserError if the
    file is damaged, or a line lacks a field or has a wrong one.
    """
    numbers = _Numbers()
    rows = []
    for number, entry in enumerate(_entries(kind, path)):
        answers = list(map(Answer, entry.answers))
        rows.append(
            {
                "example_id": f"{number:05d}",
                "title": entry.gold.title,
                "context": entry.gold.text,
                "question": entry.question,
                "answers": entry.answers,
                "answer_starts": [entry.gold.text.find(answer) for answer in entry.answers],
                "passages": [numbers.of(passage) for passage in entry.others],
                "has_answer": [passage.has_answer for passage in entry.others],
                "holds_answer": [_holds(passage, answers) for passage in entry.others],
            }
        )
    return pa.Table.from_pylist(rows, schema=RANKED_QUESTIONS)


def _holds(passage: Passage, answers: Sequence[Answer]) -> bool:
    """Whether title or text holds one of the answers."""
    text = Text(f"{passage.title}\n{passage.text}")
    return any(answer.held_by(text) for answer in answers)


def read_passages(kind: str, path: str | Path) -> pa.Table:
    """TITLED rows of all passages except gold passages, without repeats, sorted by id (first occurrence).

    UserError as `read_questions`.
    """
    numbers = _Numbers()
    for entry in _entries(kind, path):
        for passage in entry.others:
            numbers.of(passage)
    passages = list(numbers.ids)
    return pa.table(
        {
            "passage_id": list(numbers.ids.values()),
            "text": [titled(title, text) for title, text in passages],
            "title": [title for title, _ in passages],
        },
        schema=TITLED,
    )


class _Numbers:
    """Names passages by their order. (The release's own ids are not relied on to be unique.)"""

    def __init__(self) -> None:
        self.ids: dict[tuple[str, str], str] = {}

    def of(self, passage: Passage) -> str:
        key = (passage.title, passage.text)
        if key not in self.ids:
            self.ids[key] = f"{len(self.ids):07d}"
        return self.ids[key]


def _entries(kind: str, path: str | Path) -> Iterator[Entry]:
    for line in read_lines(path):
        question, answers = line.get("question", str), line.texts("answers")
        if not question.strip():
            raise line.wrong("has an empty question")
        if not answers or not all(answers):
            raise line.wrong("has no answer, or an empty one")
        yield Entry(question, answers, *_GOLD[kind](line))


def _marked_gold(line: Line) -> tuple[Passage, list[Passage]]:
    """The passage marked as gold, and the others."""
    contexts = line.get("ctxs", list)
    marks = [line.get("isgold", bool, context) for context in contexts]
    if marks.count(True) != 1:
        raise line.wrong(f"has {marks.count(True)} passages with 'isgold' instead of one")
    gold = marks.index(True)
    passages = [_passage(line, context) for context in contexts]
    return passages[gold], [*passages[:gold], *passages[gold + 1 :]]


def _only_gold(line: Line) -> tuple[Passage, list[Passage]]:
    """The one passage of the oracle file."""
    gold, others = _marked_gold(line)
    if others:
        raise line.wrong(f"has {len(others) + 1} passages in 'ctxs', but is of the oracle file")
    return gold, others


def _annotated_gold(line: Line) -> tuple[Passage, list[Passage]]:
    """The annotated passage, and the retrieved ones."""
    annotated = line.get("nq_annotated_gold", dict)
    text = line.get("chunked_long_answer", str, annotated)
    gold = Passage(line.get("title", str, annotated), text, True)
    return gold, [_passage(line, context) for context in line.get("ctxs", list)]


def _passage(line: Line, context: Mapping[str, object]) -> Passage:
    return Passage(
        line.get("title", str, context),
        line.get("text", str, context),
        line.get("hasanswer", bool, context),
    )


_GOLD: dict[str, Callable[[Line], tuple[Passage, list[Passage]]]] = {
    "nq_open": _only_gold,
    "nq_gold": _only_gold,
    "nq_open_released": _marked_gold,
    "nq_open_retrieved": _annotated_gold,
}
