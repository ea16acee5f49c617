"""A file of answers to several benchmarks, of which each job sees its own prompts."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from needlework.errors import UserError
from needlework.journal import Journal
from needlework.models.backends.base import Backend, Request, load_backend
from needlework.models.backends.replay import Replay
from needlework.models.generation import generate
from needlework.prompts.spans import literal


def replay(path: Path, ids: Sequence[str]) -> Backend:
    rows = [{"instance_id": name, "text": f"<{name}>"} for name in ids]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return load_backend("replay", {"answers": str(path)})


def requests(*ids: str) -> list[Request]:
    return [
        Request(name, 0, "exact", [literal("question", name)], ["x"], 16, 1, {}) for name in ids
    ]


def test_each_benchmark_takes_its_own_answers_of_a_file(tmp_path, caplog) -> None:
    caplog.set_level(logging.INFO, "needlework")
    backend = replay(tmp_path / "a.jsonl", ["one-0", "two-0", "one-1"])
    with Journal(tmp_path / "j") as journal:
        first = generate(requests("one-0", "one-1"), backend, journal)
        second = generate(requests("two-0"), backend, journal)
    assert first["text"].to_pylist() == ["<one-0>", "<one-1>"]
    assert second["text"].to_pylist() == ["<two-0>"]
    said = [record.getMessage() for record in caplog.records if "outside" in record.getMessage()]
    assert [text.partition("a.jsonl ")[2] for text in said] == [
        "answers 1 request(s) outside the benchmark (two-0 sample 0).",
        "answers 2 request(s) outside the benchmark (one-0 sample 0, one-1 sample 0).",
    ]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            ["one-0", "one-1"],
            r"lacks the answers to 1 of 2 request\(s\) \(one-1 sample 0\), and answers 1 request\(s\) "
            r"outside the benchmark \(one-l sample 0\): add them",
        ),
        (["two-0"], r"lacks the answers to 1 of 1 request\(s\) \(two-0 .*\), and answers 2 "),
    ],
)
def test_a_mistyped_name_and_another_benchmark_s_file_are_told(tmp_path, asked, message) -> None:
    backend = replay(tmp_path / "a.jsonl", ["one-0", "one-l"])
    with pytest.raises(UserError, match=message):
        generate(requests(*asked), backend, Journal(tmp_path / "j"))
    assert not (tmp_path / "j").exists()


def test_a_complete_file_gives_no_warning(tmp_path, caplog) -> None:
    caplog.set_level(logging.INFO, "needlework")
    backend = replay(tmp_path / "a.jsonl", ["one-0"])
    generate(requests("one-0"), backend, Journal(tmp_path / "j"))
    assert "outside" not in caplog.text
    with pytest.raises(UserError, match=r"\(one-1 sample 0\): add them"):
        generate(requests("one-0", "one-1"), backend, Journal(tmp_path / "j"))


def test_a_table_with_invalid_utf8_is_named(tmp_path) -> None:
    bad = pa.array([b"caf\xe9"]).cast(pa.binary()).view(pa.string())
    pq.write_table(pa.table({"instance_id": ["a"], "text": bad}), tmp_path / "bad.parquet")
    with pytest.raises(UserError, match=r"bad\.parquet cannot be read as Parquet"):
        Replay({"answers": tmp_path / "bad.parquet"}).load()
