"""Comparisons and lengths in words, for report cards and the page of results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, repeat
from typing import TYPE_CHECKING

from needlework.factor import in_1000, in_1024
from needlework.results.numbers.tables import Answered, Comparison, records

if TYPE_CHECKING:
    import pandas as pd

# What an axis is called.
BY = {"needles": "number of needles"}
# What a run compares, in the plural; few benchmarks have several needles.
IN_PLURAL = {"length": "lengths", "depth": "depths", "language": "languages"}
MODEL = "model"
METHOD = (
    "Brackets: 95% intervals over questions. A loss is named if an exact test over questions shows it (5% "
    "for all comparisons of the run together, Holm) and its interval lies below 0."
)
# Both scorers are named where their means are so far apart.
_SCORERS_DIFFER = 0.05


def losses(compared: pd.DataFrame, model: str | None = None) -> pd.DataFrame:
    """The shown losses of a model, or of all models, the largest first.

    They are rows of COMPARED, without comparisons of models.
    """
    own = compared[(compared["axis"] != MODEL) & compared["shown"].astype(bool)]
    own = own[own["difference"] < 0]
    if model is not None:
        own = own[own["card"] == model]
    return own.sort_values("difference", kind="stable")


def loss(row: Comparison, titles: Mapping[str, str]) -> str:
    """A loss in words, with the means of both sides, its benchmark and its number of questions."""
    first, second = (f"{100 * own:.0f}%" for own in (row["first"], row["second"]))
    if row["axis"] in ("depth", "language"):
        how = row["second_side"]
        means = f"{second} there, {first} {row['first_side']}"
    else:
        how = "with more needles" if row["axis"] == "needles" else "by length"
        means = f"{first} {row['first_side']}, {second} {row['second_side']}"
    where = called(titles[row["benchmark"]], row["part"])
    careful = [row["first_careful"], row["second_careful"]]
    apart = [abs(careful[0] - row["first"]), abs(careful[1] - row["second"])]
    if row["axis"] in ("depth", "language"):
        careful = careful[::-1]
    # NaN where the second scorer has no value.
    if apart[0] + apart[1] >= 0 and max(apart) >= _SCORERS_DIFFER:
        by_second = " and ".join(f"{100 * own:.0f}%" for own in careful)
        where += f"; by the second scorer {by_second}"
    many = questions(row["n_questions"])
    return f"{row['card']} loses {size(row)} {how}: {means} ({many}, {where})"


def place(row: Comparison) -> str:
    """Where a loss is, in one or two words."""
    if row["axis"] in ("language", "depth"):
        return _without_preposition(row["second_side"]).removeprefix("the ")
    return {"needles": "more needles"}.get(row["axis"], row["axis"])


def _without_preposition(side: str) -> str:
    """A side without its first word: of "in the middle", "the middle"."""
    return side.partition(" ")[2]


def sentence(model: str, compared: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """The sentences below a model's card: one per shown loss, the largest first.

    `compared` are the comparisons of its card, `titles` of benchmarks.
    """
    own = compared[compared["axis"] != MODEL]
    if own.empty:
        return (
            f"To show where {model} breaks, ask the same questions at two lengths, depths, numbers of "
            "needles or languages. This run did not."
        )
    said = [
        f"{who} loses {size(row)} {row['second_side']} against {_without_preposition(row['first_side'])} "
        f"({called(titles[row['benchmark']], row['part'])}, {questions(row['n_questions'])})."
        for who, row in zip(chain([model], repeat("It")), records(losses(own)), strict=False)
    ]
    return " ".join(said or [f"No loss of {model} is shown."])


def missed(
    compared: pd.DataFrame, titles: Mapping[str, str]
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """The losses that the run could have missed: model, part of a benchmark, and the largest loss by axis.

    In points: the far end of the comparisons' intervals. Axes with a shown loss are left out.
    """
    tested = compared[(compared["axis"] != MODEL) & compared["p"].notna()]
    for (model, benchmark, part), own in tested.groupby(["card", "benchmark", "part"], sort=False):
        found = {
            str(axis): points(largest)
            for axis, rows in own.groupby("axis", sort=False)
            if losses(rows).empty and (largest := -float(rows["ci_low"].min())) > 0
        }
        if found:
            yield str(model), called(titles[str(benchmark)], str(part)), found


def size(row: Comparison) -> str:
    """A loss in points, with its interval."""
    most, value, least = (points(-n) for n in (row["ci_low"], row["difference"], row["ci_high"]))
    return f"{value} points [{least}, {most}]"


def called(title: str, part: str) -> str:
    """A part of a benchmark."""
    return f"{title} {part}".strip()


def questions(n: float) -> str:
    """How many questions, in words."""
    return f"{int(n):,} question{'' if n == 1 else 's'}"


def points(share: float) -> str:
    """A share in percent points. A bound that is not 0 is never rounded to 0."""
    found = 100 * share
    if 0 < found < 0.05:
        return "<0.1"
    return f"{found:.1f}" if 0 < abs(found) < 0.95 else f"{found:.0f}"


def lengths_in_words(row: Answered, curves: pd.DataFrame) -> tuple[str, str] | None:
    """Claimed and effective length of a row of ANSWERS with unit and interval; None without a claimed length.

    curves: POINTS. The longest length asked is a lower bound.
    """
    claimed, effective = row["claimed"], row["effective"]
    if claimed != claimed or claimed is None:
        return None
    curve = curves[
        (curves["benchmark"] == row["benchmark"])
        & (curves["card"] == row["model"])
        & (curves["axis"] == "length")
    ]
    unit = curve["unit"].iloc[0] if len(curve) else "tokens"
    if effective is None or effective != effective:
        return _length(claimed, unit), "unknown"
    asked = curve["level"].astype(float)
    found = _reached(effective, asked, unit)
    low, high = (_reached(end or 0, asked) for end in (row["effective_low"], row["effective_high"]))
    return _length(claimed, unit), found if low == high else f"{found} [{low} to {high}]"


def _reached(n: float, asked: pd.Series, unit: str = "") -> str:
    """A length that is reached, of those asked; 0: none is."""
    if not n:
        return f"below {_length(asked.min(), unit)}"
    return _length(n, unit) + (" or more" if n == asked.max() else "")


def _length(n: float, unit: str) -> str:
    return f"{in_1024(n) if n % 1024 == 0 else in_1000(n)} {unit}".strip()
