"""A control that gives empty answers. If it scores above 0.0, scoring is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from needlework.models.backends.base import Answer, Reader, Request


class Empty(Reader):
    """Answers every request with the empty string."""

    module = __name__

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        """An empty answer for each request."""
        return (Answer("") for _ in batch)


BACKEND = Empty
