"""Lost in the Middle's scores: best_subspan_em of questions, accuracy of key-value retrieval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from needlework.benchmarks.contract import Own
from needlework.scoring.metrics import best_subspan_em, key_value
from needlework.scoring.scores import Rating, score_rows


def score(
    instances: pa.Table,
    generations: pa.Table,
    translations: pa.Table | None,
    *,
    model: str,
    settings: Own,
) -> pa.Table:
    """The scores of `generations`, as `needlework.scoring.scores.score_rows` gives them.

    Answers to the task "key_value" have the metric "key_value_accuracy", all others
    "best_subspan_em". Nothing is translated, and nothing can be set.
    """
    return score_rows(instances, generations, _rate, model=model)


def _rate(row: Mapping[str, Any], text: str, translated: str | None) -> Rating:
    if row["task"] == "key_value":
        return [(*key_value.score(text, row["references"]), "key_value_accuracy")]
    return [(*best_subspan_em.score(text, row["references"]), "best_subspan_em")]
