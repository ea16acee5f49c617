"""Shards: they cover the table, and their parts are the whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from needlework import records
from needlework.errors import UserError
from needlework.retrieval.embedders import Embedder, NgramEmbedder
from needlework.retrieval.shards import (
    BLOCK,
    count_rows,
    embed_shard,
    read_array,
    read_texts,
    shard_rows,
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


@pytest.mark.parametrize("n", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 10 * BLOCK + 7])
@pytest.mark.parametrize("n_shards", [1, 2, 3, 8, 64])
def test_shards_are_blocks_and_cover_the_table(n: int, n_shards: int) -> None:
    shards = [shard_rows(n, shard, n_shards) for shard in range(n_shards)]
    assert [row for shard in shards for row in shard] == list(range(n))
    assert all(shard.start % BLOCK == 0 or shard.start == n for shard in shards)
    sizes = [-(-len(shard) // BLOCK) for shard in shards]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("rows", [range(0, 5), range(BLOCK - 2, BLOCK + 2), range(2300, 2348)])
def test_read_texts(table: Path, texts: list[str], rows: range) -> None:
    assert count_rows(table) == len(texts)
    assert list(read_texts(table, "text", rows)) == texts[rows.start : rows.stop]


def test_read_texts_of_several_row_groups(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    values = [str(i) for i in range(3000)]
    pq.write_table(pa.table({"text": values}), tmp_path / "t.parquet", row_group_size=700)
    assert list(read_texts(tmp_path / "t.parquet", "text", range(690, 2101))) == values[690:2101]


def embedded(embedder: Embedder, table: Path, n_shards: int) -> bytes:
    parts = []
    for shard in range(n_shards):
        path = table.with_name(f"{shard}-of-{n_shards}.npy")
        embed_shard(embedder, table, "text", path, shard, n_shards)
        parts.append(read_array(path))
    assert all(part.dtype == np.float32 for part in parts)
    return np.concatenate(parts).tobytes()


def test_parts_of_ngram_vectors_are_the_whole(table: Path, texts: list[str]) -> None:
    whole = embedded(NgramEmbedder(128), table, 1)
    assert whole == NgramEmbedder(128).encode(texts).tobytes()
    assert {embedded(NgramEmbedder(128), table, n) for n in (2, 3, 5)} == {whole}


def test_a_failure_leaves_no_file(table: Path, tmp_path: Path) -> None:
    class FailsAtSecondBlock(NgramEmbedder):
        def encode(self, texts: list[str]) -> np.ndarray:
            if len(list(tmp_path.glob("out/*.part"))) and len(texts) != BLOCK:
                raise MemoryError
            return super().encode(texts)

    with pytest.raises(MemoryError):
        embed_shard(FailsAtSecondBlock(16), table, "text", tmp_path / "out" / "vectors.npy")
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
