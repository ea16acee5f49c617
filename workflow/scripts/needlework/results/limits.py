"""How much of a run fits into a limit, and what such a part could show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from needlework.models.estimates import Estimate
from needlework.records import read_table
from needlework.results.comparisons import planned_difference

# What each limit of `run.limit` limits, and its name in a sentence.
_MEASURES = {
    "money": ("cost", "{:,g} of money"),
    "hours": ("gpu_hours", "{:,g} GPU hours"),
    "tokens": (None, "{:,g} tokens"),
}
# The keys of a benchmark's block that say how many questions are drawn, by seed.
_DRAWN = ("questions", "examples")


def n_questions(files: Iterable[str | Path]) -> int:
    """How many questions instance files ask."""
    return len({i for f in files for i in read_table(f, ["example_id"])["example_id"].to_pylist()})


def _used(row: Estimate, limit: str) -> float | None:
    """How much of a limit a model and benchmark would take; None where that cannot be told."""
    field, _ = _MEASURES[limit]
    if field is None:
        return float(row.left_prompt_tokens + row.left_output_tokens)
    return getattr(row, field)


def share(rows: Sequence[Estimate], limits: Mapping[str, float]) -> tuple[float, str | None]:
    """The share of what is left that fits into all limits, at most 1, and the narrowest limit.

    Rows of which the cost or the hours cannot be told take nothing.
    """
    found: tuple[float, str | None] = (1.0, None)
    for limit, most in limits.items():
        total = sum(_used(row, limit) or 0.0 for row in rows)
        if total > most and most / total < found[0]:
            found = (most / total, limit)
    return found


def proposal(
    rows: Sequence[Estimate],
    limits: Mapping[str, float],
    questions: Mapping[str, int],
    settings: Mapping[str, Mapping[str, Any]],
) -> str:
    """The part of a run that fits into `limits`, for a terminal: the same questions for all models.

    `questions` are how many each benchmark asks, `settings` the benchmarks' blocks, whose numbers of
    questions to draw are proposed.
    """
    if not limits:
        return ""
    fits, narrowest = share(rows, limits)
    lines = []
    for limit in limits:
        if all(_used(row, limit) is None for row in rows):
            what = "price" if limit == "money" else "throughput"
            lines.append(f"run.limit.{limit} limits nothing: no model has a `{what}`.")
    if narrowest is None:
        return "\n".join([*lines, "All of it is within run.limit."])
    shown = _MEASURES[narrowest][1].format(limits[narrowest])
    lines.append(
        f"{fits:.1%} of what is left fits into {shown}. Each model would get the same questions, drawn by "
        "seed:"
    )
    for name, n in questions.items():
        part = math.floor(fits * n)
        keys = []
        for key in _DRAWN:
            if key in settings[name]:
                now = settings[name][key]
                drawn = math.floor(fits * (n if now == "all" else now))
                keys.append(f"{key}: {max(1, drawn)}")
        lines.append(
            f"  {name}: {{{', '.join(keys)}}} for {part:,} of {n:,} questions, which could show a "
            f"difference of {100 * planned_difference(part):.1f} points between two models "
            f"(all: {100 * planned_difference(n):.1f})"
        )
        if not part:
            lines[-1] = f"  {name}: nothing fits; raise run.limit.{narrowest}."
    return "\n".join(lines)
