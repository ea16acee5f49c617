"""The metrics of Lost in the Middle; their functions are in `scores`."""

from __future__ import annotations

from needlework.scoring.metric import CAREFUL, FOUND, SECOND, SEVERAL, Meaning, Metric, by_name

METRICS = by_name(
    Metric(
        "best_subspan_em",
        "best_subspan_em",
        {
            **FOUND,
            "match_all": Meaning(
                "A reference is empty once it is normalised, so every answer holds it.",
                "empty reference",
            ),
        },
    ),
    Metric(
        CAREFUL,
        "careful",
        {**SECOND, **SEVERAL},
        words="the second scorer's verdict",
        beside=True,
    ),
    Metric(
        "key_value_accuracy",
        "key_value_accuracy",
        FOUND,
        words="key_value_accuracy for pairs",
        choice=False,
        tasks=("key_value",),
    ),
)
