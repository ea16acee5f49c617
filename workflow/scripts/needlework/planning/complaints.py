"""An error in a configuration as one sentence: the place, the value and the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from needlework.planning.configuration import corpora_for
from needlework.planning.json_schema import Node, node_at, tag, tags
from needlework.planning.known_names import GONE, KeyedError, nearest
from needlework.planning.values import quoted
from needlework.planning.wrong_values import SEE, described, wrong_value
from needlework.settings.base import CONDITION, ELSEWHERE, MARK

# What other programs call a model's keys, and programs whose servers a backend asks.
_OTHER_NAMES = {
    **{"api_key": "key_env", "api_base": "base_url", "url": "base_url", "model": "name"},
    **dict.fromkeys(("max_model_len", "context_length", "n_ctx"), "context"),
    **dict.fromkeys(("temperature", "top_p"), "sampling"),
    **dict.fromkeys(("ollama", "llama.cpp", "llamacpp", "lmstudio", "sglang", "tgi"), "openai"),
    **dict.fromkeys(("anthropic", "google", "gemini"), "inspect"),
    **dict.fromkeys(("hf", "huggingface"), "transformers"),
}


def first_complaint(error: ValidationError, config: Any) -> KeyedError:
    """The error for the first value, by its place, that the settings refuse."""
    found = [(_path(each), each) for each in error.errors(include_url=False) if not _of_items(each)]
    path, first = min(found, key=_turn)
    return _complaint(path, first, config)


def _of_items(error: ErrorDetails) -> bool:
    """Whether a list only seems short, since pydantic counts no wrong item."""
    return error["type"] == "too_short" and len(error["input"]) >= error["ctx"]["min_length"]


def _path(error: ErrorDetails) -> list[str | int]:
    """Where a value stands, without the names of the choices that led to its type."""
    return [p for p in error["loc"] if isinstance(p, int) or not p.startswith(MARK)]


def _turn(found: tuple[list[str | int], ErrorDetails]) -> tuple[bool, list[str], bool]:
    """Which of several errors is told: values before conditions, by place; unknown keys first."""
    path, error = found
    kind = error["type"]
    block = path[:-1] if kind in ("missing", "extra_forbidden") else path
    return kind == CONDITION, [str(part) for part in block], kind != "extra_forbidden"


def _complaint(path: list[str | int], error: ErrorDetails, config: Any) -> KeyedError:
    where, given, told = _place(path), error["input"], error.get("ctx", {})
    if where in GONE and (error["type"] == "extra_forbidden" or isinstance(given, Mapping)):
        return KeyedError(f"{where} is {quoted(given)}, but {GONE[where]}.", path)
    match error["type"]:
        case "extra_forbidden":
            said = f"unknown key {quoted(path[-1])} in {_place(path[:-1])}: {_nearest_key(path, config)}."
        case "missing":
            *path, missing = path
            own = described(node_at([*path, missing], config))
            said = f"{_place(path)} lacks the key {missing!r} ({own}): {SEE}."
        case "union_tag_not_found" | "union_tag_invalid" if tag(node_at(path, config)):
            return _kind(path, given, node_at(path, config))
        case str(kind) if kind == ELSEWHERE:
            path = [*path, told["key"]]
            backend = config["models"][path[1]]["backend"]
            said = (
                f"{_place(path)} is no key of the backend {backend}, only of "
                f"{' and '.join(told['kinds'])}: leave it out."
            )
        case str(kind) if kind == CONDITION:
            said = f"{where}{told['where']} {told['said']}"
            path = [*path, *filter(None, [told["where"][1:]])]
        case _:
            node = node_at(path, config)
            if "corpus" in node:
                null = [None] if None in node["enum"] else []
                node = {**node, "enum": [*corpora_for(config)(node["corpus"]), *null]}
            said = wrong_value(where, given, error, node)
    return KeyedError(said, path)


def _place(path: Iterable[str | int]) -> str:
    return ".".join(map(str, path)) or "the configuration"


def _kind(path: list[str | int], given: Any, node: Node) -> KeyedError:
    """An entry of no known kind."""
    where, key = _place(path), tag(node)
    if not isinstance(given, Mapping):
        return KeyedError(
            f"{where} is {quoted(given)}, but must have the key {key!r}: {SEE}.", path
        )
    if key not in given:
        return KeyedError(f"{where} lacks the key {key!r}: {nearest('', tags(node))}.", path)
    value = given[key]
    meant = _OTHER_NAMES.get(value, value) if isinstance(value, str) else value
    return KeyedError(
        f"{where}.{key} is {quoted(value)}: {nearest(meant, tags(node))}.", [*path, key]
    )


def _nearest_key(path: list[str | int], config: Any) -> str:
    """The nearest of the keys that an entry takes, and all of these."""
    keys = node_at(path[:-1], config).get("properties", {})
    meant = _OTHER_NAMES.get(str(path[-1]))
    return nearest(meant if meant in keys else path[-1], keys)
