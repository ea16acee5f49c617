"""Reads all replies of OpenAI-compatible endpoints, to single requests and to batches.

The body of a reply decides: endpoints send errors with status 200, and answers with bytes around them.
"""

from __future__ import annotations

import codecs
import errno
import json
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from needlework.data.resources import resource_rows
from needlework.models.backends.base import Answer
from needlework.models.thoughts import MARK_FILES
from needlework.services.endpoints import excerpt, may_pass

# How endpoints say that a prompt is too long.
TOO_LONG = re.compile("|".join(own for own, _ in resource_rows(MARK_FILES[2])), re.IGNORECASE)
# A length that is refused in unknown words: these, beside a number near that of the prompt's tokens.
_OF_LENGTH = re.compile(r"token|length|context|too (long|large)|exceed", re.IGNORECASE)
_NEAR = (0.7, 1.5)

# How they say that an answer may not be as long as was asked, whatever the prompt: vLLM, OpenAI, Groq and
# Anthropic.
_LIMIT_TOO_LARGE = re.compile(
    r"max_(completion_|output_|new_)?tokens\W{0,3}('? ?(is|are) too (large|high)"
    r"|( value)? (must|should|cannot|can't) (not )?(be|exceed)|: \d+ >)",
    re.IGNORECASE,
)
_SUM_TOO_LARGE = "`inputs` tokens +"

# How they say that the money has run out, with any status: further requests will fail too.
NO_MONEY = re.compile("insufficient_quota|billing_hard_limit_reached")

# How they refuse a prompt for its content, so that other prompts may succeed: OpenAI, Azure and
# OpenRouter; the first is of a prompt larger than a whole minute's limit.
ITS_OWN_FAULT = re.compile(
    "Request too large|content_filter|content_policy|content management policy|invalid_prompt"
    "|(prompt|input) was flagged",
    re.IGNORECASE,
)

# Statuses that concern all requests: the key, the payment or the model's name is wrong.
_FATAL = {401, 402, 404}
# A 403 does if it is of the key's rights. Another may be of one prompt.
_NO_RIGHT = re.compile(
    r"access|permission|not allowed|forbidden|model_not_found|api.?key|unauthori[sz]ed|region|country",
    re.IGNORECASE,
)
# A server that starts, or is away for a while: all requests wait. A proxy's words for a server that it lost.
_AWAY = {502, 503, 521, 522, 523}
# A server that has too much to do: all requests wait, whatever the status beside these words.
_OVERLOADED = 529
_OVERLOAD = re.compile(
    r"overloaded_error|server_overload|\"overloaded\W{0,3}\""
    r"|\b(is|are|currently|temporarily|server|service|system|model|engine)[ _]overloaded",
    re.IGNORECASE,
)
# A proxy gave up on a request that the server may still compute: another attempt would end the same way.
_GAVE_UP = {504, 524}
_STREAM = "set `request: {stream: true}`, so that the reply begins at once"

# The status that an error's words mean, if a body with status 200 has no number.
_IN_WORDS = {
    401: "invalid_api_key|authentication_error|unauthenticated|unauthorized|invalid api key",
    402: "insufficient[_ ](credits|balance|funds)|payment[_ ]required",
    404: "model_not_found|not_found_error|unexpected endpoint or method",
    429: "rate[_ -]?limit|too[_ ]many[_ ]requests|resource_exhausted",
    _OVERLOADED: _OVERLOAD.pattern,
}

# JSON texts that are looked for in one reply.
_MOST_TEXTS = 8

# Why an answer ended, in lower case: the protocol's own words, Together's, TGI's, Anthropic's, Mistral's and
# Zhipu's.
ENDS: dict[str, Literal["stop", "length"]] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
}

# The parts of a message that hold its text, and in which field; and those that are not its text: reasoning,
# which is left out as `reasoning_content` is, and sources.
_TEXTS = {"text": "text", "output_text": "text", "refusal": "refusal"}
_NO_TEXT = {"thinking", "redacted_thinking", "reasoning", "reference"}

# The errors of reading a body that is not a completion.
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reply that has no answer, and why."""

    # "fatal": no request can succeed. "limited": too many requests, wait. "passing": a retry may help.
    # "too_long": the prompt exceeds the context. "limit": the answer's limit exceeds what the endpoint
    # allows. "content": this prompt was refused for its content. "failed": anything else; a retry does not
    # help.
    kind: Literal["fatal", "limited", "passing", "too_long", "limit", "content", "failed"]
    # The reason in words.
    said: str


def read_reply(
    status: int,
    content: bytes,
    chat: bool,
    clean: Callable[[str], str],
    keep: Callable[[Any], Any],
) -> Answer | Refusal:
    """Read a reply's HTTP status and body.

    `clean` removes secrets from a text that is shown, `keep` from parsed JSON that is kept.
    """
    text = _decoded(content)
    try:
        # Parsed before it is cleaned: a short key may be a word of the protocol.
        found = [read_body(status, keep(body), chat, clean) for body in _bodies(text)]
    except RecursionError:
        found = []
    for reply in found:
        if isinstance(reply, Answer) and reply.error is None:
            return reply
    if found:
        return found[0]
    shown = excerpt(clean(text), "")
    if status == 200:
        return Refusal("passing", f"the response is not a completion: {shown}")
    return _refusal(status, text, f"status {status}: {shown}")


def read_body(status: int, body: Any, chat: bool, clean: Callable[[str], str]) -> Answer | Refusal:
    """Read a reply's parsed body."""
    if status != 200:
        said = f"status {status}: {excerpt(clean(message_of(body)), '')}"
        return _refusal(status, _as_text(body), said)
    error = _error_of(body)
    if error is None:
        try:
            return read_completion(body, chat, clean)
        except MALFORMED:
            shown = excerpt(clean(_as_text(body)), "")
            return Refusal("passing", f"the response is not a completion: {shown}")
    meant = _status_of(error)
    number = f" {meant}" if meant else ""
    said = f"status 200 with the error{number}: {excerpt(clean(message_of({'error': error})), '')}"
    # A gateway that answers at all is not away.
    found = _refusal(500 if meant is None or meant in _AWAY else meant, _as_text(error), said)
    # A model that began to answer was paid for: no second attempt.
    paid = {"passing": _has_answer, "limited": _has_text}.get(found.kind)
    return Refusal("failed", said) if paid and paid(body) else found


def _refusal(status: int, content: str, said: str) -> Refusal:
    """What a status other than 200 means, with what the body says."""
    own = ITS_OWN_FAULT.search(content)
    if status in _FATAL or NO_MONEY.search(content):
        return Refusal("fatal", said)
    if status == 403 and not own and _NO_RIGHT.search(content):
        return Refusal("fatal", said)
    if status < 500 and _SUM_TOO_LARGE not in content and _LIMIT_TOO_LARGE.search(content):
        return Refusal("limit", said)
    if status != 429 and TOO_LONG.search(content):
        return Refusal("too_long", said)
    if own:
        return Refusal("content", said)
    if status in {429, _OVERLOADED} | _AWAY or _OVERLOAD.search(content):
        return Refusal("limited", said)
    if status in _GAVE_UP:
        return Refusal("failed", f"{said}: the proxy waited too long for the first byte; {_STREAM}")
    if status < 500 and re.search(r"\bstream", content) and "stream_options" not in content:
        return Refusal("failed", f"{said}; {_STREAM}")
    if status < 500 and "top_k" in content:
        return Refusal("failed", f"{said}; set `sampling: {{top_k: null}}`")
    return Refusal("passing" if may_pass(status) else "failed", said)


def _decoded(content: bytes) -> str:
    """A body as text: UTF-8, or UTF-16 where a mark at its beginning says so; without marks and padding."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace").strip("\ufeff\0 \t\r\n")
    return content.decode("utf-8", "replace").strip("\ufeff\0 \t\r\n")


def _bodies(text: str) -> Iterator[Any]:
    """The JSON texts in a body, the first few; of a stream of events the completion that they make."""
    if text.startswith(("data:", "event:", ":")):
        yield from _streamed(text)
        return
    decoder, place = json.JSONDecoder(), 0
    for _ in range(_MOST_TEXTS):
        try:
            body, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return
        yield body
        while text[place : place + 1].isspace():
            place += 1


def _streamed(text: str) -> Iterator[Any]:
    """The completion in server-sent events, which were not asked for."""
    events = []
    for line in text.splitlines():
        if line.startswith("data:") and line[5:].strip() != "[DONE]":
            try:
                events.append(json.loads(line[5:]))
            except (ValueError, RecursionError):
                return
    parts: dict[str, list[str]] = {}
    made: dict[str, Any] = {"index": 0}
    whole: dict[str, Any] = {}
    for event in events:
        if not isinstance(event, dict):
            return
        whole |= {name: event[name] for name in ("model", "usage", "error") if event.get(name)}
        for choice in event.get("choices") or ():
            if not isinstance(choice, dict) or choice.get("index", 0) != 0:
                continue
            delta = choice.get("delta") or choice.get("message") or {"text": choice.get("text")}
            for name, piece in delta.items() if isinstance(delta, dict) else ():
                if isinstance(piece, str):
                    parts.setdefault(name, []).append(piece)
            if choice.get("finish_reason") is not None:
                made["finish_reason"] = choice["finish_reason"]
    # A stream that was torn has no reason for its end.
    if parts and "finish_reason" in made:
        texts = {name: "".join(pieces) for name, pieces in parts.items()}
        whole["choices"] = [{**made, "message": texts, "text": texts.get("text", "")}]
    if whole:
        yield whole


def _error_of(body: Any) -> Any:
    """The error in a body that is called a success; None if there is none."""
    if isinstance(body, list):
        # Google's.
        body = body[0] if len(body) == 1 else None
    if not isinstance(body, dict):
        return None
    if _says(body.get("error")):
        return body["error"]
    choices = body.get("choices")
    if isinstance(choices, list) and choices:
        choice = _choice(choices)
        error = choice.get("error") if isinstance(choice, dict) else None
        return error if _says(error) else None
    if body.get("choices") is None and not count_of(body.get("usage"), "completion_tokens"):
        # MiniMax's, which says 0 where all is well; or the error's own fields, without a name around them.
        own = body.get("base_resp")
        if isinstance(own, dict) and own.get("status_code"):
            return own
        named = any(isinstance(body.get(name), str) for name in ("message", "detail", "msg"))
        return body if named and not isinstance(body.get("message"), dict) else None
    return None


def _says(error: Any) -> bool:
    """Whether a field says that something went wrong; some servers send it empty."""
    return any(error.values()) if isinstance(error, dict) else bool(error)


def _status_of(error: Any) -> int | None:
    """The status that an error in a good status means, by its number or else its words."""
    if isinstance(error, dict):
        for name in ("code", "status", "status_code", "http_code"):
            value = error.get(name)
            value = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
            if type(value) is int and 400 <= value < 600:
                return value
    words = _as_text(error)
    for status, pattern in _IN_WORDS.items():
        if re.search(pattern, words, re.IGNORECASE):
            return status
    # A prompt that is too long, or refused for its content, is not asked again.
    if TOO_LONG.search(words) or _LIMIT_TOO_LARGE.search(words) or ITS_OWN_FAULT.search(words):
        return 400
    return None


def _as_text(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


def read_completion(body: Any, chat: bool, clean: Callable[[str], str]) -> Answer | Refusal:
    """The answer in a response. `clean` removes secrets from messages of errors.

    If the answer has an unknown shape, it becomes an error and no retry: it is paid for, and a retry would be
    paid for too. Raises one of MALFORMED if there is no answer.
    """
    try:
        choice = _choice(body["choices"])
        text, reason = _text(choice, chat), choice.get("finish_reason")
        reasoning = _reasoning(choice)
    except MALFORMED:
        if not _has_answer(body):
            raise
        said = f"the answer has an unknown shape: {clean(json.dumps(body))}"
        return Answer("", error=excerpt(said, ""))
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    unknown = reason is None or reason == ""
    ended = ENDS.get(reason.casefold()) if isinstance(reason, str) else None
    if unknown and text.strip():
        ended = "stop"
    if ended is None:
        said = f"the answer was ended with {clean(f'{reason!r}: {text}')}"
        return Answer("", error=excerpt(said, ""))
    if not text.strip() and ended == "length" and TOO_LONG.search(reason):
        return Refusal("too_long", f"the answer was ended with {reason!r} before its first word")
    if not text.strip() and _calls(choice):
        return Answer("", error="the model called a tool instead of answering")
    served = body.get("model")
    return Answer(
        text,
        ended,
        prompt_tokens=count_of(usage, "prompt_tokens"),
        cached_tokens=_cached(usage),
        completion_tokens=count_of(usage, "completion_tokens"),
        reasoning_tokens=count_of(usage.get("completion_tokens_details"), "reasoning_tokens"),
        # Beside a text it is not kept: it may be many times as long.
        reasoning=None if text.strip() or not reasoning.strip() else reasoning,
        served=excerpt(served, "")[:100] if isinstance(served, str) and served.strip() else None,
        unknown_end=unknown,
    )


def _choice(choices: Any) -> Any:
    """The answer that was asked for: the choice with the lowest index. Raises one of MALFORMED."""
    indexed = [c for c in choices if isinstance(c, dict) and type(c.get("index")) is int]
    return min(indexed, key=lambda choice: choice["index"]) if indexed else choices[0]


def _cached(usage: Mapping[str, Any]) -> int | None:
    """The prompt's tokens that a cache held, under the names of OpenAI, Moonshot, DeepSeek and Anthropic."""
    named = [count_of(usage.get("prompt_tokens_details"), "cached_tokens")]
    others = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
    named += [count_of(usage, name) for name in others]
    return next((count for count in named if count is not None), None)


def _calls(choice: Any) -> bool:
    """Whether the model called a tool."""
    message = choice.get("message")
    named = ("tool_calls", "function_call")
    return isinstance(message, dict) and any(message.get(name) for name in named)


def _reasoning(choice: Any) -> str:
    """The reasoning beside an answer, under the names that endpoints give it, or in parts of the content."""
    message = choice.get("message")
    if not isinstance(message, dict):
        return ""
    for name in ("reasoning_content", "reasoning", "thinking"):
        if isinstance(message.get(name), str):
            return str(message[name])
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return "".join(
        str(text)
        for part in parts
        if isinstance(part, dict) and part.get("type") in _NO_TEXT
        for text in (part.get("thinking"), part.get("reasoning"), part.get("text"))
        if isinstance(text, str)
    )


def other_model(asked: str, served: str) -> bool:
    """Whether a reply names another model than the one that was asked.

    Dates, tags of releases and the name of the owner are no other model: `gpt-4o` is served as
    `gpt-4o-2024-08-06`, `org/name` as `name`.
    """
    return _plain_name(asked) != _plain_name(served)


def _plain_name(name: str) -> str:
    last = name.casefold().rstrip("/").rpartition("/")[2]
    last = re.sub(r"\.gguf$", "", last)
    return re.sub(r"([-@:](latest|free|preview|\d{4}-\d{2}-\d{2}|\d{2}-\d{2}|\d{3,8}))+$", "", last)


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
        count_of(body.get("usage"), "completion_tokens")
    )


def _has_text(body: Any) -> bool:
    """Whether the body holds a text, or a count of written tokens: a choice alone may be the error's."""
    with suppress(*MALFORMED):
        choice = _choice(body["choices"])
        if any(
            _text(choice, chat).strip()
            for chat in (True, False)
            if ("text", "message")[chat] in choice
        ):
            return True
    return isinstance(body, dict) and bool(count_of(body.get("usage"), "completion_tokens"))


def count_of(counts: object, name: str) -> int | None:
    """One of the counts, if the endpoint gives it as one."""
    found = counts.get(name) if isinstance(counts, dict) else None
    return found if type(found) is int and 0 <= found < 2**31 else None


def is_too_long(status: int, content: str, n_tokens: int) -> bool:
    """Whether an endpoint refused a prompt for its length, in words that it shares with no other endpoint.

    Then the message speaks of a length and has a number near the prompt's number of tokens.
    """
    if status not in (400, 413) or not _OF_LENGTH.search(content):
        return False
    low, high = (n_tokens * share for share in _NEAR)
    numbers = (int(found.replace(",", "")) for found in re.findall(r"\d[\d,]{2,14}", content))
    return n_tokens >= 100 and any(low <= number <= high for number in numbers)


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and its causes. Of a group of tasks, only the first error counts."""
    while error is not None:
        error = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error
        yield error
        error = error.__cause__ or error.__context__


def hopeless_connection(error: BaseException | None) -> str:
    """Why no attempt to connect can succeed, and the remedy; "" if one may."""
    for each in causes(error):
        if isinstance(each, ssl.SSLCertVerificationError):
            return (
                f"the server's certificate is not trusted ({each.verify_message}): name the file of the "
                "authority that signed it in the environment variable SSL_CERT_FILE"
            )
        if isinstance(each, ssl.SSLError):
            return (
                "the server does not speak TLS there: if it has none, `base_url` begins with http:"
            )
        if isinstance(each, OverflowError):
            return "the port of its address, or of the proxy's in the environment, is above 65535: correct it"
    return ""


def is_json(content: bytes) -> bool:
    """Whether a body begins with a JSON object or list, or holds one as events: proxies answer with pages."""
    try:
        return isinstance(next(_bodies(_decoded(content)), None), dict | list)
    except RecursionError:
        return True


def of_proxy(error: BaseException | None) -> bool:
    """Whether a proxy refused a connection, or none could be made to whatever comes first."""
    return type(error).__name__ in ("ProxyError", "ConnectError", "ClientHttpProxyError")


def connection_trouble(error: BaseException | None) -> str:
    """A description of a connection error, since the library's own text may hold an address with a secret."""
    if type(error).__name__ == "ProxyError":
        status = re.match(r"\d{3}\b", str(error))
        return (
            f"the proxy in the environment made no connection{f' ({status[0]})' if status else ''}"
        )
    if isinstance(error, Exception) and type(error).__name__ == "DecodingError":
        return f"the response cannot be read: {excerpt(str(error), '')}"
    if any(getattr(e, "errno", None) in (errno.EMFILE, errno.ENFILE) for e in causes(error)):
        return (
            "the job has no file descriptor left for a connection: raise the limit (`ulimit -n`), or lower "
            "`concurrency` of the model"
        )
    return f"the connection failed ({type(next(causes(error), None)).__name__})"


def json_or_text(content: str) -> Any:
    """The parsed JSON of a body; its text if it is not JSON."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content


def message_of(body: Any) -> str:
    """The message in an error's body, which is parsed JSON of one of several shapes."""
    first = body[0] if isinstance(body, list) and body else body
    error = first.get("error", first) if isinstance(first, dict) else first
    message = error.get("message", error.get("status_msg")) if isinstance(error, dict) else error
    return message if isinstance(message, str) else _as_text(body)
