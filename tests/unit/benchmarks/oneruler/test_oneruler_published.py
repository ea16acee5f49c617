"""ONERULER's published numbers: they are those of the paper, and agree with each other."""

from __future__ import annotations

import pandas as pd
import pytest

from described import printed as number
from factories import ROOT
from needlework.benchmarks.oneruler import factors, paper, rows
from needlework.results import published
from needlework.results.result import Context


@pytest.fixture(scope="module")
def numbers() -> pd.DataFrame:
    return published.load(ROOT / "resources/published/oneruler.csv")


@pytest.fixture(scope="module")
def heatmap(numbers) -> pd.DataFrame:
    """Figure 3: model, language, length, value."""
    cells = numbers[numbers["table"] == "figure3"].copy()
    cells[["model", "lang"]] = cells["row"].str.split("/", expand=True)
    return cells


def test_figure_3_is_whole(heatmap) -> None:
    assert len(heatmap) == 6 * 26 * 4
    assert set(heatmap["model"]) == set(paper.MODELS)
    assert set(heatmap["lang"]) == set(factors.ARTICLES)
    assert set(heatmap["source"]) == {"repository"}
    # Footnote 10: 2.8% of o3-mini's answers are left out, nobody knows in which cells; of the others none.
    discarded = heatmap["model"] == "o3-mini-high"
    assert heatmap.loc[discarded, "n"].isna().all()
    assert set(heatmap.loc[~discarded, "n"]) == {5 * 50}


def test_figure_3_gives_the_means_and_ranks_of_the_text(numbers, heatmap) -> None:
    long = heatmap[heatmap["column"].isin(["64000", "128000"])]
    means = long.groupby("lang")["value"].mean().sort_values(ascending=False)
    # The text's means are of unrounded numbers, and o3-mini-high's have fewer answers.
    for lang, digits in (("pl", 0.006), ("en", 0.002), ("zh", 0.004)):
        printed = number(numbers, "figure4b", lang, "long").value
        assert means[lang] == pytest.approx(printed, abs=digits)
        rank = number(numbers, "figure4b", lang, "rank").value
        assert list(means.index).index(lang) + 1 == rank


def test_low_resource_languages_are_four_by_table_2(numbers) -> None:
    low = {x for x in factors.ARTICLES if rows.resources(x, Context(numbers, {})) == "low"}
    assert low == {"hi", "st", "sw", "ta"}


def test_numbers_of_the_text(numbers) -> None:
    for table, row, column, value in (
        ("figure1a", "gap", "8000", 0.11),
        ("figure1a", "gap", "128000", 0.34),
        ("figure1b", "o3-mini-high/en", "drop/128000", 0.32),
        ("figure3", "o3-mini-high/en", "128000", 0.67),
        ("figure3", "o3-mini-high/pl", "128000", 0.92),
        ("figure3", "o3-mini-high/uk", "128000", 0.89),
        ("figure5", "english", "cwe_easy", 0.315),
        ("figure6a", "ko-en", "64000", 0.71),
        ("figure6a", "en-ko", "128000", 0.77),
        ("lengths_tau", "all", "tau", 0.82),
        ("figure24", "ta", "o200k_base", 33249),
    ):
        assert number(numbers, table, row, column).value == value
    assert number(numbers, "figure3", "GPT-5/en", "8000") is None
