"""Every CSV of every benchmark from fixed scores, beside the committed one (tests/golden/README.md)."""

from __future__ import annotations

import pytest

import golden_runs
from described import each
from golden_runs import FOLDER, differences

RESULTS = each("tables", "figures")
# A golden file's budget.
MOST_BYTES = 60_000


@pytest.mark.parametrize(("benchmark", "result"), RESULTS)
def test_fixed_scores_give_the_committed_numbers(benchmark: str, result: str) -> None:
    said = golden_runs.message(benchmark, result)
    assert not said, said


def test_every_result_has_a_golden_file_that_is_small() -> None:
    files = list(FOLDER.glob("*/*.csv"))
    kept = {(path.parent.name, path.stem) for path in files}
    assert kept == {tuple(parameter.values) for parameter in RESULTS}
    large = {path.stem: path.stat().st_size for path in files if path.stat().st_size > MOST_BYTES}
    assert large == {}, f"fewer models, languages or lengths in tests/factories: {large}"
    # One without rows would hold whatever the code does.
    assert [path for path in files if len(path.read_text("utf-8").splitlines()) < 2] == []


TABLE = "model,source,value,n\na,ours,0.5,4\nb,ours,0.25,4\n"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (TABLE, []),
        (TABLE.replace("0.25", "0.2500001"), []),
        (TABLE.replace("0.25", "0.75"), ["model=b, value: expected 0.25, found 0.75"]),
        (TABLE.replace("0.5", ""), ["model=a, value: expected 0.5, found nothing"]),
        (TABLE.replace("b,ours,0.25,4\n", ""), ["the row model=b is missing"]),
        (TABLE + "c,ours,1,4\n", ["the row model=c is new"]),
        (
            "model,source,value,n\nb,ours,0.25,4\na,ours,0.5,4\n",
            ["the rows stand in another order"],
        ),
        (
            TABLE.replace(",n\n", ",k\n"),
            ["columns: expected model, source, value, n; found model, source, value, k"],
        ),
    ],
)
def test_differences_name_rows_and_columns(found: str, said: list[str]) -> None:
    assert differences(TABLE, found) == said


def test_a_changed_file_is_named_with_its_cells(tmp_path, monkeypatch) -> None:
    old = golden_runs.kept("mlneedle", "translation_ceiling")
    path = tmp_path / "mlneedle/translation_ceiling.csv"
    path.parent.mkdir()
    path.write_text(old.replace("0.91", "0.81"), "utf-8")
    monkeypatch.setattr(golden_runs, "FOLDER", tmp_path)
    said = golden_runs.message("mlneedle", "translation_ceiling")
    assert "translation_ceiling.csv: 1 differences" in said
    assert "lang=de, value: expected 0.81, found 0.91" in said and "README" in said
