"""The explorer's data files: columns as typed arrays, compressed, in a form that opens from `file://`.

From `file://`, browsers refuse `fetch`, modules and workers, but run classic scripts. So a shard is a script
that hands base64 of gzip to the page, or an element of the page itself that holds the same text.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

ALIGNMENT = 8
_TYPES = {"u1": "u8", "u2": "u16", "u4": "u32", "i4": "i32", "f4": "f32"}


def smallest(codes: npt.ArrayLike, size: int) -> npt.NDArray[np.unsignedinteger]:
    """Codes below `size` in the smallest unsigned type that holds them."""
    kinds = (np.uint8, np.uint16, np.uint32)
    return np.asarray(codes).astype(next(kind for kind in kinds if size <= np.iinfo(kind).max + 1))


def column_shard(header: Mapping[str, object], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """A shard of arrays: the header's length (uint32), the header as JSON, the arrays' bytes.

    The header gains `arrays`: for each name its type, its offset in bytes from the header's end, and its
    length. Everything is little-endian, and aligned to 8 bytes.
    """
    described, parts, offset = {}, [], 0
    for name, array in arrays.items():
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        raw = array.tobytes()
        described[name] = [_TYPES[array.dtype.str[1:]], offset, len(array)]
        parts.append(raw + bytes(-len(raw) % ALIGNMENT))
        offset += len(parts[-1])
    text = json.dumps({**header, "arrays": described}, ensure_ascii=False, separators=(",", ":"))
    head = text.encode("utf-8")
    head += b" " * (-(4 + len(head)) % ALIGNMENT)
    return len(head).to_bytes(4, "little") + head + b"".join(parts)


def encoded(payload: bytes, shuffled: bool = False) -> str:
    """Base64 of gzip; the same bytes give the same text.

    A `shuffled` payload has uneven frequencies of bytes, but no repetitions that are worth a search.
    """
    strategy = zlib.Z_HUFFMAN_ONLY if shuffled else zlib.Z_DEFAULT_STRATEGY
    gzip = zlib.compressobj(6, zlib.DEFLATED, 16 + zlib.MAX_WBITS, 8, strategy)
    return base64.b64encode(gzip.compress(payload) + gzip.flush()).decode("ascii")


def json_bytes(value: object) -> bytes:
    """Compact JSON in UTF-8; a lone surrogate becomes a replacement character."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def script(name: str, text: str) -> str:
    """A classic script that hands a shard's text to the page."""
    return f'needlework({json.dumps(name)},"{text}");\n'
