"""MLNeedle's figures: their numbers by hand, every picture drawn, the same bytes each time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import factories.mlneedle
from described import numbers, results
from factories.mlneedle import SETTINGS
from needlework.results import published

FIGURES = results("mlneedle", "figures")

NUMBERS = published.load(Path(__file__).parents[4] / "resources" / "published" / "mlneedle.csv")
MODELS = ("mistral", "mistral-greedy", "llama3")


@pytest.fixture(scope="module")
def scores():
    return factories.mlneedle.make(MODELS, questions=2)


@pytest.fixture(scope="module")
def data(scores):
    return {name: numbers(plot, scores, NUMBERS, SETTINGS) for name, plot in FIGURES.items()}


def of(scores, **factors):
    for factor, value in factors.items():
        scores = scores[scores[factor] == value]
    return scores


# The numbers


def test_figure1_is_the_diagonal_over_all_lengths(scores, data):
    mine = of(scores, task="exact", model="mistral", needle_lang="hi", haystack_lang="hi")
    row = of(data["figure1"], model="mistral", needle_lang="hi")
    assert len(row) == 1
    assert row["value"].item() == pytest.approx(mine["value"].mean())
    assert row["n"].item() == 4 * 3 * 2
    assert row["published"].item() == 0.32
    assert row["comparison"].item() == "cannot tell: the paper's is of 32768 tokens alone"
    others = of(data["figure1"], source="published")
    assert set(others["model"]) == {"Cohere-Aya-23-8B"} and len(others) == 7


def test_figure3_is_of_english_haystacks(scores, data):
    mine = of(scores, task="exact", model="mistral", needle_lang="de", length=32768)
    row = of(data["figure3"], model="mistral", needle_lang="de", length=32768)
    assert row["value"].item() == pytest.approx(of(mine, haystack_lang="en")["value"].mean())
    assert row["published"].item() == 0.37
    baseline = of(data["figure3"], model="mistral", needle_lang="de", length=0)
    mine = of(scores, task="exact", model="mistral", needle_lang="de", length=0)
    assert baseline["value"].item() == pytest.approx(mine["value"].mean())


def test_figure4_splits_by_resources_and_position(scores, data):
    mine = of(scores, task="exact", model="llama3", length=8192, position="middle")
    for name, langs in (("high and medium", ["en", "es", "de"]), ("low", ["zh", "vi", "hi", "ar"])):
        row = of(data["figure4"], model="llama3", length=8192, position="middle", resources=name)
        part = mine[mine["needle_lang"].isin(langs)]
        assert row["value"].item() == pytest.approx(part["value"].mean())
        assert row["n"].item() == len(part)
        assert row["depth"].item() == 0.5


def test_figure5_grows_to_all_prompts(scores, data):
    mine = of(scores, task="exact", model="mistral", length=4096)
    rows = of(data["figure5"], model="mistral", length=4096)
    assert list(rows["size"]) == [100, len(mine)]
    last = rows.iloc[-1]
    p, s = mine["value"].mean(), len(mine)
    assert last["value"] == pytest.approx(p)
    assert last["se_independent"] == pytest.approx(np.sqrt(p * (1 - p) / s))
    assert last["published"] == 0.485
    assert rows["published"].iloc[:-1].isna().all()


def test_figure5_draws_by_name_not_by_order(scores, data):
    shuffled = scores.sample(frac=1, random_state=3)
    again = numbers(FIGURES["figure5"], shuffled, NUMBERS, SETTINGS)
    assert again.to_csv() == data["figure5"].to_csv()
    more = factories.mlneedle.make(("mistral",), questions=9)
    sizes = numbers(FIGURES["figure5"], more, NUMBERS, SETTINGS).query("length == 4096")["size"]
    assert list(sizes) == [100, 600, 1100, 9 * 7 * 8 * 3]


def test_figure6_leaves_out_prompts_without_a_needle(scores, data):
    mine = of(scores, task="existence", model="mistral", length=8192, needle_present=True)
    figure = of(data["figure6"], task="existence", model="mistral", length=8192)
    row = of(figure, factor="position", position="end")
    assert row["value"].item() == pytest.approx(of(mine, position="end")["value"].mean())
    row = of(figure, factor="needle_lang", needle_lang="ar")
    english = of(mine, haystack_lang="en", needle_lang="ar")
    assert (row["value"].item(), row["n"].item()) == (pytest.approx(english["value"].mean()), 6)


def test_figure7_is_of_english_needles(scores, data):
    mine = of(scores, task="exact", model="mistral", length=8192, needle_lang="en")
    row = of(data["figure7"], task="exact", model="mistral", length=8192, haystack_lang="zh")
    assert row["value"].item() == pytest.approx(of(mine, haystack_lang="zh")["value"].mean())
    assert data["figure7"]["haystack_lang"].iloc[7] == "multilingual"


def test_figure8_has_both_decodings_at_the_papers_lengths(scores, data):
    assert set(data["figure8"]["length"]) == {8192, 32768}
    assert set(zip(data["figure8"]["model"], data["figure8"]["decoding"], strict=True)) == {
        ("mistral", "sampling"),
        ("mistral-greedy", "greedy"),
    }
    row = of(data["figure8"], model="mistral-greedy", length=8192, position="start")
    mine = of(scores, task="exact", model="mistral-greedy", length=8192, position="start")
    assert row["value"].item() == pytest.approx(mine["value"].mean())
    assert row["published"].item() == 0.453
    short = numbers(FIGURES["figure8"], scores[scores["length"] <= 4096], NUMBERS, SETTINGS)
    assert set(short["length"]) == {4096}


@pytest.mark.parametrize("name", FIGURES)
def test_every_point_says_n_and_its_interval(name, data):
    ours = of(data[name], source="ours")
    assert (ours["n"] > 0).all() and (ours["n_questions"] > 0).all()
    assert (ours["ci_low"] <= ours["value"]).all()
    assert (ours["value"] <= ours["ci_high"]).all()


def test_numbers_do_not_depend_on_the_order_of_rows(scores, data):
    parts = [part.reset_index(drop=True) for _, part in scores.groupby("model")]
    shuffled = pd.concat([part.sample(frac=1, random_state=1) for part in reversed(parts)])
    for name, plot in FIGURES.items():
        assert numbers(plot, shuffled, NUMBERS, SETTINGS).to_csv() == data[name].to_csv(), name


def test_the_papers_variant_is_drawn_where_there_are_several(scores, data):
    other = scores[scores["length"] > 0].assign(retrieval="random", value=1.0)
    both = pd.concat([other, scores])
    for name in ("figure1", "figure4", "figure6"):
        drawn = numbers(FIGURES[name], both, NUMBERS, SETTINGS)
        assert drawn["value"].to_list() == data[name]["value"].to_list()


def test_more_than_three_positions_are_depths():
    positions = {"start": 0.0, "1/4": 0.25, "middle": 0.5, "3/4": 0.75, "end": 1.0}
    scores = factories.mlneedle.make(("llama2",), questions=1, positions=positions)
    data = numbers(FIGURES["figure4"], scores, NUMBERS, SETTINGS)
    assert sorted(set(data["depth"])) == [0, 0.25, 0.5, 0.75, 1]


def test_other_languages_have_a_row_of_their_own_in_figure4(scores):
    greek = scores.assign(needle_lang=scores["needle_lang"].replace("hi", "el"))
    data = numbers(FIGURES["figure4"], greek, NUMBERS, SETTINGS)
    assert set(data["resources"]) == {"high and medium", "low", "other"}
