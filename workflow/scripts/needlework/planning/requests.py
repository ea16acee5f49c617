"""Fields of a model's `request` that would replace what the workflow sends, and the keys to use instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from needlework.errors import UserError

# Without the prompt, the model's name or a whole reply there is no answer to score: not even null is allowed.
_NEVER = {
    "messages": "the prompt is the benchmark's; for a system prompt use the key `system`",
    "prompt": "the prompt is the benchmark's",
    "input": "the prompt is the benchmark's",
    "model": "use the key `name`",
    "n": "use the key `samples`",
    "best_of": "use the key `samples`",
    "echo": "the answer would begin with the prompt",
    "suffix": "the prompt is the benchmark's",
}
# Null leaves these out; another value has a key of its own.
_OWN_KEY = {
    "temperature": "use `sampling: {temperature: ...}`",
    "top_p": "use `sampling: {top_p: ...}`",
    "top_k": "use `sampling: {top_k: ...}`",
    "seed": "use `sampling: {seed: ...}`",
    "stop": "use the key `stop`",
}


def check_request(where: str, request: Mapping[str, Any]) -> None:
    """Raise UserError where a field of `request` would replace what another key says."""
    for field, value in request.items():
        name = field.strip().lower()
        if remedy := _NEVER.get(name):
            raise UserError(f"{where}.request.{field} cannot be set: {remedy}.")
        if value is not None and (remedy := _OWN_KEY.get(name)):
            raise UserError(
                f"{where}.request.{field} would replace what the workflow sends: {remedy}; null leaves the "
                "field out."
            )
