"""Lost in the Middle's scores: best_subspan_em of questions, accuracy of key-value pairs, careful."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from needlework.benchmarks.contract import Own
from needlework.benchmarks.lost_in_the_middle import best_subspan_em, careful, key_value
from needlework.scoring.scores import CAREFUL, Rating, score_rows, second


def score(
    instances: pa.Table,
    generations: pa.Table,
    translations: pa.Table | None,
    *,
    model: str,
    settings: Own,
) -> pa.Table:
    """The scores of `generations`, as `needlework.scoring.scores.score_rows` gives them.

    Answers to the task "key_value" have the metric "key_value_accuracy", all others "best_subspan_em",
    and all have "careful" too; if `settings["metric"]` is "careful", they have that alone. Nothing is
    translated.
    """

    def rate(row: Mapping[str, Any], text: str, translated: str | None) -> Rating:
        references = row["references"]
        if row["task"] == "key_value":
            papers = (*key_value.score(text, references), "key_value_accuracy")
            read = careful.key_value(text, references[0])
        else:
            papers = (*best_subspan_em.score(text, references), "best_subspan_em")
            read = careful.question(text, references)
        verdict = second(read, papers[0])
        return [verdict] if settings.get("metric") == CAREFUL else [papers, verdict]

    return score_rows(instances, generations, rate, model=model)
