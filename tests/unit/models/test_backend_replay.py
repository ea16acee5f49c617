"""Files of answers as a model: each request gets its own, and what is missing or unknown is said."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factories.models import backend_of, requests
from needlework.errors import UserError
from needlework.journal import Journal
from needlework.models.backends.base import Backend
from needlework.models.generation import Policy, generate


def replay(path: Path, rows: Sequence[object]) -> Backend:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return backend_of("replay", {"answers": str(path)})


def ids(*numbers: int) -> list[dict[str, object]]:
    return [{"instance_id": f"i{n:03d}", "text": f"<{n}>"} for n in numbers]


ASKED = requests(*"abcde")


def test_each_request_has_its_own_answer(tmp_path) -> None:
    rows = [
        row | {"sample": s, "text": f"{row['instance_id']}/{s}", "finish_reason": "length"}
        for row in ids(2, 0, 1)
        for s in (1, 0)
    ]
    backend = replay(tmp_path / "a.jsonl", rows)
    table = generate(requests(*"abc", samples=2), backend, Journal(tmp_path / "j"))
    assert table["text"].to_pylist() == [f"i{n:03d}/{s}" for n in range(3) for s in (0, 1)]
    assert set(table["finish_reason"].to_pylist()) == {"length"}


def test_a_table_is_read_and_what_is_optional_filled_in(tmp_path) -> None:
    pq.write_table(pa.Table.from_pylist(ids(1, 0)), tmp_path / "a.parquet")
    backend = backend_of("replay", {"answers": str(tmp_path / "a.parquet")})
    answers = generate(ASKED[:2], backend, Journal(tmp_path / "j"))
    assert answers["text"].to_pylist() == ["<0>", "<1>"]
    assert answers["finish_reason"].to_pylist() == ["unknown", "unknown"]


def test_a_changed_file_is_another_model(tmp_path) -> None:
    for text in ("old", "new"):
        backend = replay(tmp_path / "a.jsonl", [{"instance_id": "i000", "text": text}])
        table = generate(ASKED[:1], backend, Journal(tmp_path / "j"))
        assert table["text"].to_pylist() == [text]


def test_each_benchmark_takes_its_own_answers_of_a_file(tmp_path, caplog) -> None:
    caplog.set_level(logging.INFO, "needlework")
    backend = replay(tmp_path / "a.jsonl", ids(0, 1, 2))
    with Journal(tmp_path / "j") as journal:
        first = generate(ASKED[:2], backend, journal)
        second = generate(ASKED[2:3], backend, journal)
        generate(ASKED[:3], backend, journal)
    assert first["text"].to_pylist() == ["<0>", "<1>"]
    assert second["text"].to_pylist() == ["<2>"]
    said = [text for text in caplog.messages if "outside" in text]
    assert [text.partition("a.jsonl ")[2] for text in said] == [
        "answers 1 request(s) outside the benchmark (i002 sample 0).",
        "answers 2 request(s) outside the benchmark (i000 sample 0, i001 sample 0).",
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            ids(*range(1, 9)),
            r"lacks the answers to 1 of 5 request\(s\) \(i000 sample 0\), and answers 4 request\(s\) "
            r"outside .*i005 sample 0, i006 sample 0, i007 sample 0, \.\.\.\): add them",
        ),
        (
            ids(0),
            r"to 4 of 5 request\(s\) \(i001 sample 0, i002 sample 0, i003 sample 0, \.\.\.\):",
        ),
        (ids(7, 8), r"lacks the answers to 5 of 5 request\(s\) .*, and answers 2 "),
        (
            [*ids(0, 1, 2, 3, 4), {"instance_id": "i002", "text": "y"}],
            r"line 6: a second answer to",
        ),
        ([*ids(0, 1, 2, 3), {"instance_id": "i004"}], r"line 5: .*\(`text` must be"),
        ([{"text": "x"}], r"line 1: .*\(`instance_id` must be"),
        ([{"instance_id": "i0", "text": "x", "sample": "0"}], r"line 1: .*\(`sample` must be"),
        ([{"instance_id": "i0", "text": "x", "finish_reason": "eos"}], r"must be one of stop"),
        (["i0"], r"line 1: .*\(not an object\)"),
    ],
)
def test_a_wrong_file_is_refused_before_any_work(tmp_path, rows, message) -> None:
    backend = replay(tmp_path / "a.jsonl", rows)
    with pytest.raises(UserError, match=message) as refused:
        generate(ASKED, backend, Journal(tmp_path / "j"))
    assert "a.jsonl" in str(refused.value)
    assert not (tmp_path / "j").exists()


def test_what_is_no_file_of_answers_is_refused(tmp_path) -> None:
    (tmp_path / "torn.jsonl").write_text('{"instance_id": "i0", "te', encoding="utf-8")
    (tmp_path / "no.parquet").write_text("PAR1", encoding="utf-8")
    (tmp_path / "a.csv").write_text("", encoding="utf-8")
    bad = pa.array([b"caf\xe9"]).cast(pa.binary()).view(pa.string())
    pq.write_table(pa.table({"instance_id": ["a"], "text": bad}), tmp_path / "bad.parquet")
    for name, message in [
        ("torn.jsonl", r"line 1: not JSON"),
        ("no.parquet", r"no\.parquet cannot be read as Parquet"),
        ("bad.parquet", r"bad\.parquet cannot be read as Parquet"),
        ("a.csv", r"must be a \.jsonl, \.parquet"),
        *[("absent.jsonl", r"does not exist|do not exist"), ("", r"needs the key `answers`")],
    ]:
        with pytest.raises(UserError, match=message):
            backend_of("replay", {"answers": name and str(tmp_path / name)}).load()


def test_what_exceeds_the_context_is_not_missed(tmp_path) -> None:
    backend = replay(tmp_path / "a.jsonl", ids(0))
    asked = requests("a", "b", n_tokens=10)
    table = generate(asked, backend, Journal(tmp_path / "j"), Policy(context=9))
    assert table["finish_reason"].to_pylist() == ["skipped", "skipped"]
