"""MLNeedle's figures: of which answers each point is the mean, and what changes no number."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import factories.mlneedle
from described import is_mean_of, numbers, results
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


EXACT = "task == 'exact' and model == 'mistral'"


@pytest.mark.parametrize(
    ("name", "labels", "answers"),
    [
        ("figure1", {"needle_lang": "hi"}, f"{EXACT} and needle_lang == haystack_lang == 'hi'"),
        (
            "figure3",
            {"needle_lang": "de", "length": 32768},
            f"{EXACT} and needle_lang == 'de' and haystack_lang == 'en' and length == 32768",
        ),
        (
            "figure4",
            {"length": 8192, "position": "middle", "resources": "low"},
            f"{EXACT} and length == 8192 and position == 'middle' "
            "and needle_lang in ('zh', 'vi', 'hi', 'ar')",
        ),
        (
            "figure6",
            {"task": "existence", "length": 8192, "position": "end"},
            "task == 'existence' and model == 'mistral' and length == 8192 and position == 'end' "
            "and needle_present",
        ),
        (
            "figure7",
            {"task": "exact", "length": 8192, "haystack_lang": "zh"},
            f"{EXACT} and length == 8192 and needle_lang == 'en' and haystack_lang == 'zh'",
        ),
        (
            "figure8",
            {"length": 8192, "position": "start", "decoding": "sampling"},
            f"{EXACT} and length == 8192 and position == 'start'",
        ),
    ],
)
def test_a_point_is_the_mean_of_its_answers(name, labels, answers, scores, data):
    is_mean_of(data[name], {"model": "mistral", **labels}, scores, answers)


def test_figure5_draws_by_name_not_by_order(scores, data):
    shuffled = scores.sample(frac=1, random_state=3)
    again = numbers(FIGURES["figure5"], shuffled, NUMBERS, SETTINGS)
    assert again.to_csv() == data["figure5"].to_csv()
    more = factories.mlneedle.make(("mistral",), questions=9)
    sizes = numbers(FIGURES["figure5"], more, NUMBERS, SETTINGS).query("length == 4096")["size"]
    assert list(sizes) == [100, 600, 1100, 9 * 7 * 8 * 3]


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
