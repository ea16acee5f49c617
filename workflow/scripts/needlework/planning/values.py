"""Values of a configuration: values that are valid nowhere, and values in messages."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Mapping
from typing import Any

from needlework.errors import UserError
from needlework.printable import SECRET, printable

# The largest integer: engines and files hold 64 bits.
MOST = 2**63 - 1
# The most characters of a text, for instance of a grammar in `request`, and the most levels of values.
MOST_CHARACTERS, MOST_NESTED = 100_000, 100
# The most characters of a value in a message.
LONGEST = 120
_CONTROL = re.compile(
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\ud800-\\udfff\\u2028\\u2029\\ufffe\\uffff]"
)
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 2 * LONGEST
_SHORT.maxdict = _SHORT.maxlist = _SHORT.maxtuple = 30


def check_values(config: Any) -> None:
    """Raise UserError for a value or a key's name that is valid nowhere in a configuration."""
    _check(config, "the configuration", 0)


def _check(value: Any, where: str, depth: int) -> None:
    wrong = ""
    if depth > MOST_NESTED:
        wrong = "nests values too deeply: flatten it"
    elif isinstance(value, Mapping | list | tuple):
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, item in pairs:
            own = str(key) if depth == 0 else f"{where}.{key}"
            _check(str(key), f"a key of {where}", depth)
            _check(item, own[:LONGEST], depth + 1)
    elif isinstance(value, str):
        if len(value) > MOST_CHARACTERS:
            wrong = f"is a text of {len(value):,} characters, but the most is {MOST_CHARACTERS:,}: shorten it"
        elif character := control_character(value):
            wrong = f"is {quoted(value)}, which holds {character}: take it out"
    elif isinstance(value, float) and not math.isfinite(value):
        wrong = f"is {value}, which is not a finite number: correct it"
    elif isinstance(value, int) and abs(value) > MOST:
        wrong = f"is an integer above the largest, {MOST}: correct it"
    elif value is not None and not isinstance(value, int | float):
        wrong = (
            f"is of the type {type(value).__name__}, which YAML makes of dates and of values with a tag such "
            "as `!!binary`: put the text in quotes, without a tag"
        )
    if wrong:
        raise UserError(f"{where} {wrong}.")


def control_character(text: str) -> str:
    """The first control character, or half of a character, in a text, in words; "" if there is none.

    Tabs and line breaks do not count: a template or a system prompt may hold them.
    """
    found = _CONTROL.search(text)
    if found is None:
        return ""
    half = "half of a character" if "\ud800" <= found[0] <= "\udfff" else "the control character"
    return f"{half} U+{ord(found[0]):04X}"


def quoted(value: Any) -> str:
    """A value's `repr`, cut to LONGEST characters, without anything that looks like a key."""
    text = SECRET.sub("***", _SHORT.repr(value))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3].rstrip()}..."


def one_line(message: str) -> str:
    """A message on one line, in which long words, such as paths, are cut."""
    words = re.sub(rf"\S{{{LONGEST},}}", lambda word: f"{word[0][: LONGEST - 3]}...", message)
    return printable(words, lines=False)
