"""What intervals claim: the committed simulation, and a small part of it anew."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import intervals as simulation
from needlework.seeding import rng

RESULT = json.loads(Path(simulation.__file__).with_suffix(".json").read_text(encoding="utf-8"))
HARD = simulation.Design(0.97, 0.9, 20, 3, 0.4, True)


def test_simulated_answers_have_the_shares_of_their_design() -> None:
    first, second = simulation.answers(HARD, 2000, rng("test"))
    assert (first.mean(), second.mean()) == (
        pytest.approx(0.97, abs=0.005),
        pytest.approx(0.9, abs=0.01),
    )
    # Two prompts of a question are alike by the correlation of the design.
    pairs = np.corrcoef(first[:, :, 0].ravel(), first[:, :, 1].ravel())[0, 1]
    assert pairs == pytest.approx(HARD.icc, abs=0.05)
    alike = simulation.answers(HARD._replace(icc=1.0), 1000, rng("test"))[0]
    assert (alike == alike[..., :1]).all() and alike.mean() == pytest.approx(0.97, abs=0.01)


@pytest.mark.parametrize("kind", simulation.KINDS)
def test_the_committed_intervals_hold_as_often_as_they_should(kind: str) -> None:
    """90% of every design, 99% on average, and at 15 questions at most twice as wide as the normal one."""
    found, (_, designs) = RESULT["intervals"][kind], simulation.KINDS[kind]
    assert RESULT["runs"] >= 2000 and found["designs"] == len(designs)
    assert simulation.holds(found), found
    for worse in (
        {"average": 0.995},
        {"lowest": [{"coverage": 0.89}]},
        {"width_to_normal": {"15": 2.1}},
    ):
        assert not simulation.holds(found | worse)
    # What is named lowest is a design, and the lowest one comes out the same.
    names = simulation.Design._fields
    lowest = [simulation.Design(*(row[name] for name in names)) for row in found["lowest"]]
    assert set(lowest) <= set(designs)
    again, row = simulation.simulated(kind, lowest[0], 100), found["lowest"][0]
    assert again["width"] == pytest.approx(row["width"], rel=0.15)
    assert again["coverage"] == pytest.approx(row["coverage"], abs=0.1)


@pytest.mark.parametrize("kind", simulation.KINDS)
def test_simulated_intervals_are_about_the_true_value(kind: str) -> None:
    """Of many questions, the middles of intervals are on average what the design says is true."""
    design = (
        next(
            each for each in simulation.KINDS[kind][1] if each.questions == 150 and each.icc == 0.4
        )
        if kind != "means of graded scores"
        else simulation.Design(0.5, 0.5, 150, 1, 0.3, False)
    )
    trials = [simulation.KINDS[kind][0](design, rng("about", run)) for run in range(60)]
    middles = np.array([sum(ends) / 2 for _, ends, _ in trials])
    assert middles.mean() == pytest.approx(trials[0][0], abs=4 * middles.std() / 60**0.5 + 0.01)
