"""Reads members of untrusted zip archives within limits, whole or line by line."""

from __future__ import annotations

import io
import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from needlework.errors import UserError

MAX_TOTAL_BYTES = 2 << 30
BLOCK_BYTES = 1 << 20
# Text deflates to a third or a tenth; a bomb to a thousandth.
MAX_RATIO = 100

# What zipfile and its decompressors raise where an archive is damaged.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    UnicodeDecodeError,
)


class Archive:
    """A zip file whose members are all safe to read.

    Raises UserError if the file is not a zip. Raises it also if a member has an absolute path, climbs out of
    the archive, is a symbolic link or encrypted, occurs twice, or would unpack to more than `max_total` bytes
    or `max_ratio` times the archive (a zip bomb).
    """

    def __init__(
        self, path: Path, *, max_total: int = MAX_TOTAL_BYTES, max_ratio: int = MAX_RATIO
    ) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except FileNotFoundError:
            raise UserError(f"{path} does not exist: run the rule that downloads it.") from None
        except _DAMAGED as error:
            raise self._broken(error) from None
        members = self._zip.infolist()
        self.names = {member.filename for member in members}
        unsafe = next((member for member in members if _is_unsafe(member)), None)
        if unsafe is not None:
            raise self._refused(f"its member {unsafe.filename!r} is a link, encrypted or elsewhere")
        if len(self.names) < len(members):
            raise self._refused("it has two members of one name")
        total = sum(member.file_size for member in members)
        if total > min(max_total, max_ratio * path.stat().st_size):
            raise self._refused(f"it would unpack to {total:,} bytes")

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def read(self, name: str) -> bytes:
        """The bytes of one member, which must be among `names`. Raises UserError if they are corrupt."""
        # The limits have seen the size that the directory declares. Read at once, a member would be
        # decompressed to its end, however long it is.
        return b"".join(self._pieces(name, lambda member: member.read(BLOCK_BYTES)))

    def lines(self, name: str, longest: int) -> Iterator[bytes]:
        """The lines of one member with line ends, each read up to `longest` bytes.

        Errors are raised as by `read`.
        """
        return self._pieces(name, lambda member: member.readline(longest))

    def _pieces(self, name: str, read: Callable[[BinaryIO], bytes]) -> Iterator[bytes]:
        try:
            # A member's own `readline` may give more than it is asked for.
            opened = cast(io.RawIOBase, self._zip.open(name))
            with io.BufferedReader(opened, BLOCK_BYTES) as member:
                yield from iter(lambda: read(member), b"")
        except _DAMAGED as error:
            raise self._broken(error) from None
        except OSError as error:
            # A damaged bzip2 stream; an error of the disk has a number.
            if error.errno is not None:
                raise
            raise self._broken(error) from None

    def _broken(self, error: Exception) -> UserError:
        return UserError(
            f"{self.path} cannot be read as a zip archive ({error}): delete it and run again."
        )

    def _refused(self, why: str) -> UserError:
        return UserError(
            f"{self.path} is not unpacked because {why}: it is not the published archive; delete it "
            "and run again."
        )


def _is_unsafe(member: zipfile.ZipInfo) -> bool:
    path = PurePosixPath(member.filename.replace("\\", "/"))
    return (
        path.is_absolute()
        or ".." in path.parts
        or stat.S_ISLNK(member.external_attr >> 16)
        or bool(member.flag_bits & 0x1)
    )
