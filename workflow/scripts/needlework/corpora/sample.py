"""The embedded sample: questions and passages written for this project, aligned in seven languages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from needlework.corpora.extractive import questions_table
from needlework.errors import UserError
from needlework.records import PASSAGES


def table(corpus: str, lang: str, files: Sequence[str], settings: Mapping[str, str]) -> pa.Table:
    """The sample's questions or passages in `lang`, as the rule `read_corpus` asks for them."""
    reader = {"sample_questions": read_questions, "sample_passages": read_passages}[corpus]
    return reader(lang, files)


def read_questions(lang: str, paths: Iterable[str | Path]) -> pa.Table:
    """QUESTIONS rows, sorted by id, of the sample's JSON files.

    UserError where an item is not in `lang`, or an answer does not stand in its context.
    """
    rows = []
    for item in _items(paths, "questions"):
        text = _in_language(item, "example_id", lang)
        rows.append(
            {
                "example_id": item["example_id"],
                "title": item["title"],
                "context": text["context"],
                "question": text["question"],
                "answers": [text["answer"]],
                "answer_starts": [text["context"].find(text["answer"])],
            }
        )
    return questions_table(rows, f"the sample in {lang!r}")


def read_passages(lang: str, paths: Iterable[str | Path]) -> pa.Table:
    """PASSAGES rows, sorted by id, of the sample's JSON files.

    UserError where an item is not in `lang`.
    """
    rows = [
        {"passage_id": item["passage_id"], "text": _in_language(item, "passage_id", lang)}
        for item in _items(paths, "passages")
    ]
    return pa.Table.from_pylist(sorted(rows, key=lambda row: row["passage_id"]), schema=PASSAGES)


def _items(paths: Iterable[str | Path], kind: str) -> Iterable[Mapping]:
    for path in paths:
        try:
            yield from json.loads(Path(path).read_text(encoding="utf-8")).get(kind, [])
        except (OSError, ValueError) as error:
            raise UserError(
                f"{path} is not readable as JSON ({error}): restore it with `git checkout`."
            ) from None


def _in_language(item: Mapping, key: str, lang: str) -> object:
    if lang not in item["text"]:
        raise UserError(
            f"the sample's item {item[key]!r} has no language {lang!r}: choose among "
            f"{', '.join(sorted(item['text']))}."
        )
    return item["text"][lang]
