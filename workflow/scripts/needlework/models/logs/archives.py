"""The members of a ZIP archive, bounded, also of those that are compressed with Zstandard.

Python reads method 93 from 3.14 on. Names of members are names only: nothing is extracted.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from needlework.data.budgets import Budget
from needlework.errors import UserError
from needlework.models.logs.logged import LARGEST

STORED, DEFLATED, ZSTANDARD = 0, 8, 93
_ENCRYPTED = 1
_HEADER = 30


def members(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """The names and contents of the members whose names are wanted, in the archive's order.

    Raises UserError if the archive is damaged, encrypted, or compressed in another way, if a member has more
    than LARGEST bytes, or if all would unpack to far more than the file.
    """
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            found = [each for each in archive.infolist() if wanted(each.filename)]
            stored = path.stat().st_size
            if sum(each.compress_size for each in found) > stored:
                raise zipfile.BadZipFile("members overlap")
            Budget([path], stored, "the answers to replay").declared(
                sum(each.file_size for each in found)
            )
            for each in found:
                yield each.filename, _content(path, file, each)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError) as error:
        raise UserError(
            f"{path} cannot be read as a log of inspect_ai ({error}): it is damaged; copy it again."
        ) from None


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
