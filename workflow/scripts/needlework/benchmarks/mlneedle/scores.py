"""MLNeedle's scores: exact accuracy by the paper's metric or the released one, and existence accuracy.

Beside the chosen metric every answer has the second scorer's verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from needlework.benchmarks.contract import Own
from needlework.benchmarks.mlneedle import careful, existence
from needlework.benchmarks.mlneedle import released as released_mlneedle
from needlework.benchmarks.mlneedle.released_semantic import Semantic
from needlework.scoring.metrics import containment
from needlework.scoring.scores import CAREFUL, Rating, score_rows, second

Metric = Callable[[str, str | None, Sequence[str]], tuple[float, str]]
METRICS: dict[str, Metric] = {
    "containment": containment.score,
    "released": released_mlneedle.score,
}
# Those that see what the released code would see: it knows no thoughts.
RELEASED = ("released", "released_semantic")
_LANGUAGES = ("question_lang", "needle_lang", "haystack_lang")


def metric(settings: Own) -> Metric:
    """The metric that `settings` choose; for "careful" the paper's, which undecided answers keep."""
    if settings["metric"] == CAREFUL:
        return containment.score
    if settings["metric"] == "released_semantic":
        return Semantic(settings["semantic_model"]).score
    return METRICS[settings["metric"]]


def score(
    instances: pa.Table,
    generations: pa.Table,
    translations: pa.Table | None,
    *,
    model: str,
    settings: Own,
) -> pa.Table:
    """The scores of `generations`, as `needlework.scoring.scores.score_rows` gives them.

    The tasks "exact" and "closed_book" are scored by `settings["metric"]`, "existence" by what it says of
    Yes or No; an answer and its translation count by whichever is better. All have the metric "careful" too.
    """
    chosen, name = metric(settings), settings["metric"]
    if isinstance(owner := getattr(chosen, "__self__", None), Semantic):
        _prepare(owner, instances, generations, translations)

    def rate(row: Mapping[str, Any], text: str, translated: str | None) -> Rating:
        references = row["references"]
        langs = [lang for name in _LANGUAGES if (lang := row.get(name))]
        if row["task"] == "existence":
            words = row.get("accepted") or existence.ENGLISH
            read = careful.existence(text, translated, references[0], langs, words)
            rated = [(*existence.score(text, translated, references, words), "existence")]
        else:
            read = careful.exact(text, translated, references, langs)
            seen = row["raw_text"] if name in RELEASED else text
            rated = [(*chosen(seen, translated, references), name)]
        verdict = second(read, rated[0][0])
        return [verdict] if name == CAREFUL else [*rated, verdict]

    return score_rows(instances, generations, rate, model=model, translations=translations)


def _prepare(
    semantic: Semantic, instances: pa.Table, generations: pa.Table, translations: pa.Table | None
) -> None:
    """Encode all texts at once."""
    semantic.prepare(text for texts in instances["references"].to_pylist() for text in texts)
    for table, column in ((generations, "text"), (generations, "raw_text"), (translations, "text")):
        if table is not None:
            semantic.prepare(text or "" for text in table[column].to_pylist())
