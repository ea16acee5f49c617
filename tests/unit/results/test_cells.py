"""Answers of two sides to the same prompts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from needlework.results.cells import Table, difference, paired

BY = ("example_id", "sample")


def answers(values: dict[tuple[str, int | None], float], **columns: object) -> pd.DataFrame:
    rows = [{"example_id": e, "sample": s, "value": v} for (e, s), v in values.items()]
    found = pd.DataFrame(rows).astype({"example_id": pd.CategoricalDtype(list("abcd"))})
    return found.assign(**{"finish_reason": "stop", **columns})


def test_pairs_are_those_that_pandas_would_merge() -> None:
    one = answers({("b", 0): 1.0, ("a", 0): 0.0, ("a", 1): 0.5, ("c", 0): 1.0}, model="m")
    two = answers({("a", 1): 0.25, ("d", 0): 1.0, ("b", 0): 0.0}, model="n")
    merged = one.merge(two[[*BY, "value"]], on=list(BY), suffixes=("_first", "_second"))
    pd.testing.assert_frame_equal(paired(one, two, BY), merged)


def test_prompts_without_a_value_pair_up() -> None:
    """Answers that failed are in no pair."""
    one, two = answers({("a", None): 1.0}), answers({("a", None): 0.0, ("a", 0): 1.0})
    assert paired(one, two, BY)["value_second"].tolist() == [0.0]
    assert paired(one, two.assign(finish_reason="error"), BY).empty


def test_two_answers_of_one_prompt_are_refused() -> None:
    twice = pd.concat([answers({("a", 0): 1.0})] * 2)
    for sides in ((twice, answers({("a", 0): 1.0})), (answers({("a", 0): 1.0}), twice)):
        with pytest.raises(ValueError, match="by example_id sample"):
            paired(*sides, BY)


def test_how_many_were_cut_is_unknown_where_an_end_is() -> None:
    rows = pd.DataFrame({"finish_reason": ["unknown", "length"], "outcome": ["answered", "cut"]})
    whole = Table(rows).all()
    assert math.isnan(whole.lost()["n_cut"]) and whole.lost()["n_error"] == 0
    assert whole.where(np.array([False, True])).lost()["n_cut"] == 1


def test_a_difference_has_the_bounds_of_both_sides_lost_answers() -> None:
    """One skipped on one side and one failed on the other are two."""
    prompts = {(name, 0): 1.0 for name in "abc"}
    sides = answers(prompts), answers(prompts)
    for side, lost in zip(sides, ("skipped", "error"), strict=True):
        side["finish_reason"] = [lost, "stop", "stop"]
        side["outcome"] = ["failed", "answered", "answered"]
    one, two = (Table(side).all() for side in sides)
    found = difference(one, two, paired(*sides, BY))
    assert (found["n_skipped"], found["n_error"]) == (1, 1)
    assert found["lowest"] < found["value"] == 0 < found["highest"]
