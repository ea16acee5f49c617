"""Answers from a user's files: logs of other harnesses, or a person's answers."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path

from needlework.entry import Entry
from needlework.errors import UserError
from needlework.models.backends.base import Answer, Backend, Request
from needlework.models.logs.formats import reader_of
from needlework.models.logs.logged import About, Logged, text_digest
from needlework.records import file_digest

logger = logging.getLogger("needlework")

_OTHER_PROMPT = (
    "the log has another prompt under this name: export the prompts again and answer these"
)


class Replay(Backend):
    """Answers from the files under the model's key `answers` (`models.logs`), matched by the prompts' names.

    Files may answer several benchmarks; a job sees one of them. Where a log has the prompt, its text must be
    that of the request.
    """

    def __init__(self, config: Entry) -> None:
        super().__init__(config)
        given = config.get("answers")
        if not given:
            raise UserError("a model with `backend: replay` needs the key `answers`: give a file.")
        self.paths = [Path(path) for path in (given if isinstance(given, list) else [given])]
        self._readers = [reader_of(path) for path in self.paths]
        self._answers: dict[tuple[str, int], Logged] = {}
        self._about: About = {}

    def identity(self) -> Mapping[str, object]:
        """The contents of the files."""
        digests = sorted(map(file_digest, self.paths))
        return {"backend": "replay", "answers": digests[0] if len(digests) == 1 else digests}

    def depends_on(self, request: Request) -> str:
        """The name under which the files hold the answer."""
        return request.instance_id

    def settings(self) -> dict[str, object]:
        """What the logs say of their run: the program, the model, how it decoded."""
        return dict(self._about)

    def check(self, known: Set[tuple[str, int]], asked: Set[tuple[str, int]]) -> None:
        """Raise UserError if the files lack answers; answers to other requests are only counted."""
        self.load()
        names = ", ".join(map(str, self.paths[:3])) + (", ..." if len(self.paths) > 3 else "")
        unknown = self._answers.keys() - known
        others = f"answers {len(unknown)} request(s) outside the benchmark ({_first(unknown)})"
        missing = asked - self._answers.keys()
        if missing:
            raise UserError(
                f"{names} lacks the answers to {len(missing)} of {len(asked)} request(s) "
                f"({_first(missing)}){f', and {others}' if unknown else ''}: add them, or narrow the "
                "configuration to what it answers."
            )
        if unknown:
            logger.info("%s %s.", names, others)

    def load(self) -> None:
        """Read the files. Raises UserError on an unreadable answer, or two different ones to a request."""
        if self._answers:
            return
        for path, read in zip(self.paths, self._readers, strict=True):
            about: About = {}
            for logged in read(path, about):
                key = logged.instance_id, logged.sample
                before = self._answers.setdefault(key, logged)
                if before is not logged and not (logged.repeated and logged == before):
                    raise UserError(
                        f"{path}, {logged.place}: a second answer to {_first([key])}; keep one of them."
                    )
            self._about = about | self._about

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        """The files' answer to each request; an error where the log has another prompt under its name."""
        for request in batch:
            logged = self._answers[request.instance_id, request.sample]
            same = logged.prompt is None or logged.prompt == text_digest(request.prompt)
            yield logged.answer if same else Answer("", error=_OTHER_PROMPT)


def _first(keys: Iterable[tuple[str, int]]) -> str:
    """The first three keys in words."""
    ordered = sorted(keys)
    shown = ", ".join(f"{instance} sample {sample}" for instance, sample in ordered[:3])
    return shown + (", ..." if len(ordered) > 3 else "")


BACKEND = Replay
