"""An answer as a log has it, and what the readers of all logs share."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from needlework.models.backends.base import Answer
from needlework.models.openai_protocol import ENDS

# What is kept of an error's text.
_EXCERPT = 300
# The settings that logs have under the same names.
DECODING = ("temperature", "top_p", "top_k", "max_tokens", "seed")
# `input.raw` of our own records, before a prompt's name: they hold no prompt.
NAMED = "needlework prompt "
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, RecursionError)

# What a log says of its run as a whole: the program, the model, how it decoded.
About = dict[str, object]


@dataclass(frozen=True, slots=True)
class Logged:
    """An answer, the name of its prompt, and a digest of the prompt's text where the log has it.

    `place` is where it stands, in words. `repeated`: a log of this kind has an answer once for each metric.
    """

    instance_id: str
    sample: int
    answer: Answer
    prompt: bytes | None = None
    place: str = field(default="", compare=False)
    repeated: bool = False


def text_digest(text: str) -> bytes:
    """The digest of a prompt's text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def ended(text: str, reason: object, **told: Any) -> Answer:
    """The answer that ended for a reason; an unknown one if the log has none, an error if it is no answer."""
    if reason is None or reason in ("", "unknown"):
        return Answer(text, "stop", unknown_end=True, **told)
    if (known := ENDS.get(str(reason).casefold())) is None:
        return Answer("", error=f"the answer was ended with {excerpt(reason)}")
    return Answer(text, known, **told)


def failed(why: object) -> Answer:
    """A request that has no answer in the log."""
    return Answer("", error=f"the log has no answer: {excerpt(why)}")


def excerpt(text: object) -> str:
    """The beginning of a text's first line."""
    lines = str(text).strip().splitlines() or [""]
    return lines[0][:_EXCERPT]


def count(counts: object, name: str) -> int | None:
    """A number of tokens, if it is one."""
    found = counts.get(name) if isinstance(counts, Mapping) else None
    return found if type(found) is int and 0 <= found < 2**31 else None


def text_of(content: object) -> str:
    """The text of a message: a text, or parts of which those of the type text are meant."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise TypeError("no text")
    parts = [part["text"] for part in content if part["type"] == "text"]
    return "".join(parts)


def one_message(messages: object) -> str:
    """The text of a chat's only message of a user. Raises one of MALFORMED without one."""
    if not isinstance(messages, list):
        raise TypeError("no chat")
    (found,) = [message for message in messages if message["role"] == "user"]
    return text_of(found["content"])


def plain(values: Mapping[str, object]) -> About:
    """The values that are numbers or short texts: what the record of a job may hold."""
    return {
        key: value[:_EXCERPT] if isinstance(value, str) else value
        for key, value in values.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }
