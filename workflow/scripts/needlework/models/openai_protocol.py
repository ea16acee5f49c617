"""Reads the bodies of OpenAI-compatible endpoints: a completion, a refusal, a prompt too long."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Literal

from needlework.models.backends.base import Answer
from needlework.services.endpoints import excerpt

# How endpoints say that a prompt is too long: OpenAI, vLLM, TGI, Mistral, llama.cpp, Anthropic,
# Gemini and SGLang.
TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|(maximum|available|model's) context (length|size)"
    r"|longer than the (maximum )?model|maximum model length|prompt is too long"
    r"|`inputs` tokens \+|exceeds the maximum number of tokens",
    re.IGNORECASE,
)

# How they say that the money has run out, with any status: further requests will fail too.
NO_MONEY = re.compile("insufficient_quota|billing_hard_limit_reached")

# How they refuse a prompt for its content, so that other prompts may succeed: OpenAI, Azure and
# OpenRouter; the first is of a prompt larger than a whole minute's limit.
ITS_OWN_FAULT = re.compile(
    "Request too large|content_filter|content_policy|content management policy|invalid_prompt"
    "|(prompt|input) was flagged",
    re.IGNORECASE,
)

# Why an answer ended, in lower case: the protocol's own words, Together's, TGI's, Anthropic's and
# Mistral's.
_REASONS: dict[str, Literal["stop", "length"]] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
}

# The parts of a message that hold its text, and in which field; and those that are not its text: reasoning,
# which is left out as `reasoning_content` is, and sources.
_TEXTS = {"text": "text", "output_text": "text", "refusal": "refusal"}
_NO_TEXT = {"thinking", "redacted_thinking", "reasoning", "reference"}

# The errors of reading a body that is not a completion.
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, RecursionError)


def read_completion(body: Any, chat: bool, clean: Callable[[str], str]) -> Answer:
    """The answer in a response; `clean` removes secrets from what an error shows.

    An answer of an unknown shape is an error, since it is paid for, and would be again. Raises one of
    MALFORMED if there is no answer.
    """
    try:
        choice = body["choices"][0]
        text, reason = _text(choice, chat), choice.get("finish_reason")
    except MALFORMED:
        if not _has_answer(body):
            raise
        said = f"the answer has an unknown shape: {clean(json.dumps(body))}"
        return Answer("", error=excerpt(said, ""))
    ended = _REASONS.get(reason.casefold()) if isinstance(reason, str) else None
    if ended is None:
        said = f"the answer was ended with {clean(f'{reason!r}: {text}')}"
        return Answer("", error=excerpt(said, ""))
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Answer(
        text,
        ended,
        prompt_tokens=_count(usage, "prompt_tokens"),
        cached_tokens=_count(usage.get("prompt_tokens_details"), "cached_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        reasoning_tokens=_count(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _text(choice: Any, chat: bool) -> str:
    """The text of an answer. Raises one of MALFORMED if it has an unknown shape."""
    if chat:
        message = choice["message"]
        text = message.get("content")
        if text is None:
            # A refusal's text; or nothing, if the model reasoned until the limit.
            text = message.get("refusal") or ""
    else:
        text = choice["text"]
    if isinstance(text, list):
        text = "".join(map(_text_of_part, text))
    if not isinstance(text, str):
        raise TypeError
    return text


def _text_of_part(part: Any) -> str:
    """The text in a part of a message, if it is one of text; "" of reasoning."""
    kind = part["type"]
    if kind in _NO_TEXT:
        return ""
    text = part[_TEXTS[kind]]
    if not isinstance(text, str):
        raise TypeError
    return text


def _has_answer(body: Any) -> bool:
    """Whether the body holds an answer, in whatever shape: a choice, or a count of written tokens."""
    if not isinstance(body, dict):
        return False
    choices = body.get("choices")
    return (isinstance(choices, list) and bool(choices)) or bool(
        _count(body.get("usage"), "completion_tokens")
    )


def _count(counts: object, name: str) -> int | None:
    """One of the counts, if the endpoint gives it as one."""
    found = counts.get(name) if isinstance(counts, dict) else None
    return found if type(found) is int and 0 <= found < 2**31 else None


def connection_trouble(error: BaseException | None) -> str:
    """What broke a connection, in words; the library's own text may hold an address with a secret."""
    if isinstance(error, Exception) and type(error).__name__ == "DecodingError":
        return f"the response cannot be read: {excerpt(str(error), '')}"
    return f"the connection failed ({type(error).__name__})"


def message_of(content: str) -> str:
    """The message in an error's body, which is JSON of one of several shapes, or other text."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return content
    error = body.get("error", body) if isinstance(body, dict) else body
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else content
