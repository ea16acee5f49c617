"""A sentence on a value that its key refuses: what is wrong with it."""

from __future__ import annotations

import re
from typing import Any

from pydantic_core import ErrorDetails

from needlework.planning.json_schema import Node
from needlework.planning.known_names import nearest
from needlework.planning.values import LONGEST, quoted
from needlework.settings.base import CHOICE, ONE_LINE, PATH, QUOTED, TWICE

SEE = "see docs/configuration.md"
# What pydantic says of numbers and lengths: the keyword of the schema that has the limit, and in words.
_LIMITS = {
    "greater_than": ("exclusiveMinimum", "is less than or equal to the minimum of {}"),
    "greater_than_equal": ("minimum", "is less than the minimum of {}"),
    "less_than_equal": ("maximum", "is greater than the maximum of {}"),
    "string_too_short": ("minLength", "should be non-empty"),
}


def wrong_value(where: str, given: Any, error: ErrorDetails, node: Node) -> str:
    """A value that its key does not take."""
    shown, kind = quoted(given), error["type"]
    types = node.get("type", ())
    types = [types] if isinstance(types, str) else list(types)
    if kind in _LIMITS:
        keyword, words = _LIMITS[kind]
        return f"{where} is {shown}, but {shown} {words.format(node.get(keyword))}: {SEE}."
    match kind:
        case "literal_error" | "union_tag_invalid" if "oneOf" in node:
            wanted = " or ".join(
                " or ".join(map(repr, choice.get("enum", [choice.get("const")])))
                if {"enum", "const"} & choice.keys()
                else f"of type {choice['type']!r}"
                for choice in node["oneOf"]
            )
            return f"{where} is {shown}, but must be {wanted}: {SEE}."
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
            return f"{where} is {shown}, of {len(given)}, but must have {bound} {node[keyword]}: {SEE}."
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
    return f"{where} is {quoted(given)}, but {said}: {SEE}."


def _type(where: str, given: Any, types: list[str], node: Node) -> str:
    """A value of another type."""
    shown = quoted(given)
    if given is None and types == ["string"]:
        return f"{where} is missing: {described(node)} is needed here, {SEE}."
    if types == ["array"] and type(given) in (str, int):
        return f"{where} is {shown}, but must be a list: write [{given}], {SEE}."
    said = f"{shown} is not of type {', '.join(map(repr, types))}"
    if isinstance(given, bool) and "string" in types:
        said += f" ({QUOTED})"
    elif isinstance(given, str) and {"number", "integer"} & {*types}:
        said += _as_number(given)
    return _other(where, given, said)


def described(node: Node) -> str:
    """The beginning of a key's description, or its type."""
    what = " ".join(node.get("description", "").split())
    return re.split(r"[.:,;] ", what)[0].rstrip(".") or f"a value of type {node.get('type')}"


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
