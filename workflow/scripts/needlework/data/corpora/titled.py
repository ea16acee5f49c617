"""The paragraphs of a corpus of questions as passages with titles: distractors in its own language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import pyarrow as pa

from needlework.data.corpora.nq_open import TITLED, titled

_SUFFIX = "_passages"


def table(corpus: str, lang: str, files: Sequence[str], settings: Mapping[str, Any]) -> pa.Table:
    """The corpus `<questions>_passages` in `lang`, as the rule `read_corpus` asks for it.

    Of `mlqa` or `xquad`, whose reader reads the same files.
    """
    questions = corpus.removesuffix(_SUFFIX)
    reader = import_module(f"needlework.data.corpora.{questions}")
    return passages(reader.table(questions, lang, files, settings))


def passages(questions: pa.Table) -> pa.Table:
    """TITLED rows of the contexts of QUESTIONS rows, each once.

    A passage's id is the first of the ids of its questions, so the rows are sorted.
    """
    seen: dict[tuple[str, str], str] = {}
    columns = (questions[name].to_pylist() for name in ("example_id", "title", "context"))
    for example_id, title, context in zip(*columns, strict=True):
        seen.setdefault((title, context), example_id)
    return pa.table(
        {
            "passage_id": list(seen.values()),
            "text": [titled(title, text) for title, text in seen],
            "title": [title for title, _ in seen],
        },
        schema=TITLED,
    )
