"""The texts of a corpus, and their vectors on disk, a block at a time."""

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


def count_rows(table: str | Path) -> int:
    """How many rows a Parquet file has. Raises UserError if it is missing or corrupt."""
    return _parquet(table).metadata.num_rows


def read_texts(table: str | Path, column: str) -> Iterator[str]:
    """The texts of a column of a Parquet file, read a block at a time."""
    for batch in _parquet(table).iter_batches(batch_size=BLOCK, columns=[column]):
        yield from batch.column(0).to_pylist()


def _parquet(table: str | Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(table)
    except FileNotFoundError:
        raise UserError(f"{table} does not exist: run the rule that makes it.") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(
            f"{table} cannot be read as Parquet ({error}): it is corrupt; delete it and run again."
        ) from None


def embed_texts(embedder: Embedder, table: str | Path, column: str, path: str | Path) -> None:
    """Write the vectors of a text column to `path`, (rows, dimensions) float32 in .npy.

    Memory holds a block of them.
    """
    n = count_rows(table)
    texts = read_texts(table, column)
    blocks = progress(range(0, n, BLOCK), desc=f"embed {column}", unit="block", told=True)
    with atomic_write(path) as part, part.open("wb") as file:
        header = {
            "descr": "<f4",
            "fortran_order": False,
            "shape": (n, embedder.dimensions),
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
