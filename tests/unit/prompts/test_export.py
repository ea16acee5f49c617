"""Prompts for other programs: what is written is what a model would get, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from needlework.errors import UserError
from needlework.prompts import export as module
from needlework.prompts.export import export, exported_rows
from needlework.records import file_digest, instances_schema, read_table, write_table

FACTORS = {"lang": "string", "depth": "double", "length": "int32", "needle_present": "bool"}
DOCUMENTS = {"corpus/hi/1": "0123 नमस्ते\u2028 \U0001f600 end"}


@pytest.fixture
def instances(tmp_path) -> Path:
    rows = [
        {
            "instance_id": f"{n:064x}",
            "benchmark": "b",
            "task": "exact",
            "lang": "hi",
            "depth": None if n == 3 else 0.5,
            "length": 512,
            "needle_present": n % 2 == 0,
            "example_id": f"e{n}",
            "prompt": [
                {"role": "instruction", "text": f'Read "{n}":\n'},
                {"role": "needle", "source": "corpus/hi/1", "start": 5, "end": 14},
            ],
            "references": ["yes", "हाँ"],
            "metric": "containment",
            "max_new_tokens": 16,
            "n_tokens": 7,
        }
        for n in range(5)
    ]
    path = tmp_path / "in.parquet"
    write_table(pa.Table.from_pylist(rows, schema=instances_schema(FACTORS)), path)
    return path


def exported(instances: Path) -> tuple[Path, Path]:
    jsonl, parquet = instances.with_name("out.jsonl"), instances.with_name("out.parquet")
    export(instances, DOCUMENTS, jsonl, parquet)
    return jsonl, parquet


def test_lines_and_parquet_have_all_that_scores_a_prompt(instances) -> None:
    jsonl, _ = exported(instances)
    lines = [json.loads(line) for line in jsonl.read_bytes().split(b"\n")[:-1]]
    assert len(lines) == 5
    assert lines[3] == {
        **{"instance_id": f"{3:064x}", "benchmark": "b", "task": "exact", "lang": "hi"},
        **{"depth": None, "length": 512, "needle_present": False, "example_id": "e3"},
        "messages": [{"role": "user", "content": 'Read "3":\nनमस्ते\u2028 \U0001f600'}],
        **{"references": ["yes", "हाँ"], "metric": "containment", "max_new_tokens": 16},
        "n_tokens": 7,
    }
    assert "नमस्ते" in jsonl.read_text(encoding="utf-8"), "text stays readable"
    jsonl, parquet = exported(instances)
    lines = [json.loads(line) for line in jsonl.read_bytes().splitlines()]
    assert pq.read_table(parquet).to_pylist() == lines
    # What a loader of several such files compares: types do not depend on what is null.
    found = {field.name: str(field.type) for field in pq.read_schema(parquet)}
    assert found["depth"] == "double" and found["length"] == "int32"
    assert found["messages"].startswith("list<element: struct<role: string, content: string>")
    metadata = {k.decode(): v.decode() for k, v in pq.read_schema(parquet).metadata.items()}
    assert list(json.loads(metadata["needlework.inputs"]).values()) == [file_digest(instances)]
    assert metadata["needlework.version"]


def test_datasets_loads_it(instances) -> None:
    import datasets  # takes a second, which the other tests need not wait

    _, parquet = exported(instances)
    loaded = datasets.load_dataset(
        "parquet", data_files=str(parquet), split="train", cache_dir=str(instances.parent / "c")
    )
    assert loaded.to_list() == pq.read_table(parquet).to_pylist()


def test_memory_holds_a_few_prompts_at_a_time(instances, monkeypatch) -> None:
    """A row group is written before the prompts after it are rendered."""
    monkeypatch.setattr(module, "ROW_GROUP", 40)
    written = []

    class Writer(pq.ParquetWriter):
        def write_table(self, table: pa.Table, *args: object, **options: object) -> None:
            written.append((table.num_rows, rendered))
            super().write_table(table, *args, **options)

    rendered = 0

    def counted(*arguments: object) -> Iterable[dict]:
        nonlocal rendered
        for row in exported_rows(*arguments):
            rendered += 1
            yield row

    monkeypatch.setattr(module.pq, "ParquetWriter", Writer)
    monkeypatch.setattr(module, "exported_rows", counted)
    jsonl, parquet = exported(instances)
    assert written == [(3, 3), (2, 5)] or written == [(2, 2), (2, 4), (1, 5)]
    assert pq.ParquetFile(parquet).num_row_groups == len(written)
    assert pq.read_table(parquet).num_rows == len(jsonl.read_bytes().splitlines()) == 5


def test_a_slice_without_prompts_has_its_columns(instances) -> None:
    first = [path.read_bytes() for path in exported(instances)]
    assert [path.read_bytes() for path in exported(instances)] == first, "the same each time"
    write_table(read_table(instances).slice(0, 0), instances)
    jsonl, parquet = exported(instances)
    assert jsonl.read_bytes() == b""
    assert pq.read_table(parquet).column_names[-1] == "n_tokens"


def test_what_cannot_be_rendered_leaves_nothing_behind(instances) -> None:
    jsonl, parquet = instances.with_name("out.jsonl"), instances.with_name("out.parquet")
    with pytest.raises(UserError, match="corpus/hi/1"):
        export(instances, {}, jsonl, parquet)
    assert sorted(path.name for path in instances.parent.iterdir()) == ["in.parquet"]
