"""Limits on the size of a user's data: a small file can decompress to more than any memory."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from pathlib import Path

from needlework.errors import UserError

# A book has 3 MB, a question with a hundred passages 1 MB.
ROW_BYTES = 1 << 24
# Of all rows: this, or so many times the files' bytes, which is more than text repeats itself.
TOTAL_BYTES = 1 << 27
RATIO = 100
# What else a value takes in memory.
VALUE_BYTES = 16

_REMEDY = "shorten or split it, or lower `rows` where there is one"


class Budget:
    """A limit on the bytes to read from some files, row by row.

    `where` is the configuration's entry, for errors.
    """

    def __init__(self, files: Sequence[str | Path], stored: int | None, where: str) -> None:
        """`stored` is the number of the files' bytes; None if unknown, as of a data set that is streamed."""
        self._files = str(files[0]) if files else "the data set"
        self._where = where
        self._left = self.total = None if stored is None else max(TOTAL_BYTES, RATIO * stored)

    def declared(self, size: int) -> None:
        """Raise UserError if a file declares a larger size than may be read. Decompresses nothing."""
        if self._left is not None and size > self._left:
            self._refuse(f"would unpack to {size:,} bytes")

    def take(self, place: int, row: object) -> None:
        """Count a row. Raises UserError if it, or all rows so far, are too large."""
        size = size_of(row)
        if size > ROW_BYTES:
            self._refuse(f"has {size:,} bytes in row {place + 1}, more than {ROW_BYTES:,}")
        if self._left is not None:
            self._left -= size
            if self._left < 0:
                self._refuse(f"unpacks to more than {self.total:,} bytes by row {place + 1}")

    def _refuse(self, what: str) -> None:
        raise UserError(f"{self._where}: {self._files} {what}: {_REMEDY}.")


def size_of(value: object) -> int:
    """The approximate number of bytes that a value takes."""
    if isinstance(value, str | bytes):
        return len(value) + VALUE_BYTES
    if isinstance(value, Mapping):
        return VALUE_BYTES + sum(map(size_of, value.values()))
    if isinstance(value, list | tuple):
        return VALUE_BYTES + sum(map(size_of, value))
    return VALUE_BYTES


def check_records(path: str | Path, where: str, quoted: bool) -> None:
    """Raise UserError if a record (line) of a text file exceeds a row's limit, or the file is not in UTF-8.

    If `quoted`, a record continues over lines until its quotes are closed (CSV). The size is measured before
    a reader opens the file, since readers hold a whole record.
    """
    length = quotes = number = 0
    decoder = getincrementaldecoder("utf-8")()
    with Path(path).open("rb") as file:
        while part := file.readline(1 << 16):
            try:
                decoder.decode(part)
            except UnicodeDecodeError as error:
                byte = error.object[error.start]
                raise UserError(
                    f"{where}: {path} cannot be read as UTF-8 (line {number + 1} has the byte 0x{byte:02x}): "
                    "save the file in UTF-8, for instance with `iconv -f <its encoding> -t UTF-8`."
                ) from None
            number += part.endswith(b"\n")
            length += len(part)
            quotes += part.count(b'"') if quoted else 0
            if length > ROW_BYTES:
                raise UserError(
                    f"{where}: {path} has a record of more than {ROW_BYTES:,} bytes: {_REMEDY}."
                )
            if part.endswith(b"\n") and quotes % 2 == 0:
                length = quotes = 0
