"""A draw depends on its names and on nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from needlework.seeding import rank_key, rng

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow/scripts"


def test_draws_depend_on_their_names_alone() -> None:
    names = [(), ("a",), ("b",), ("a", "b"), ("b", "a"), ("ab",), ("a", ""), ("", "a")]
    names += [("a", 1), ("a1",)]
    assert len({rank_key(*n) for n in names}) == len(names)
    assert len({int(rng(*n).integers(0, 1 << 62)) for n in names}) == len(names)
    alone = rng("b").random(3).tolist()
    rng("a").random(1000)
    np.random.default_rng(0).random(10)
    assert rng("b").random(3).tolist() == alone


def test_draws_are_the_same_on_every_machine() -> None:
    # Recorded values: another platform, NumPy or process must not move them.
    assert rank_key("mlneedle", "questions", 0, "en", "x") == (
        "4be3624cd8f8566e0047989b4fa6e25a80d35b258abc8f317efea19b90145967"
    )
    assert rng("mlneedle", "random", "en", "x").random(2, dtype=np.float32).tolist() == [
        0.8566429018974304,
        0.25346559286117554,
    ]
    assert rng("mmarco", 0).permutation(10).tolist() == [6, 5, 4, 9, 0, 3, 1, 7, 8, 2]
    code = "from needlework.seeding import *; print(rank_key('a', 1), rng('a', 1).random())"
    other = subprocess.run(
        [sys.executable, "-c", code], cwd=SCRIPTS, check=True, capture_output=True, text=True
    ).stdout
    assert other.split() == [rank_key("a", 1), str(rng("a", 1).random())]


def test_ranking_is_a_nested_sample() -> None:
    """Candidates keep their ranks when others join or leave."""
    few, many = [f"q{i}" for i in range(50)], [f"q{i}" for i in range(500)]
    ranked = sorted(many, key=lambda name: rank_key("draw", name))
    assert [n for n in ranked if n in few] == sorted(few, key=lambda n: rank_key("draw", n))
    # And it is a shuffle: no trace of the order given.
    assert abs(np.corrcoef([many.index(n) for n in ranked], range(500))[0, 1]) < 0.2
