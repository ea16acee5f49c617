"""Logs of inspect_ai: `.eval`, an archive with a member for each sample, and `.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from needlework.errors import UserError
from needlework.models.backends.base import Answer
from needlework.models.logs.files import items, members, parsed
from needlework.models.logs.logged import (
    DECODING,
    MALFORMED,
    About,
    Logged,
    count,
    ended,
    excerpt,
    failed,
    one_message,
    plain,
    text_digest,
    text_of,
)

# Members that say what was run: the second is there before the run has ended.
HEADERS = ("header.json", "_journal/start.json")
_ATTACHED = "attachment://"


def read(path: Path, about: About) -> Iterator[Logged]:
    """The samples of a log; `about` gets what it says of the run."""
    if path.suffix == ".json":
        for key, value in items(path, "samples"):
            if key == "samples":
                yield sample(path, "samples", value)
            elif key in ("eval", "plan"):
                about |= _about({key: value})
        return
    for name, content in members(path, _wanted):
        value = parsed(content, path, f"member {name[:100]!r}")
        if name in HEADERS:
            about |= _about(value)
        else:
            yield sample(path, f"member {name[:100]!r}", value)


def _wanted(name: str) -> bool:
    return name in HEADERS or (name.startswith("samples/") and name.endswith(".json"))


def sample(path: Path, place: str, value: Any) -> Logged:
    """A sample: its id is the prompt's name, its epoch the number of the answer."""
    try:
        name, epoch = value["id"], value["epoch"]
        if not isinstance(name, str) or type(epoch) is not int or epoch < 1:
            raise ValueError(f"id {excerpt(name)!r}, epoch {excerpt(epoch)!r}")
        return Logged(name, epoch - 1, _answer(value), _prompt(value), place)
    except MALFORMED as error:
        raise UserError(
            f"{path}, {place}: not a sample of inspect_ai ({excerpt(error)}): leave it out."
        ) from None


def _answer(value: Mapping[str, Any]) -> Answer:
    """The first choice. Of a sample that failed, the error's message and not its traceback."""
    if error := value.get("error"):
        return failed(error["message"] if isinstance(error, Mapping) else error)
    output = value.get("output") or {}
    if not output.get("choices"):
        return failed(output.get("error") or "no choice")
    choice, usage = output["choices"][0], output.get("usage")
    read, cached = count(usage, "input_tokens"), count(usage, "input_tokens_cache_read")
    written = count(usage, "input_tokens_cache_write")
    return ended(
        _resolved(text_of(choice["message"]["content"]), value),
        choice.get("stop_reason"),
        # Tokens that a cache had, or took, are not among `input_tokens`.
        prompt_tokens=None if read is None else read + (cached or 0) + (written or 0),
        cached_tokens=cached,
        completion_tokens=count(usage, "output_tokens"),
        reasoning_tokens=count(usage, "reasoning_tokens"),
    )


def _prompt(value: Mapping[str, Any]) -> bytes:
    given = value["input"]
    text = given if isinstance(given, str) else one_message(given)
    return text_digest(_resolved(text, value))


def _resolved(text: str, value: Mapping[str, Any]) -> str:
    """A long text stands among the sample's attachments, under the name that stands in its place."""
    if not text.startswith(_ATTACHED):
        return text
    found = (value.get("attachments") or {}).get(text.removeprefix(_ATTACHED), text)
    return found if isinstance(found, str) else text


def _about(value: Any) -> About:
    """The program, the model and its decoding, of a header or one of its keys."""
    if not isinstance(value, Mapping):
        return {}
    run, plan = value.get("eval") or {}, value.get("plan") or {}
    found: About = {}
    if isinstance(run, Mapping) and run:
        packages = run.get("packages")
        version = packages.get("inspect_ai", "") if isinstance(packages, Mapping) else ""
        found |= {"program": f"inspect_ai {version}".strip(), **plain({"model": run.get("model")})}
    for config in (plan.get("config"), run.get("model_generate_config")):
        if isinstance(config, Mapping):
            found |= plain({key: config.get(key) for key in DECODING})
    return found
