"""The documents from which M4LE's rows are made: those of a source data set, in one form."""

from __future__ import annotations

from typing import NamedTuple

# The class of a good review.
POSITIVE = "positive"


class Question(NamedTuple):
    """A question with its accepted answers, best first."""

    text: str
    answers: tuple[str, ...]


class Document(NamedTuple):
    """A document that belongs to a record: one of its own paragraphs, or a retrieved passage."""

    text: str
    title: str = ""


class Record(NamedTuple):
    """A document, and what can be asked about it.

    `title` is what the document is called, `asked` what it is asked by where that is something else
    (keywords). `label` is its class, `answers` its summary or translation. `parts` are its paragraphs
    or, of a question, the documents that come with it.
    """

    text: str
    title: str = ""
    asked: str = ""
    label: str = ""
    answers: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    parts: tuple[Document, ...] = ()
