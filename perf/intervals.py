"""What intervals, cards and comparisons claim, and how often it holds in simulated answers.

    python perf/intervals.py [--runs 1000]

Writes perf/intervals.json. Answers are right or wrong. A question has its own chance of a right answer, from
a beta distribution with the share `first` as its mean; `icc` is the correlation of two prompts of a question.
The second side keeps each right answer with the chance `second / first`, or (`copied: false`) answers anew.

`coverage`: how often `stats.paired_difference` holds the true difference, over `designs`, and how wide it is
beside the normal interval that tables had before. `uneven` (two fifths of the runs): the same where
questions have 1 to 20 prompts, or where the sides ask other questions (`apart`). `cards`: in how many
simulated cards of ten comparisons any interval lacks its truth, and how many report a drop where there is
none. `comparisons` (a quarter of the runs): how often any two of three equal models are told apart.
`planned`: the share of comparisons that find the difference which `planned_difference` names.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("workflow/scripts", "perf")]

import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402

from machine import describe, measured  # noqa: E402
from needlework.results import stats  # noqa: E402
from needlework.results.cards.numbers import ALPHA, Sides, difference  # noqa: E402
from needlework.results.comparisons import (  # noqa: E402
    DISAGREE,
    holm,
    permutation_test,
    planned_difference,
)
from needlework.seeding import rng  # noqa: E402

SHARES = (
    (0.0, 0.0),
    (0.02, 0.02),
    (0.1, 0.05),
    (0.5, 0.5),
    (0.7, 0.4),
    (0.97, 0.9),
    (1.0, 0.98),
    (1.0, 1.0),
)
QUESTIONS, PROMPTS, ICC = (5, 10, 20, 47, 150, 500), (1, 3, 20), (0.0, 0.4)
PLANNED = (10, 15, 25, 50, 100, 300, 1000)
# On average, and of every design; a planned difference's power is within POWER_WITHIN of 80%.
AVERAGE, LOWEST, POWER_WITHIN = 0.95, 0.93, 0.03

Answers = npt.NDArray[np.float64]


class Design(NamedTuple):
    """Both sides' shares of right answers, and what was asked."""

    first: float
    second: float
    questions: int
    prompts: int
    icc: float
    copied: bool


def designs() -> Iterator[Design]:
    """All of the grid: a question with one prompt has no second one to be like."""
    for (first, second), n, prompts, icc, copied in itertools.product(
        SHARES, QUESTIONS, PROMPTS, ICC, (True, False)
    ):
        if prompts > 1 or not icc:
            yield Design(first, second, n, prompts, icc, copied)


def answers(design: Design, runs: int, generator: np.random.Generator) -> tuple[Answers, Answers]:
    """Both sides' answers, by run, question and prompt."""
    shape = (runs, design.questions, design.prompts)
    chance = np.full((*shape[:2], 1), design.first)
    if design.icc and 0 < design.first < 1:
        size = 1 / design.icc - 1
        chance = generator.beta(design.first * size, (1 - design.first) * size, (*shape[:2], 1))
    first = generator.random(shape) < chance
    kept = generator.random(shape) < (design.second / design.first if design.first else 0.0)
    second = first & kept if design.copied else (generator.random(shape) < chance) & kept
    return first.astype(float), second.astype(float)


def normal(differences: Answers) -> tuple[float, float]:
    """The interval that tables had before: the mean and 1.96 standard errors over questions."""
    of_questions = differences.mean(1)
    n, value = len(of_questions), float(differences.mean())
    if (differences == differences.flat[0]).all():
        half = stats.wilson(0, n)[1]
    else:
        residual = of_questions - value
        between = float((residual**2).sum()) / n / (n - 1)
        half = stats.Z * math.sqrt(max(between, float(differences.var()) / differences.size))
    return max(-1.0, value - half), min(1.0, value + half)


def coverage(design: Design, runs: int) -> dict[str, Any]:
    """How often the interval holds the truth, how wide it is, and the same of the former interval."""
    first, second = answers(design, runs, rng("intervals", *design))
    questions = np.repeat(np.arange(design.questions), design.prompts)
    truth = design.second - design.first
    held, wide, held_before, wide_before = 0, 0.0, 0, 0.0
    for one, two in zip(first, second, strict=True):
        found = stats.paired_difference(one.ravel(), two.ravel(), questions)
        before = normal(two - one)
        held += found.ci_low - 1e-9 <= truth <= found.ci_high + 1e-9
        held_before += before[0] - 1e-9 <= truth <= before[1] + 1e-9
        wide += found.ci_high - found.ci_low
        wide_before += before[1] - before[0]
    shares = {"coverage": held, "coverage_before": held_before}
    shares |= {"width": wide, "width_before": wide_before}
    return design._asdict() | {name: round(value / runs, 4) for name, value in shares.items()}


def uneven(design: Design, runs: int, apart: bool) -> dict[str, Any]:
    """How often an interval holds the truth if questions have other numbers of prompts, `prompts` on average.

    apart: the second side has as many questions of its own.
    """
    generator = rng("uneven", *design, apart)
    held, wide = 0, 0.0
    n = design.questions
    for _ in range(runs):
        sizes = generator.geometric(1 / design.prompts, n).clip(1, 4 * design.prompts)
        most = design._replace(prompts=4 * design.prompts)
        asked = np.arange(most.prompts) < sizes[:, None]
        questions = np.repeat(np.arange(n), sizes)
        first, second = (side[0][asked] for side in answers(most, 1, generator))
        if apart:
            second = answers(most, 1, generator)[1][0][asked]
        late = np.arange(2 * len(questions)) >= len(questions)
        names = np.concatenate([questions, questions + n * apart])
        values = np.concatenate([first, second])
        _, low, high, _ = stats.difference_of_sides(values, names, ~late, late, ALPHA)
        held += low - 1e-9 <= design.second - design.first <= high + 1e-9
        wide += high - low
    shares = {"coverage": round(held / runs, 4), "width": round(wide / runs, 4)}
    return design._asdict() | {"apart": apart, **shares}


def cards(design: Design, runs: int, comparisons: int = 10) -> dict[str, Any]:
    """Of cards with so many comparisons: how many lack a truth, and how many report a drop."""
    generator = rng("cards", *design, comparisons)
    pairs = [answers(design, runs, generator) for _ in range(comparisons)]
    size = design.questions * design.prompts
    questions = np.tile(np.repeat(np.arange(design.questions), design.prompts), 2)
    second = np.arange(2 * size) >= size
    both, truth = Sides("x", ~second, second), design.second - design.first
    missed, dropped, shown = 0, 0, 0
    for run in range(runs):
        found = [
            difference(
                np.concatenate([a[run].ravel(), b[run].ravel()]),
                questions,
                both,
                ALPHA / comparisons,
            )
            for a, b in pairs
        ]
        missed += any(not each.low - 1e-9 <= truth <= each.high + 1e-9 for each in found)
        dropped += any(each.shows_drop for each in found)
        shown += found[0].shows_drop
    shares = {"missed": missed, "any_drop": dropped, "one_drop": shown}
    return design._asdict() | {name: round(n / runs, 4) for name, n in shares.items()}


def comparisons(design: Design, runs: int, models: int = 3) -> dict[str, Any]:
    """Of runs with so many equal models: how many tell any two of them apart."""
    generator = rng("comparisons", *design, models)
    drawn = [answers(design, runs, generator)[0] for _ in range(models)]
    told = 0
    for run in range(runs):
        p = [
            permutation_test(
                (two[run] - one[run]).mean(1), np.arange(design.questions), seed=("perf", run)
            )
            for one, two in itertools.combinations(drawn, 2)
        ]
        told += bool((holm(p) < ALPHA).any())
    return design._asdict() | {"told_apart": round(told / runs, 4)}


def planned(n: int, runs: int) -> dict[str, Any]:
    """How often a comparison of `n` questions, of which DISAGREE differ, finds the planned difference."""
    generator = rng("planned", n)
    true = planned_difference(n)
    disagree = max(DISAGREE, true)
    found = 0
    for run in range(runs):
        drawn = generator.random(n)
        won = drawn < (disagree + true) / 2
        lost = (drawn >= (disagree + true) / 2) & (drawn < disagree)
        d = won.astype(float) - lost
        found += permutation_test(d, np.arange(n), seed=("planned", run)) < ALPHA
    return {"questions": n, "difference": round(true, 4), "found": round(found / runs, 4)}


def wider(rows: list[dict[str, Any]], n: int) -> float:
    """How many times as wide as the former intervals those of `n` questions are, on average."""
    shares = [row["width"] / row["width_before"] for row in rows if row["questions"] == n]
    return round(float(np.mean(shares)), 2)


UNEVEN = tuple(
    (Design(first, second, n, 5, icc, apart), apart)
    for (first, second), n, icc, apart in itertools.product(
        ((0.98, 0.9), (0.5, 0.5), (0.3, 0.02)), (5, 10, 47, 150), (0.2, 0.8), (False, True)
    )
)
CARDS = (
    Design(0.98, 0.98, 47, 1, 0.0, False),
    Design(0.95, 0.95, 47, 1, 0.0, False),
    Design(0.5, 0.5, 47, 3, 0.4, False),
    Design(1.0, 0.98, 47, 1, 0.0, True),
    Design(0.9, 0.9, 15, 20, 0.4, False),
    Design(0.7, 0.4, 47, 3, 0.4, False),
)
EQUAL = tuple(Design(p, p, n, 3, 0.4, False) for p in (0.5, 0.9) for n in (8, 47))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    given = parser.parse_args()
    with measured() as took:
        rows = [coverage(design, given.runs) for design in designs()]
        result: dict[str, Any] = {
            "runs": given.runs,
            "average_coverage": round(float(np.mean([row["coverage"] for row in rows])), 4),
            "lowest_coverage": min(row["coverage"] for row in rows),
            "average_coverage_before": round(
                float(np.mean([row["coverage_before"] for row in rows])), 4
            ),
            "lowest_coverage_before": min(row["coverage_before"] for row in rows),
            "width_to_before": {n: wider(rows, n) for n in QUESTIONS},
            "uneven": [uneven(design, given.runs * 2 // 5, apart) for design, apart in UNEVEN],
            "cards": [cards(design, given.runs) for design in CARDS],
            "comparisons": [comparisons(design, max(1, given.runs // 4)) for design in EQUAL],
            "planned": [planned(n, 4 * given.runs if n < 13 else given.runs) for n in PLANNED],
            "coverage": rows,
        }
    result |= {"took": took, "machine": describe()}
    given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    shown = {name: own for name, own in result.items() if name not in ("coverage", "uneven")}
    print(json.dumps(shown))
    lowest = min(row["coverage"] for row in [*rows, *result["uneven"]])
    if lowest < LOWEST or result["average_coverage"] < AVERAGE:
        sys.exit(
            f"intervals hold too seldom: on average {AVERAGE:.0%}, never below {LOWEST:.0%}, is asked"
        )


if __name__ == "__main__":
    main()
