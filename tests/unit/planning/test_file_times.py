"""Files that are dated ahead of the clock are named before a job reads them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from needlework.errors import UserError
from needlework.planning.preflight.files import check_times


def test_a_file_of_the_future_is_named_with_its_remedy(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = Path("results/corpora/c.parquet")
    made.parent.mkdir(parents=True)
    own = tmp_path / "my data.jsonl"
    for file in (made, own):
        file.touch()
    files = [str(made), str(own), "results/absent.parquet"]
    check_times(files)
    ahead = time.time() + 5000
    for file in (made, own):
        os.utime(file, (ahead, ahead))
    with pytest.raises(UserError, match=r"and 1 more, is dated .*the clock says") as said:
        check_times(files)
    remedy = str(said.value).partition("with `")[2].partition("`")[0]
    assert os.system(remedy) == 0
    check_times(files)
