"""How often intervals, comparisons and planned differences hold in simulated answers.

    python perf/intervals.py [--runs 2000]

Writes perf/intervals.json. Answers are right or wrong. A question has its own chance of a right answer, from
a beta distribution with the share `first` as its mean; `icc` is the correlation of two prompts of a question.
The second side keeps each right answer with the chance `second / first`, or (`copied: false`) answers anew.
Only designs in which answers change are simulated.

`intervals`, of each of KINDS: the average coverage, the designs with the lowest, and by number of questions
how wide intervals are beside the normal one. `comparisons` (a quarter of the runs): how often any two of
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
from scipy.special import betaln  # noqa: E402

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
QUESTIONS, PROMPTS, ICC = (5, 10, 15, 47, 150), (1, 3, 20, 45), (0.0, 0.4, 0.8, 1.0)
# So many answers at most: of more, intervals are the normal ones.
MOST_ANSWERS = 2200
# To which powers chances fall with length.
FALL = (1.0, 1.5, 2.0, 4.0)
# Prompts of uneven questions; how far graded scores spread, by 1 / (1 + the sum of the beta's parameters).
UNEVEN, GRADED = (5, 20), (0.1, 0.3, 0.8)
PLANNED = (10, 15, 25, 50, 100, 300, 1000)
# Coverage of every design, and of a kind's on average; width beside the normal interval at FEW questions, on
# average; a planned difference's power is within POWER_WITHIN of 80%.
LOWEST, AVERAGE, FEW, WIDEST, POWER_WITHIN = 0.9, 0.99, 15, 2.0, 0.03

Answers = npt.NDArray[np.float64]
Interval: TypeAlias = tuple[float, float]
Fall: TypeAlias = tuple[float, ...]
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


def chances(design: Design, runs: int, generator: np.random.Generator) -> Answers:
    """Each question's chance of a right answer, by run and question."""
    share, shape = design.first, (runs, design.questions, 1)
    if design.icc == 1:
        return (generator.random(shape) < share).astype(float)
    if design.icc == 0 or share == 1:
        return np.full(shape, share)
    size = 1 / design.icc - 1
    return generator.beta(share * size, (1 - share) * size, shape)


def answers(
    design: Design, runs: int, generator: np.random.Generator, chance: Answers | None = None
) -> tuple[Answers, Answers]:
    """Both sides' answers, by run, question and prompt."""
    chance = chances(design, runs, generator) if chance is None else chance
    shape = (*chance.shape[:2], design.prompts)
    first = generator.random(shape) < chance
    kept = generator.random(shape) < design.second / design.first
    second = first & kept if design.copied else (generator.random(shape) < chance) & kept
    return first.astype(float), second.astype(float)


def normal(moved: Answers, value: float, independent: float, least: float = -1.0) -> Interval:
    """1.96 standard errors: over questions, which move the mean by so much, or of independent answers."""
    n = len(moved)
    # Where nothing varies, Wilson's limit of 0 of n.
    half = stats.Z**2 / (n + stats.Z**2)
    if independent > 0:
        half = stats.Z * math.sqrt(max(n / (n - 1) * float(moved @ moved), independent))
    return max(least, value - half), min(1.0, value + half)


def fallen(design: Design, power: float) -> float:
    """The share of right answers if each question's chance is raised to a power."""
    share = design.first
    if design.icc in (0, 1) or share == 1:
        return share if design.icc else share**power
    size = 1 / design.icc - 1
    right, wrong = share * size, (1 - share) * size
    return math.exp(betaln(right + power, wrong) - betaln(right, wrong))


def even(
    design: Design, generator: np.random.Generator, paired: bool, fall: Fall = (1.0,)
) -> Trial:
    """A mean, or a difference of two models (paired), over lengths at which all questions are asked.

    A question's chance at a length is that at the first, to one of the powers `fall`.
    """
    chance = chances(design, 1, generator)
    lengths = [answers(design, 1, generator, chance**power) for power in fall]
    first, second = (np.concatenate([each[side][0] for each in lengths], 1) for side in (0, 1))
    y = second - first if paired else first
    questions = np.repeat(np.arange(design.questions), y.shape[1])
    names = np.tile(np.repeat(np.arange(len(fall)), design.prompts), design.questions)
    strata = names if len(fall) > 1 else None
    if paired:
        found = stats.paired_difference(first.ravel(), second.ravel(), questions, strata)
    else:
        found = stats.estimate(y.ravel(), questions, strata)
    within = y - y.reshape(len(y), len(fall), -1).mean((0, 2)).repeat(design.prompts)
    before = within.mean(1) / len(y), found.value, float(within.var()) / y.size, -1.0 * paired
    truth = float(np.mean([fallen(design, power) for power in fall]))
    truth *= design.second / design.first - 1 if paired else 1
    return truth, (found.ci_low, found.ci_high), normal(*before)


def uneven(design: Design, generator: np.random.Generator, apart: bool) -> Trial:
    """A difference over questions with `prompts` prompts on average, at most four times as many.

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
    value, *ends, _ = stats.difference_of_sides(values, names, ~late, late)
    centred = np.concatenate([first.mean() - first, second - second.mean()])
    moved = np.bincount(names, centred) / len(questions)
    changed = first.var() + second.var() if apart else (second - first).var()
    before = normal(moved, value, float(changed) / len(questions))
    return design.second - design.first, (ends[0], ends[1]), before


def graded(design: Design, generator: np.random.Generator) -> Trial:
    """A mean of scores between 0 and 1, one a question: the chances themselves."""
    scores = chances(design, 1, generator)[0, :, 0]
    found = stats.estimate(scores, np.arange(len(scores)))
    before = (scores - found.value) / len(scores), found.value, float(scores.var()) / len(scores)
    return design.first, (found.ci_low, found.ci_high), normal(*before, 0.0)


PAIRS, LENGTHS, MODELS = (True, False), (1, 5), tuple((share, share) for share in MEANS)
# What is simulated: a trial, and its designs.
KINDS: dict[str, tuple[Callable[[Any, np.random.Generator], Trial], tuple[Design, ...]]] = {
    "means": (partial(even, paired=False), tuple(grid(MODELS))),
    "means over lengths": (partial(even, paired=False, fall=FALL), tuple(grid(MODELS, LENGTHS))),
    "means of graded scores": (
        graded,
        tuple(Design(m, m, n, 1, icc, False) for m in MEANS for n in QUESTIONS for icc in GRADED),
    ),
    "differences": (partial(even, paired=True), tuple(grid(SHARES, copied=PAIRS))),
    "differences over lengths": (
        partial(even, paired=True, fall=FALL),
        tuple(grid(SHARES, LENGTHS, PAIRS)),
    ),
    "differences of uneven questions": (
        partial(uneven, apart=False),
        tuple(grid(SHARES, UNEVEN)),
    ),
    "differences of other questions": (partial(uneven, apart=True), tuple(grid(SHARES, UNEVEN))),
}


def simulated(kind: str, design: Design, runs: int) -> dict[str, Any]:
    """How often the interval holds the truth, how wide it is, and how wide the normal one."""
    generator = rng("intervals", kind, *design)
    held, widths = 0, np.zeros(2)
    for _ in range(runs):
        truth, *both = KINDS[kind][0](design, generator)
        held += both[0][0] - 1e-9 <= truth <= both[0][1] + 1e-9
        widths += [high - low for low, high in both]
    shares = dict(zip(("coverage", "width", "normal"), [held / runs, *widths / runs], strict=True))
    return design._asdict() | {name: round(float(value), 4) for name, value in shares.items()}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the designs of a kind: the average, the five lowest, and the width by number of questions."""
    wider = {
        n: np.mean([row["width"] / row["normal"] for row in rows if row["questions"] == n])
        for n in QUESTIONS
    }
    return {
        "designs": len(rows),
        "average": round(float(np.mean([row["coverage"] for row in rows])), 4),
        "lowest": sorted(rows, key=lambda row: float(row["coverage"]))[:5],
        "width_to_normal": {str(n): round(float(share), 2) for n, share in wider.items()},
    }


def holds(found: dict[str, Any]) -> bool:
    """Whether a kind's intervals (`summary`) are within LOWEST, AVERAGE and WIDEST."""
    return (
        found["lowest"][0]["coverage"] >= LOWEST
        and found["average"] <= AVERAGE
        and found["width_to_normal"][str(FEW)] <= WIDEST
    )


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
