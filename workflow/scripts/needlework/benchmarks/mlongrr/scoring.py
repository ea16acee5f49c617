"""mLongRR's scores: every answer by the strict rules and by the notebooks' ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from needlework.benchmarks.contract import Own
from needlework.benchmarks.mlongrr.factors import ABSENT, METRIC, RETRIEVAL
from needlework.scoring.metrics import mlongrr_strict as strict
from needlework.scoring.metrics import released_mlongrr as released
from needlework.scoring.scores import Rating, score_rows

METRICS = tuple(map(str, METRIC.order))

# A file of the authors' answers: a model's in one language, to one question about so many needles.
_FILE = ("lang", "haystack", "n_needles", "question", "template")


def score(
    instances: pa.Table,
    generations: pa.Table,
    translations: None = None,
    *,
    model: str,
    settings: Own,
) -> pa.Table:
    """Three rows of scores (METRICS) for each row of `generations`.

    `settings` may have `unanswerable`: words beside ours that say that there is no needle. An answer
    without text has the verdict "length" where the output limit cut it off (a model that did not end
    its reasoning), else "no_answer". Raises UserError as `score_rows` does.
    """
    further = tuple(settings.get("unanswerable", ()))
    files = _files(instances, generations)

    def rate(row: Mapping[str, Any], text: str | None, translated: str | None) -> Rating:
        said = text or ""
        if not said.strip():
            verdict = "length" if row["finish_reason"] == "length" else "no_answer"
            return [(0.0, verdict, metric) for metric in METRICS]
        gold, words = row["references"], (row["unanswerable"], *further)
        if row["task"] == ABSENT:
            found = released.score([said], gold)
            return _rating(strict.score_absent(said, (*words, *gold)), found, found)
        numbers = row["numbers"].split()
        claude = released.claude_gold(numbers)
        if row["question"] == "city":
            cities = [city.split("/") for city in row["cities"].split("|")]
            others = [name for names in cities for name in names]
            return _rating(
                strict.score_city(said, gold, others, words),
                released.score([said], gold),
                released.score([said], cities[claude]),
            )
        answers = [said] if row["task"] == RETRIEVAL else files[_file(row)]
        return _rating(
            strict.score_number(said, gold[0], numbers, words),
            released.score(answers, gold),
            released.score(answers, [numbers[claude]]),
        )

    return score_rows(instances, generations, rate, model=model)


def _rating(*rated: tuple[float, str]) -> Rating:
    return [(*each, metric) for each, metric in zip(rated, METRICS, strict=True)]


def _file(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[factor] for factor in _FILE)


def _files(instances: pa.Table, generations: pa.Table) -> dict[tuple[Any, ...], list[str]]:
    """The answers of each file."""
    rows = instances.select(["instance_id", *_FILE]).to_pylist()
    of = {row["instance_id"]: _file(row) for row in rows}
    files: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for key, text in zip(
        generations["instance_id"].to_pylist(), generations["text"].to_pylist(), strict=True
    ):
        if key in of and text:
            files[of[key]].append(text)
    return files
