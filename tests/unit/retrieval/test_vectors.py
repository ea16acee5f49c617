"""Texts and vectors on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from needlework import records
from needlework.errors import UserError
from needlework.retrieval.embedders import NgramHasher
from needlework.retrieval.vectors import (
    BLOCK,
    count_rows,
    embed_texts,
    read_array,
    read_texts,
    write_array,
)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    rng = np.random.default_rng(0)
    words = ["river", "mill", "Fluß", "磨坊", "海", "समुद्र", "الطاحونة", "cối", "xay"]
    return [" ".join(rng.choice(words, rng.integers(0, 12))) for _ in range(2 * BLOCK + 300)]


@pytest.fixture
def table(texts: list[str], tmp_path: Path) -> Path:
    rows = {"passage_id": [str(i) for i in range(len(texts))], "text": texts}
    records.write_table(pa.table(rows, schema=records.PASSAGES), tmp_path / "passages.parquet")
    return tmp_path / "passages.parquet"


def test_read_texts(table: Path, texts: list[str]) -> None:
    assert count_rows(table) == len(texts)
    assert list(read_texts(table, "text")) == texts


def test_read_texts_of_several_row_groups(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    values = [str(i) for i in range(3000)]
    pq.write_table(pa.table({"text": values}), tmp_path / "t.parquet", row_group_size=700)
    assert list(read_texts(tmp_path / "t.parquet", "text")) == values


def test_vectors_are_those_of_the_texts(table: Path, texts: list[str], tmp_path: Path) -> None:
    embed_texts(NgramHasher(128), table, "text", tmp_path / "vectors.npy")
    made = read_array(tmp_path / "vectors.npy")
    assert made.dtype == np.float32
    assert made.tobytes() == NgramHasher(128).encode(texts).tobytes()


def test_a_failure_leaves_no_file(table: Path, tmp_path: Path) -> None:
    class FailsAtSecondBlock(NgramHasher):
        def encode(self, texts: list[str]) -> np.ndarray:
            if len(list(tmp_path.glob("out/*.part"))) and len(texts) != BLOCK:
                raise MemoryError
            return super().encode(texts)

    with pytest.raises(MemoryError):
        embed_texts(FailsAtSecondBlock(16), table, "text", tmp_path / "out" / "vectors.npy")
    assert list((tmp_path / "out").iterdir()) == []


def test_arrays_come_back_and_bad_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "array.npy"
    write_array(np.arange(12).reshape(3, 4), path)
    np.testing.assert_array_equal(read_array(path), np.arange(12).reshape(3, 4))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match=r"array\.npy .* corrupt; delete it"):
        read_array(path)
    path.write_bytes(b"no array")
    with pytest.raises(UserError, match=r"array\.npy .* corrupt; delete it"):
        read_array(path)
    with pytest.raises(UserError, match=r"missing\.npy does not exist"):
        read_array(tmp_path / "missing.npy")


def test_bad_tables_are_named(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no Parquet")
    with pytest.raises(UserError, match=r"bad\.parquet .* corrupt; delete it"):
        count_rows(tmp_path / "bad.parquet")
    with pytest.raises(UserError, match=r"missing\.parquet does not exist"):
        count_rows(tmp_path / "missing.parquet")
