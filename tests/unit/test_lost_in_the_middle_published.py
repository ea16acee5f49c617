"""The paper's numbers: every one of Tables 1 to 7, and those that its text prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from needlework import published

NUMBERS = published.load(
    Path(__file__).parents[2] / "resources" / "published" / "lost_in_the_middle.csv"
)
PAPER = Path(__file__).parents[3] / "shared" / "papers" / "lost_in_the_middle.txt"
DEVIATION = r"plus-or-minus\pm±"


def number(table, row, column):
    return published.lookup(NUMBERS, table, row, column).value


def test_every_table_is_complete():
    counts = NUMBERS.groupby("table")["value"].count().to_dict()
    assert counts == {
        "table1": 6 * 2,
        "table2": 4 * 2 * 3,
        "table3": 4 * 3 * 3,
        "table4": 4 * 3 * 3,
        "table5": 6 * 3,
        "table6": 6 * 5,
        # GPT-3.5-Turbo's context is too short for 30 documents.
        "table7": 5 * 7,
        "text": 13,
    }
    assert set(NUMBERS["paper"]) == {"lost_in_the_middle"}
    assert set(NUMBERS["source"]) == {"paper"}
    shares = NUMBERS[NUMBERS["table"].isin(["table1", "table5", "table6", "table7"])]
    assert shares["value"].between(0.3, 0.9).all()


def test_numbers_chosen_by_eye():
    assert number("table1", "GPT-3.5-Turbo", "closed_book") == 0.561
    assert number("table2", "MPT-30B", "oracle/stdev") == 41.8
    assert number("table3", "LongChat-13B (16K)", "30/max") == 7729
    assert number("table4", "GPT-3.5-Turbo", "75/stdev") == 25.6
    assert number("table6", "GPT-3.5-Turbo", "9") == 0.538
    assert number("text", "GPT-3.5-Turbo", "20_documents/9") == 0.529
    assert number("table7", "GPT-3.5-Turbo (16K)", "29") == 0.637


def test_the_papers_text_prints_the_same_numbers():
    if not PAPER.is_file():
        pytest.skip(f"the paper's text is not at {PAPER}")
    text = PAPER.read_text(encoding="utf-8")
    before = {
        f"table{k}": text[: text.index(f"Table {k}: ")].rsplit("Table ", 1)[-1] for k in range(1, 8)
    }
    for (table, row), group in NUMBERS[NUMBERS["table"] != "text"].groupby(["table", "row"]):
        (line,) = re.findall(rf"^{re.escape(row)} (\d.*)$", before[table], re.MULTILINE)
        printed = [float(x) for x in re.findall(r"\d+(?:\.\d+)?", line.replace(DEVIATION, ""))]
        scale = 100 if "%" in line else 1
        assert printed == pytest.approx([scale * value for value in group["value"]]), (table, row)
    for printed in ("56.1%", "52.9%", "49.5%", "45.6%", "(55%)", "(88%)", "more than 20%"):
        assert printed in text


def test_the_two_models_of_a_family_differ_little():
    """As the paper says of extended contexts: a slip of the pen would show."""
    tables = NUMBERS[NUMBERS["table"].isin(["table1", "table5", "table6", "table7"])]
    wide = tables.pivot(index=["table", "column"], columns="row", values="value")
    for model, longer in (
        ("Claude-1.3", "Claude-1.3 (100K)"),
        ("GPT-3.5-Turbo", "GPT-3.5-Turbo (16K)"),
    ):
        assert (wide[model] - wide[longer]).abs().max() <= 0.0031
