"""What every value of a configuration must be, wherever it stands: of a plain type, finite, not too large.

The schema has narrower limits for the keys that it knows. These hold too inside `request`, `engine` and other
parts whose keys are an engine's or an endpoint's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from needlework.errors import UserError
from needlework.planning.quoting import quoted

# The largest integer: engines and files hold 64 bits.
MOST = 2**63 - 1
# The most characters of a text, for instance of a grammar in `request`.
MOST_CHARACTERS = 100_000
# The most characters of a key.
MOST_OF_A_KEY = 200
# The most levels of values in values.
MOST_LEVELS = 100
# File systems take 255 bytes for a name, and 4,096 for a path.
BYTES_OF_A_NAME = 255
BYTES_OF_A_PATH = 4095


def check_values(config: Any) -> None:
    """Raise UserError for a value that no key can have, or a name of a key that none has."""
    _check(config, [])


def _check(value: Any, where: list[str]) -> None:
    if len(where) > MOST_LEVELS:
        raise UserError(f"{_place(where)} nests values too deeply: flatten it.")
    if isinstance(value, Mapping):
        for key, item in value.items():
            place = _place(where)
            if len(str(key)) > MOST_OF_A_KEY:
                raise UserError(
                    f"{place} has the key {quoted(str(key))}, of {len(str(key)):,} characters, but a key "
                    f"has at most {MOST_OF_A_KEY}: shorten it."
                )
            if character := control_character(str(key)):
                raise UserError(
                    f"{place} has the key {quoted(str(key))}, which holds {character}: take it out."
                )
            _check(item, [*where, str(key)])
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            _check(item, [*where, str(number)])
    elif isinstance(value, str):
        _check_text(value, where)
    elif isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{_place(where)} is {value}, which is not a finite number: correct it.")
    elif isinstance(value, int) and abs(value) > MOST:
        raise UserError(
            f"{_place(where)} is an integer of about {_digits(value):,} digits, but the largest is {MOST}: "
            "correct it."
        )
    elif value is not None and not isinstance(value, int | float):
        raise UserError(
            f"{_place(where)} is of the type {type(value).__name__}, which YAML makes of dates and of "
            "values with a tag such as `!!binary`: put the text in quotes, without a tag."
        )


def _check_text(text: str, where: list[str]) -> None:
    if len(text) > MOST_CHARACTERS:
        raise UserError(
            f"{_place(where)} is a text of {len(text):,} characters, but the most is {MOST_CHARACTERS:,}: "
            "shorten it."
        )
    if character := control_character(text):
        raise UserError(f"{_place(where)} is {quoted(text)}, which holds {character}: take it out.")


def _digits(number: int) -> int:
    """About how many digits an integer has; Python refuses to write very long ones."""
    return int(number.bit_length() * math.log10(2)) + 1


_CONTROL = re.compile(
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\ud800-\\udfff\\u2028\\u2029\\ufffe\\uffff]"
)


def control_character(text: str) -> str:
    """The first control character in a text, or half of a character, in words; "" where there is none.

    Tabs and line breaks are none: a template or a system prompt may hold them.
    """
    found = _CONTROL.search(text)
    if found is None:
        return ""
    half = "half of a character" if "\ud800" <= found[0] <= "\udfff" else "the control character"
    return f"{half} U+{ord(found[0]):04X}"


def bad_path(path: str) -> str:
    """What no file system takes in a path, in words; "" where all is well."""
    if len(path.encode("utf-8", "replace")) > BYTES_OF_A_PATH:
        return f"a path has at most {BYTES_OF_A_PATH} bytes"
    if any(len(part.encode("utf-8", "replace")) > BYTES_OF_A_NAME for part in path.split("/")):
        return f"the name of a file or folder has at most {BYTES_OF_A_NAME} bytes"
    return ""


def _place(where: list[str]) -> str:
    text = ".".join(where) or "the configuration"
    return text if len(text) <= MOST_OF_A_KEY else f"{text[:MOST_OF_A_KEY]}..."
