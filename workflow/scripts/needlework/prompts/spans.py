"""A prompt as a sequence of spans: literal text, or a slice of a document that a corpus file holds.

So a prompt of 128K tokens takes a few hundred bytes on disk, and shows where its needle lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from needlework.errors import UserError
from needlework.records import read_names, read_table

ROLES = ("instruction", "haystack", "distractor", "needle", "question", "answer_format", "example")


class Span(NamedTuple):
    """A piece of a prompt: `text`, or the characters [start, end) of the document named `source`."""

    role: str
    source: str | None = None
    start: int | None = None
    end: int | None = None
    text: str | None = None


def literal(role: str, text: str) -> Span:
    """A span that holds its own text."""
    return Span(role, text=text)


def span_text(span: Mapping[str, Any] | Span, documents: Mapping[str, str]) -> str:
    """The text of one span."""
    _, source, start, end, text = span if isinstance(span, Span) else Span(**span)
    if source is None:
        return text or ""
    try:
        return documents[source][start:end]
    except KeyError:
        raise UserError(
            f"a prompt refers to the document {source!r}, which is in none of the corpus files given: "
            "delete the instance file and run again."
        ) from None


def render(spans: Iterable[Mapping[str, object] | Span], documents: Mapping[str, str]) -> str:
    """The prompt's text: the texts of its spans, one after the other."""
    return "".join(span_text(span, documents) for span in spans)


class Documents(Mapping[str, str]):
    """The documents of corpus files, by source id `<corpus>/<lang>/<id>`.

    In a table of questions, the document is the context. Lists of words, and rows that are whole prompts,
    would take gigabytes. So they are read from their file when they are first needed, and only those of the
    last file are held.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._files: dict[str, tuple[str | Path, str]] = {}
        self._rows: dict[str, tuple[str, int]] = {}
        self._held: tuple[str, pa.ChunkedArray] | None = None
        self._coded: tuple[str, list[tuple[pa.ListArray, pa.DictionaryArray]]] | None = None

    @classmethod
    def read(cls, files: Mapping[str, str]) -> Documents:
        """Documents of the files given as {"<corpus>/<lang>": path}."""
        documents = cls()
        for prefix, path in files.items():
            names = read_names(path)
            if "words" in names:
                documents._add_lists(prefix, path)
            elif "pieces" in names:
                documents._add_prompts(prefix, path)
            else:
                documents.add(prefix, read_table(path))
        return documents

    @classmethod
    def of(cls, benchmark: str, corpora: Iterable[str], documents: Iterable[str]) -> Documents:
        """The documents of a benchmark's prompts: corpus tables, and texts made by the construction."""
        files = {f"{Path(path).parent.name}/{Path(path).stem}": path for path in corpora}
        return cls.read(files | {f"{benchmark}/{Path(path).stem}": path for path in documents})

    def add(self, prefix: str, table: pa.Table) -> None:
        """Add the rows of a corpus table under `<corpus>/<lang>`."""
        questions = "context" in table.column_names
        ids, texts = ("example_id", "context") if questions else ("passage_id", "text")
        for identifier, text in zip(table[ids].to_pylist(), table[texts].to_pylist(), strict=True):
            self._texts[f"{prefix}/{identifier}"] = text

    def _add_lists(self, prefix: str, path: str | Path) -> None:
        """Add the rows of a file of records.DOCUMENTS."""
        table = read_table(path, ["passage_id", "text"])
        self._files[prefix] = (path, "words")
        for row, (identifier, text) in enumerate(
            zip(table["passage_id"].to_pylist(), table["text"].to_pylist(), strict=True)
        ):
            if text is None:
                self._rows[f"{prefix}/{identifier}"] = (prefix, row)
            else:
                self._texts[f"{prefix}/{identifier}"] = text

    def _add_prompts(self, prefix: str, path: str | Path) -> None:
        """Add the rows of a file whose texts are whole prompts."""
        self._files[prefix] = (path, "text")
        for row, identifier in enumerate(
            read_table(path, ["passage_id"])["passage_id"].to_pylist()
        ):
            self._rows[f"{prefix}/{identifier}"] = (prefix, row)

    def __getitem__(self, source: str) -> str:
        # Asked for each span of each prompt.
        if (text := self._texts.get(source)) is not None:
            return text
        piece = self.piece(source)
        return piece if isinstance(piece, str) else numbered(piece)

    def piece(self, source: str) -> str | list[str]:
        """A document as it is stored: its text, or the words of a numbered list.

        Raises KeyError if no document has this name.
        """
        if source in self._texts:
            return self._texts[source]
        prefix, row = self._rows[source]
        if self._held is None or self._held[0] != prefix:
            path, column = self._files[prefix]
            self._held = (prefix, read_table(path, [column])[column])
        return self._held[1][row].as_py()

    def words(self, source: str) -> tuple[str, pa.StringArray, pa.Int32Array] | None:
        """A numbered list as indices into its file's list of words; None for other documents.

        The first value is the same for all documents of a file.
        """
        prefix, row = self._rows.get(source, ("", -1))
        if row < 0 or self._files[prefix][1] != "words":
            return None
        if self._coded is None or self._coded[0] != prefix:
            lists = read_table(self._files[prefix][0], ["words"])["words"]
            coded = [(chunk, chunk.values.dictionary_encode()) for chunk in lists.chunks]
            self._coded = (prefix, coded)
        part = 0
        while row >= len(self._coded[1][part][0]):
            row -= len(self._coded[1][part][0])
            part += 1
        chunk, every = self._coded[1][part]
        start, end = (chunk.offsets[place].as_py() for place in (row, row + 1))
        return f"{prefix}/{part}", every.dictionary, every.indices[start:end]

    def __iter__(self) -> Iterator[str]:
        yield from self._texts
        yield from self._rows

    def __len__(self) -> int:
        return len(self._texts) + len(self._rows)


def numbered(words: Sequence[str]) -> str:
    """The text of a list of words: "1. one 2. two"."""
    # Much faster than to format each word, and most of the time of prompts with long lists.
    return " ".join(map(add, _numbers(1 << len(words).bit_length()), words))


@cache
def _numbers(n: int) -> tuple[str, ...]:
    return tuple(f"{i}. " for i in range(1, n + 1))


def messages(prompt: str, system: str | None = None) -> list[dict[str, str]]:
    """A prompt as a chat: the system prompt, if there is one, and the user's."""
    before = [{"role": "system", "content": system}] if system else []
    return [*before, {"role": "user", "content": prompt}]
