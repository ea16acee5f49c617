"""Extractive question answering: SQuAD's JSON as rows whose answers stand in their contexts.

XQuAD has 1,190 questions with the same ids in each of twelve languages. MLQA has questions in seven
languages; each question is in two to four of them, with the same id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import pyarrow as pa

from needlework.data.archives import Archive
from needlework.errors import UserError
from needlework.records import QUESTIONS

if TYPE_CHECKING:
    from needlework.settings.sources import Mlqa


class ExtractiveQuestion(TypedDict):
    """A row of QUESTIONS: each answer stands in the context, at its start."""

    example_id: str
    title: str
    context: str
    question: str
    answers: list[str]
    answer_starts: list[int]


def read_squad(data: bytes, name: str) -> pa.Table:
    """QUESTIONS rows, sorted by id, of a SQuAD v1.1 file.

    `name` is the file's name in errors. Raises UserError if it is not such a file, an answer is not at its
    offset in its context, or an id occurs twice.
    """
    try:
        return questions_table(_squad_rows(json.loads(data)), name)
    except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        raise UserError(
            f"{name} is not in SQuAD's JSON format ({type(error).__name__}: {error}): delete the file "
            "and run again."
        ) from None


def _squad_rows(squad: Mapping[str, Any]) -> Iterable[ExtractiveQuestion]:
    for article in squad["data"]:
        for paragraph in article["paragraphs"]:
            for qa in paragraph["qas"]:
                yield {
                    "example_id": qa["id"],
                    "title": article["title"],
                    "context": paragraph["context"],
                    "question": qa["question"],
                    "answers": [answer["text"] for answer in qa["answers"]],
                    "answer_starts": [answer["answer_start"] for answer in qa["answers"]],
                }


def questions_table(rows: Iterable[ExtractiveQuestion], name: str) -> pa.Table:
    """`rows` as a QUESTIONS table, sorted by id. Raises UserError if a row is not sound."""
    rows = sorted(rows, key=lambda row: row["example_id"])
    seen = set()
    for row in rows:
        if row["example_id"] in seen:
            raise _unsound(name, row, "occurs twice")
        seen.add(row["example_id"])
        if not row["answers"]:
            raise _unsound(name, row, "has no answer")
        for answer, start in zip(row["answers"], row["answer_starts"], strict=True):
            if not answer or start < 0 or not row["context"].startswith(answer, start):
                raise _unsound(
                    name, row, f"has the answer {answer!r}, which is not at {start} in its context"
                )
    return pa.Table.from_pylist(rows, schema=QUESTIONS)


def _unsound(name: str, row: ExtractiveQuestion, what: str) -> UserError:
    return UserError(
        f"{name}: the question {row['example_id']!r} {what}: correct the file, or delete it and run again "
        "if it was downloaded."
    )


# MLQA: context and question in one language. The files with two languages hold nothing that these do not.
MEMBER = "MLQA_V1/{split}/{split}-context-{lang}-question-{lang}.json"
ANY_MEMBER = re.compile(r"MLQA_V1/(\w+)/\1-context-(\w+)-question-\2\.json")


def table(corpus: str, lang: str, files: Sequence[str], settings: Mlqa) -> pa.Table:
    """XQuAD or MLQA in `lang` from its one file, as the rule `read_corpus` asks for it."""
    if corpus == "mlqa":
        return read_mlqa(files[0], settings.split, lang)
    return read_xquad(files[0])


def read_xquad(json_path: str | Path) -> pa.Table:
    """QUESTIONS rows, sorted by id, of xquad.<lang>.json. Raises UserError if it is not sound."""
    try:
        data = Path(json_path).read_bytes()
    except FileNotFoundError:
        raise UserError(f"{json_path} does not exist: run the rule that downloads it.") from None
    return read_squad(data, str(json_path))


def read_mlqa(zip_path: str | Path, split: str, lang: str) -> pa.Table:
    """QUESTIONS rows, sorted by id, of one language of MLQA_V1.zip (`split`: "dev" or "test").

    Question and context are both in `lang`. An id names the same question in every language. Raises UserError
    if the archive does not have the split or the language, or is broken.
    """
    with Archive(Path(zip_path)) as archive:
        member = MEMBER.format(split=split, lang=lang)
        if member not in archive.names:
            raise UserError(f"{zip_path} {_what_it_lacks(archive.names, split, lang)}.")
        return read_squad(archive.read(member), f"{zip_path}, {member}")


def _what_it_lacks(names: set[str], split: str, lang: str) -> str:
    there = sorted(match.groups() for name in names if (match := ANY_MEMBER.fullmatch(name)))
    languages = [language for part, language in there if part == split]
    if languages:
        return (
            f"has no language {lang!r} in its split {split!r}: choose among {', '.join(languages)}"
        )
    if there:
        splits = " or ".join(
            f"`sources.mlqa.split: {part}`" for part in sorted({part for part, _ in there})
        )
        return f"has no split {split!r}: set {splits}"
    return "is not MLQA's archive: delete it and run again"
