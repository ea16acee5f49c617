"""How often a benchmark's metric misreads answers, by the verdicts of a careful reader."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from needlework.models.accounts import UNANSWERED

if TYPE_CHECKING:
    import pandas as pd

CAREFUL = "careful"
# The dimension of the explorer, and its labels.
READING = "beside a careful reader"
MISSED, COUNTED, AGREES = "right, not counted", "wrong, counted", "the same"
# A value from which on an answer counts as right.
_RIGHT = 0.5


class Misreads(NamedTuple):
    """Of `n` answers, how many a metric misses, and how many wrong ones it counts."""

    metric: str
    n: int
    missed: int
    counted: int


def misreads(scores: pd.DataFrame, controls: Collection[str]) -> list[Misreads]:
    """The misread answers of all models but controls, by metric; failed requests are none."""
    given = scores[~scores["finish_reason"].isin(UNANSWERED)]
    given = given[~given["model"].isin(list(controls))]
    keys = ["model", "instance_id", "sample"]
    careful = given[given["metric"] == CAREFUL].set_index(keys)["value"]
    others = given[given["metric"] != CAREFUL].drop_duplicates(keys)
    found = []
    for metric, own in others.groupby("metric", sort=False):
        both = own.set_index(keys)[["value"]].join(careful.rename(CAREFUL), how="inner")
        counts, right = both["value"] >= _RIGHT, both[CAREFUL] >= _RIGHT
        if len(both):
            missed, counted = int((right & ~counts).sum()), int((counts & ~right).sum())
            found.append(Misreads(str(metric), len(both), missed, counted))
    return found


def reading(value: float, careful: float) -> str:
    """How a metric's value of one answer stands beside a careful reader's."""
    if (value >= _RIGHT) == (careful >= _RIGHT):
        return AGREES
    return COUNTED if value >= _RIGHT else MISSED
