"""The data of Lost in the Middle: NaturalQuestions-Open with its passages, and key-value pairs.

Questions are released in three kinds of file; each of these corpora is read from one kind:

- `nq_open`, `nq_gold`: the oracle file, one gold passage a question.
- `nq_open_released`: a file of 30 documents a question, one of them the gold passage. The others are
  the retriever's best without an answer, so that every smaller setting is a part of it.
- `nq_open_retrieved`: the retrieval results that those files were made from: the retriever's passages,
  best first, and the annotated gold passage.

The last two have a second table, `<corpus>_passages`, with the passages that the rankings name. A question's
example_id is the place of its line in the file, which is the same in all files.

`key_value_<n>` has JSON objects of `n` pairs of random UUIDs, one of which is asked for. A row's text is the
object without this pair; the prompt inserts it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from needlework.data.comparison.subspan_screen import SoughtAnswer, Text
from needlework.data.corpora.json_lines import JsonLine, read_lines
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

PAIRS = pa.schema(
    [
        ("passage_id", pa.string()),
        # The other pairs in their order, joined by SEPARATOR.
        ("text", pa.string()),
        # Where in the text each of them begins, in characters.
        ("starts", pa.list_(pa.int32())),
        # The pair that is asked for.
        ("key", pa.string()),
        ("value", pa.string()),
    ]
)
# A pair a line, as the released prompts print the object.
SEPARATOR = ",\n "


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


class _Ids(dict[tuple[str, str], str]):
    """Ids by title and text, in order. (The release's own ids are not relied on to be unique.)"""

    def of(self, passages: Sequence[Passage]) -> list[str]:
        return [self.setdefault((p.title, p.text), f"{len(self):07d}") for p in passages]


@no_collection()
def table(corpus: str, lang: str, files: Sequence[str], settings: Mapping[str, object]) -> pa.Table:
    """The corpus from its one file, as the rule `read_corpus` asks for it."""
    if corpus.startswith("key_value_"):
        return read_pairs(files[0], int(corpus.rpartition("_")[2]))
    kind = corpus.removesuffix("_passages")
    return read_questions(kind, files[0]) if kind == corpus else read_passages(kind, files[0])


def read_questions(kind: str, path: str | Path) -> pa.Table:
    """RANKED_QUESTIONS rows of a file of this kind, in the order of the file and of the ids.

    If an answer does not stand verbatim in the gold passage, its place is -1. Raises UserError if the file is
    damaged, or a line lacks a field or has a wrong one.
    """
    ids, rows = _Ids(), []
    for number, (question, answers, gold, others) in enumerate(_entries(kind, path)):
        forms = list(map(SoughtAnswer, answers))
        rows.append(
            {
                "example_id": f"{number:05d}",
                "title": gold.title,
                "context": gold.text,
                "question": question,
                "answers": answers,
                "answer_starts": [gold.text.find(answer) for answer in answers],
                "passages": ids.of(others),
                "has_answer": [passage.has_answer for passage in others],
                "holds_answer": [_holds(passage, forms) for passage in others],
            }
        )
    return pa.Table.from_pylist(rows, schema=RANKED_QUESTIONS)


def _holds(passage: Passage, answers: Sequence[SoughtAnswer]) -> bool:
    """Whether title or text holds one of the answers."""
    text = Text(f"{passage.title}\n{passage.text}")
    return any(answer.held_by(text) for answer in answers)


def read_passages(kind: str, path: str | Path) -> pa.Table:
    """TITLED rows of all passages except gold passages, without repeats, sorted by id (first occurrence).

    Raises UserError as `read_questions`.
    """
    ids = _Ids()
    for entry in _entries(kind, path):
        ids.of(entry.others)
    rows = {
        "passage_id": list(ids.values()),
        "text": [titled(title, text) for title, text in ids],
        "title": [title for title, _ in ids],
    }
    return pa.table(rows, schema=TITLED)


def _entries(kind: str, path: str | Path) -> Iterator[Entry]:
    for line in read_lines(path):
        question, answers = line.get("question", str), line.texts("answers")
        if not question.strip():
            raise line.wrong("has an empty question")
        if not answers or not all(answers):
            raise line.wrong("has no answer, or an empty one")
        if kind == "nq_open_retrieved":
            annotated = line.get("nq_annotated_gold", dict)
            text = line.get("chunked_long_answer", str, annotated)
            gold = Passage(line.get("title", str, annotated), text, True)
            contexts = [_passage(line, context) for context in line.get("ctxs", list)]
        else:
            found = line.get("ctxs", list)
            marks = [line.get("isgold", bool, context) for context in found]
            if marks.count(True) != 1:
                raise line.wrong(f"has {marks.count(True)} passages with 'isgold' instead of one")
            contexts = [_passage(line, context) for context in found]
            gold = contexts.pop(marks.index(True))
            if contexts and kind in ("nq_open", "nq_gold"):
                raise line.wrong(f"has {len(found)} passages in 'ctxs', but is of the oracle file")
        yield Entry(question, answers, gold, contexts)


def _passage(line: JsonLine, context: Mapping[str, object]) -> Passage:
    title, text = (line.get(key, str, context) for key in ("title", "text"))
    return Passage(title, text, line.get("hasanswer", bool, context))


# Key-value pairs


def pair(key: str, value: str) -> str:
    """A pair as it stands in a prompt."""
    return f'"{key}": "{value}"'


class Object(NamedTuple):
    """A row of PAIRS."""

    passage_id: str
    text: str
    starts: list[int]
    key: str
    value: str


def row(name: str, others: Sequence[tuple[str, str]], key: str, value: str) -> Object:
    """A row of PAIRS, of the pair that is asked for and the others."""
    pairs = [pair(*other) for other in others]
    starts = accumulate((len(text) + len(SEPARATOR) for text in pairs[:-1]), initial=0)
    return Object(name, SEPARATOR.join(pairs), list(starts), key, value)


def read_pairs(path: str | Path, n: int) -> pa.Table:
    """PAIRS rows of a file whose objects have `n` pairs each, in the order of the file and of the ids.

    Raises UserError if the file is damaged, a line lacks a field, a key occurs twice in an object, there are
    not `n` pairs, or the asked pair is not among them.
    """
    rows = [_pairs(line, number, n)._asdict() for number, line in enumerate(read_lines(path))]
    return pa.Table.from_pylist(rows, schema=PAIRS)


def _pairs(line: JsonLine, number: int, n: int) -> Object:
    pairs = line.get("ordered_kv_records", list)
    key, value = line.get("key", str), line.get("value", str)
    if not all(isinstance(found, list) and [*map(type, found)] == [str, str] for found in pairs):
        raise line.wrong("has 'ordered_kv_records' that are not pairs of texts")
    if len(pairs) != n:
        raise line.wrong(f"has {len(pairs)} pairs in 'ordered_kv_records' instead of {n}")
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise line.wrong(f"has the key {name!r} twice in 'ordered_kv_records'")
        seen.add(name)
    if [key, value] not in pairs:
        raise line.wrong(f"asks for the 'key' {key!r}, whose pair is not in 'ordered_kv_records'")
    return row(f"{number:04d}", [(k, v) for k, v in pairs if k != key], key, value)
