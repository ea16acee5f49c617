"""A job that asks its questions in batches, at a batch API on loopback."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from factories.models import remote, requests
from http_server import BatchServer, Reply
from needlework.journal import Journal
from needlework.models.backends.base import Request
from needlework.models.backends.openai.backend import OpenaiBackend
from needlework.models.generation import Policy, generate


def backend(url: str, journal: Path, **changes: Any) -> OpenaiBackend:
    return remote(url, **{"batch": True, "journal": str(journal), "timeout": 5, **changes})


def rows(server: BatchServer, folder: Path, asked: Sequence[Request], **options: Any) -> list[dict]:
    """A job: what is missing is asked for, the rest is in the journal."""
    model = backend(server.url, folder, **options.pop("model", {}))
    with Journal(folder / "generations") as journal:
        return generate(asked, model, journal, Policy(**options)).to_pylist()


def texts(server: BatchServer, folder: Path, prompts: str, **options: Any) -> list[str]:
    """What a job answers to prompts of a letter each."""
    return [row["text"] for row in rows(server, folder, requests(*prompts), **options)]


def kept(folder: Path) -> list[str]:
    """The texts in the journal of answers."""
    with Journal(folder / "generations") as journal:
        return sorted(record["text"] for record in journal.records())


def sizes(server: BatchServer) -> list[int]:
    """How many requests each batch had."""
    return [len(server.lines(batch)) for batch in server.batches.values()]


def failing(server: BatchServer, said: str, *names: str) -> None:
    """Have these batches fail, or all."""
    data = [{"code": "token_limit_exceeded", "message": said}]
    nothing = {"output_file_id": None, "error_file_id": None, "request_counts": None}

    def finish(batch: dict) -> None:
        if not names or batch["id"] in names:
            batch |= {"status": "failed", "errors": {"data": data}, **nothing}

    server.finish = finish


def refuse(server: BatchServer, reply: Reply, method: str, path: str, after: int = 0) -> None:
    """Give this reply to all calls of a path that begins so, but for the first `after`."""
    server.fault = lambda number, own, name: (
        reply
        if own == method and name.startswith(path) and server.count(method, path) > after
        else None
    )
