"""The first screen of the page of results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from needlework.results.numbers.claims import claims, models_compared
from needlework.results.numbers.means import headline, means
from needlework.results.numbers.tables import ANSWERS, COMPARED, empty, frame
from needlework.results.page.finding import finding

CLOSED_BOOK = ("task", "closed_book")
TITLES = {"b": "Bench"}


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


def found(
    scores: pd.DataFrame,
    tables: dict[str, pd.DataFrame] | None = None,
    titles: dict[str, str] = TITLES,
    designed: tuple[str, ...] = (),
) -> dict:
    models = list(dict.fromkeys(scores["model"]))
    heads = {"b": headline(scores, designed, CLOSED_BOOK)}
    pairs = frame("comparisons", list(models_compared(heads, {"b": ["place"]}, models)))
    numbers = {**empty(), "means": frame("means", list(means("b", scores, CLOSED_BOOK, designed)))}
    return finding({**numbers, "comparisons": claims(pairs), **(tables or {})}, titles, models)


def test_models_share_a_rank_unless_paired_tests_separate_them() -> None:
    said = found(answers({"poor": 0.2, "good": 0.9, "also": 0.88}))
    ranks = {row.model: row.rank for row in said["rows"]}
    assert list(ranks.items()) == [("good", "1–2"), ("also", "1–2"), ("poor", "3")]
    assert said["rows"][0].mean == pytest.approx(90)
    (matrix,) = said["matrices"]
    assert matrix.title == "Bench"
    cells = {(one, two): c.told for one, own in matrix.cells.items() for two, c in own.items()}
    assert cells["good", "poor"] and cells["poor", "also"] and not cells["good", "also"]
    assert matrix.cells["good"]["poor"].difference == pytest.approx(70)
    pair = matrix.cells["poor"]["good"]
    assert pair.difference == pytest.approx(-70) and pair.low < -70 < pair.high < 0


def test_what_was_not_asked_or_compared_is_not_claimed() -> None:
    (row,) = found(answers({"m": 0.5}, n=9))["rows"]
    assert row.asked["b"].mean is None and row.asked["b"].n == 9
    said = found(answers({"m": 0.5}), titles={**TITLES, "c": "Other"})
    assert said["not_asked"] == ["Other"] and list(said["titles"]) == ["b"]
    # A run that compares nothing says of no loss that it is missing.
    (row,) = said["rows"]
    assert said["title"] == ["m scores 50% [37, 63] in Bench"] and row.breaks == ""


def of_depth(shown: bool, **changes: object) -> dict[str, pd.DataFrame]:
    """The tables of a model that loses the middle."""
    labels = {"card": "m", "benchmark": "b", "part": "", "axis": "depth", "unit": ""}
    points = [
        {**labels, "level": level, "called": level, "model": "m", "value": value, "n": 47}
        | {"n_questions": 47}
        for level, value in {"0.0": 0.56, "0.5": 0.32, "1.0": 0.54}.items()
    ]
    pair = dict.fromkeys(COMPARED, 0.0) | labels | {"level": "0.5", "shown": shown}
    pair |= {"first_side": "at the ends", "second_side": "in the middle", "n_questions": 47}
    pair |= {"first": 0.55, "second": 0.32, "first_careful": 0.56, "second_careful": 0.31}
    pair |= {"difference": -0.23, "ci_low": -0.4, "ci_high": -0.06, **changes}
    return {"points": frame("points", points), "comparisons": frame("comparisons", [pair])}


@pytest.mark.parametrize("shown", [True, False])
def test_the_title_is_the_largest_loss_with_its_interval(shown: bool) -> None:
    said = found(answers({"m": 0.5}), of_depth(shown))
    loss = (
        "m loses 23 points [6, 40] in the middle: 32% there, 55% at the ends (47 questions, Bench)"
    )
    assert said["title"] == [loss if shown else "m scores 50% [37, 63] in Bench"]
    (row,) = said["rows"]
    left = "no loss shown, up to 40 points possible"
    assert row.breaks == ("middle: 23 points [6, 40] (Bench)" if shown else left)
    (curve,) = row.asked["b"].curves
    assert curve.name == "depth" and "0.5: 32%, 1.0: 54%; 47 questions, 47 answers" in curve.words
    assert said["missed_ranges"] == ("" if shown else "up to 40 points by depth")


def test_a_gain_is_no_loss_and_no_silence() -> None:
    (row,) = found(answers({"m": 0.5}), of_depth(False, ci_low=0.1, ci_high=0.4))["rows"]
    assert row.breaks == "no loss shown"
    (row,) = found(answers({"m": 0.5}), of_depth(False, p=None))["rows"]
    assert row.breaks == ""


def test_the_best_model_is_named_with_its_own_mean() -> None:
    """Tests are over shared questions: a model that skipped the hard ones has a higher mean."""
    scores = answers({"big": 0.75, "small": 0.5})
    big = scores["model"] == "big"
    scores.loc[big, "value"] = np.r_[np.ones(20), np.zeros(40)]
    scores = scores[big | (scores.groupby("model").cumcount() < 20)]
    scores.loc[~big, "value"] = np.r_[np.zeros(10), np.ones(10)]
    said = found(scores)
    ranks = {row.model: (row.rank, round(row.mean)) for row in said["rows"]}
    assert ranks == {"small": ("2", 50), "big": ("1", 33)}
    assert said["title"][0] == "big is best, with a mean of 33%"


def test_models_that_were_not_compared_are_none_of_them_best() -> None:
    both = answers({"a": 0.9, "b": 0.1})
    nothing = {"comparisons": frame("comparisons", [])}
    assert found(both, nothing)["title"] == ["2 models"]


def test_losses_beyond_the_title_are_in_its_fold() -> None:
    """The largest of each model is in the title."""
    both = of_depth(True)
    smaller = of_depth(True, difference=-0.1, axis="length", second_side="at 2K words")
    both["comparisons"] = pd.concat([smaller["comparisons"], both["comparisons"]])
    said = found(answers({"m": 0.5}), both)
    assert len(said["title"]) == len(said["all"]) == 1
    assert "loses 10 points" in said["all"][0] and "by length" in said["all"][0]


@pytest.mark.parametrize("lost", [4, 5])
def test_lost_answers_are_a_finding_from_five_percent_on(lost: int) -> None:
    row = dict.fromkeys(ANSWERS, 0) | {"benchmark": "b", "model": "m", "n": 100}
    row |= {"cut": 9, "lost_cut": lost, "judged": 100, "claimed": None}
    said = found(answers({"m": 0.5}), {"answers": frame("answers", [row])})["title"]
    assert ("5% of m's answers are cut and count as wrong" in said) is (lost == 5)


def test_a_mean_names_lower_tasks_that_it_leaves_out() -> None:
    scores = pd.concat([answers({"m": 1.0}), answers({"m": 0.0}).assign(task="existence")])
    scores["instance_id"] += scores["task"]
    (row,) = found(scores, designed=("find",))["rows"]
    assert row.asked["b"].mean == 100 and row.asked["b"].lower == ["existence: 0 [0, 6], n = 60"]
