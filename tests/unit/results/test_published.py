"""The published numbers: the file is sound, and its own sums are the paper's."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import pytest

from described import printed
from needlework.benchmarks.benchmark import load_benchmark
from needlework.errors import UserError
from needlework.results import published, stats

MLNEEDLE = Path(__file__).parents[3] / "resources" / "published" / "mlneedle.csv"
HEADER = ",".join(published.COLUMNS)
LENGTHS = ("4096", "8192", "16384", "32768")


@pytest.fixture(scope="module")
def numbers():
    return published.load(MLNEEDLE)


def rows_of(numbers, table):
    found = numbers[(numbers["table"] == table) & (numbers["source"] == "paper")]
    return {
        row: dict(zip(group["column"], group["value"], strict=True))
        for row, group in found.groupby("row", sort=False)
    }


def test_every_number_of_the_paper_is_there(numbers):
    counts = numbers.groupby("table")["value"].count().to_dict()
    assert counts == {
        "table1": 4 + 5 + 5 + 7 + 4,
        "table2": 3 * 49,
        "table3": 3 * 6,
        "table4": 3 * 6,
        "results_exact_accuracy": 21,
    }
    assert set(numbers["paper"]) == {"mlneedle"}


def test_averages_and_differences_follow_from_the_numbers(numbers):
    for table in ("table1", "table3", "table4"):
        for row, cells in rows_of(numbers, table).items():
            if row != "delta":
                values = [cells[column] for column in ("baseline", *LENGTHS) if column in cells]
                assert cells["average"] == pytest.approx(sum(values) / len(values), abs=6e-4), row
    greedy, sampled = "Mistral-7B-Instruct-v0.2 (greedy)", "Mistral-7B-Instruct-v0.2"
    for table, first, second in (
        ("table3", "Mistral-7B-v0.1", greedy),
        ("table4", greedy, sampled),
    ):
        rows = rows_of(numbers, table)
        for column, delta in rows["delta"].items():
            assert delta == pytest.approx(rows[second][column] - rows[first][column], abs=1e-9)


def test_effective_lengths_follow_from_the_numbers_but_for_one(numbers):
    differ = {}
    for row, cells in rows_of(numbers, "table1").items():
        means = {int(column): cells[column] for column in LENGTHS if column in cells}
        ours = stats.effective_length(means, cells["baseline"])
        if ours != cells["effective_length"]:
            differ[row] = (ours, cells["effective_length"])
    assert differ == {"Cohere-Aya-23-8B": (0, 4096)}
    aya = numbers.query("row == 'Cohere-Aya-23-8B' and column == 'effective_length'")
    assert "gives <4K" in aya["note"].item()


def test_table_2_is_the_longest_length_and_not_the_average(numbers):
    table1, table2 = (rows_of(numbers, table) for table in ("table1", "table2"))
    for model in ("Mistral-7B-Instruct-v0.2", "Llama3-8B-Instruct", "Cohere-Aya-23-8B"):
        rows = [cells.values() for row, cells in table2.items() if row.startswith(model)]
        mean = statistics.mean(value for cells in rows for value in cells)
        present = [table1[model][column] for column in LENGTHS if column in table1[model]]
        assert abs(mean - present[-1]) < 0.003
        # Aya's two lengths are too alike to tell.
        assert abs(mean - statistics.mean(present)) > 0.04 or model == "Cohere-Aya-23-8B"


def test_the_repositorys_shares_are_whole_counts_that_the_paper_prints(numbers):
    """But for those noted."""
    found = numbers[numbers["source"] == "repository"]
    counts = found["value"] * found["n"].astype(float)
    assert (abs(counts - counts.round()) < 1e-6).all()
    # Aya's are not whole numbers of 16,800 prompts: they hold all seven question languages.
    aya = found[(found["row"] == "Cohere-Aya-23-8B") & (found["column"] != "baseline")]
    assert set(aya["n"]) == {117600}
    assert (abs(aya["value"] * 16800 - (aya["value"] * 16800).round()) > 0.1).all()
    theirs = found.set_index(["row", "column"])["value"]
    for row in numbers[numbers["table"].isin(["table1", "table4"])].itertuples():
        value = theirs.get((row.row, row.column))
        if value is not None and round(value, 3) != row.value:
            assert row.note, f"{row.row} {row.column} is {row.value}, not {value}"


def test_lookup(numbers):
    place = ("table1", "Llama3-8B-Instruct", "4096")
    found = printed(numbers, *place)
    assert found == published.PrintedNumber(0.479, 16800, "paper", published.cell_name(*place))
    assert printed(numbers, "table1", "Llama3-8B-Instruct", "average").n is None
    assert printed(numbers, "table1", "Llama3-8B-Instruct", "16384") is None
    assert printed(numbers, "table2", "Cohere-Aya-23-8B/es", "zh").value == 0.35
    assert printed(numbers, "table1", "", "4096") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1.*missing"),
        ("paper,table\n", "line 1.*paper, table"),
        (f"{HEADER}\nx,t,r,c,0.5,,paper\n", "line 2.*7 columns instead of 8"),
        (f"{HEADER}\nx,t,r,c,half,,paper,\n", "line 2.*column value.*'half'"),
        (f"{HEADER}\nx,t,r,c,nan,,paper,\n", "line 2.*column value"),
        (f"{HEADER}\nx,t,r,c,0.5,many,paper,\n", "line 2.*column n.*'many'"),
        (f"{HEADER}\nx,t,r,c,0.5,0,paper,\n", "line 2.*column n"),
        (f"{HEADER}\nx,t,,c,0.5,,paper,\n", "line 2.*column row"),
        (f"{HEADER}\nx,t,r,c,0.5,,blog,\n", "line 2.*column source.*paper, repository"),
        (f"{HEADER}\nx,t,r,c,1,,paper,\nx,t,r,c,2,,paper,\n", "line 3.*repeat line 2"),
        ("\xff\xfe", "UTF-8"),
        (None, "does not exist"),
    ],
)
def test_a_wrong_file_is_refused_by_line_and_column(tmp_path, text, said):
    path = tmp_path / "numbers.csv"
    if text is not None:
        path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match=rf"(?s)numbers\.csv.*{said}"):
        published.load(path)


@pytest.mark.parametrize(
    ("number", "obstacle", "verdict"),
    [
        (0.5, None, "covers"),
        (0.4, None, "covers"),
        (0.6, None, "covers"),
        (0.61, None, "below"),
        (0.39, None, "above"),
        (None, None, "cannot tell: no published number"),
        (math.nan, None, "cannot tell: no published number"),
        (0.5, "other lengths", "cannot tell: other lengths"),
    ],
)
def test_compare(number, obstacle, verdict):
    assert published.compare(0.5, 0.4, 0.6, number, obstacle) == verdict
    nan = math.nan
    assert published.compare(nan, nan, nan, 0.5) == "cannot tell: no answer of ours to judge"
    assert published.compare(4096, nan, nan, 8192) == "cannot tell: our number has no interval"


@pytest.mark.parametrize(
    ("value", "digits", "said"),
    [
        (2.37535, 2, "equals"),  # cut, as the paper prints it
        (2.366, 2, "equals"),
        (2.379999, 2, "equals"),
        (2.35, 2, "differs"),
        (2.38, 2, "differs"),
    ],
)
def test_a_fact_equals_the_printed_one_rounded_or_cut(value, digits, said) -> None:
    number = published.PrintedNumber(2.37, None, "paper")
    assert published.equal(value, number, digits) == said
    assert published.equal(value, None, digits) == "cannot tell: no published number"
    assert published.equal(value, number, digits, "other texts") == "cannot tell: other texts"
    missing = published.equal(float("nan"), number, digits)
    assert missing == "cannot tell: no answer of ours to judge"


def test_the_card_counts_the_numbers():
    card = (MLNEEDLE.parents[2] / "docs/published.md").read_text("utf-8")
    every = {file.stem: published.load(file) for file in MLNEEDLE.parent.glob("*.csv")}
    for name, own in every.items():
        title = load_benchmark(name).title
        assert f"{title} ({len(own):,}" in " ".join(card.split()), name
    assert f"{sum(map(len, every.values())):,} numbers" in card
    repository = sum((own["source"] == "repository").sum() for own in every.values())
    assert f"{repository} of them" in card
