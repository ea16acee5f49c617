"""The interface of backends, and how a backend is found by its name.

A backend is a module in this folder with a `BACKEND`, a subclass of `Backend`. Its keys are in
`<name>_settings.py`. If a backend has several modules, it is a package with `backend.py` and `settings.py`.
Backends are imported by name at run time, so an edit of one does not change the others' digest.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from needlework import seeding
from needlework.codedigest import module_digest
from needlework.data.packaged import is_packaged, local_name
from needlework.errors import UserError
from needlework.given import given
from needlework.journal import Record
from needlework.models.backends import backend_file, backend_names
from needlework.prompts.spans import Span, span_text
from needlework.services.endpoints import revealed

if TYPE_CHECKING:
    from needlework.models.settings import AnyModel


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt to be answered once. Its text is rendered when needed, and not kept."""

    instance_id: str
    sample: int
    task: str
    spans: Sequence[Span]
    references: Sequence[str]
    max_new_tokens: int
    n_tokens: int
    documents: Mapping[str, str] = field(repr=False)
    # The source example; prompts of one kind have one task and the same languages.
    example_id: str = ""
    kind: str = ""
    # How many of its tokens are the beginning of another prompt too.
    shared: int = 0

    def parts(self) -> list[tuple[str, str]]:
        """The prompt's spans in order, each as (role, text)."""
        return [(span.role, span_text(span, self.documents)) for span in self.spans]

    @property
    def prompt(self) -> str:
        """The rendered prompt, before any chat template."""
        return "".join(span_text(span, self.documents) for span in self.spans)


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer to a request.

    If `error` is set, there is no answer, and the other fields are undefined. If `finish_reason` is
    `skipped`, the error means that the prompt, as the model gets it, exceeds the context. Any other error is
    a failure.
    """

    # May contain reasoning, which is removed later (`thoughts`).
    text: str
    finish_reason: Literal["stop", "length", "skipped", "error"] = "stop"
    # Tokens as the model counts them; None if the backend does not count.
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    # The limit in the configuration that cut the answer, if this limit is no part of the journal's key
    # (`Backend.holds`).
    cut_at: int | str | None = None
    # If the model wrote special tokens: the text with them, and these tokens.
    whole: str | None = None
    special: tuple[str, ...] | None = None
    # The mark at which reasoning ended, if the backend itself counts `reasoning_tokens`.
    mark: str | None = None
    error: str | None = None
    # With finish_reason `skipped`: the prompt was sent, and a server refused it as too long.
    refused: bool = False
    # Reasoning that stood beside an empty text in the reply.
    reasoning: str | None = None
    # The model that the reply names, if it is not the one that was asked.
    served: str | None = None
    # Whether the reply does not say why the answer ended.
    unknown_end: bool = False
    # Kinds of remarks (`answer_states`), each followed by ": " and an example.
    remarks: tuple[str, ...] | None = None
    # The endpoint's address, without a login or a query.
    origin: str | None = field(default=None, compare=False)


class Backend(ABC):
    """One model and the way to run it, made from the model's block of the configuration.

    `model` is its name in the configuration, `journal` the folder of the journal.
    """

    # How many requests `answers` hands to `generate` at once, if it is not overridden.
    batch_size = 256
    # Whether a model is asked. A reader's answers cannot fail, and an empty one is meant.
    asks_a_model = True

    def __init__(self, config: AnyModel, model: str = "", journal: str | Path = "journal") -> None:
        self.config, self.model, self.journal = config, model, Path(journal)
        # The model's place in the configuration, for messages.
        self.where = f"models.{model}"
        # Called when weights that come with the first prompt are in memory: the time before says nothing of
        # the time left.
        self.when_ready: Callable[[], None] = lambda: None

    @property
    def address(self) -> str:
        """Where the model is asked, without a secret; "" if it runs here."""
        return ""

    @abstractmethod
    def identity(self) -> Mapping[str, object]:
        """All that every answer of this model depends on: JSON values, no secret, no path."""

    def former_identity(self) -> Mapping[str, object] | None:
        """The `identity` in older records, if it differed; they stay valid."""
        return None

    def depends_on(self, request: Request) -> object:
        """What the answer depends on besides the prompt's text, sample number and token limit (JSON values).

        None if the model sees only the prompt's text.
        """
        return None

    def holds(self, record: Record) -> bool:
        """Whether an answer that the journal has under a request's key is still valid.

        An answer may depend on a setting that is not in the key. If this setting has changed since, the
        answer is no longer valid, and the request is sent again.
        """
        return True

    def reads_control_tokens(self, prompt: str) -> bool:
        """Whether the model may read the text of a control token in a prompt as that token."""
        return False

    def check(self, known: Set[tuple[str, int]], asked: Set[tuple[str, int]]) -> None:
        """Raise UserError, before any work, if the requests cannot be answered.

        Both arguments hold pairs of (instance_id, sample): all pairs of the benchmark, and the pairs to be
        asked (without those that exceed the model's context).
        """
        return None

    def load(self) -> None:
        """Get ready to answer. Called once, and only if there are requests."""
        return None

    def as_sent(self, prompt: str) -> tuple[str, str]:
        """How the model gets a prompt, in words, and the text that it gets.

        Call it after `load`.
        """
        return "as it is", prompt

    def overhead(self) -> int | None:
        """The tokens around a prompt as the model gets it, and room for reasoning; None if unknown.

        Call it after `load`.
        """
        return None

    def settings(self) -> dict[str, object]:
        """The engine's effective settings, as text and numbers, for provenance. Call it after `load`.

        `ignored` lists, in words, settings that the engine was given but does not use.
        """
        return {}

    @abstractmethod
    def generate(self, batch: Sequence[Request]) -> Iterable[Answer]:
        """The answers to `batch`, in its order, each as soon as it is known.

        A request that fails gives an answer with `error`; an exception stops all requests.
        """

    def answers(self, requests: Iterable[Request]) -> Iterator[tuple[int, Answer]]:
        """The answers with their places in `requests`, each as soon as it is known, in any order.

        If the job is killed, answers that were not yielded yet are lost. So a backend that may know a later
        answer before an earlier one must yield it here. It is an InAnyOrder, or uses `in_order`.

        `requests` are all requests of a job, made lazily. Take as many as run at once, and the next one when
        an answer has come, so that no request waits for a batch to end.
        """
        left, first = iter(requests), 0
        while batch := list(islice(left, self.batch_size)):
            answers = (answer for _, answer in zip(batch, self.generate(batch), strict=True))
            yield from enumerate(answers, first)
            first += len(batch)

    def close(self) -> None:
        """Release the memory, devices and processes that `load` took."""
        return None


class Reader(Backend):
    """A backend without a model: its answers depend only on its module's code and on the request."""

    # The module that answers.
    module: str
    asks_a_model = False

    def identity(self) -> dict[str, str]:
        """The module's name and code."""
        name = self.module.rpartition(".")[2]
        return {"backend": name, "code": module_digest(str(sys.modules[self.module].__file__))}

    def former_identity(self) -> dict[str, str] | None:
        """Older records have the digest of the module with all that it imports."""
        identity = self.identity()
        former = _FORMER_CODE.get(identity["code"])
        return None if former is None else {**identity, "code": former}


# By the present code of the readers, that of their oldest records: the same answers.
_FORMER_CODE = {
    "1270a80fa82eebf0": "1ae4a0fe60aa58b0",
    "03a4331b8e11b225": "4fe9f17cd94c24d6",
    "f0d9fad5f54c8b90": "4967a54bfaa014d7",
}


class InAnyOrder(Backend):
    """A backend whose `answers` come in any order."""

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        """Yield the answers in the requests' order, each as soon as it and all earlier ones are known."""
        return in_order(self.answers(batch))

    @abstractmethod
    def answers(self, requests: Iterable[Request]) -> Iterator[tuple[int, Answer]]:
        """The answers with their places in `requests`, each as soon as it is known."""


def in_order(answers: Iterable[tuple[int, Answer]]) -> Iterator[Answer]:
    """Yield answers in the order of their places.

    An answer that arrives early waits until all answers before it have arrived.
    """
    known: dict[int, Answer] = {}
    wanted = 0
    for place, answer in answers:
        known[place] = answer
        while wanted in known:
            yield known.pop(wanted)
            wanted += 1


def sample_seed(seed: int, prompt: str, sample: int) -> int:
    """The 32-bit seed of one answer, derived from its prompt, so that it does not depend on the batch."""
    return int(seeding.rank_key(seed, prompt, sample)[:8], 16)


def load_backend(model: str, config: AnyModel, journal: str | Path = "journal") -> Backend:
    """The backend of a model, by its name and its block of the configuration. It is not loaded yet.

    `journal` is the folder of the journal. Raises UserError if there is no such backend, or if the backend
    refuses the configuration.
    """
    name, names = config.backend, backend_names()
    if name not in names:
        nearest = difflib.get_close_matches(name, names, n=1, cutoff=0)
        raise UserError(
            f"there is no backend {name!r} (a model's key `backend`): did you mean "
            f"{nearest[0]!r}? There are {', '.join(names)}."
        )
    if config.name is not None and is_packaged(config.name):
        path = local_name(config.name, f"models.{model}.name")
        config = given({**dict(config), "name": path})
    module = backend_file(name).removesuffix(".py").replace("/", ".")
    return importlib.import_module(module).BACKEND(revealed(config), model, journal)
