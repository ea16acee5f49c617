"""Reads the files that a model's key `answers` names, within limits: no part of them is trusted.

It reads lines of JSON Lines, members of a ZIP archive (nothing is extracted to disk), and items of a long
JSON object. Planning imports it, so it needs only the standard library. Members that are compressed with
Zstandard (method 93) are unpacked here, since Python reads them only from 3.14 on.
"""

from __future__ import annotations

import codecs
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from needlework.data.budgets import Budget
from needlework.errors import UserError
from needlework.folders import files_below

ENDINGS = (".jsonl", ".parquet", ".eval", ".json")
# The most bytes of a line or of a member of an archive: a million characters, escaped, several times.
LARGEST = 1 << 26
# The most values of a line, a member or an item: each takes some 90 bytes of memory.
MOST_VALUES = 1 << 21
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.S)
STORED, DEFLATED, ZSTANDARD = 0, 8, 93
_ENCRYPTED = 1
_HEADER = 30
# What is read of a JSON file at once.
_PART = 1 << 20
_SPACE = " \t\r\n"


def answer_files(given: str | list[str] | None, where: str) -> str | list[str] | None:
    """The paths, with each folder replaced by the logs below it.

    A `.json` file beside JSON Lines describes their run and is no log itself. Raises UserError if a folder
    has no logs.
    """
    if given is None or (isinstance(given, str) and not is_there(given, Path.is_dir)):
        return given
    found: list[str] = []
    for path in given if isinstance(given, list) else [given]:
        if not is_there(path, Path.is_dir):
            found.append(path)
            continue
        below = [file for file in files_below(path) if file.suffix in ENDINGS]
        beside = {file.parent for file in below if file.suffix == ".jsonl"}
        own = [file for file in below if file.suffix != ".json" or file.parent not in beside]
        if not own:
            raise UserError(
                f"{where} names the folder {path}, which holds no {', '.join(ENDINGS)} file: correct the "
                "path."
            )
        found += map(str, own)
    return found


def is_there(path: str | Path, kind: Callable[[Path], bool]) -> bool:
    """Whether `path` is of this `kind`; False if no file can have such a name."""
    try:
        return kind(Path(path))
    except (OSError, ValueError):
        return False


def lines(path: Path) -> Iterator[tuple[str, Any]]:
    """The lines of JSON Lines, each with its place in words."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LARGEST + 1):
            number += 1
            if len(line) > LARGEST:
                raise UserError(
                    f"{path}, line {number}: it has more than {LARGEST:,} bytes: shorten it."
                )
            if line.strip():
                yield f"line {number}", parsed(line, path, f"line {number}")


def parsed(content: bytes, path: Path, place: str) -> Any:
    """Parse JSON. Raises UserError with the place of a fault, or if there are too many values."""
    try:
        text = content.decode(json.detect_encoding(content), "surrogatepass")
        del content
        check_values(text)
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}, {place}: not JSON ({error}): correct it.") from None


def check_values(text: str) -> None:
    """Raise ValueError if JSON has so many values that a small log would fill the memory."""
    marks = ",", "{", "["
    if sum(map(text.count, marks)) <= MOST_VALUES:
        return
    # What stands in strings counts as text, unless there are too many of them.
    found = text.count('"') // 2
    if found <= 2 * MOST_VALUES:
        inside = (string[0].count(mark) for string in _STRING.finditer(text) for mark in marks)
        found = sum(map(text.count, marks)) - sum(inside)
    if found > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values")


def beside(path: Path, name: str) -> Mapping[str, Any]:
    """The JSON object in a file beside a log; empty if the file is missing or unreadable."""
    other = path.with_name(name)
    try:
        if other.stat().st_size > LARGEST:
            return {}
        found = parsed(other.read_bytes(), other, "the run")
    except (OSError, UserError):
        return {}
    return found if isinstance(found, Mapping) else {}


def members(path: Path, order: Callable[[str], int | None]) -> Iterator[tuple[str, bytes]]:
    """The names and contents of the members to which `order` gives a number, sorted by this number.

    Members with equal numbers come as in the archive. Raises UserError if a member is encrypted, compressed
    in an unknown way or larger than LARGEST, or if all would unpack to far more than the file. Raises another
    exception if the archive is damaged.
    """
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        ranks = {name: order(name) for name in archive.namelist()}
        found = [each for each in archive.infolist() if ranks[each.filename] is not None]
        found.sort(key=lambda each: ranks[each.filename] or 0)
        stored = path.stat().st_size
        if sum(each.compress_size for each in found) > stored:
            raise zipfile.BadZipFile("members overlap")
        Budget([path], stored, "the answers to replay").declared(
            sum(each.file_size for each in found)
        )
        for each in found:
            yield each.filename, _content(path, file, each)


def _content(path: Path, file: BinaryIO, member: zipfile.ZipInfo) -> bytes:
    """The content of a member, unpacked to no more than it declares."""
    where = f"{path}, member {member.filename[:100]!r}"
    if member.file_size > LARGEST:
        raise UserError(f"{where}: it has more than {LARGEST:,} bytes: leave it out.")
    if member.flag_bits & _ENCRYPTED:
        raise UserError(f"{where}: it is encrypted: give the log without a password.")
    file.seek(member.header_offset)
    header = file.read(_HEADER)
    if len(header) < _HEADER or header[:4] != b"PK\3\4":
        raise zipfile.BadZipFile(f"no member at {member.header_offset}")
    skipped = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    file.seek(skipped, 1)
    packed = file.read(member.compress_size)
    # One byte more shows that more would come.
    most = member.file_size + 1
    if member.compress_type == STORED:
        content = packed[:most]
    elif member.compress_type == DEFLATED:
        content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, most)
    elif member.compress_type == ZSTANDARD:
        content = _unpacked(packed, most)
    else:
        raise UserError(
            f"{where}: its compression (method {member.compress_type}) is unknown: write the log again with "
            "inspect_ai."
        )
    if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
        raise zipfile.BadZipFile(f"the member {member.filename[:100]!r} is not what it declares")
    return content


def _unpacked(packed: bytes, most: int) -> bytes:
    """The first bytes of what Zstandard packed."""
    import pyarrow as pa

    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        return bytes(stream.read(most))


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
            check_values(self._buffer)
            # Each attempt begins anew, so the next has twice as much.
            size *= 2


def items(path: Path, key: str) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) for each key of the JSON object in a file.

    The value of `key` is a list, of which each item is yielded. Raises UserError if it is no such object.
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
