"""Instance files of Every Eval Ever (`<uuid>_samples.jsonl`), and the record beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from needlework.errors import UserError
from needlework.models.backends.base import Answer
from needlework.models.logs.logged import (
    DECODING,
    MALFORMED,
    About,
    Logged,
    beside,
    count,
    ended,
    excerpt,
    failed,
    lines,
    plain,
    text_digest,
)

# `input.raw` of our own records, before a prompt's name: they hold no prompt.
NAMED = "needlework prompt "


def read(path: Path, about: About) -> Iterator[Logged]:
    """The answers in a file, each once, though several metrics score it."""
    about |= _about(beside(path, f"{path.stem.removesuffix('_samples')}.json"))
    for place, row in lines(path):
        try:
            metadata = row.get("metadata") or {}
            name, sample = row["sample_id"], int(metadata.get("sample", 0))
            prompt = row["input"]["raw"]
            if not isinstance(name, str) or not isinstance(prompt, str):
                raise TypeError("sample_id and input.raw must be strings")
            digest = None if prompt.startswith(NAMED) else text_digest(prompt)
            yield Logged(name, sample, _answer(row, metadata), digest, place, repeated=True)
        except MALFORMED as error:
            raise UserError(
                f"{path}, {place}: not an instance with one answer ({excerpt(error)}): leave it out."
            ) from None
        if "model" not in about:
            about |= plain({"model": row.get("model_id")})


def _answer(row: Mapping[str, Any], metadata: Mapping[str, Any]) -> Answer:
    """The answer; the format has no reason why it ended, but our own records have one in their metadata."""
    if error := row.get("error"):
        return failed(error)
    (text,) = row["output"]["raw"]
    if not isinstance(text, str):
        raise TypeError("an answer is no text")
    usage = row.get("token_usage")
    return ended(
        text,
        metadata.get("finish_reason"),
        prompt_tokens=count(usage, "input_tokens"),
        cached_tokens=count(usage, "input_tokens_cache_read"),
        completion_tokens=count(usage, "output_tokens"),
        reasoning_tokens=count(usage, "reasoning_tokens"),
    )


def _about(record: Mapping[str, Any]) -> About:
    """The program and its decoding."""
    found: About = {"program": "Every Eval Ever"}
    library = record.get("eval_library")
    if isinstance(library, Mapping):
        found["program"] = excerpt(f"{library.get('name')} {library.get('version')}")
    results: Any = record.get("evaluation_results")
    try:
        given = results[0]["generation_config"]["generation_args"]
        return found | plain({key: given.get(key) for key in DECODING})
    except MALFORMED:
        return found
