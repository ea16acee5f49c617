"""Replies of servers, with a limit of their decompressed size, read as UTF-8.

The hooks are for httpx, and for httpx2, which the openai client brings: both have the same classes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import ModuleType
from typing import Any

# An answer of a hundred thousand tokens has a hundredth of this.
REPLY_BYTES = 64_000_000
# Endpoints take 200 MB of requests in a batch, whose answers may be longer.
FILE_BYTES = 4_000_000_000
TOO_LARGE = "the reply is longer than {:,} MB"
# What a reply may have for each token of its answer, and for all else: one that is read takes some ten
# times its bytes of memory. A token has 3 to 6 bytes, 12 of each as JSON escapes, and some 200 with its
# probability; reasoning may come on top.
TOKEN_BYTES = 1_000
ENVELOPE_BYTES = 4_000_000
# Pieces of this number of bytes are decompressed at once: gzip makes at most a thousand of each.
PIECE_BYTES = 4_096


def answer_bytes(tokens: int) -> int:
    """How many bytes a reply may have whose answer has at most this number of tokens."""
    return min(REPLY_BYTES, ENVELOPE_BYTES + TOKEN_BYTES * tokens)


def is_too_large(error: BaseException | None) -> bool:
    """Whether an error means that a reply is longer than allowed."""
    return str(error).startswith(TOO_LARGE.partition("{")[0])


def bounded(
    library: ModuleType, limit: Callable[[Any], int] = lambda response: REPLY_BYTES
) -> Callable[[Any], None]:
    """A hook for a client's responses; reading more than `limit` bytes of one raises DecodingError."""

    def hook(response: Any) -> None:
        stream, source = response.stream, _inner(library, response)
        most = limit(response)

        class BoundedStream(library.SyncByteStream):  # of either library
            def __iter__(self) -> Iterator[bytes]:
                size = 0
                for chunk in source.iter_bytes():
                    size += _checked(library, len(chunk), size, most)
                    yield chunk

            def close(self) -> None:
                stream.close()

        _replace(response, BoundedStream())

    return hook


def bounded_async(
    library: ModuleType, limit: Callable[[Any], int] = lambda response: REPLY_BYTES
) -> Callable[[Any], Awaitable[None]]:
    """The hook of `bounded`, for an asynchronous client."""

    async def hook(response: Any) -> None:
        stream, source = response.stream, _inner(library, response)
        most = limit(response)

        class BoundedAsyncStream(library.AsyncByteStream):  # of either library
            async def __aiter__(self) -> AsyncIterator[bytes]:
                size = 0
                async for chunk in source.aiter_bytes():
                    size += _checked(library, len(chunk), size, most)
                    yield chunk

            async def aclose(self) -> None:
                await stream.aclose()

        _replace(response, BoundedAsyncStream())

    return hook


def _inner(library: ModuleType, response: Any) -> Any:
    """The response as the server sent it, which decompresses piece by piece."""
    source = response.stream

    class DecompressedPieces(library.SyncByteStream, library.AsyncByteStream):  # of either library
        def __iter__(self) -> Iterator[bytes]:
            for chunk in source:
                yield from _pieces(chunk)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in source:
                for piece in _pieces(chunk):
                    yield piece

    return library.Response(
        response.status_code,
        headers=response.headers,
        stream=DecompressedPieces() if "Content-Encoding" in response.headers else source,
        request=response.request,
    )


def _pieces(chunk: bytes) -> Iterator[bytes]:
    return (chunk[at : at + PIECE_BYTES] for at in range(0, len(chunk), PIECE_BYTES))


def _checked(library: ModuleType, more: int, size: int, most: int) -> int:
    if size + more > most:
        raise library.DecodingError(TOO_LARGE.format(most // 1_000_000))
    return more


def _replace(response: Any, stream: Any) -> None:
    """Let a response be read from `stream`, which is decompressed, as UTF-8.

    The charset that the server names is not trusted: it may be any codec of Python's.
    """
    for name in ("Content-Encoding", "Content-Length"):
        response.headers.pop(name, None)
    if "Content-Type" in response.headers:
        kind = response.headers["Content-Type"].partition(";")[0]
        response.headers["Content-Type"] = kind
    response.stream = stream
