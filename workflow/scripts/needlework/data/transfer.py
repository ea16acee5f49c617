"""Transfers the bytes of one file to the disk, from a web server or a directory, and resumes."""

from __future__ import annotations

import dataclasses
import errno
import json
import logging
import os
import random
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import httpx

from needlework.jobs.progress import progress
from needlework.services.endpoints import (
    LONGEST_PAUSE_S,
    PROXY_REMEDY,
    PROXY_TROUBLE,
    Passing,
    may_pass,
    retry_after,
    shown_url,
)

logger = logging.getLogger(__name__)
T = TypeVar("T")

BLOCK_BYTES = 1 << 20
# A mirror's list of checksums has a hundred bytes a file.
LISTING_BYTES = 16 << 20
SET_MIRROR = "set `mirror:` to a directory or URL that has the file"


class TransferError(Exception):
    """A transfer failed, and no retry can help. The message names fault, file and remedy."""

    def __init__(self, what: str, where: str, remedy: str) -> None:
        super().__init__(f"{what} ({where}): {remedy}.")


@dataclass(frozen=True)
class Patience:
    """How often requests to a web server are retried."""

    # Attempts in a row that may bring nothing new.
    retries: int = 6
    # Seconds without a byte after which an attempt ends.
    timeout: float = 60.0
    # Pause in seconds before the first retry. Each further pause is twice the last.
    backoff: float = 1.0


PATIENCE = Patience()


@dataclass(frozen=True)
class Whole:
    """The server's description of a whole file of which a part has been fetched.

    `validator` is a strong ETag or Last-Modified. Without one, nobody can tell whether the server still has
    the same file, so the part is not continued.
    """

    url: str
    validator: str | None
    size: int | None


class Partial:
    """A file that is still being fetched: `<destination>.part`.

    `<destination>.part.json` describes the whole file.
    """

    def __init__(self, destination: Path, *, title: str) -> None:
        self.destination = destination
        self.title = title
        self.path = destination.with_name(destination.name + ".part")
        self.note = destination.with_name(destination.name + ".part.json")
        self.goal: int | None = None

    @property
    def length(self) -> int:
        """Bytes that have arrived."""
        return self.path.stat().st_size if self.path.exists() else 0

    def begin(self, whole: Whole) -> None:
        """Start from the first byte."""
        self.discard()
        self.path.touch()
        self.note.write_text(json.dumps(dataclasses.asdict(whole)), encoding="utf-8")

    def whole(self, url: str) -> Whole | None:
        """The description of the whole file, if an earlier attempt fetched a part that can be continued.

        The part must be of the file at `url`.
        """
        try:
            whole = Whole(**json.loads(self.note.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        known = whole.url == url and whole.validator is not None
        fits = 0 < self.length <= (self.length if whole.size is None else whole.size)
        return whole if known and fits else None

    def append(self, chunks: Iterable[bytes], limit: int | None) -> None:
        """Append `chunks` until the part has `limit` bytes or the chunks end.

        Fails at once if the disk has no room for the `goal`.
        """
        length = self.length
        if self.missing_room() > 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        bar = progress(
            desc=self.title, total=self.goal, unit="B", unit_scale=True, initial=length, told=True
        )
        with bar, self.path.open("ab") as out:
            for chunk in chunks:
                # An older part may be longer than the limit.
                piece = chunk if limit is None else chunk[: max(0, limit - length)]
                out.write(piece)
                length += len(piece)
                bar.update(len(piece))
                if limit is not None and length >= limit:
                    break

    def missing_room(self) -> int:
        """The bytes that the disk lacks for the rest; 0 or less if there is room or the rest is unknown."""
        if self.goal is None:
            return 0
        return self.goal - self.length - shutil.disk_usage(self.destination.parent).free

    def truncate(self, length: int) -> None:
        """Keep the first `length` bytes."""
        os.truncate(self.path, length)

    def drop_partial_line(self) -> None:
        """Remove the text behind the last line end; everything if there is no line end."""
        end = self.length
        with self.path.open("rb") as file:
            while end > 0:
                start = max(0, end - BLOCK_BYTES)
                file.seek(start)
                newline = file.read(end - start).rfind(b"\n")
                if newline >= 0:
                    end = start + newline + 1
                    break
                end = start
        self.truncate(end)

    def publish(self) -> None:
        """Let the file appear under its own name."""
        with self.path.open("rb") as file:
            os.fsync(file.fileno())
        self.path.replace(self.destination)
        self.note.unlink(missing_ok=True)

    def discard(self) -> None:
        """Delete the bytes that have arrived."""
        self.note.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)


class LocalFile:
    """A file in a directory of this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.shown = str(path)

    def text(self) -> str | None:
        """The file's text; None if there is no such file."""
        return self.path.read_text("utf-8", errors="replace") if self.path.is_file() else None

    def copy_into(self, part: Partial, *, size: int | None, prefix: int | None) -> bool:
        """Fill `part` with the file or its first `prefix` bytes; True if that is the whole file."""
        if not self.path.is_file():
            raise TransferError(
                "the mirror lacks the file", self.shown, "put it there, or unset `mirror:`"
            )
        there = self.path.stat().st_size
        _require_size(there, size, self.shown)
        part.begin(Whole(self.shown, validator=None, size=there))
        part.goal = _least(there, prefix)
        with self.path.open("rb") as source:
            part.append(iter(lambda: source.read(BLOCK_BYTES), b""), prefix)
        return part.length == there


class WebFile:
    """A file on a web server; requests are retried while that may help."""

    def __init__(self, url: str, patience: Patience) -> None:
        self.url = url
        self.patience = patience
        self.shown = shown_url(url)

    def text(self) -> str | None:
        """The file's text; None if there is no such file."""
        return self._persist(self._text, arrived=lambda: 0)

    def copy_into(self, part: Partial, *, size: int | None, prefix: int | None) -> bool:
        """Fill `part` with the file or its first `prefix` bytes; True if that is the whole file.

        `size` is the whole file's published size, if known.
        """
        return self._persist(
            lambda: self._continue(part, size, prefix), arrived=lambda: part.length
        )

    def _persist(self, attempt: Callable[[], T], *, arrived: Callable[[], int]) -> T:
        """The attempt's result. It is made again after a pause, up to `retries` times in a row
        without a byte more than before."""
        furthest = arrived()
        failures = 0
        while True:
            try:
                return attempt()
            except Passing as interruption:
                failures = 1 if arrived() > furthest else failures + 1
                furthest = max(furthest, arrived())
                if failures > self.patience.retries or interruption.pause > LONGEST_PAUSE_S:
                    raise TransferError(
                        str(interruption),
                        self.shown,
                        f"check the network or try later, or {SET_MIRROR}, and run again",
                    ) from None
                # Jitter, so that jobs which failed together do not come back together.
                pause = self.patience.backoff * 2 ** (failures - 1) * random.uniform(0.5, 1.5)
                pause = max(interruption.pause, min(pause, LONGEST_PAUSE_S))
                logger.warning("%s (%s); retry in %.1f s", interruption, self.shown, pause)
                time.sleep(pause)

    def _text(self) -> str | None:
        with self._get({}) as response:
            if response.status_code == 404:
                return None
            self._require_usable(response, 200)
            content = bytearray()
            for chunk in response.iter_raw():
                content += chunk
                if len(content) > LISTING_BYTES:
                    raise TransferError(
                        f"the list of checksums is longer than {LISTING_BYTES:,} bytes",
                        self.shown,
                        "it is not such a list: correct `mirror:`",
                    )
            return content.decode("utf-8", errors="replace")

    def _continue(self, part: Partial, size: int | None, prefix: int | None) -> bool:
        """One attempt of `copy_into`, from where the last one ended if the file is still the same."""
        begun = part.whole(self.shown)
        if begun is not None:
            part.goal = _least(begun.size, prefix)
            if part.goal is not None and part.length >= part.goal:
                part.truncate(part.goal)
                return part.length == begun.size
        with self._get(_range_headers(part, begun, prefix)) as response:
            if response.status_code == 416:
                part.discard()
                raise Passing("the server has no such range of bytes")
            self._require_usable(response, 200, 206)
            found = Whole(self.shown, _validator(response), _whole_size(response))
            _require_size(found.size, size, self.shown)
            first = _first_byte(response)
            if first == 0:
                part.begin(found)
            elif begun is None or first != part.length or _differ(begun, found):
                part.discard()
                raise Passing("the server has another file now, or sends another range of it")
            part.goal = _least(size if found.size is None else found.size, prefix)
            # A byte too many shows that the file is not the published one; the rest could fill the disk.
            part.append(response.iter_raw(), _least(prefix, None if size is None else size + 1))
        if part.goal is not None and part.length < part.goal:
            raise Passing(f"the file broke off after {part.length:,} of {part.goal:,} bytes")
        return prefix is None or part.length < prefix or part.length == found.size

    @contextmanager
    def _get(self, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """One request. What breaks before the end of its body is an interruption."""
        for name in ("httpx", "httpcore"):
            # These libraries log whole URLs, which may hold a password or a token.
            logging.getLogger(name).setLevel(logging.WARNING)
        try:
            client = httpx.Client(timeout=self.patience.timeout, follow_redirects=True)
        except (httpx.InvalidURL, ImportError, ValueError):
            raise TransferError(PROXY_TROUBLE, self.shown, PROXY_REMEDY) from None
        asked = {"Accept-Encoding": "identity", **headers}
        try:
            with client, client.stream("GET", self.url, headers=asked) as response:
                yield response
        except (httpx.InvalidURL, httpx.UnsupportedProtocol):
            raise TransferError("this URL cannot be fetched", self.shown, "correct it") from None
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise Passing("the server cannot be reached") from None
        except httpx.TimeoutException:
            raise Passing(f"the server fell silent for {self.patience.timeout:g} s") from None
        except httpx.RequestError:
            raise Passing("the connection broke") from None

    def _require_usable(self, response: httpx.Response, *expected: int) -> None:
        if may_pass(response.status_code):
            pause = retry_after(response.headers)
            raise Passing(f"the server answers {response.status_code}", pause)
        if response.status_code not in expected:
            raise TransferError(
                f"the server answers {response.status_code}", self.shown, SET_MIRROR
            )
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise TransferError(
                "the server sends the file compressed, though asked not to", self.shown, SET_MIRROR
            )


def _range_headers(part: Partial, begun: Whole | None, prefix: int | None) -> dict[str, str]:
    last = "" if prefix is None else prefix - 1
    if begun is not None:
        return {"Range": f"bytes={part.length}-{last}", "If-Range": begun.validator or ""}
    return {} if prefix is None else {"Range": f"bytes=0-{last}"}


def _validator(response: httpx.Response) -> str | None:
    etag = response.headers.get("ETag", "")
    # A weak ETag does not promise the same bytes.
    return etag if etag.startswith('"') else response.headers.get("Last-Modified")


def _content_range(response: httpx.Response) -> re.Match[str] | None:
    stated = response.headers.get("Content-Range", "")
    # Python reads no number of any length.
    return re.match(r"bytes (\d{1,19})-\d{1,19}/(\d{1,19}|\*)(?!\d)", stated)


def _first_byte(response: httpx.Response) -> int:
    """Which byte of the file the body begins with; -1 where the answer leaves it open."""
    if response.status_code == 200:
        return 0
    extent = _content_range(response)
    return int(extent[1]) if extent else -1


def _whole_size(response: httpx.Response) -> int | None:
    """The whole file's size, as far as the server says it."""
    if response.status_code == 206:
        extent = _content_range(response)
        return int(extent[2]) if extent and extent[2] != "*" else None
    length = response.headers.get("Content-Length", "")
    return int(length) if re.fullmatch(r"\d{1,19}", length) else None


def _differ(begun: Whole, found: Whole) -> bool:
    """Whether two answers cannot come from one file. An answer may leave either fact out."""
    return any(
        None not in pair and pair[0] != pair[1]
        for pair in ((begun.validator, found.validator), (begun.size, found.size))
    )


def _require_size(found: int | None, published: int | None, where: str) -> None:
    if None not in (found, published) and found != published:
        raise TransferError(
            f"the file has {found:,} bytes, not the published {published:,}",
            where,
            f"it is truncated or another version; {SET_MIRROR}",
        )


def _least(*limits: int | None) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)
