"""How messages quote values of the configuration: short, on one line, and without what looks like a key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from needlework.printable import SECRET, printable

# The most characters of a value in a message.
LONGEST = 120


def quoted(value: Any) -> str:
    """A value's `repr`, cut to LONGEST characters, without anything that looks like a key."""
    if isinstance(value, str):
        text = repr(SECRET.sub("***", value[: 2 * LONGEST]))
        return text if len(value) <= 2 * LONGEST and len(text) <= LONGEST else _cut(text)
    text = SECRET.sub("***", repr(_bounded(value)))
    return text if len(text) <= LONGEST else _cut(text)


def _cut(text: str) -> str:
    return f"{text[: LONGEST - 3].rstrip()}..."


def _bounded(value: Any, depth: int = 0) -> Any:
    """The value with the first members of large parts alone: a text of it is made, and then cut."""
    if isinstance(value, Mapping):
        items = list(value.items())[:LONGEST] if depth < 20 else []
        return {str(key)[:LONGEST]: _bounded(item, depth + 1) for key, item in items}
    if isinstance(value, list | tuple):
        return [_bounded(item, depth + 1) for item in value[:LONGEST]] if depth < 20 else []
    if isinstance(value, str):
        return value[: 2 * LONGEST]
    if isinstance(value, int) and value.bit_length() > 1000:
        return "(an integer of more than 300 digits)"
    return value


def with_short_quotes(message: str, config: Any) -> str:
    """A message about a configuration, in which none of its texts stands that is long or looks like a key.

    Many checks quote paths and names; here all of them are shortened alike.
    """
    if len(message) > LONGEST:
        for text in sorted(set(_long(config)), key=len, reverse=True):
            for written in (text, repr(text)[1:-1], repr(text)):
                if written in message:
                    message = message.replace(written, f"{written[: LONGEST - 3]}...")
    # One line, whatever stands in a key.
    return printable(message, lines=False)


def _long(value: Any) -> Iterator[str]:
    """The texts in a value, keys too, of which a message would show too much."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            if len(node) > LONGEST:
                yield node
        elif isinstance(node, Mapping):
            stack += [*node.keys(), *node.values()]
        elif isinstance(node, list | tuple):
            stack += node
