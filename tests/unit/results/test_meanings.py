"""What the columns of tables and figures mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.errors import UserError
from needlework.results.columns import described, meaning, read_meanings

FILE = Path(__file__).parents[3] / "resources/columns.csv"


def test_a_starred_name_holds_for_all_statistics() -> None:
    known = read_meanings(FILE)
    for name, said in {
        "ci_low": "lower end of the 95% interval over questions",
        "published_tokens": "the paper's number for tokens",
        "published_cell_p": "where the paper prints its number for p",
        "published_n": "answers behind the paper's number",
        "made_up": "",
    }.items():
        assert meaning(name, known) == said
    assert "independent" in meaning("ci_low_independent", known)


def test_each_column_of_a_file_is_described(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("model,shade,value\nm,1,2\n")
    found = described([(str(file), "Shares")], {"value": "the number"}, {"shade": "Shade"})
    assert [row[1:] for row in found] == [
        ("model", ""),
        ("shade", "Shade"),
        ("value", "the number: Shares"),
    ]


def test_each_column_of_every_result_has_a_meaning() -> None:
    known = read_meanings(FILE)
    files = [(str(path), "") for path in sorted((FILE.parents[1] / "tests/golden").glob("*/*.csv"))]
    assert files and not [row[:2] for row in described(files, known, {}) if not row[2]]


@pytest.mark.parametrize("line", ["a", "a,", "a,b,c", "model,again\nmodel,again"])
def test_a_line_that_is_no_meaning_is_named(line: str, tmp_path: Path) -> None:
    file = tmp_path / "columns.csv"
    file.write_text(f"column,meaning\n{line}\n")
    with pytest.raises(UserError, match=r"columns\.csv, line [23]"):
        read_meanings(file)
