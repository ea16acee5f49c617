"""An answer in a log, the log's description of its run, and what was sent to the model."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from needlework.answer_states import BESIDE_PROMPT
from needlework.models.backends.base import Answer
from needlework.models.openai_protocol import ENDS

# What is kept of an error's text.
_EXCERPT = 300
# The settings that logs have under the same names.
DECODING = ("temperature", "top_p", "top_k", "max_tokens", "seed")
# `input.raw` of our own records, before a prompt's name: they hold no prompt.
NAMED = "needlework prompt "
# Counts above do not fit into the table of answers.
_MOST = 2**31

# What was sent instead of a prompt: the digest of its text; in words, why it cannot be the prompt; None if
# the log does not say.
Sent = bytes | str | None


@dataclass(slots=True)
class LogRun:
    """A log's record of its run."""

    # The program, the model and the decoding settings.
    said: dict[str, object] = field(default_factory=dict)
    # What every request of the run had beside the prompt, in words.
    beside: str | None = None
    # Whether an answer that stands later in the log replaces an earlier one to the same prompt.
    appended: bool = False


@dataclass(frozen=True, slots=True)
class Logged:
    """An answer in a log, the name of its prompt, and what was sent."""

    instance_id: str
    sample: int
    # None if the log has only what was sent.
    answer: Answer | None
    sent: Sent = None
    # The model that the answer names.
    served: str | None = None
    # Where the answer stands, in words.
    place: str = field(default="", compare=False)
    run: LogRun = field(default_factory=LogRun, compare=False)

    @property
    def failure(self) -> str | None:
        """Why the log's answer is no answer to the prompt.

        None if it is one, or if there is none.
        """
        if self.answer is None:
            return None
        if self.answer.error is not None:
            return self.answer.error
        return self.run.beside or (self.sent if isinstance(self.sent, str) else None)


def text_digest(text: str) -> bytes:
    """The digest of a prompt's text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def ended(text: str, reason: object, **told: Any) -> Answer:
    """The answer with its finish reason.

    The reason is unknown if the log has none, and an error if it is not in ENDS.
    """
    if reason is None or reason in ("", "unknown"):
        return Answer(text, "stop", unknown_end=True, **told)
    if (known := ENDS.get(str(reason).casefold())) is None:
        return Answer("", error=f"the answer was ended with {line_of(reason)}")
    return Answer(text, known, **told)


def failed(why: object) -> Answer:
    """A request that has no answer in the log."""
    return Answer("", error=f"the log has no answer: {line_of(why)}")


def line_of(text: object) -> str:
    """The beginning of a text's first line."""
    lines = str(text).strip().splitlines() or [""]
    return lines[0][:_EXCERPT]


def count(counts: object, *names: str) -> int | None:
    """A number of tokens: the sum of the values under `names`; None if the first name has no value.

    Raises ValueError if it does not fit into the table of answers.
    """
    found = [counts.get(name) for name in names] if isinstance(counts, Mapping) else [None]
    numbers = [n if type(n) is int and n >= 0 else None for n in found]
    total = sum(n for n in numbers if n is not None)
    if total >= _MOST:
        raise ValueError(f"{line_of(total)} tokens are too many")
    return None if numbers[0] is None else total


def number(value: object) -> int:
    """The index of an answer among its prompt's samples, from 0. Raises ValueError if it is no index."""
    if type(value) is not int or not 0 <= value < _MOST:
        raise ValueError(f"{line_of(value)!r} is no number of an answer")
    return value


def name_of(value: object) -> str | None:
    """A model's name; None without one. Raises ValueError if it holds half of a character."""
    if not isinstance(value, str) or not value.strip():
        return None
    value.encode()
    return value[:_EXCERPT]


def settings(values: object) -> dict[str, object]:
    """The decoding settings in `values`: finite numbers and short texts only."""
    if not isinstance(values, Mapping):
        return {}
    given = {key: values.get(key) for key in DECODING}
    return {
        key: line_of(value).encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for key, value in given.items()
        if isinstance(value, str)
        or (isinstance(value, int | float) and type(value) is not bool and math.isfinite(value))
    }


def sent_as(messages: object, resolved: Callable[[str], str | None] = lambda text: text) -> Sent:
    """The digest of a chat's only message, if a user sent it; otherwise why more than a prompt was sent.

    Some texts stand elsewhere in the log; `resolved` returns them. Raises TypeError, LookupError or
    AttributeError if there is no chat.
    """
    if not isinstance(messages, list) or not messages:
        raise TypeError("no chat")
    roles = [str(m["role"]) for m in messages if m["role"] != "system" or m["content"] != ""]
    if roles != ["user"]:
        return f"the model was sent other messages beside the prompt ({', '.join(roles[:5])})"
    content = next(m["content"] for m in messages if m["role"] == "user")
    if isinstance(content, list) and any(part["type"] != "text" for part in content):
        return "the model was sent more than text beside the prompt"
    texts = [resolved(text) for text in texts_of(content)]
    if None in texts:
        return "the attachment of the prompt is missing in the log"
    return text_digest("".join(text for text in texts if text is not None))


def texts_of(content: object) -> list[str]:
    """The texts of a message, which is a text or a list of parts; only parts of the type text count."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        raise TypeError("no text")
    texts = [part["text"] for part in content if part["type"] == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("no text")
    return texts


# The control tokens of chat templates, and the words that name whose turn it is.
_CONTROL = re.compile(
    r"<[|｜][^<>\n]{1,40}[|｜]>|</?s>|<</?SYS>>|</?think>|<(?:start|end)_of_turn>|<[be]os>|<sop>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|gMASK)\]|(?:^|(?<=\n))(?:### )?(?:USER|User|Human|ASSISTANT|Assistant):",
)
_USERS, _MODELS = ("user", "human"), ("assistant", "model", "bot")
_TURN_WORDS = (*_USERS, *_MODELS, "system", "developer", "final", "analysis", "commentary")


def sent_in(text: str, prompt: str) -> tuple[Sent, str | None]:
    """What was sent with a text that holds a prompt, perhaps in a chat template; and other text in it.

    A system prompt may be the template's own, so it is told. Text in the turn of the prompt, behind it, or
    in other turns of a user or a model is none of a template's.
    """
    # Templates may cut spaces at the ends.
    found = prompt if prompt in text else prompt.strip()
    if text == prompt or not found or found not in text:
        return text_digest(text), None
    before, _, after = text.rpartition(found)
    if not _CONTROL.search(before) and not _CONTROL.search(after):
        return "the model was sent other text beside the prompt", None
    earlier = _turns(before)
    if (earlier and earlier[-1][1]) or any(words for _, words in _turns(after)):
        return "the model was sent other text in the turn of the prompt, or behind it", None
    others = [words for _, words in earlier if words]
    asked = sum(who in _USERS for who, _ in earlier)
    if asked > 1 or any(who in _MODELS for who, _ in earlier):
        return "the model was sent other turns before the prompt", None
    return text_digest(prompt), " ".join(others)[:80] or None


def _turns(text: str) -> list[tuple[str, str]]:
    """Between control tokens: who speaks, if it is said, and what other words there are."""
    found = []
    for token, part in _parts(text):
        words = part.strip()
        for who in (_word(token), words.casefold()):
            if who in _TURN_WORDS:
                found.append((who, "" if words.casefold() == who else words))
                break
        else:
            who = next((w for w in _TURN_WORDS if words.casefold().startswith(f"{w}\n")), "")
            found.append((who, words[len(who) :].strip()))
    return found


def _parts(text: str) -> Iterable[tuple[str, str]]:
    """Each control token with the text behind it; the text before the first has none."""
    edges: Sequence[re.Match[str]] = [*_CONTROL.finditer(text)]
    starts = [("", 0), *((edge[0], edge.end()) for edge in edges)]
    ends = [*(edge.start() for edge in edges), len(text)]
    return [(token, text[start:end]) for (token, start), end in zip(starts, ends, strict=True)]


def _word(token: str) -> str:
    """The word in a control token."""
    return token.strip("<>|｜[]#: /").casefold()


def beside_prompt(text: str | None) -> dict[str, Any]:
    """The field of an answer that reports other text in the chat template."""
    return {"remarks": (f"{BESIDE_PROMPT}: {text!r}",)} if text else {}
