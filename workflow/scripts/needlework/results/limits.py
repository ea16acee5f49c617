"""The part of a run that fits into a limit, what it could show, and the configuration that asks it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from needlework import seeding
from needlework.atomic import atomic_write
from needlework.models.estimates import Estimate, PromptSet, Work
from needlework.models.selection import Selection
from needlework.results.significance import DISAGREE, POWER, planned_difference

# What each limit of `run.limit` limits, its name in a sentence, and the key without which a model has none.
_MEASURES = {
    "money": ("cost", "{:,.4g} of money", "price"),
    "hours": ("gpu_hours", "{:,.4g} GPU hours", "throughput"),
    "tokens": (None, "{:,.0f} tokens", ""),
}
# Multiples of it, less whole numbers, are spread evenly, however many there are.
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Part:
    """By benchmark: the questions that fit, the number of all questions, and what the part takes."""

    questions: Mapping[str, list[str]]
    of: Mapping[str, int]
    rows: Sequence[Estimate]


def drawn(prompts: PromptSet, factors: Sequence[str], *seed: object) -> dict[str, float]:
    """A number in [0, 1) per question. The questions with numbers below x are a sample of the share x.

    Questions are in the order of what is asked with them (task and `factors`), at random where that is the
    same, and every stretch of that order gets numbers from all of [0, 1). So a sample has its share of each
    task and language, and a larger sample contains every smaller one.
    """
    rows = prompts.table.select(["example_id", *factors]).to_pylist()
    asked: dict[str, tuple[str, ...]] = {}
    for row in rows:
        cell = tuple(str(row[name]) for name in factors)
        asked[row["example_id"]] = min(cell, asked.get(row["example_id"], cell))
    order = sorted(asked, key=lambda name: (asked[name], seeding.rank_key("limit", *seed, name)))
    start = float(seeding.rng("limit", *seed).random())
    numbers = [(start + i * _GOLDEN) % 1 for i in range(len(order))]
    # The least is 0: a benchmark with few questions would otherwise ask for a large share of all others.
    least = min(numbers, default=0.0)
    return {name: x - least for name, x in zip(order, numbers, strict=True)}


def part_within(
    works: Sequence[Work], limits: Mapping[str, float], factors: Mapping[str, Sequence[str]]
) -> Part | None:
    """The largest seeded share of the questions that fits into all limits, the same for every model.

    `factors` are by benchmark. If one question per model and benchmark is already too much, the part has no
    questions, and its estimates are those of the smallest part. None if nothing is left to ask. A model
    without a price counts as free, one without a throughput as taking no hours.
    """
    drawn_of: dict[str, dict[str, float]] = {}
    numbers: dict[str, dict[str, float]] = {}
    of_prompts, least = {}, 0.0
    for work in works:
        name = work.benchmark
        # Tokenizers have prompts of the same questions.
        drawn_of[name] = drawn(work.prompts, factors[name], name) | drawn_of.get(name, {})
        questions = work.prompts.table["example_id"].to_pylist()
        of_prompts[work] = np.array([drawn_of[name][question] for question in questions])
        asked = {q: drawn_of[name][q] for q, n in zip(questions, work.counts, strict=True) if n}
        numbers.setdefault(name, {}).update(asked)
        least = max(least, min(asked.values(), default=0.0))

    def rows_of(most: float) -> list[Estimate]:
        return [work.estimate(of_prompts[work] <= most) for work in works]

    steps = sorted(x for own in numbers.values() for x in own.values() if x >= least)
    # How many steps fit: the last that does lies below the first that does not.
    fits, too_many = 0, len(steps) + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if within(rows_of(steps[middle - 1]), limits):
            fits = middle
        else:
            too_many = middle
    if not fits:
        return None if not steps else Part({}, {}, rows_of(steps[0]))
    most = steps[fits - 1]
    return Part(
        {name: sorted(q for q, x in own.items() if x <= most) for name, own in numbers.items()},
        {name: len(own) for name, own in numbers.items()},
        rows_of(most),
    )


def used(rows: Sequence[Estimate], limit: str) -> float:
    """How much of a limit is used."""
    field = _MEASURES[limit][0]
    if field is None:
        return float(sum(row.left_prompt_tokens + row.left_output_tokens for row in rows))
    return sum(getattr(row, field) or 0.0 for row in rows)


def within(rows: Sequence[Estimate], limits: Mapping[str, float]) -> bool:
    """Whether all limits hold."""
    return all(used(rows, limit) <= most for limit, most in limits.items())


def unlimited(rows: Sequence[Estimate], limits: Mapping[str, float]) -> list[str]:
    """One sentence per limit that has no effect on some models."""
    said = []
    for limit in limits:
        field, _, key = _MEASURES[limit]
        if field and (names := sorted({row.model for row in rows if getattr(row, field) is None})):
            said.append(
                f"run.limit.{limit} does not count {', '.join(names)}, which have no `{key}`."
            )
    return said


def as_text(
    part: Part | None, rows: Sequence[Estimate], limits: Mapping[str, float], file: str | Path
) -> str:
    """The proposal as text for a terminal.

    `rows` are the estimates of all prompts, `file` the one of `write_subset`.
    """
    lines = unlimited(rows, limits)
    if within(rows, limits):
        return "\n".join([*lines, "The whole run is within run.limit."])
    shown = " and ".join(_MEASURES[name][1].format(most) for name, most in limits.items())
    if part is None:
        return "\n".join(lines)
    taken = " and ".join(_MEASURES[name][1].format(used(part.rows, name)) for name in limits)
    if not part.questions:
        lines.append(
            f"One question of each benchmark does not fit into {shown}: it takes {taken}. Raise run.limit."
        )
        return "\n".join(lines)
    lines.append(
        f"This part fits into {shown}. It takes {taken}; every model gets the same questions:"
    )
    for name, chosen in part.questions.items():
        n, total = len(chosen), part.of[name]
        lines.append(
            f"  {name}: {n:,} of {total:,} questions, which could show {_least(n)} (all: {_least(total)})"
        )
    lines.append(
        f"(If two models disagree on {DISAGREE:.0%} of the questions, such a difference is found with a "
        f"probability of {POWER:.0%}.)"
    )
    lines.append(f"To ask it, add {file} as the last file of --configfile.")
    return "\n".join(lines)


def _least(n: int) -> str:
    """The smallest difference between two models that `n` questions could show."""
    least = planned_difference(n)
    return "no difference" if math.isnan(least) else f"a difference of {100 * least:.1f} points"


def write_subset(part: Part, only: Mapping[str, Mapping[str, Selection]], file: str | Path) -> None:
    """Write the configuration that selects a part. Questions that most models share are written once.

    `only` is each model's own restriction, by benchmark. If it names questions, the model gets only these.
    """

    def flow(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    lines = ["# Written by `snakemake estimate` for run.limit.", "models:"]
    anchor = ""
    for model, own in only.items():
        chosen = {}
        for benchmark, names in part.questions.items():
            allowed = set(own.get(benchmark, {}).get("example_id", names))
            chosen[benchmark] = [name for name in names if name in allowed]
        lines.append(f"  {flow(model)}:")
        whole = chosen == part.questions
        if whole and anchor:
            lines.append("    only: *questions")
            continue
        anchor = anchor or " &questions" * whole
        lines.append(f"    only:{anchor * whole}")
        for benchmark, names in chosen.items():
            lines.append(f"      {benchmark}: {{example_id: {flow(names)}}}")
    file = Path(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as made:
        made.write_text("\n".join([*lines, ""]), "utf-8")
