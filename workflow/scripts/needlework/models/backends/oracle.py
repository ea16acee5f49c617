"""The oracle: it sees the references and answers with all of them.

If it does not score 1.0, construction or scoring is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from needlework.models.backends.base import Answer, Reader, Request


class Oracle(Reader):
    """Answers with the references: with one or with all, as the task asks."""

    module = __name__

    def depends_on(self, request: Request) -> list[str]:
        """The references that it reads."""
        return list(request.references)

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        """The references of each request, on one line."""
        return (Answer(", ".join(request.references)) for request in batch)


BACKEND = Oracle
