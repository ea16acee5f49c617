"""Logs of inspect_ai: `.eval`, an archive with a member for each sample, and `.json`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from needlework.errors import UserError
from needlework.models.backends.base import Answer
from needlework.models.logs.files import items, members, parsed
from needlework.models.logs.logged import (
    Logged,
    LogRun,
    Sent,
    count,
    ended,
    failed,
    line_of,
    name_of,
    number,
    sent_as,
    settings,
    texts_of,
)

# Members that say what was run: the second is there before the run has ended.
HEADERS = ("header.json", "_journal/start.json")
_ATTACHED = re.compile(r"attachment://(\S+)")


def log_parts(path: Path) -> Iterator[tuple[str, tuple[bool, Any]]]:
    """The parts of a log with their places: (place, (whether it is part of the header, its value))."""
    if path.suffix == ".json":
        seen = set()
        for key, value in items(path, "samples"):
            seen.add(key)
            if key == "samples":
                yield key, (False, value)
            elif key in ("eval", "plan"):
                yield f"`{key}`", (True, {key: value})
        if not seen & {"samples", "eval"}:
            raise UserError(f"{path} holds no sample of inspect_ai: leave it out.")
        return
    for name, content in members(path, _order):
        place = f"member {name[:100]!r}"
        yield place, (name in HEADERS, parsed(content, path, place))


def _order(name: str) -> int | None:
    """The header comes first: it may say that each request had other text too."""
    if name in HEADERS:
        return HEADERS[::-1].index(name)
    return len(HEADERS) if name.startswith("samples/") and name.endswith(".json") else None


def logged_answers(row: tuple[bool, Any], run: LogRun) -> Iterator[Logged]:
    """The answer of a sample: its id is the prompt's name, its epoch the number of the answer."""
    run.appended = True
    header, value = row
    if header:
        _read_header(value, run)
        return
    name, epoch = value["id"], value["epoch"]
    if not isinstance(name, str) or type(epoch) is not int or epoch < 1:
        raise ValueError(f"id {line_of(name)!r}, epoch {line_of(epoch)!r}")
    served = (value.get("output") or {}).get("model")
    yield Logged(name, number(epoch - 1), _answer(value), _sent(value), name_of(served), run=run)


def _answer(value: Mapping[str, Any]) -> Answer:
    """The first choice. Of a sample that failed, the error's message and not its traceback."""
    if error := value.get("error"):
        return failed(error["message"] if isinstance(error, Mapping) else error)
    output = value.get("output") or {}
    if not output.get("choices"):
        return failed(output.get("error") or "no choice")
    choice, usage = output["choices"][0], output.get("usage")
    texts = [_resolved(value, text) for text in texts_of(choice["message"]["content"])]
    if None in texts:
        return failed("the attachment of its text is missing")
    return ended(
        "".join(text for text in texts if text is not None),
        choice.get("stop_reason"),
        # Tokens that a cache had, or took, are not among `input_tokens`.
        prompt_tokens=count(
            usage, "input_tokens", "input_tokens_cache_read", "input_tokens_cache_write"
        ),
        cached_tokens=count(usage, "input_tokens_cache_read"),
        completion_tokens=count(usage, "output_tokens"),
        reasoning_tokens=count(usage, "reasoning_tokens"),
    )


def _sent(value: Mapping[str, Any]) -> Sent:
    """What the model was sent: the sample's input, unless a solver changed the chat or sent another."""
    resolved = partial(_resolved, value)
    given = value["input"]
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    first = sent_as(given, resolved)
    chat = value.get("messages") or []
    # The last message is the answer.
    chat = chat[:-1] if chat and chat[-1]["role"] == "assistant" else chat
    calls = [
        event["input"]
        for event in value.get("events") or ()
        if event.get("event") == "model" and event.get("input")
    ]
    sent = [sent_as(chat, resolved)] if chat else []
    for other in sent:
        if isinstance(other, str):
            return other
    if any(other != first for other in sent) or (
        # Others may be those of a scorer.
        calls and first not in [sent_as(call, resolved) for call in calls]
    ):
        return first if isinstance(first, str) else "a solver sent another prompt to the model"
    return first


def _resolved(value: Mapping[str, Any], text: str) -> str | None:
    """A long text stands among the sample's attachments, under the name that stands in its place."""
    if (name := _ATTACHED.fullmatch(text)) is None:
        return text
    found = (value.get("attachments") or {}).get(name[1])
    return found if isinstance(found, str) else None


def _read_header(value: Mapping[str, Any], run: LogRun) -> None:
    """Take the program, the model, its decoding and its system message from a header, or one of its keys."""
    found, plan = value.get("eval") or {}, value.get("plan") or {}
    for key, part in (("eval", found), ("plan", plan)):
        if not isinstance(part, Mapping):
            raise TypeError(f"the header's `{key}` is no object")
    if found:
        packages = found.get("packages")
        version = packages.get("inspect_ai", "") if isinstance(packages, Mapping) else ""
        run.said["program"] = line_of(f"inspect_ai {version}")
        if model := name_of(found.get("model")):
            run.said["model"] = model
    for config in (plan.get("config"), found.get("model_generate_config")):
        run.said |= settings(config)
        if isinstance(config, Mapping) and config.get("system_message"):
            run.beside = "the model was sent a system message beside the prompt"
