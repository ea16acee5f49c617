"""What a user's data may hold, and the memory that reading a bomb takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from needlework.data.budgets import Budget, check_records
from needlework.errors import UserError

LIBRARY = Path(__file__).resolve().parents[3] / "workflow/scripts"

READ = """
import resource, sys
import datasets
from needlework.data.corpora import tabular
from needlework.errors import UserError
from needlework.given import given
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
settings = given({"kind": "passages", "columns": {"text": "body"}, "separator": ";", "rows": None})
try:
    tabular.table("mine", "en", [sys.argv[1]], settings)
except UserError:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_a_small_file_of_gigabytes_takes_little_memory(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    one = pa.DictionaryArray.from_arrays(pa.array([0] * 400, pa.int32()), pa.array(["x" * 10**7]))
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"body": one}), path, compression="zstd")
    made = subprocess.run(
        [sys.executable, "-c", READ, str(path)],
        env={**os.environ, "PYTHONPATH": str(LIBRARY)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(made.stdout) < 300, "4 GB of text"


def test_rows_of_ordinary_files_are_within_the_budget() -> None:
    budget = Budget(["a.parquet"], 10_000_000, "corpora.mine")
    for place in range(100):
        budget.take(place, {"text": "x" * 9_000_000})
    with pytest.raises(UserError, match=r"^corpora\.mine: a\.parquet unpacks to more than 1,000,"):
        for place in range(100, 200):
            budget.take(place, {"text": "x" * 9_000_000})


def test_a_quoted_record_goes_on_over_lines(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(b'a,b\n"one\ntwo ""quoted""\n",x\nlast\n')
    for most, quoted in ((24, True), (15, False)):
        monkeypatch.setattr("needlework.data.budgets.ROW_BYTES", most)
        check_records(path, "corpora.mine", quoted=quoted)
        monkeypatch.setattr("needlework.data.budgets.ROW_BYTES", most - 1)
        with pytest.raises(UserError, match=f"a record of more than {most - 1} bytes"):
            check_records(path, "corpora.mine", quoted=quoted)
