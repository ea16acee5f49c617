"""What intervals, cards and comparisons claim: the committed simulation, and a small part of it anew."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import intervals as simulation
from needlework.results.cards.numbers import ALPHA
from needlework.results.comparisons import POWER, planned_difference
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


def test_the_committed_intervals_hold_as_often_as_they_say() -> None:
    """Also for uneven questions."""
    rows, fields = RESULT["coverage"], simulation.Design._fields
    assert {tuple(row[name] for name in fields) for row in rows} == set(simulation.designs())
    assert RESULT["runs"] >= 1000
    assert min(row["coverage"] for row in rows) >= simulation.LOWEST
    assert np.mean([row["coverage"] for row in rows]) >= simulation.AVERAGE
    rows = RESULT["uneven"]
    asked = [tuple(row[name] for name in (*fields, "apart")) for row in rows]
    assert asked == [(*design, apart) for design, apart in simulation.UNEVEN]
    assert min(row["coverage"] for row in rows) >= simulation.LOWEST
    assert simulation.uneven(simulation.UNEVEN[0][0], 20, apart=False)["coverage"] > 0.8


def test_the_committed_cards_and_comparisons_hold_jointly() -> None:
    for row in RESULT["cards"]:
        assert row["missed"] <= ALPHA
        assert row["any_drop"] <= ALPHA or row["second"] < row["first"]
    assert any(row["one_drop"] > 0.5 for row in RESULT["cards"])
    spread = 2 * (ALPHA * (1 - ALPHA) / (RESULT["runs"] // 4)) ** 0.5
    assert all(row["told_apart"] <= ALPHA + spread for row in RESULT["comparisons"])


def test_planned_differences_are_found_as_often_as_said() -> None:
    assert [row["questions"] for row in RESULT["planned"]] == list(simulation.PLANNED)
    for row in RESULT["planned"]:
        assert row["difference"] == pytest.approx(planned_difference(row["questions"]), abs=1e-4)
        assert abs(row["found"] - POWER) <= simulation.POWER_WITHIN


def test_a_part_of_the_simulation_comes_out_the_same() -> None:
    committed = {
        tuple(row[name] for name in simulation.Design._fields): row for row in RESULT["coverage"]
    }
    for shares in ((1.0, 0.98), (0.5, 0.5)):
        design = simulation.Design(*shares, questions=10, prompts=3, icc=0.0, copied=True)
        found = simulation.coverage(design, 60)
        assert found["coverage"] >= simulation.LOWEST
        assert found["width"] == pytest.approx(committed[design]["width"], abs=0.03)
    ceiling = simulation.Design(0.98, 0.98, 47, 1, 0.0, copied=False)
    assert simulation.cards(ceiling, 10)["missed"] == 0
