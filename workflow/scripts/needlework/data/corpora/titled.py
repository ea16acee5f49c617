"""The paragraphs of a corpus of questions as passages: distractors in its own language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module

import pyarrow as pa

from needlework.data.corpora.registry import CORPORA
from needlework.records import PASSAGES

# A passage as it stands in a prompt: its title, in the form that follows "Document [1]", then its text.
TITLED = pa.schema([*PASSAGES, ("title", pa.string())])

# The passages begin with their titles, or have none.
_TITLED, _PLAIN = "_passages", "_paragraphs"


def titled(title: str, text: str) -> str:
    """A passage as it stands in a prompt, behind "Document [1]" (paper, Figure 2)."""
    return f"(Title: {title}) {text}"


def table(corpus: str, lang: str, files: Sequence[str], settings: Mapping[str, object]) -> pa.Table:
    """`<questions>_passages` or `<questions>_paragraphs` in `lang`, as the rule `read_corpus` asks for it.

    The reader of `<questions>` reads the same files.
    """
    questions = corpus.removesuffix(_TITLED).removesuffix(_PLAIN)
    reader = import_module(f"needlework.{CORPORA[questions].reader}")
    found = passages(reader.table(questions, lang, files, settings), corpus.endswith(_TITLED))
    return found if corpus.endswith(_TITLED) else found.select(PASSAGES.names)


def passages(questions: pa.Table, titles: bool = True) -> pa.Table:
    """TITLED rows of the contexts of QUESTIONS rows, each once, with or without titles in the text.

    A passage's id is the smallest id of its questions, so the rows are sorted.
    """
    seen: dict[tuple[str, str], str] = {}
    columns = (questions[name].to_pylist() for name in ("example_id", "title", "context"))
    for example_id, title, context in zip(*columns, strict=True):
        seen.setdefault((title, context), example_id)
    return pa.table(
        {
            "passage_id": list(seen.values()),
            "text": [titled(title, text) if titles else text for title, text in seen],
            "title": [title for title, _ in seen],
        },
        schema=TITLED,
    )
