"""Untrusted JSON Lines, gzipped or not: read line by line, each field checked."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from needlework.data.budgets import RATIO, TOTAL_BYTES
from needlework.errors import UserError
from needlework.jobs.progress import progress

T = TypeVar("T")

# A question with a hundred passages is a tenth of this; without a limit, a file without line ends
# would fill the memory.
MAX_LINE_BYTES = 1 << 24


class JsonLine(NamedTuple):
    """A JSON object with its file and line, so that errors can name them."""

    path: Path
    number: int
    value: Mapping[str, object]

    def get(self, key: str, kind: type[T], inside: Mapping[str, object] | None = None) -> T:
        """The field `key` of the object, or of one `inside` it. Raises UserError if it is not a `kind`."""
        where = self.value if inside is None else inside
        # What JSON gives is a dict: to ask for any Mapping would take a tenth of all reading.
        if not isinstance(where, dict) or key not in where:
            raise self.wrong(f"lacks the field {key!r}")
        found = where[key]
        if not isinstance(found, kind):
            raise self.wrong(f"has the field {key!r}, which is not of type {kind.__name__}")
        return found

    def texts(self, key: str) -> list[str]:
        """The field `key`, a list of texts."""
        found = self.get(key, list)
        if not all(isinstance(item, str) for item in found):
            raise self.wrong(f"has the field {key!r}, which is not a list of texts")
        return found

    def wrong(self, what: str) -> UserError:
        """An error that names the file and the line."""
        return UserError(
            f"{self.path}, line {self.number} {what}: delete the file and run again, or correct it if it "
            "is your own."
        )


def read_lines(path: str | Path) -> Iterator[JsonLine]:
    """The objects of a JSON Lines file; a name with the ending .gz is decompressed.

    Raises UserError if the file is missing or ends within its compressed data, if a line is not a JSON object
    or too long, or if there is no line.
    """
    return objects(Path(path), raw_lines(Path(path)))


def objects(path: Path, lines: Iterable[bytes | str]) -> Iterator[JsonLine]:
    """The objects of `lines`, which `path` names in errors; a line has at most MAX_LINE_BYTES, or is blank.

    Raises UserError as in `read_lines` for the content of the lines.
    """
    number = 0
    for number, data in enumerate(progress(lines, desc=path.name, unit="line"), start=1):
        if not data.strip():
            continue
        try:
            value = json.loads(data) if len(data) < MAX_LINE_BYTES else None
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise JsonLine(path, number, {}).wrong("is not a JSON object")
        yield JsonLine(path, number, value)
    if not number:
        raise UserError(f"{path} is empty: delete it and run again.")


def raw_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, decompressed if its name ends with .gz. Raises UserError as in `read_lines`."""
    number = 0
    size = 0
    try:
        most = max(TOTAL_BYTES, RATIO * path.stat().st_size)
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for data in iter(lambda: file.readline(MAX_LINE_BYTES), b""):
                number += 1
                size += len(data)
                if size > most:
                    raise UserError(
                        f"{path} unpacks to more than {most:,} bytes by line {number}: delete it and run "
                        "again, or split it if it is your own."
                    )
                yield data
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: run the rule that downloads it.") from None
    except (EOFError, OSError, zlib.error) as error:
        raise UserError(
            f"{path} cannot be read after line {number} ({error}): the file is damaged; delete it and "
            "run again."
        ) from None
