"""The keys under which the journal has answers, made for many requests in the order of sending.

Neighbours share the longest prefix, and a hash can be copied at any point. So the prefix that a prompt shares
with the previous one is not rendered, hashed or searched again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from needlework.models.control_tokens import LONGEST, quoted_control
from needlework.prompts.spans import Span, span_text

if TYPE_CHECKING:
    from needlework.models.backends.base import Request

# Spans are taken together up to this number of characters, and after them prompts may part.
_PART = 4096


def request_key(
    identity: Mapping[str, object],
    prompt: str,
    sample: int,
    max_new_tokens: int,
    extra: object = None,
) -> str:
    """The sha256 of all that an answer depends on: the key of the journal.

    `identity` is the model's (`Backend.identity`). `extra` is what else its answer depends on besides the
    prompt (`Backend.depends_on`). Both hold JSON values.
    """
    digest = hashlib.sha256(_head(identity, sample, max_new_tokens, extra))
    digest.update(prompt.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _head(identity: Mapping[str, object], sample: int, max_new_tokens: int, extra: object) -> bytes:
    head = json.dumps([dict(identity), sample, max_new_tokens, extra], sort_keys=True)
    # The head has no line break, so it cannot be mistaken for the beginning of a prompt.
    return head.encode() + b"\n"


class RequestKeys:
    """The keys of requests to one model.

    Each key is made from the part that its prompt does not share with the previous prompt.
    """

    def __init__(self, identity: Mapping[str, object]) -> None:
        self._identity = dict(identity)
        self._chains: dict[tuple[int, int], _Chain] = {}

    def of(self, request: Request, extra: object = None) -> tuple[str, str | None]:
        """The key (`request_key`), and the first control token's text that the prompt quotes, if any."""
        limits = request.sample, request.max_new_tokens
        chain = self._chains.get(limits)
        if chain is None or extra is not None:
            chain = _Chain(_head(self._identity, *limits, extra))
        if extra is None:
            self._chains[limits] = chain
        end = chain.next(request)
        return end.digest.hexdigest(), quoted_control(request.prompt) if end.quotes else None


class _Mark(NamedTuple):
    """A place in a prompt: the number of spans before it, their hash and last characters.

    `quotes`: they may hold the text of a control token.
    """

    spans: int
    digest: Any
    end: str
    quotes: bool


class _Chain:
    """Prompts that follow each other, hashed behind one head."""

    def __init__(self, head: bytes) -> None:
        self._start = _Mark(0, hashlib.sha256(head), "", False)
        # Of the prompt before.
        self._spans: Sequence[Span] = ()
        self._documents: Mapping[str, str] = {}
        self._marks: list[_Mark] = []

    def next(self, request: Request) -> _Mark:
        """The end of the next prompt."""
        documents, new, old = request.documents, request.spans, self._spans
        if documents is not self._documents:
            self._marks, old = [], ()
        pairs = zip(new, old, strict=False)
        same = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(new), len(old)))
        parts: list[str] = []
        mark = next((mark for mark in self._marks if mark.spans == same + 1), None)
        goes_on = mark and same < len(new) and _goes_on(old[same], new[same])
        self._marks = [mark for mark in self._marks if mark.spans <= same]
        if mark and goes_on:
            # The same slice of a document, which ends later.
            parts.append(span_text(new[same]._replace(start=old[same].end), documents))
        else:
            mark = self._marks[-1] if self._marks else self._start
        self._spans, self._documents = new, documents
        size = len(parts[0]) if parts else 0
        for n in range(mark.spans, len(new)):
            if size >= _PART or (goes_on and n == same + 1):
                mark, parts, size = self._after(mark, n, parts), [], 0
            parts.append(span_text(new[n], documents))
            size += len(parts[-1])
        return self._after(mark, len(new), parts)

    def _after(self, mark: _Mark, spans: int, parts: Iterable[str]) -> _Mark:
        """The mark behind the texts that follow one."""
        text, digest = "".join(parts), mark.digest.copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        border = quoted_control(mark.end + text[:LONGEST])
        quotes = mark.quotes or border is not None or quoted_control(text) is not None
        end = text[-LONGEST:] if len(text) >= LONGEST else (mark.end + text)[-LONGEST:]
        self._marks.append(_Mark(spans, digest, end, quotes))
        return self._marks[-1]


def _goes_on(old: Span, new: Span) -> bool:
    """Whether two spans are slices of a document from the same place, and the new one is no shorter."""
    if old.source is None or (old.source, old.start) != (new.source, new.start):
        return False
    start, old_end, new_end = old.start, old.end, new.end
    if start is None or old_end is None or new_end is None:
        return False
    return 0 <= start <= old_end <= new_end
