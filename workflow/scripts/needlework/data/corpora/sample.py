"""The embedded sample: questions and passages written for this project, in seven languages or in English."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from needlework.data.corpora.extractive import ExtractiveQuestion, questions_table
from needlework.errors import UserError
from needlework.records import PASSAGES


def table(corpus: str, lang: str, files: Sequence[str], settings: Mapping[str, str]) -> pa.Table:
    """The sample's questions or passages in `lang`, as the rule `read_corpus` asks for them."""
    reader = {"sample_questions": read_questions, "sample_passages": read_passages}[corpus]
    return reader(lang, files)


def read_questions(lang: str, paths: Iterable[str | Path]) -> pa.Table:
    """QUESTIONS rows, sorted by id, of the items in `lang` in the sample's JSON files.

    Raises UserError if there are no such items, or an answer does not stand in its context.
    """
    rows: list[ExtractiveQuestion] = []
    for item in _in_language(_items(paths, "questions"), lang):
        text = item["text"][lang]
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
    """PASSAGES rows, sorted by id, of the items in `lang` in the sample's JSON files.

    Raises UserError if there are no such items.
    """
    rows = [
        {"passage_id": item["passage_id"], "text": item["text"][lang]}
        for item in _in_language(_items(paths, "passages"), lang)
    ]
    return pa.Table.from_pylist(sorted(rows, key=lambda row: row["passage_id"]), schema=PASSAGES)


def _items(paths: Iterable[str | Path], kind: str) -> Iterable[Mapping[str, Any]]:
    for path in paths:
        try:
            yield from json.loads(Path(path).read_text(encoding="utf-8")).get(kind, [])
        except (OSError, ValueError) as error:
            raise UserError(
                f"{path} is not readable as JSON ({error}): restore it with `git checkout`."
            ) from None


def _in_language(items: Iterable[Mapping[str, Any]], lang: str) -> list[Mapping[str, Any]]:
    """The items that are in a language."""
    every = list(items)
    found = [item for item in every if lang in item["text"]]
    if not found:
        known = sorted({known for item in every for known in item["text"]})
        raise UserError(f"the sample has no language {lang!r}: choose among {', '.join(known)}.")
    return found
