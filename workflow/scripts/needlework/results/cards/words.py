"""The sentences below a report card: what its comparisons show. What they could have missed is a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from needlework.data.language_names import language_name
from needlework.factor import Factor

if TYPE_CHECKING:
    import pandas as pd

# What an axis is called.
BY = {"needles": "number of needles"}
# What a card compares, in the plural; few benchmarks have several needles.
ASKED = {"length": "lengths", "depth": "depths", "language": "languages"}
NOTHING = (
    "was not asked the same at two lengths, depths, numbers of needles or languages: these answers cannot "
    "show where it breaks."
)
METHOD = (
    "In brackets: joint 95% intervals over questions. A drop is reported only if its interval excludes 0 and "
    "it rests on six questions or more."
)


def comparison(axis: str, factor: Factor, levels: Sequence[Any], level: Any) -> str:
    """A comparison in words: one level of a factor against its other levels."""
    if axis == "language":
        return f"in {language_name(str(level))} against the other languages"
    if axis == "depth":
        return "in the middle against the ends" if len(levels) > 2 else "at the end of the prompt"
    unit = "needles" if axis == "needles" else factor.label
    return f"from {factor.called(levels[0])} to {factor.called(level)} {unit}"


def sentence(model: str, compared: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """The sentences of a model, one for each shown drop, the largest first.

    `compared` are the comparisons of its card, `titles` of benchmarks.
    """
    if compared.empty:
        return f"{model} {NOTHING}"
    drops = list(_drops(compared, titles))
    said = [
        f"{who} loses {drop}."
        for who, drop in zip(chain([model], repeat("It")), drops, strict=False)
    ]
    return " ".join(said or [f"{model} shows no drop."])


def missed(
    compared: pd.DataFrame, titles: Mapping[str, str]
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Model, part of a benchmark and, by axis, the largest drop in points that its intervals still hold.

    Axes with a shown drop are left out.
    """
    compared = compared.fillna({"part": ""})
    for (model, benchmark, part), own in compared.groupby(
        ["card", "benchmark", "part"], sort=False
    ):
        found = {
            str(axis): _points(largest)
            for axis, rows in own.groupby("axis", sort=False)
            if not rows["drop"].any() and (largest := -float(rows["ci_low"].min())) > 0
        }
        if found:
            yield str(model), called(titles[str(benchmark)], str(part)), found


def _drops(compared: pd.DataFrame, titles: Mapping[str, str]) -> Iterator[str]:
    """The drops that are shown, the largest first."""
    compared = compared.fillna({"part": ""})
    shown = compared[compared["drop"].astype(bool)].sort_values("difference", kind="stable")
    for row in shown.to_dict("records"):
        where = called(titles[row["benchmark"]], row["part"])
        yield (
            f"{size(row)} {row['comparison']} ({where}, {_counted(row['n_questions'], 'question')})"
        )


def size(drop: Mapping[str, Any] | pd.Series) -> str:
    """A drop in points, with its interval."""
    most, value, least = (_points(-drop[name]) for name in ("ci_low", "difference", "ci_high"))
    return f"{value} points [{least}, {most}]"


def called(title: str, part: str) -> str:
    """A part of a benchmark."""
    return f"{title} {part}".strip()


def _counted(n: float, noun: str) -> str:
    return f"{int(n):,} {noun}{'' if n == 1 else 's'}"


def _points(share: float) -> str:
    """A share in percent points; a bound that is not 0 is not written as 0."""
    points = 100 * share
    if 0 < points < 0.05:
        return "<0.1"
    return f"{points:.1f}" if 0 < abs(points) < 0.95 else f"{points:.0f}"
