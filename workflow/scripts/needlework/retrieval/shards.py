"""A corpus in shards: which rows, their texts, and arrays on disk.

Shards begin at multiples of a block, and a block is embedded as a whole. So for any number of shards the
same texts share a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from needlework.atomic import atomic_write
from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.retrieval.embedders import Embedder

BLOCK = 1024


def shard_rows(n: int, shard: int, n_shards: int) -> range:
    """The rows of shard `shard` (from 0) of a table of `n` rows: whole blocks, as even as they go.

    The shards of a table are contiguous, in order, and cover it. Some are empty if there are
    fewer blocks than shards.
    """
    blocks = -(-n // BLOCK)
    first, last = (blocks * i // n_shards * BLOCK for i in (shard, shard + 1))
    return range(min(first, n), min(last, n))


def count_rows(table: str | Path) -> int:
    """How many rows a Parquet file has. Raises UserError if it is missing or corrupt."""
    return _parquet(table).metadata.num_rows


def read_texts(table: str | Path, column: str, rows: range) -> Iterator[str]:
    """The texts of `rows` of a Parquet file, read a block at a time."""
    at = 0
    for batch in _parquet(table).iter_batches(batch_size=BLOCK, columns=[column]):
        yield from batch.column(0)[max(rows.start - at, 0) : max(rows.stop - at, 0)].to_pylist()
        at += len(batch)
        if at >= rows.stop:
            return


def _parquet(table: str | Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(table)
    except FileNotFoundError:
        raise UserError(f"{table} does not exist: run the rule that makes it.") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(
            f"{table} cannot be read as Parquet ({error}): it is corrupt; delete it and run again."
        ) from None


def embed_shard(
    embedder: Embedder,
    table: str | Path,
    column: str,
    path: str | Path,
    shard: int = 0,
    n_shards: int = 1,
) -> None:
    """Write the vectors of a shard of a text column to `path`, (rows, dimensions) float32 in .npy.

    The parts of all shards, one after the other, are bit for bit what one shard gives. Memory holds
    a block, not the shard.
    """
    rows = shard_rows(count_rows(table), shard, n_shards)
    texts = read_texts(table, column, rows)
    blocks = progress(range(0, len(rows), BLOCK), desc=f"embed {column}", unit="block", told=True)
    with atomic_write(path) as part, part.open("wb") as file:
        header = {
            "descr": "<f4",
            "fortran_order": False,
            "shape": (len(rows), embedder.dimensions),
        }
        np.lib.format.write_array_header_1_0(file, header)  # type: ignore[no-untyped-call]  # NumPy's
        for _ in blocks:
            file.write(embedder.encode(list(islice(texts, BLOCK))).astype("<f4").tobytes())


def write_array(array: np.ndarray, path: str | Path) -> None:
    """Write a .npy file atomically."""
    with atomic_write(path) as part, part.open("wb") as file:
        np.save(file, array, allow_pickle=False)


def read_array(path: str | Path) -> np.ndarray:
    """A .npy file, mapped into memory and read-only. Raises UserError if it is missing or corrupt."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: run the rule that makes it.") from None
    except (ValueError, EOFError, OSError) as error:
        raise UserError(
            f"{path} cannot be read as an array ({error}): it is corrupt; delete it and run again."
        ) from None
