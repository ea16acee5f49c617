"""The model that says nothing. Where it scores above 0.0, scoring is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from needlework.codedigest import code_digest
from needlework.models.backends.base import Answer, Backend, Request


class Empty(Backend):
    """Answers every request with the empty string."""

    def identity(self) -> Mapping[str, Any]:
        """The code alone."""
        return {"backend": "empty", "code": code_digest("needlework/models/backends/empty.py")}

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        """An empty answer for each request."""
        return (Answer("") for _ in batch)


BACKEND = Empty
