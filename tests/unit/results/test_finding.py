"""The first screen of the page of results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from needlework.results.cards.numbers import COMPARED, POINTS
from needlework.results.page import overview
from needlework.results.page.finding import finding

BENCHMARKS = {
    "b": {
        **{"title": "Bench", "closed_book": ("task", "closed_book")},
        **{"designed": (), "asked": ("place",)},
    }
}


def answers(shares: dict[str, float], n: int = 60) -> pd.DataFrame:
    """Answers of models to the same questions, this share of them right."""
    return pd.DataFrame(
        {
            **{"model": model, "instance_id": f"i{i}", "sample": 0, "example_id": f"q{i}"},
            **{"benchmark": "b", "task": "find", "metric": "exact", "place": 0},
            **{"value": float(i < share * n), "finish_reason": "stop"},
        }
        for model, share in shares.items()
        for i in range(n)
    )


def found(scores: pd.DataFrame, cards: dict[str, pd.DataFrame] | None = None) -> dict:
    grids = {"b": overview.grids("b", scores, ("task", "closed_book"))}
    models = list(dict.fromkeys(scores["model"]))
    return finding({"b": scores}, BENCHMARKS, grids, models, cards or {})


def test_models_share_a_rank_unless_paired_tests_separate_them() -> None:
    said = found(answers({"poor": 0.2, "good": 0.9, "also": 0.88}))
    ranks = {row.model: row.rank for row in said["rows"]}
    assert list(ranks.items()) == [("good", "1–2"), ("also", "1–2"), ("poor", "3")]
    assert said["rows"][0].mean == pytest.approx(90)
    (matrix,) = said["matrices"]
    assert matrix.title == "Bench"
    cells = {(one, two): c.apart for one, own in matrix.cells.items() for two, c in own.items()}
    assert cells["good", "poor"] and cells["poor", "also"] and not cells["good", "also"]
    assert matrix.cells["good"]["poor"].difference == pytest.approx(70)
    assert matrix.cells["poor"]["good"].difference == pytest.approx(-70)


def test_what_was_not_asked_or_compared_is_not_claimed() -> None:
    (row,) = found(answers({"m": 0.5}, n=9))["rows"]
    assert row.asked["b"].mean is None and row.asked["b"].n == 9
    scores = answers({"m": 0.5})
    both = {**BENCHMARKS, "c": {**BENCHMARKS["b"], "title": "Other"}}
    grids = {"b": overview.grids("b", scores, ("task", "closed_book")), "c": []}
    said = finding({"b": scores, "c": scores[:0]}, both, grids, ["m"], {})
    assert said["not_asked"] == ["Other"] and list(said["titles"]) == ["b"]
    # A run that compares nothing says of no drop that it is missing.
    none = {"points": pd.DataFrame(columns=list(POINTS))}
    none["comparisons"] = pd.DataFrame(columns=list(COMPARED))
    said = found(scores, none)
    (row,) = said["rows"]
    assert said["title"] == ["m scores 50% [38, 62] in Bench"] and row.breaks == ""


@pytest.mark.parametrize("drop", [True, False])
def test_the_title_is_the_largest_drop_with_its_interval(drop: bool) -> None:
    labels = {"card": "m", "benchmark": "b", "part": "", "axis": "depth", "unit": ""}
    points = [
        {**labels, "level": level, "called": level, "model": "m", "value": value, "n": 47}
        for level, value in {"0.0": 0.56, "0.5": 0.32, "1.0": 0.54}.items()
    ]
    pair = {**labels, "level": "0.5", "comparison": "in the middle against the ends", "drop": drop}
    pair |= {"difference": -0.23, "ci_low": -0.4, "ci_high": -0.06, "n_questions": 47}
    facts = {"model": "m", "benchmark": "b", "claimed": np.nan, "effective": np.nan}
    cards = {
        "points": pd.DataFrame(points, columns=list(POINTS)),
        "comparisons": pd.DataFrame([pair], columns=list(COMPARED)),
        "answers": pd.DataFrame([facts]),
    }
    said = found(answers({"m": 0.5}), cards)
    place = "32% there, 55% at the ends (Bench, 47 questions)"
    shown = (
        f"m loses 23 points [6, 40] in the middle: {place}"
        if drop
        else "m scores 50% [38, 62] in Bench"
    )
    assert said["title"] == [shown]
    (row,) = said["rows"]
    assert row.breaks == ("middle: 23 points [6, 40] (Bench)" if drop else "no drop shown")
    assert [curve.axis for curve in row.asked["b"].curves] == ["depth"]


def test_a_mean_names_lower_tasks_that_it_leaves_out() -> None:
    scores = pd.concat([answers({"m": 1.0}), answers({"m": 0.0}).assign(task="existence")])
    scores["instance_id"] += scores["task"]
    grids = {"b": overview.grids("b", scores, ("task", "closed_book"), ("find",))}
    designed = {"b": BENCHMARKS["b"] | {"designed": ("find",)}}
    (row,) = finding({"b": scores}, designed, grids, ["m"], {})["rows"]
    assert row.asked["b"].mean == 100 and row.asked["b"].lower == ["existence: 0 [0, 6], n = 60"]
