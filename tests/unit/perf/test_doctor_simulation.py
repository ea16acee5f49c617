"""Simulated comparisons with known effects: what they find and miss, and what the committed result says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import doctor_statistics as simulation
from needlework.seeding import rng

RESULT = json.loads(Path(simulation.__file__).with_suffix(".json").read_text(encoding="utf-8"))


def test_simulated_verdicts_have_the_floor_and_the_effect() -> None:
    design = simulation.DESIGNS["positions"]
    for alike in (False, True):
        drawn = simulation.verdicts(200, design, 0.1, 0.05, alike, rng("test", alike))
        assert drawn.mean() == pytest.approx(-0.05, abs=0.005)
        assert (drawn != 0).mean() == pytest.approx(0.15, abs=0.01)
        within = np.var(drawn, axis=2).max()
        assert within == 0 if alike else within > 0


def test_cells_are_seen_as_often_as_the_whole() -> None:
    design = simulation.DESIGNS["strata"]
    values = np.zeros((1, design.questions, simulation.PROMPTS))
    found = simulation.cells_of(values, design, rng("test"))
    assert len(found) == design.cells == 21
    for look, n in enumerate(design.looks):
        assert sum(looks[look] for _, looks in found[1:]) == n == found[0][1][look]


def test_a_simulated_comparison_finds_what_is_worse() -> None:
    none, much = (
        simulation.comparisons("positions", 100, 0.1, worse, False) for worse in (0.0, 0.1)
    )
    assert none["alarm"] <= 0.05 and none["found"] == 0
    assert much["found"] == 1 and much["missed"] <= 0.05


def test_the_bound_is_of_the_share() -> None:
    # Of 2,000 without a hit: 1 - 0.05 ** (1 / 2000).
    assert simulation.bound(0, 2000) == pytest.approx(0.0015, abs=1e-4)
    assert simulation.bound(2000, 2000) == 1


def test_the_committed_simulation_is_within_its_limit() -> None:
    assert RESULT["runs"] >= 2000
    for name, design in simulation.DESIGNS.items():
        own = RESULT[name]
        assert (own["cells"], own["looks"]) == (design.cells, list(design.looks))
        asked = {(row["floor"], row["worse"], row["alike"]) for row in own["comparisons"]}
        assert asked == {
            (f, w, a) for f in simulation.FLOORS for w in simulation.EFFECTS for a in (False, True)
        }
        bounds = [
            row.get("bound", row["missed_bound"]) for row in own["comparisons"] + own["texts"]
        ]
        assert max(bounds) <= simulation.MOST
