"""How often intervals, comparisons and planned differences hold in simulated answers.

    python perf/intervals.py [--runs 2000]

Writes perf/intervals.json. Answers are right or wrong. A question has its own chance of a right answer, from
a beta distribution with the share `first` as its mean; `icc` is the correlation of two prompts of a question.
The second side keeps each right answer with the chance `second / first`, or (`copied: false`) answers anew.
Only designs in which answers change are simulated.

`intervals`, by kind (KINDS): the average coverage; the designs with the lowest; the coverage and the width by number
of questions, as a share of the normal interval's. `comparisons` (a quarter of the runs): how often any two of
three equal models are told apart. `planned`: the share of comparisons that find the difference which
`planned_difference` names.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / name) for name in ("workflow/scripts", "perf")]

import numpy as np  # noqa: E402
import numpy.typing as npt  # noqa: E402

from machine import describe, measured  # noqa: E402
from needlework.results import stats  # noqa: E402
from needlework.results.comparisons import (  # noqa: E402
    ALPHA,
    DISAGREE,
    holm,
    permutation_test,
    planned_difference,
)
from needlework.seeding import rng  # noqa: E402

SHARES = ((0.02, 0.02), (0.1, 0.05), (0.3, 0.02), (0.5, 0.5), (0.7, 0.4), (0.97, 0.9), (1.0, 0.98))
MEANS = (0.02, 0.1, 0.5, 0.9, 0.97, 0.99)
QUESTIONS, PROMPTS, ICC = (5, 10, 15, 20, 47, 150, 500), (1, 3, 20, 45), (0.0, 0.4, 0.8, 1.0)
# So many answers at most: more take long, and their intervals are the normal ones.
MOST_ANSWERS = 3200
# Shares of four lengths, in units of the first.
FALL = (1.0, 0.9, 0.7, 0.4)
PLANNED = (10, 15, 25, 50, 100, 300, 1000)
# Of every design at least, and of a kind on average at most. The widest kind at FEW questions, beside the normal
# interval. A planned difference's power is within POWER_WITHIN of 80%.
LOWEST, AVERAGE, FEW, WIDEST, POWER_WITHIN = 0.9, 0.99, 15, 2.0, 0.03

Answers = npt.NDArray[np.float64]
Interval: TypeAlias = tuple[float, float]
# What is true, the interval, and the normal one.
Trial: TypeAlias = tuple[float, Interval, Interval]


class Design(NamedTuple):
    """Both sides' shares of right answers, and what was asked."""

    first: float
    second: float
    questions: int
    prompts: int
    icc: float
    copied: bool


class Graded(NamedTuple):
    """Scores in [0, 1] by GRADED; a question's prompts have the same."""

    scores: str
    questions: int
    prompts: int


def grid(
    shares: tuple[tuple[float, float], ...],
    prompts: tuple[int, ...] = PROMPTS,
    copied: tuple[bool, ...] = (False,),
) -> Iterator[Design]:
    """A question with one prompt has no second one to be like."""
    for (first, second), n, p, icc, kept in itertools.product(
        shares, QUESTIONS, prompts, ICC, copied
    ):
        if (p > 1 or not icc) and n * p <= MOST_ANSWERS and not (kept and first == second):
            yield Design(first, second, n, p, icc, kept)


def answers(design: Design, runs: int, generator: np.random.Generator) -> tuple[Answers, Answers]:
    """Both sides' answers, by run, question and prompt."""
    shape = (runs, design.questions, design.prompts)
    chance = np.full((*shape[:2], 1), design.first)
    if 0 < design.icc < 1 and design.first < 1:
        size = 1 / design.icc - 1
        chance = generator.beta(design.first * size, (1 - design.first) * size, (*shape[:2], 1))
    if design.icc == 1:
        chance = (generator.random(chance.shape) < chance).astype(float)
    first = generator.random(shape) < chance
    kept = generator.random(shape) < (design.second / design.first if design.first else 0.0)
    second = first & kept if design.copied else (generator.random(shape) < chance) & kept
    return first.astype(float), second.astype(float)


def normal(value: float, moved: Answers, independent: float, least: float = -1.0) -> Interval:
    """1.96 standard errors: over questions, which move the mean by so much, or of independent answers."""
    n = len(moved)
    # Where nothing varies, Wilson's limit of 0 of n.
    half = stats.Z**2 / (n + stats.Z**2)
    if independent > 0:
        half = stats.Z * math.sqrt(max(n / (n - 1) * float(moved @ moved), independent))
    return max(least, value - half), min(1.0, value + half)


def _asked(design: Design) -> npt.NDArray[np.intp]:
    return np.repeat(np.arange(design.questions), design.prompts)


def _of_questions(y: Answers) -> Answers:
    """By how much each question moves the mean of `y`, by question and prompt."""
    return (y.mean(1) - y.mean()) / len(y)


def mean(design: Design, generator: np.random.Generator) -> Trial:
    y = answers(design, 1, generator)[0][0]
    found = stats.estimate(y.ravel(), _asked(design))
    before = normal(float(y.mean()), _of_questions(y), float(y.var()) / y.size, 0.0)
    return design.first, (found.ci_low, found.ci_high), before


def graded(design: Graded, generator: np.random.Generator) -> Trial:
    draw, truth = GRADED[design.scores]
    y = np.repeat(draw(generator, design.questions), design.prompts).reshape(design[1:])
    found = stats.estimate(y.ravel(), np.repeat(np.arange(design.questions), design.prompts))
    before = normal(float(y.mean()), _of_questions(y), float(y.var()) / y.size, 0.0)
    return truth, (found.ci_low, found.ci_high), before


def difference(design: Design, generator: np.random.Generator) -> Trial:
    first, second = (side[0] for side in answers(design, 1, generator))
    d = second - first
    found = stats.paired_difference(first.ravel(), second.ravel(), _asked(design))
    before = normal(float(d.mean()), _of_questions(d), float(d.var()) / d.size)
    return design.second - design.first, (found.ci_low, found.ci_high), before


def strata(design: Design, generator: np.random.Generator, paired: bool) -> Trial:
    """Four lengths with the shares FALL, the same questions at each; a mean, or a difference of two models."""
    lengths = np.tile(np.repeat(np.arange(len(FALL)), design.prompts), design.questions)
    wide = design._replace(prompts=len(FALL) * design.prompts)
    sides = [side[0] for side in answers(wide, 1, generator)]
    # Longer prompts lose answers, both models the same where the second copies the first.
    kept = [generator.random(sides[0].shape) < np.repeat(FALL, design.prompts) for _ in range(2)]
    first, second = sides[0] * kept[0], sides[1] * kept[0 if design.copied else 1]
    fall = sum(FALL) / len(FALL)
    y = second - first if paired else first
    within = y - y.reshape(len(y), len(FALL), -1).mean((0, 2)).repeat(design.prompts)
    before = normal(
        float(y.mean()), within.mean(1) / len(y), float(within.var()) / y.size, -1.0 * paired
    )
    flat = first.ravel(), second.ravel()
    found = (
        stats.paired_difference(*flat, _asked(wide), lengths)
        if paired
        else stats.estimate(flat[0], _asked(wide), lengths)
    )
    truth = fall * (design.second - design.first if paired else design.first)
    return truth, (found.ci_low, found.ci_high), before


def uneven(design: Design, generator: np.random.Generator, apart: bool) -> Trial:
    """Questions have other numbers of prompts, `prompts` on average, at most four times as many.

    apart: the second side has as many questions of its own.
    """
    n = design.questions
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
    value, low, high, _ = stats.difference_of_sides(values, names, ~late, late)
    centred = np.concatenate([first.mean() - first, second - second.mean()])
    moved = np.bincount(names, centred) / len(questions)
    independent = (first.var() + second.var() if apart else (second - first).var()) / len(questions)
    return design.second - design.first, (low, high), normal(value, moved, float(independent))


def _some_zero(generator: np.random.Generator, n: int) -> Answers:
    return np.where(generator.random(n) < 0.9, 0.0, generator.beta(2, 2, n))


# Scores that are not right or wrong: how they are drawn, and their mean.
GRADED: dict[str, tuple[Callable[[np.random.Generator, int], Answers], float]] = {
    "uniform": (lambda generator, n: generator.random(n), 0.5),
    "90% zeros": (_some_zero, 0.05),
    "90% ones": (lambda generator, n: 1 - _some_zero(generator, n), 0.95),
    "like ROUGE": (lambda generator, n: generator.beta(2, 8, n), 0.2),
    "skewed": (lambda generator, n: generator.beta(0.3, 6, n), 0.3 / 6.3),
}
PAIRS = (True, False)
UNEVEN = tuple(grid(SHARES, (5, 20)))
STRATA = tuple(grid(SHARES, (1, 5), PAIRS))
# What is simulated: a trial, and its designs.
KINDS: dict[str, tuple[Callable[[Any, np.random.Generator], Trial], tuple[Any, ...]]] = {
    "means": (mean, tuple(grid(tuple((share, share) for share in MEANS)))),
    "means of graded scores": (
        graded,
        tuple(itertools.starmap(Graded, itertools.product(GRADED, QUESTIONS, (1, 3)))),
    ),
    "means over lengths": (partial(strata, paired=False), tuple(grid(SHARES, (1, 5)))),
    "differences": (difference, tuple(grid(SHARES, copied=PAIRS))),
    "differences over lengths": (partial(strata, paired=True), STRATA),
    "differences of uneven questions": (partial(uneven, apart=False), UNEVEN),
    "differences of other questions": (partial(uneven, apart=True), UNEVEN),
}


def simulated(kind: str, design: Design | Graded, runs: int) -> dict[str, Any]:
    """How often the interval holds the truth, how wide it is, and how wide the normal one."""
    generator = rng("intervals", kind, *design)
    trial = KINDS[kind][0]
    held, wide, wide_normal = 0, 0.0, 0.0
    for _ in range(runs):
        truth, (low, high), before = trial(design, generator)
        held += low - 1e-9 <= truth <= high + 1e-9
        wide += high - low
        wide_normal += before[1] - before[0]
    shares = {"coverage": held / runs, "width": wide / runs, "normal": wide_normal / runs}
    return design._asdict() | {name: round(value, 4) for name, value in shares.items()}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the designs of a kind: the average, the five lowest, and by number of questions."""
    by_questions = {}
    for n in QUESTIONS:
        own = [row for row in rows if row["questions"] == n]
        by_questions[n] = {
            "coverage": round(float(np.mean([row["coverage"] for row in own])), 4),
            "width_to_normal": round(
                float(np.mean([row["width"] / row["normal"] for row in own])), 2
            ),
        }
    return {
        "designs": len(rows),
        "average": round(float(np.mean([row["coverage"] for row in rows])), 4),
        "lowest": sorted(rows, key=lambda row: float(row["coverage"]))[:5],
        "by_questions": by_questions,
    }


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


def holds(found: dict[str, Any]) -> bool:
    """Whether a kind's intervals (`summary`) are within LOWEST, AVERAGE and WIDEST."""
    few = found["by_questions"].get(FEW) or found["by_questions"][str(FEW)]
    return (
        found["lowest"][0]["coverage"] >= LOWEST
        and found["average"] <= AVERAGE
        and few["width_to_normal"] <= WIDEST
    )


EQUAL = tuple(Design(p, p, n, 3, 0.4, False) for p in (0.5, 0.9) for n in (8, 47))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    given = parser.parse_args()
    intervals = {}
    with measured() as took:
        with ProcessPoolExecutor() as processes:
            for kind, (_, own) in KINDS.items():
                simulate = partial(simulated, kind, runs=given.runs)
                intervals[kind] = summary(list(processes.map(simulate, own, chunksize=8)))
                print(kind, json.dumps(intervals[kind]), flush=True)
        result: dict[str, Any] = {
            "runs": given.runs,
            "intervals": intervals,
            "comparisons": [comparisons(design, max(1, given.runs // 4)) for design in EQUAL],
            "planned": [planned(n, 4 * given.runs if n < 13 else given.runs) for n in PLANNED],
        }
    result |= {"took": took, "machine": describe()}
    given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    missed = [kind for kind, found in intervals.items() if not holds(found)]
    if missed:
        sys.exit(f"too seldom, too often or too wide: {', '.join(missed)}")


if __name__ == "__main__":
    main()
