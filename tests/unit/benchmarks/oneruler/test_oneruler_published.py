"""ONERULER's published numbers: the file is sound, and its numbers agree with each other."""

from __future__ import annotations

from pathlib import Path

import pytest

import factories.oneruler
from described import printed as number
from described import results
from factories.oneruler import SETTINGS
from needlework.benchmarks.oneruler import factors, paper, rows
from needlework.results import published
from needlework.results.result import Context

TABLES = results("oneruler", "tables")
FIGURES = results("oneruler", "figures")

FILE = Path(__file__).parents[4] / "resources" / "published" / "oneruler.csv"


@pytest.fixture(scope="module")
def numbers():
    return published.load(FILE)


@pytest.fixture(scope="module")
def heatmap(numbers):
    """Figure 3: model, language, length, value."""
    cells = numbers[numbers["table"] == "figure3"].copy()
    cells[["model", "lang"]] = cells["row"].str.split("/", expand=True)
    return cells


def test_every_number_stands_beside_one_of_ours(numbers, monkeypatch):
    """A number that no table or figure looks up compares nothing: it does not belong in the file."""
    found = set()

    def line(context, table, row):
        class Recording(dict):
            def get(self, column, default=None):
                found.add((table, row, column))
                return super().get(column, default)

        return Recording(context.tables.get(table, {}).get(row, {}))

    monkeypatch.setattr(Context, "line", line)
    counted = {"text_tokenizer": "cl100k_base", "encodings": {"cl100k_base": "cl100k_base"}}
    counted["encodings"]["o200k_base"] = "o200k_base"
    scores = factories.oneruler.make(examples=1, metrics=("released",))
    settings = {**SETTINGS, **counted, "metric": "released"}
    for name, table in TABLES.items():
        rows = factories.oneruler.books() if name == "table4" else scores
        table(rows, Context(numbers, settings))
    for name, figure in FIGURES.items():
        rows = factories.oneruler.token_counts() if name == "figure24" else scores
        figure(rows, Context(numbers, settings))
    keys = zip(*(numbers[name] for name in ("table", "row", "column")), strict=True)
    assert not [key for key in keys if key not in found]


def test_figure_3_is_whole(heatmap):
    assert len(heatmap) == 6 * 26 * 4
    assert set(heatmap["model"]) == set(paper.MODELS)
    assert set(heatmap["lang"]) == set(factors.ARTICLES)
    assert set(heatmap["source"]) == {"repository"}


def test_no_n_where_answers_were_discarded(heatmap):
    """Footnote 10: 2.8% of o3-mini's, nobody knows in which cells; of the others none."""
    discarded = heatmap["model"] == "o3-mini-high"
    assert heatmap.loc[discarded, "n"].isna().all()
    assert set(heatmap.loc[~discarded, "n"]) == {5 * 50}


def test_figure_3_gives_the_means_and_ranks_of_the_text(numbers, heatmap):
    long = heatmap[heatmap["column"].isin(["64000", "128000"])]
    means = long.groupby("lang")["value"].mean().sort_values(ascending=False)
    # The text's means are of unrounded numbers, and o3-mini-high's have fewer answers.
    for lang, digits in (("pl", 0.006), ("en", 0.002), ("zh", 0.004)):
        printed = number(numbers, "figure4b", lang, "long").value
        assert means[lang] == pytest.approx(printed, abs=digits)
        rank = number(numbers, "figure4b", lang, "rank").value
        assert list(means.index).index(lang) + 1 == rank


def test_figure_3_has_the_numbers_that_the_text_repeats(numbers):
    for lang, value in (("en", 0.67), ("pl", 0.92), ("uk", 0.89)):
        assert number(numbers, "figure3", f"o3-mini-high/{lang}", "128000").value == value


def test_low_resource_languages_are_four_by_table_2():
    context = Context(published.load(FILE), {})
    low = {lang for lang in factors.ARTICLES if rows.resources(lang, context) == "low"}
    assert low == {"hi", "st", "sw", "ta"}


def test_numbers_of_the_text(numbers):
    for table, row, column, value in (
        ("figure1a", "gap", "8000", 0.11),
        ("figure1a", "gap", "128000", 0.34),
        ("figure1b", "o3-mini-high/en", "drop/128000", 0.32),
        ("figure5", "english", "cwe_easy", 0.315),
        ("figure6a", "ko-en", "64000", 0.71),
        ("figure6a", "en-ko", "128000", 0.77),
        ("lengths_tau", "all", "tau", 0.82),
        ("figure24", "ta", "o200k_base", 33249),
    ):
        assert number(numbers, table, row, column).value == value
    assert number(numbers, "figure3", "GPT-5/en", "8000") is None
