"""MLNeedle's scores: exact accuracy by the paper's metric or the released one, and existence accuracy.

Beside the chosen metric every exact answer has the value of `bounded`, which is right where both are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from needlework.benchmarks.contract import Own
from needlework.scoring.metrics import bounded, containment, existence, released_mlneedle
from needlework.scoring.metrics.released_semantic import Semantic
from needlework.scoring.scores import Rating, score_rows

Metric = Callable[[str, str | None, Sequence[str]], tuple[float, str]]
METRICS: dict[str, Metric] = {
    "containment": containment.score,
    "released": released_mlneedle.score,
    "bounded": bounded.score,
}
# Those that see what the released code would see: it knows no thoughts.
RELEASED = ("released", "released_semantic")
BESIDE = "bounded"


def metric(settings: Own) -> Metric:
    """The metric that `settings` choose."""
    if settings["metric"] == "released_semantic":
        return Semantic(settings["semantic_model"]).score
    return METRICS[settings["metric"]]


def beside(settings: Own) -> list[str]:
    """The metrics of further rows of scores, of which tables and figures are not made."""
    return [] if settings["metric"] == BESIDE else [BESIDE]


def score(
    instances: pa.Table,
    generations: pa.Table,
    translations: pa.Table | None,
    *,
    model: str,
    settings: Own,
) -> pa.Table:
    """The scores of `generations`, as `needlework.scoring.scores.score_rows` gives them.

    The tasks "exact" and "closed_book" are scored by `settings["metric"]` and by `beside`, "existence"
    by what it says of Yes or No; an answer and its translation count by whichever is better.
    """
    chosen, name = metric(settings), settings["metric"]
    if isinstance(owner := getattr(chosen, "__self__", None), Semantic):
        _prepare(owner, instances, generations, translations)

    def rate(row: Mapping[str, Any], text: str, translated: str | None) -> Rating:
        references = row["references"]
        if row["task"] == "existence":
            return [(*existence.score(text, translated, references), "existence")]
        read = row["raw_text"] if name in RELEASED else text
        rated = [(*chosen(read, translated, references), name)]
        return rated + [
            (*METRICS[other](text, translated, references), other) for other in beside(settings)
        ]

    return score_rows(instances, generations, rate, model=model, translations=translations)


def _prepare(
    semantic: Semantic, instances: pa.Table, generations: pa.Table, translations: pa.Table | None
) -> None:
    """Encode all texts at once."""
    semantic.prepare(text for texts in instances["references"].to_pylist() for text in texts)
    for table, column in ((generations, "text"), (generations, "raw_text"), (translations, "text")):
        if table is not None:
            semantic.prepare(text or "" for text in table[column].to_pylist())
