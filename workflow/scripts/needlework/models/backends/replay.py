"""Answers from a user's files: logs of other harnesses, or a person's answers."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.answer_states import BESIDE_PROMPT, LONGER
from needlework.errors import UserError
from needlework.models.backends.base import Answer, Backend, Request
from needlework.models.logs.formats import format_of, logged
from needlework.models.logs.logged import Logged, LogRun, text_digest
from needlework.models.thoughts import KNOWN, part
from needlework.records import file_digest

if TYPE_CHECKING:
    from needlework.models.backends import replay_settings

logger = logging.getLogger("needlework")

_OTHER_PROMPT = (
    "the log has another prompt under this name: export the prompts again and answer these"
)
_REMEDY = "ask the prompt as it was exported, and nothing else"
# Of logs of one model, these must be equal; what else differs is not said of all answers.
_ONE_WAY = ("model", "temperature", "top_p", "top_k")

Key = tuple[str, int]


class ReplayBackend(Backend):
    """Answers from the files under the model's key `answers` (`models.logs`), matched by the prompts' names.

    All files are of one model. They may answer several benchmarks; a job sees one of them. If a log has the
    text that was sent, it must be the request's prompt and nothing else.
    """

    def __init__(self, config: replay_settings.Replay, model: str, journal: str | Path) -> None:
        super().__init__(config, model, journal)
        if not config.answers:
            raise UserError("a model with `backend: replay` needs the key `answers`: give a file.")
        answers = config.answers
        self.paths = [Path(p) for p in ([answers] if isinstance(answers, str) else answers)]
        for path in self.paths:
            format_of(path)
        self._answers: dict[Key, Logged] = {}
        # What a batch's input file sent, and the files that hold nothing else.
        self._sent: dict[Key, Logged] = {}
        self._unanswered: list[Path] = []
        self._about: dict[str, object] = {}
        self._told: Counter[str] = Counter()

    def identity(self) -> Mapping[str, object]:
        """The contents of the files."""
        digests = sorted(map(file_digest, self.paths))
        return {"backend": "replay", "answers": digests[0] if len(digests) == 1 else digests}

    def depends_on(self, request: Request) -> str:
        """The name under which the files hold the answer."""
        return request.instance_id

    def settings(self) -> dict[str, object]:
        """The logs' record of their run: program, model and decoding settings."""
        return dict(self._about)

    def check(self, known: Set[Key], asked: Set[Key]) -> None:
        """Raise UserError if the files lack answers; answers to other requests are only counted."""
        self.load()
        names = ", ".join(map(str, self.paths[:3])) + (", ..." if len(self.paths) > 3 else "")
        unknown = self._answers.keys() - known
        others = f"answers {len(unknown)} request(s) outside the benchmark ({_first(unknown)})"
        missing = asked - self._answers.keys()
        if missing:
            without = ", ".join(map(str, self._unanswered[:3]))
            raise UserError(
                f"{names} lacks the answers to {len(missing)} of {len(asked)} request(s) "
                f"({_first(missing)}){f', and {others}' if unknown else ''}"
                f"{f'; {without} holds only requests' if without else ''}: add them, or narrow the "
                "configuration to what it answers."
            )
        if unknown:
            logger.info("%s %s.", names, others)

    def load(self) -> None:
        """Read the files.

        Raises UserError on a file that cannot be read, two different answers to a request, and two models.
        """
        if self._answers:
            return
        names: dict[str, tuple[object, str]] = {}
        for path in self.paths:
            run, answered = LogRun(), False
            for found in logged(path, run):
                if found.answer is None:
                    self._sent[found.instance_id, found.sample] = found
                    continue
                answered = True
                self._take(path, found)
                if found.served is not None and found.failure is None:
                    _agree(names, "served", found.served, f"{path}, {found.place}")
            if not answered and run.said and any(s.run is run for s in self._sent.values()):
                self._unanswered.append(path)
            for key in _ONE_WAY:
                if answered and key in run.said:
                    _agree(names, key, run.said[key], str(path))
            if answered:
                self._about = _common(run.said, self._about)

    def _take(self, path: Path, found: Logged) -> None:
        """Keep an answer, unless a better one is known.

        An answer is better than a failure. Of two different ones in a log that is appended to, the later
        counts; elsewhere they are an error.
        """
        key = found.instance_id, found.sample
        before = self._answers.setdefault(key, found)
        if before is found or (before.failure is None and found.failure is not None):
            return
        if before.failure is None and not _same(before, found):
            if not (found.run is before.run and found.run.appended):
                raise UserError(
                    f"{path}, {found.place}: a second answer to {_first([key])}; keep one of them."
                )
        elif before.failure is None:
            return
        self._answers[key] = found

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        """The files' answer to each request; an error if the model was asked something else."""
        for request in batch:
            key = request.instance_id, request.sample
            found = self._answers[key]
            answer, digest = found.answer, text_digest(request.prompt)
            if answer is None or answer.error is not None:
                yield answer or Answer("", error=_OTHER_PROMPT)
                continue
            sent = [found.sent, self._sent[key].sent if key in self._sent else None]
            odd = found.failure or next((why for why in sent if isinstance(why, str)), None)
            if odd is not None:
                yield Answer("", error=f"{odd}: {_REMEDY}")
            elif any(each not in (None, digest) for each in sent):
                yield Answer("", error=_OTHER_PROMPT)
            else:
                yield self._remarked(request, answer)

    def _remarked(self, request: Request, answer: Answer) -> Answer:
        """The answer, with a remark if it is longer than it may be."""
        if said := _too_long(answer, request.max_new_tokens):
            answer = replace(answer, remarks=(*(answer.remarks or ()), f"{LONGER}: {said}"))
        self._told.update(remark.partition(": ")[0] for remark in answer.remarks or ())
        return answer

    def close(self) -> None:
        """Say how many answers have remarks."""
        if n := self._told[LONGER]:
            logger.warning("%d answers are longer than the limit on new tokens.", n)
        if n := self._told[BESIDE_PROMPT]:
            logger.warning("%d requests had other text in the chat template.", n)
        self._told.clear()


def _same(one: Logged, other: Logged) -> bool:
    """Whether two logs have the same answer: its text and its end."""
    pair = [(a.text, a.finish_reason) for a in (one.answer, other.answer) if a is not None]
    return pair[0] == pair[-1]


def _agree(names: dict[str, tuple[object, str]], key: str, value: object, place: str) -> None:
    """Raise UserError if another file said something else."""
    before, where = names.setdefault(key, (value, place))
    if before != value:
        what = "models" if key in ("model", "served") else f"values of {key}"
        raise UserError(
            f"the answers to replay are those of two {what}: {before} ({where}) and {value} ({place}). Give "
            "each a model of its own."
        )


def _common(said: Mapping[str, object], before: Mapping[str, object]) -> dict[str, object]:
    """What all files say, or some say and no other contradicts; of programs and names the first."""
    found = {**said, **before}
    kept = ("program", "model")
    return {
        key: value
        for key, value in found.items()
        if key in kept or said.get(key, value) == before.get(key, value)
    }


def _too_long(answer: Answer, limit: int) -> str | None:
    """How long an answer is that exceeds its limit, in words; reasoning is not counted."""
    parted = part(answer.text, KNOWN, cut=False)
    words = len((answer.text if parted is None else parted.text).split())
    counted = answer.completion_tokens
    if counted is not None and answer.reasoning_tokens is not None:
        counted = max(0, counted - answer.reasoning_tokens)
    elif parted is not None:
        counted = None
    if counted is not None and counted > limit:
        return f"{counted} tokens, the limit is {limit}"
    # A word has at least one token.
    return f"{words} words, the limit is {limit} tokens" if words > limit else None


def _first(keys: Iterable[Key]) -> str:
    """The first three keys in words."""
    ordered = sorted(keys)
    shown = ", ".join(f"{instance} sample {sample}" for instance, sample in ordered[:3])
    return shown + (", ..." if len(ordered) > 3 else "")


BACKEND = ReplayBackend
