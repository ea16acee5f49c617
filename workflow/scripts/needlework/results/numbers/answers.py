"""Outcomes of a model's answers in a benchmark, and the model's effective length."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from needlework.answer_states import EMPTY, ERROR, LENGTH, SKIPPED, UNANSWERED
from needlework.results import stats
from needlework.results.cards.card import Card
from needlework.results.numbers.curves import Curve
from needlework.results.numbers.tables import Answered
from needlework.results.result import Context

if TYPE_CHECKING:
    import pandas as pd


def answers(
    benchmark: str,
    card: Card,
    rows: pd.DataFrame,
    curves: Sequence[Curve],
    run: Context,
    models: Sequence[str],
) -> Iterator[Answered]:
    """The rows of ANSWERS of models that were asked anything.

    `rows` and `curves` are the benchmark's.
    """
    none = card.said_none(rows, run) if card.said_none else None
    asked = card.asked_in(rows, run)
    reached = {
        curve.model: effective_length(curve)
        for curve in curves
        if curve.axis == "length" and card.baseline
    }
    claimed = run.run.get("claimed_length", {}) if card.baseline else {}
    for model in models:
        mine = rows["model"] == model
        if not mine.any():
            continue
        once = rows[mine].drop_duplicates(["instance_id", "sample"])
        given = ~once["finish_reason"].isin(UNANSWERED)
        ended = once["finish_reason"].astype(str)
        # Scores that were made by hand may lack these columns.
        outcome = once["outcome"].astype(str) if "outcome" in once else ended
        wrong = given & (once["value"] == 0)
        language = asked[once.index]
        said = once["answered_in"].astype(object) if "answered_in" in once else language.mask(given)
        known = given & said.notna() & language.notna()
        denied = none[mine].dropna() if none is not None else []
        low, value, high = reached.get(model, (None, None, None))
        yield {
            "benchmark": benchmark,
            "model": model,
            "n": len(once),
            "cut": int((ended == LENGTH).sum()),
            "empty": int((outcome == EMPTY).sum()),
            "failed": int((ended == ERROR).sum()),
            "skipped": int((ended == SKIPPED).sum()),
            "lost_cut": int((wrong & (ended == LENGTH)).sum()),
            "lost_empty": int((wrong & (outcome == EMPTY)).sum()),
            "judged": int(given.sum()),
            "said_none": sum(map(bool, denied)),
            "with_needle": len(denied),
            "other_language": int((said[known] != language[known]).sum()),
            "decided": int(known.sum()),
            "claimed": claimed.get(model),
            "effective": value,
            "effective_low": low,
            "effective_high": high,
        }


def effective_length(curve: Curve) -> tuple[int | None, int | None, int | None]:
    """The longest length whose mean is at least 75% of the mean without distractors: (low, value, high).

    `low` is the longest length whose whole 95% interval, over questions, reaches 75%; `high` the longest
    length of whose interval a part reaches it. 0: no length does. The baseline is of the same questions and
    languages, and all lengths have the same depths. (None, None, None) if there is no baseline, or it is 0.
    """
    judged = ~(curve.baseline != curve.baseline)
    baseline = curve.baseline[judged]
    if not len(baseline) or not baseline.any():
        return None, None, None
    reached: Mapping[str, list[int]] = {"low": [0], "value": [0], "high": [0]}
    for place, level in enumerate(curve.levels):
        here = judged & (curve.level == place)
        found = stats.paired_difference(
            stats.EFFECTIVE * curve.baseline[here], curve.values[here], curve.questions[here]
        )
        ends = {"low": found.ci_low, "value": found.value, "high": found.ci_high}
        for name, end in ends.items():
            # The tolerance keeps 0.45 from failing against 0.75 * 0.6 = 0.45000000000000007.
            if not math.isnan(end) and end >= -1e-12:
                reached[name].append(int(level))
    low, value, high = (max(reached[name]) for name in ("low", "value", "high"))
    return low, value, high
