"""Tokens of texts that tiktoken cannot split: at a run of a million spaces its stack is exhausted."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import tiktoken


def in_pieces(
    encoding: tiktoken.Encoding, encode: Callable[[str], list[int]]
) -> Callable[[str], list[int]]:
    """`encode`, but a text at which it panics is split by the same pattern here, and encoded in pieces."""

    def ids(text: str) -> list[int]:
        try:
            return encode(text)
        except BaseException as error:  # Rust's panics are no Exception
            if type(error).__name__ != "PanicException":
                raise
        # Half a character has no UTF-8; tiktoken takes U+FFFD for it.
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return [
            token
            for piece in _compiled(encoding._pat_str).finditer(whole)
            for token in encoding._encode_single_piece(piece[0])
        ]

    return ids


@cache
def _compiled(pattern: str) -> Any:
    """The pattern for the package `regex`, which tiktoken brings, and which needs no deep stack."""
    import regex

    return regex.compile(pattern)
