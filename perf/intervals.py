"""How often intervals of means and differences hold in simulated answers.

    python perf/intervals.py [--runs 2000]

Writes perf/intervals.json. Answers are right or wrong. A question has its own chance of a right answer, from
a beta distribution with the share `first` as its mean; `icc` is the correlation of two prompts of a question.
The second side keeps each right answer with the chance `second / first`, or (`copied: false`) answers anew.

`intervals`, of each of KINDS: the average coverage, the designs with the lowest, and by number of questions
how wide intervals are beside the normal one. perf/claims.py simulates tests.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
from collections.abc import Callable
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
from needlework.seeding import rng  # noqa: E402

SHARES = ((0.02, 0.02), (0.1, 0.05), (0.3, 0.02), (0.5, 0.5), (0.7, 0.4), (0.97, 0.9), (1.0, 0.98))
MEANS = tuple((share, share) for share in (0.02, 0.1, 0.5, 0.9, 0.97, 0.99))
QUESTIONS, PROMPTS, ICC = (5, 10, 15, 47, 150), (1, 3, 20, 45), (0.0, 0.4, 0.8, 1.0)
MOST_ANSWERS = 2200  # Of more, intervals are the normal ones.
# To which powers chances fall with length, and the prompts of a question at each.
FALL, LENGTHS = (1.0, 1.5, 2.0, 4.0), (1, 5)
# Prompts of uneven questions; how far graded scores spread, by 1 / (1 + the sum of the beta's parameters).
UNEVEN, GRADED = (5, 20), (0.1, 0.3, 0.8)
# Coverage of every design, and of a kind's on average; width beside the normal interval at FEW questions, on
# average.
LOWEST, AVERAGE, FEW, WIDEST = 0.9, 0.99, 15, 2.0

Answers: TypeAlias = npt.NDArray[np.float64]
Generator: TypeAlias = np.random.Generator
Ends: TypeAlias = tuple[float, float]
# What is true, the interval, and the normal one.
Trial: TypeAlias = tuple[float, Ends, Ends]


class Design(NamedTuple):
    """Both sides' shares of right answers, and what was asked."""

    first: float
    second: float
    questions: int
    prompts: int
    icc: float
    copied: bool


def grid(shares: tuple[Ends, ...], prompts: tuple[int, ...], both: bool = False) -> list[Design]:
    """Designs in which answers change. A question with one prompt has no second one to be like."""
    every = itertools.product(shares, QUESTIONS, prompts, ICC, (True, False) if both else (False,))
    return [
        Design(*share, n, p, icc, kept)
        for share, n, p, icc, kept in every
        if (p > 1 or not icc) and n * p <= MOST_ANSWERS and not (kept and share[0] == share[1])
    ]


def chances(design: Design, runs: int, generator: Generator) -> Answers:
    """Each question's chance of a right answer, by run and question."""
    share, shape = design.first, (runs, design.questions, 1)
    if design.icc == 1:
        return (generator.random(shape) < share).astype(float)
    if design.icc == 0 or share == 1:
        return np.full(shape, share)
    size = 1 / design.icc - 1
    return generator.beta(share * size, (1 - share) * size, shape)


def answers(design: Design, runs: int, generator: Generator, chance: Any = None) -> list[Answers]:
    """Both sides' answers, by run, question and prompt."""
    chance = chances(design, runs, generator) if chance is None else chance
    shape = (*chance.shape[:2], design.prompts)
    first = generator.random(shape) < chance
    kept = generator.random(shape) < design.second / design.first
    second = first & kept if design.copied else (generator.random(shape) < chance) & kept
    return [first.astype(float), second.astype(float)]


def normal(moved: Answers, value: float, independent: float, least: float = -1) -> Ends:
    """1.96 standard errors: over questions, which move the mean by so much, or of independent answers."""
    n = len(moved)
    half = stats.Z**2 / (n + stats.Z**2)  # Where nothing varies, Wilson's limit of 0 of n.
    if independent > 0:
        half = stats.Z * math.sqrt(max(n / (n - 1) * float(moved @ moved), independent))
    return max(least, value - half), min(1.0, value + half)


def fallen(design: Design, power: float) -> float:
    """The share of right answers if each question's chance is raised to a power."""
    if design.icc in (0, 1) or design.first == 1:
        return design.first if design.icc else design.first**power
    right, wrong = (share * (1 / design.icc - 1) for share in (design.first, 1 - design.first))
    return math.exp(betaln(right + power, wrong) - betaln(right, wrong))


def even(design: Design, generator: Generator, paired: bool, fall: tuple[float, ...]) -> Trial:
    """A mean, or a difference of two models (paired), over lengths at which all questions are asked.

    A question's chance at a length is that at the first, to one of the powers `fall`.
    """
    chance = chances(design, 1, generator)
    lengths = [answers(design, 1, generator, chance**power) for power in fall]
    first, second = (np.concatenate([each[side][0] for each in lengths], 1) for side in (0, 1))
    y = second - first if paired else first
    questions = np.repeat(np.arange(design.questions), y.shape[1])
    names = np.tile(np.repeat(np.arange(len(fall)), design.prompts), design.questions)
    estimate = partial(stats.paired_difference, first.ravel()) if paired else stats.estimate
    found = estimate((second if paired else first).ravel(), questions, names)
    within = y - y.reshape(len(y), len(fall), -1).mean((0, 2)).repeat(design.prompts)
    before = within.mean(1) / len(y), found.value, float(within.var()) / y.size, -1.0 * paired
    truth = float(np.mean([fallen(design, power) for power in fall]))
    truth *= design.second / design.first - 1 if paired else 1
    return truth, (found.ci_low, found.ci_high), normal(*before)


def uneven(design: Design, generator: Generator, apart: bool) -> Trial:
    """A difference over questions of unequal numbers of prompts; apart: the second side has its own."""
    n = design.questions
    sizes = generator.geometric(1 / design.prompts, n).clip(1, 4 * design.prompts)
    most = design._replace(prompts=4 * design.prompts)
    asked = np.arange(most.prompts) < sizes[:, None]
    questions = np.repeat(np.arange(n), sizes)
    first, second = (side[0][asked] for side in answers(most, 1, generator))
    if apart:
        second = answers(most, 1, generator)[1][0][asked]
    late = np.arange(2 * len(questions)) >= len(questions)
    names = np.r_[questions, questions + n * apart]
    value, low, high, _ = stats.difference_of_sides(np.r_[first, second], names, ~late, late)
    centred = np.r_[first.mean() - first, second - second.mean()] / len(questions)
    changed = first.var() + second.var() if apart else (second - first).var()
    before = normal(
        np.bincount(names, centred).astype(float), value, float(changed) / len(questions)
    )
    return design.second - design.first, (low, high), before


def graded(design: Design, generator: Generator) -> Trial:
    """A mean of scores between 0 and 1, one a question: the chances themselves."""
    scores = chances(design, 1, generator)[0, :, 0]
    found = stats.estimate(scores, np.arange(len(scores)))
    before = (scores - found.value) / len(scores), found.value, float(scores.var()) / len(scores)
    return design.first, (found.ci_low, found.ci_high), normal(*before, 0.0)


SCORES = [Design(*m, n, 1, icc, False) for m in MEANS[1:4] for n in QUESTIONS for icc in GRADED]
# What is simulated: a trial, and its designs.
KINDS: dict[str, tuple[Callable[[Design, Generator], Trial], list[Design]]] = {
    "means": (partial(even, paired=False, fall=(1.0,)), grid(MEANS, PROMPTS)),
    "means over lengths": (partial(even, paired=False, fall=FALL), grid(MEANS, LENGTHS)),
    "means of graded scores": (graded, SCORES),
    "differences": (partial(even, paired=True, fall=(1.0,)), grid(SHARES, PROMPTS, True)),
    "differences over lengths": (
        partial(even, paired=True, fall=FALL),
        grid(SHARES, LENGTHS, True),
    ),
    "differences of uneven questions": (partial(uneven, apart=False), grid(SHARES, UNEVEN)),
    "differences of other questions": (partial(uneven, apart=True), grid(SHARES, UNEVEN)),
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
    share = {n: [r["width"] / r["normal"] for r in rows if r["questions"] == n] for n in QUESTIONS}
    return {
        "designs": len(rows),
        "average": round(float(np.mean([row["coverage"] for row in rows])), 4),
        "lowest": sorted(rows, key=lambda row: float(row["coverage"]))[:5],
        "width_to_normal": {str(n): round(float(np.mean(each)), 2) for n, each in share.items()},
    }


def holds(found: dict[str, Any]) -> bool:
    """Whether a kind's intervals (`summary`) are within LOWEST, AVERAGE and WIDEST."""
    wide, lowest = found["width_to_normal"][str(FEW)], found["lowest"][0]["coverage"]
    return bool(lowest >= LOWEST and found["average"] <= AVERAGE and wide <= WIDEST)


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
        }
    result |= {"took": took, "machine": describe()}
    given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if missed := [kind for kind, found in intervals.items() if not holds(found)]:
        sys.exit(f"too seldom, too often or too wide: {', '.join(missed)}")


if __name__ == "__main__":
    main()
