"""What is wrong with a configuration, in one sentence: the place, the value and the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from needlework.planning.configuration import corpora_for
from needlework.planning.json_schema import Node, node_at, tag, tags
from needlework.planning.known_names import GONE, KeyedError, nearest
from needlework.planning.values import LONGEST, quoted
from needlework.settings.base import (
    CHOICE,
    CONDITION,
    ELSEWHERE,
    MARK,
    ONE_LINE,
    PATH,
    QUOTED,
    TWICE,
)

_SEE = "see docs/configuration.md"
# What other programs call a model's keys, and programs whose servers a backend asks.
_OTHER_NAMES = {
    **{"api_key": "key_env", "api_base": "base_url", "url": "base_url", "model": "name"},
    **dict.fromkeys(("max_model_len", "context_length", "n_ctx"), "context"),
    **dict.fromkeys(("temperature", "top_p"), "sampling"),
    **dict.fromkeys(("ollama", "llama.cpp", "llamacpp", "lmstudio", "sglang", "tgi"), "openai"),
    **dict.fromkeys(("anthropic", "google", "gemini"), "inspect"),
    **dict.fromkeys(("hf", "huggingface"), "transformers"),
}
# What pydantic says of numbers and lengths: the keyword of the schema that has the limit, and in words.
_LIMITS = {
    "greater_than": ("exclusiveMinimum", "is less than or equal to the minimum of {}"),
    "greater_than_equal": ("minimum", "is less than the minimum of {}"),
    "less_than_equal": ("maximum", "is greater than the maximum of {}"),
    "string_too_short": ("minLength", "should be non-empty"),
}


def first_complaint(error: ValidationError, config: Any) -> KeyedError:
    """What is wrong with the first value, by its place, that the settings do not take."""
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
            own = _described(node_at([*path, missing], config))
            said = f"{_place(path)} lacks the key {missing!r} ({own}): {_SEE}."
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
            said = _value(where, given, error, node)
    return KeyedError(said, path)


def _place(path: Iterable[str | int]) -> str:
    return ".".join(map(str, path)) or "the configuration"


def _kind(path: list[str | int], given: Any, node: Node) -> KeyedError:
    """An entry of no known kind."""
    where, key = _place(path), tag(node)
    if not isinstance(given, Mapping):
        return KeyedError(
            f"{where} is {quoted(given)}, but must have the key {key!r}: {_SEE}.", path
        )
    if key not in given:
        return KeyedError(f"{where} lacks the key {key!r}: {nearest('', tags(node))}.", path)
    value = given[key]
    meant = _OTHER_NAMES.get(value, value) if isinstance(value, str) else value
    return KeyedError(
        f"{where}.{key} is {quoted(value)}: {nearest(meant, tags(node))}.", [*path, key]
    )


def _value(where: str, given: Any, error: ErrorDetails, node: Node) -> str:
    """A value that its key does not take."""
    shown, kind = quoted(given), error["type"]
    types = node.get("type", ())
    types = [types] if isinstance(types, str) else list(types)
    if kind in _LIMITS:
        keyword, words = _LIMITS[kind]
        return f"{where} is {shown}, but {shown} {words.format(node.get(keyword))}: {_SEE}."
    match kind:
        case "literal_error" | "union_tag_invalid" if "oneOf" in node:
            wanted = " or ".join(
                " or ".join(map(repr, choice.get("enum", [choice.get("const")])))
                if {"enum", "const"} & choice.keys()
                else f"of type {choice['type']!r}"
                for choice in node["oneOf"]
            )
            return f"{where} is {shown}, but must be {wanted}: {_SEE}."
        case "literal_error" if "const" in node:
            why = node.get("description", "").strip().rstrip(".")
            return f"{where} is {shown}, but can only be {node['const']!r} ({why}): leave it out."
        case str(own) if own == CHOICE:
            return f"{where} is {shown}: {nearest(given, error['ctx']['known'])}."
        case _ if "enum" in node:
            return f"{where} is {shown}: {nearest(given, node['enum'])}."
        case "too_short" | "too_long" if isinstance(given, list):
            bound, keyword = (
                ("at least", "minItems") if kind == "too_short" else ("at most", "maxItems")
            )
            return f"{where} is {shown}, of {len(given)}, but must have {bound} {node[keyword]}: {_SEE}."
        case "string_pattern_mismatch" if node.get("pattern") == ONE_LINE:
            return f"{where} is {shown}, which holds a tab or a line break: take it out."
        case "string_pattern_mismatch" if "description" in node:
            first = node["description"].strip().rstrip(".")
            return f"{where} is {shown}, which is not what it must be ({first}): correct it."
        case "string_too_long":
            most, long = node["maxLength"], len(given)
            return (
                f"{where} is {shown}, of {long:,} characters, but the most is {most:,}: shorten it."
            )
        case str(own) if own == PATH:
            return f"{where} is {shown}, but {error['ctx']['said']}: correct the path."
    said = {
        "too_short": "should be non-empty",
        "too_long": "has too many properties",
        "string_pattern_mismatch": f"does not match {node.get('pattern')!r}",
        TWICE: "has non-unique elements",
    }.get(kind)
    return _other(where, given, f"{shown} {said}") if said else _type(where, given, types, node)


def _other(where: str, given: Any, said: str) -> str:
    return f"{where} is {quoted(given)}, but {said}: {_SEE}."


def _type(where: str, given: Any, types: list[str], node: Node) -> str:
    """A value of another type."""
    shown = quoted(given)
    if given is None and types == ["string"]:
        return f"{where} is missing: {_described(node)} is needed here, {_SEE}."
    if types == ["array"] and type(given) in (str, int):
        return f"{where} is {shown}, but must be a list: write [{given}], {_SEE}."
    said = f"{shown} is not of type {', '.join(map(repr, types))}"
    if isinstance(given, bool):
        said += f" ({QUOTED})"
    elif isinstance(given, str) and {"number", "integer"} & {*types}:
        said += _as_number(given)
    return _other(where, given, said)


def _described(node: Node) -> str:
    """The beginning of a key's description, or its type."""
    what = " ".join(node.get("description", "").split())
    return re.split(r"[.:,;] ", what)[0].rstrip(".") or f"a value of type {node.get('type')}"


def _nearest_key(path: list[str | int], config: Any) -> str:
    """The nearest of the keys that an entry takes, and all of these."""
    keys = node_at(path[:-1], config).get("properties", {})
    meant = _OTHER_NAMES.get(str(path[-1]))
    return nearest(meant if meant in keys else path[-1], keys)


def _as_number(text: str) -> str:
    """How a text is written as a number; "" where it is no number."""
    text = text.strip()
    try:
        number = float(text) if len(text) <= LONGEST else None
    except ValueError:
        return ""
    if number is None:
        return ""
    mantissa, e, exponent = text.lower().partition("e")
    if not e:
        return f" (write {text} without quotes)"
    # YAML 1.1 wants a point, and the exponent's sign.
    mantissa += "" if "." in mantissa else ".0"
    exponent = exponent if exponent[0] in "+-" else f"+{exponent}"
    return (
        " (YAML reads a number with an exponent only with a point and a sign: write "
        f"{mantissa}e{exponent})"
    )
