"""Fetching published files: verified, all or nothing."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import logging
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from needlework.data.published_files import SourceFile
from needlework.data.transfer import PATIENCE, LocalFile, Partial, Patience, TransferError, WebFile
from needlework.errors import UserError

logger = logging.getLogger(__name__)

# In a mirror's root: what its files are, in the format of sha256sum.
CHECKSUMS = "SHA256SUMS"
DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True)
class FetchRecord:
    """The record of a fetched file, stored as `<destination>.json`."""

    id: str
    url: str
    # "origin" or "mirror".
    via: str
    # "whole", or "prefix" for the first bytes up to a line end.
    read: str
    bytes: int
    # The digest of the bytes on the disk.
    sha256: str
    # The digest of the whole file at its origin; None if unknown.
    published_sha256: str | None
    # What the bytes were checked against: "published sha256", "published md5", "mirror's sha256", "published
    # size" or "nothing".
    verified: str


def fetch(
    file: SourceFile,
    destination: str | Path,
    *,
    mirror: str | None = None,
    prefix: int | None = None,
    patience: Patience = PATIENCE,
) -> FetchRecord:
    """Bring a published file to `destination`, and its record to `<destination>.json`.

    `mirror` is a directory or URL that has the file under its id. If the mirror has a SHA256SUMS at its root,
    its checksums are used instead of the published ones. With `prefix`, only this many bytes are read, up to
    the last line end in them (a shorter file is read whole).

    The file appears complete and verified, or not at all. The next call continues an interrupted download, if
    the server says that it still has the same file. Raises UserError with one sentence: the file's id, its
    address, and the remedy.
    """
    destination = Path(destination)
    part = Partial(destination, title=file.id)
    place, listing = _locate(file, mirror, patience)
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        expected = file if listing is None else _as_listed(file, listing.text())
        whole = place.copy_into(part, size=expected.size, prefix=prefix)
        if not whole:
            part.drop_partial_line()
            if part.length == 0:
                raise TransferError(
                    f"no line ends in the first {prefix:,} bytes",
                    place.shown,
                    "raise `prefix_mb` of this source",
                )
        sha256 = _digest(part.path, "sha256")
        record = FetchRecord(
            id=file.id,
            url=place.shown,
            via="origin" if mirror is None else "mirror",
            read="whole" if whole else "prefix",
            bytes=part.length,
            sha256=sha256,
            published_sha256=file.sha256,
            verified=_verify(part, sha256, expected, file, place.shown) if whole else "nothing",
        )
        # The record first: a file that stands under its own name always has one.
        record_path(destination).write_text(
            json.dumps(dataclasses.asdict(record), indent=2) + "\n", encoding="utf-8"
        )
        part.publish()
    except TransferError as error:
        raise UserError(f"{file.id}: {error}") from None
    except OSError as error:
        raise UserError(f"{file.id}: {_disk_trouble(part, error)} ({place.shown}).") from None
    if whole and record.verified in ("published size", "nothing"):
        logger.warning("%s has no known checksum; what arrived has sha256 %s", file.id, sha256)
    return record


def record_path(destination: str | Path) -> Path:
    """Where the record of a fetched file is."""
    destination = Path(destination)
    return destination.with_name(destination.name + ".json")


Place = LocalFile | WebFile


def _locate(file: SourceFile, mirror: str | None, patience: Patience) -> tuple[Place, Place | None]:
    """Where the file is, and where the checksums of its mirror are."""
    if mirror is None:
        return WebFile(file.url, patience), None
    if re.match(r"https?://", mirror):
        return WebFile(_below(mirror, file.id), patience), WebFile(
            _below(mirror, CHECKSUMS), patience
        )
    root = Path(mirror)
    return LocalFile(root / file.id), LocalFile(root / CHECKSUMS)


def _below(base: str, path: str) -> str:
    try:
        parts = urlsplit(base)
    except ValueError:
        raise UserError("`mirror:` is neither a URL nor a folder: correct it.") from None
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{quote(path)}"))


def _as_listed(file: SourceFile, checksums: str | None) -> SourceFile:
    """The file with the checksum of a mirror's SHA256SUMS, or as published if it is not listed."""
    for line in (checksums or "").splitlines():
        listed, _, name = line.partition(" ")
        if name.lstrip(" *").removeprefix("./") == file.id:
            if file.sha256 not in (None, listed):
                logger.warning(
                    "%s: the mirror's file is not the published one (sha256 %s, not %s)",
                    file.id,
                    listed,
                    file.sha256,
                )
            return dataclasses.replace(file, sha256=listed, size=None, md5=None)
    return file


def _verify(part: Partial, sha256: str, expected: SourceFile, file: SourceFile, where: str) -> str:
    """What the whole file was checked against. A wrong one is deleted, and TransferError raised."""
    if expected.size not in (None, part.length):
        against, right = "published size", False
    elif expected.sha256 is not None:
        against = "published sha256" if expected.sha256 == file.sha256 else "mirror's sha256"
        right = sha256 == expected.sha256
    elif expected.md5 is not None:
        against, right = "published md5", _digest(part.path, "md5") == expected.md5
    else:
        against, right = "nothing" if expected.size is None else "published size", True
    if not right:
        part.discard()
        raise TransferError(
            f"what arrived does not have the {against}",
            where,
            "it was deleted; run again, and if that does not help, the file there is another "
            "version or damaged on the way: set `mirror:` to a directory or URL that has it",
        )
    return against


def _digest(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def _disk_trouble(part: Partial, error: OSError) -> str:
    if error.errno in DISK_FULL:
        megabytes = max(1, -(-part.missing_room() // 1_000_000))
        return (
            f"the disk of {part.destination.parent} is full: free at least {megabytes} MB on it and "
            "run again, which continues"
        )
    return f"{error.strerror} ({error.filename}): correct its permissions or choose another place"
