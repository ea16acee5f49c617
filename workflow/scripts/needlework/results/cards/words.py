"""The sentence below a report card: what its comparisons show, and what they could not have shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from needlework.data.language_names import language_name
from needlework.factor import Factor

if TYPE_CHECKING:
    import pandas as pd

# Drops that the sentence names, the largest first.
MOST_DROPS = 4
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
    """What is compared, in words: a level of a factor with others of its levels."""
    if axis == "language":
        return f"in {language_name(str(level))} against the other languages"
    if axis == "depth":
        return "in the middle against the ends" if len(levels) > 2 else "at the end of the prompt"
    unit = "needles" if axis == "needles" else factor.label
    return f"from {factor.called(levels[0])} to {factor.called(level)} {unit}"


def sentence(model: str, compared: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """The sentence of a model; `compared` are the comparisons of its card, `titles` of benchmarks."""
    if compared.empty:
        return f"{model} {NOTHING}"
    drops, unseen = list(_drops(compared, titles)), list(_unseen(compared, titles))
    said = f"{model} loses {'; '.join(drops[:MOST_DROPS])}" if drops else f"{model} shows no drop"
    if (left := len(drops) - MOST_DROPS) > 0:
        said += f"; and no more in {_counted(left, 'other comparison')}"
    if unseen:
        said += "; elsewhere no drop is shown" if drops else ""
        said += f", but these drops are still possible: up to {'; '.join(unseen)}"
    if left_out := [axis for axis in ASKED if axis not in set(compared["axis"])]:
        said += f"; this run does not compare {' or '.join(ASKED[axis] for axis in left_out)}"
    return f"{said}."


def _groups(compared: pd.DataFrame) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """The comparisons of each benchmark, part and axis."""
    compared = compared.fillna({"part": ""})
    for (benchmark, part, axis), own in compared.groupby(["benchmark", "part", "axis"], sort=False):
        yield (str(benchmark), str(part), str(axis)), own


def _drops(compared: pd.DataFrame, titles: Mapping[str, str]) -> Iterator[str]:
    """The drops that are shown, the largest first; of languages the largest, and how many others."""
    shown = compared[compared["drop"].astype(bool)].sort_values("difference", kind="stable")
    for (benchmark, part, _), own in _groups(shown):
        worst = own.iloc[0]
        least, most = -worst["ci_high"], -worst["ci_low"]
        size = f"{_points(-worst['difference'])} points [{_points(least)}, {_points(most)}]"
        others = f", and no more in {_counted(len(own) - 1, 'other')}" if len(own) > 1 else ""
        where = f"{called(titles[benchmark], part)}, {_counted(worst['n_questions'], 'question')}"
        yield f"{size} {worst['comparison']}{others} ({where})"


def _unseen(compared: pd.DataFrame, titles: Mapping[str, str]) -> Iterator[str]:
    """Of each axis, the drops that intervals which show none still hold, from the least to the most."""
    found: dict[str, list[tuple[float, str]]] = {}
    for (benchmark, part, axis), own in _groups(compared):
        largest = -float(own["ci_low"].min())
        if not own["drop"].any() and largest > 0:
            found.setdefault(axis, []).append((largest, called(titles[benchmark], part)))
    for axis, drops in found.items():
        (least, where), (most, there) = min(drops), max(drops)
        ends = f"{_points(most)} points ({there})"
        if _points(least) != _points(most):
            ends = f"{_points(least)} ({where}) to {ends}"
        elif len(drops) > 1:
            ends = f"{_points(most)} points ({', '.join(name for _, name in drops)})"
        yield f"{ends} by {BY.get(axis, axis)}"


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
