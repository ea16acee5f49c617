"""M4LE's metrics; their functions are in `scores`."""

from __future__ import annotations

from needlework.scoring.metric import (
    CAREFUL,
    NO_NUMBER,
    PARTIAL,
    RIGHT,
    SECOND,
    SILENT,
    Meaning,
    Metric,
    by_name,
)

_SHARES = {
    **RIGHT,
    **PARTIAL,
    "wrong": Meaning("The metric gives the answer nothing.", "wrong"),
    "no_answer": SILENT["no_answer"],
}
METRICS = by_name(
    Metric("paper", "paper", _SHARES),
    Metric("released", "released", _SHARES, words="the released scorer's", raw=True),
    # Of texts without one right answer.
    Metric("rouge_lsum", "rouge_lsum", _SHARES, choice=False),
    Metric("chrf", "chrf", _SHARES, choice=False),
    Metric(
        CAREFUL,
        "task_verdict",
        {**SECOND, **NO_NUMBER},
        words="the second scorer's verdict",
        beside=True,
    ),
)
