"""A JSON object of which one key has a long list, read item by item: memory holds no whole file."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from needlework.errors import UserError
from needlework.models.logs.logged import LARGEST

_PART = 1 << 20
_SPACE = " \t\r\n"


class _Text:
    """A file's text from a place on, read as it is needed."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, path.open("rb")
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._buffer, self._at, self._ended = "", 0, False
        self._scan = json.JSONDecoder().raw_decode

    def close(self) -> None:
        self._file.close()

    def _more(self, size: int) -> None:
        part = self._file.read(size)
        self._ended = not part
        text = self._decoder.decode(part, final=self._ended)
        self._buffer, self._at = self._buffer[self._at :] + text, 0

    def peek(self) -> str:
        """The next character that is no space; "" at the end."""
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if self._ended:
                return ""
            self._more(_PART)

    def take(self, wanted: str) -> str:
        """The next character, which must be one of these."""
        found = self.peek()
        if not found or found not in wanted:
            raise ValueError(f"expected one of {wanted!r}, found {found!r}")
        self._at += 1
        return found

    def value(self) -> Any:
        """The next JSON value, of at most LARGEST characters."""
        self.peek()
        size = _PART
        while True:
            try:
                value, end = self._scan(self._buffer, self._at)
            except json.JSONDecodeError:
                if self._ended or len(self._buffer) - self._at > LARGEST:
                    raise
            else:
                # A number may go on in what was not read yet.
                if end < len(self._buffer) or self._ended:
                    self._at = end
                    return value
            self._more(size)
            # Each attempt begins anew, so the next has twice as much.
            size *= 2


def items(path: Path, key: str) -> Iterator[tuple[str, Any]]:
    """Of the JSON object in a file, each (key, value) at the top; of `key`, whose value is a list, each item.

    Raises UserError if it is no such object.
    """
    text = _Text(path)
    try:
        text.take("{")
        while text.peek() != "}":
            name = text.value()
            text.take(":")
            if name != key or text.peek() != "[":
                yield name, text.value()
            else:
                text.take("[")
                while text.peek() != "]":
                    yield name, text.value()
                    if text.peek() != "]":
                        text.take(",")
                text.take("]")
            if text.peek() != "}":
                text.take(",")
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path} cannot be read as JSON ({error}): correct it.") from None
    finally:
        text.close()
