"""Where a benchmark's metric and the second scorer (metric "careful") disagree on an answer."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from needlework.answer_states import UNANSWERED
from needlework.scoring.metric import CAREFUL, UNDECIDED

if TYPE_CHECKING:
    import pandas as pd

UNSPELLED = f"{UNDECIDED}:unspelled"
# The dimension of the explorer, and its labels.
READING = "beside the second scorer"
MISSED, COUNTED, AGREES = "right, not counted", "wrong, counted", "the same"
# A value from which on an answer counts as right.
_RIGHT = 0.5


class Misreads(NamedTuple):
    """How often a metric and the second scorer differ, among `n` answers."""

    metric: str
    n: int
    # Right by the second scorer alone.
    missed: int
    # Right by the metric alone.
    counted: int
    # The second scorer leaves them open.
    undecided: int
    # Undecided answers that may contain a number in words of a language that it cannot spell.
    unspelled: int


def misreads(scores: pd.DataFrame, controls: Collection[str]) -> list[Misreads]:
    """The misread answers of all models except controls, by metric. Failed requests are not counted."""
    given = scores[~scores["finish_reason"].isin(UNANSWERED)]
    given = given[~given["model"].isin(list(controls))]
    keys = ["model", "instance_id", "sample"]
    second = given[given["metric"] == CAREFUL].set_index(keys)[["value", "verdict"]]
    second = second.rename(columns={"value": "value_second"})
    others = given[given["metric"] != CAREFUL].drop_duplicates(keys)
    found = []
    for metric, own in others.groupby("metric", sort=False):
        both = own.set_index(keys)[["value"]].join(second, how="inner")
        counts, right = both["value"] >= _RIGHT, both["value_second"] >= _RIGHT
        undecided = both["verdict"].str.startswith(UNDECIDED)
        if len(both):
            # An undecided answer, which has the paper's value, is neither missed nor counted.
            disagree = (
                int((right & ~counts & ~undecided).sum()),
                int((counts & ~right & ~undecided).sum()),
            )
            unspelled = both["verdict"] == UNSPELLED
            left = int(undecided.sum()), int(unspelled.sum())
            found.append(Misreads(str(metric), len(both), *disagree, *left))
    return found


def reading(value: float, second: float, verdict: str) -> str:
    """Compare a metric's value of one answer with the second scorer's value and verdict."""
    if verdict.startswith(UNDECIDED):
        return UNDECIDED
    if (value >= _RIGHT) == (second >= _RIGHT):
        return AGREES
    return COUNTED if value >= _RIGHT else MISSED
