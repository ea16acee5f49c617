"""MLNeedle's scores: exact accuracy by the paper's metric or the released one, and existence accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from needlework.metrics import containment, existence, released_mlneedle
from needlework.scoring import Rating, score_rows

METRICS = {"containment": containment.score, "released": released_mlneedle.score}


def score(
    instances: pa.Table,
    generations: pa.Table,
    translations: pa.Table | None,
    *,
    model: str,
    settings: Mapping[str, str],
) -> pa.Table:
    """The scores of `generations`, as `needlework.scoring.score_rows` gives them.

    The tasks "exact" and "closed_book" are scored by `settings["metric"]`, "existence" by the first
    Yes or No; an answer and its translation count by whichever is better.
    """
    metric = settings["metric"]

    def rate(row: Mapping[str, Any], text: str, translated: str | None) -> Rating:
        existing = row["task"] == "existence"
        function = existence.score if existing else METRICS[metric]
        # The released code knows no thoughts.
        read = row["raw_text"] if function is released_mlneedle.score else text
        value, verdict = function(read, translated, row["references"])
        return [(value, verdict, "existence" if existing else metric)]

    return score_rows(instances, generations, rate, model=model, translations=translations)
