"""An answer as a log has it, and what the readers of all logs share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from needlework.errors import UserError
from needlework.models.backends.base import Answer
from needlework.models.openai_protocol import ENDS

# The most bytes of a line or of a member of an archive: a million characters, escaped, several times.
LARGEST = 1 << 26
# What is kept of an error's text.
_EXCERPT = 300
# The settings that logs have under the same names.
DECODING = ("temperature", "top_p", "top_k", "max_tokens", "seed")
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


def lines(path: Path) -> Iterator[tuple[str, Any]]:
    """The lines of JSON Lines, each with its place in words."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LARGEST + 1):
            number += 1
            if len(line) > LARGEST:
                raise UserError(
                    f"{path}, line {number}: it has more than {LARGEST:,} bytes: shorten it."
                )
            if line.strip():
                yield f"line {number}", parsed(line, path, f"line {number}")


def parsed(content: bytes, path: Path, place: str) -> Any:
    """JSON; UserError with the place where it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}, {place}: not JSON ({error}): correct it.") from None


def beside(path: Path, name: str) -> Mapping[str, Any]:
    """The JSON object in a file beside a log; an empty one if there is none, or none that can be read."""
    other = path.with_name(name)
    try:
        if other.stat().st_size > LARGEST:
            return {}
        found = json.loads(other.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}


def plain(values: Mapping[str, object]) -> About:
    """The values that are numbers or short texts: what the record of a job may hold."""
    return {
        key: value[:_EXCERPT] if isinstance(value, str) else value
        for key, value in values.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }
