"""Shards of a model's requests: together they give what one job gives."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from factories.generations import Changing, Watched, documents, instances, refuse_bad
from factories.models import backend_of
from needlework.errors import UserError
from needlework.journal import Journal
from needlework.models.backends.base import Answer, Request
from needlework.models.generation import InstanceRequests, Policy, generate
from needlework.models.shards import merge
from needlework.records import GENERATIONS, read_table, write_table


@pytest.mark.parametrize("n", [2, 5])
def test_shards_change_no_byte(requests, tmp_path, n: int) -> None:
    requests.samples = 2
    whole = generate(requests, Watched(), Journal(tmp_path / "whole"))
    write_table(whole, tmp_path / "whole.parquet", inputs=requests.files)
    files, asked = [], Counter()
    for shard in range(n):
        backend = Watched()
        part = InstanceRequests(requests.files, documents(), samples=2, shard=(shard, n))
        with Journal(tmp_path / "j") as journal:
            table = generate(part, backend, journal, known=part.known())
        assert part.known() == requests.known() and len(part.known()) == 48
        assert abs(table.num_rows - 48 / n) <= 2
        files.append(tmp_path / f"made.{shard}-of-{n}.parquet")
        write_table(table, files[-1])
        asked += backend.asked
    merged = tmp_path / "merged.parquet"
    write_table(merge(files), merged, inputs=requests.files)
    assert set(asked.values()) == {1} and asked.keys() == requests.known()
    assert merged.read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_a_replay_reads_all_answers_for_a_shard(requests, tmp_path) -> None:
    lines = [json.dumps({"instance_id": r.instance_id, "text": "a"}) for r in requests]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    part = InstanceRequests(requests.files, documents(), shard=(1, 3))
    backend = backend_of("replay", {"answers": str(tmp_path / "a.jsonl")})
    table = generate(part, backend, Journal(tmp_path / "j"), known=part.known())
    assert 6 <= table.num_rows <= 10


def test_a_limit_shows_in_all_shards_together(requests, tmp_path) -> None:
    """One prompt of each shard was cut at 300 tokens: a count that is no limit to the shard alone."""
    own = [400 + 30 * i if i % 8 == 0 else 100 + i for i in range(24)]
    sizes = pa.array(own, pa.int32())
    table = instances().drop_columns("n_tokens").append_column("n_tokens", sizes)
    write_table(table, tmp_path / "long.parquet")
    cutting = Changing(lambda r, answer: replace(answer, prompt_tokens=min(300, r.n_tokens)))
    files = []
    for place in range(3):
        write_table(table.slice(8 * place, 8), tmp_path / f"{place}.parquet")
        part = InstanceRequests([tmp_path / f"{place}.parquet"], documents())
        files.append(tmp_path / f"made.{place}-of-3.parquet")
        with Journal(tmp_path / "j") as journal:
            write_table(generate(part, cutting, journal), files[-1])
        assert read_table(files[-1])["outcome"].to_pylist() == ["answered"] * 8
    whole = InstanceRequests([tmp_path / "long.parquet"], documents()).sizes()
    with pytest.raises(UserError, match=r"cut 3 of 24 prompts.*read 300 of 400 tokens.*shards: 1"):
        merge(files, sizes=whole)
    merged = merge(files, max_failed=3, sizes=whole).filter(pc.field("outcome") == "prompt_cut")
    assert merged["text"].to_pylist() == [""] * 3 and all(merged["raw_text"].to_pylist())
    assert merged["finish_reason"].to_pylist() == ["error"] * 3
    # They count with what failed otherwise.
    rows = read_table(files[0]).to_pylist()
    rows[1] |= {"finish_reason": "error", "error": "no", "outcome": "failed"}
    write_table(pa.Table.from_pylist(rows, GENERATIONS), files[0])
    with pytest.raises(UserError, match="With them 4 requests failed"):
        merge(files, max_failed=3, sizes=whole)


def test_a_cached_beginning_is_no_cut_in_shards_either(tmp_path) -> None:
    """All begin alike, and the server counts the ends of half of them."""
    table = instances().slice(0, 12)
    begin = {"role": "haystack", "text": "a b " * 5000, "source": None, "start": None, "end": None}
    rows = [
        row | {"prompt": [begin, *row["prompt"]], "n_tokens": 1000} for row in table.to_pylist()
    ]
    write_table(pa.Table.from_pylist(rows, table.schema), tmp_path / "alike.parquet")

    def asked(shard: int = 0, shards: int = 1, samples: int = 1) -> InstanceRequests:
        files = [tmp_path / "alike.parquet"]
        return InstanceRequests(files, documents(), shard=(shard, shards), samples=samples)

    assert all(900 < r.shared < 1000 for r in asked())
    sizes = asked().sizes()
    assert {r.instance_id: r.shared for r in asked()} == {k: s.shared for k, s in sizes.items()}
    assert {s.shared for s in asked(samples=2).sizes().values()} == {1000}
    ends = {name: 70 + i for i, name in enumerate(sizes) if i % 2}

    def counting(request: Request, answer: Answer) -> Answer:
        return replace(answer, prompt_tokens=ends.get(request.instance_id, 1000))

    files = []
    for shard in range(2):
        files.append(tmp_path / f"made.{shard}-of-2.parquet")
        with Journal(tmp_path / "j") as journal:
            found = generate(asked(shard, 2), Changing(counting), journal)
        write_table(found, files[-1])
        assert set(found["outcome"].to_pylist()) == {"answered"}
    assert set(merge(files, sizes=sizes)["outcome"].to_pylist()) == {"answered"}
    unshared = {name: size._replace(shared=0) for name, size in sizes.items()}
    with pytest.raises(UserError, match="cut 6 of 12 prompts"):
        merge(files, sizes=unshared)


def test_failures_of_all_shards_count_together(requests, tmp_path) -> None:
    files = []
    for shard in range(3):
        part = InstanceRequests(requests.files, documents(), shard=(shard, 3))
        files.append(tmp_path / f"made.{shard}-of-3.parquet")
        with Journal(tmp_path / "j") as journal:
            own = generate(part, Changing(refuse_bad), journal, Policy(max_failed=3))
            write_table(own, files[-1])
    assert merge(files, max_failed=3).num_rows == 24
    with pytest.raises(UserError, match=r"3 of 24 requests .* refused 1\d\d\..*-of-3") as error:
        merge(files, max_failed=2)
    for file in files:
        failed = "error" in read_table(file)["finish_reason"].to_pylist()
        assert (file.name in str(error.value)) == failed
