"""A cache of numbers in files. Anyone may delete them at any time, and several jobs may write.

A file is its content after the content's digest. A damaged file counts as missing; a file that cannot be
written is left out.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from needlework.atomic import atomic_write
from needlework.errors import UserError
from needlework.folders import entries

logger = logging.getLogger(__name__)

_DIGEST = 32
_KEY = 16
_RECORD = np.dtype([("key", f"V{_KEY}"), ("number", "<i8")])


def read_kept(path: Path) -> bytes | None:
    """The content that `write_kept` has written; None if the file is missing or damaged."""
    try:
        found = path.read_bytes()
    except OSError:
        return None
    content = found[_DIGEST:]
    return content if hashlib.sha256(content).digest() == found[:_DIGEST] else None


def write_kept(path: Path, content: bytes) -> None:
    """Write a file atomically; if the disk refuses, log a warning."""
    try:
        with atomic_write(path) as part:
            part.write_bytes(hashlib.sha256(content).digest() + content)
    except OSError as error:
        logger.warning("%s cannot be written (%s): it will be made again next time.", path, error)


class KeptNumbers:
    """A number for each of many texts, in a folder: a job with new numbers adds a file when it saves."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[bytes, int] = {}
        self._new: dict[bytes, int] = {}
        self._read: set[Path] = set()
        self.look()

    def look(self) -> None:
        """Read the files that were added to the folder since the last look, if it can be read."""
        try:
            added = set(entries(self._folder)) - self._read
        except UserError:
            # Nothing that is kept here is missed, so it stops nothing.
            return
        for path in sorted(added):
            content = read_kept(path)
            if content is not None and len(content) % _RECORD.itemsize == 0:
                found = np.frombuffer(content, _RECORD)
                self._known.update(
                    zip(found["key"].tolist(), found["number"].tolist(), strict=True)
                )
        self._read |= added

    def get(self, text: str) -> int | None:
        """The number of a text, if it is known."""
        return self._known.get(_key(text))

    def add(self, text: str, number: int) -> None:
        """Set the number of a text."""
        key = _key(text)
        self._known[key] = self._new[key] = number

    def save(self) -> None:
        """Write the new numbers."""
        if not self._new:
            return
        records = np.array(list(self._new.items()), _RECORD)
        content = records.tobytes()
        path = self._folder / hashlib.sha256(content).hexdigest()[:_KEY]
        write_kept(path, content)
        self._read.add(path)
        self._new = {}


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=_KEY).digest()


def digest_of(paths: Iterable[Path]) -> str:
    """A digest of files' bytes."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
