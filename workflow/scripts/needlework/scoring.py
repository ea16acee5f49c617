"""From answers to scores: joining them with their instances, whatever the benchmark's metric."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from needlework.errors import UserError
from needlework.records import scores_schema

# An answer with one of these finish reasons is none.
FAILED = ("skipped", "error")
# The columns of instances that are no factor.
_NOT_FACTORS = {
    *("instance_id", "benchmark", "task", "example_id", "prompt", "references"),
    *("accepted", "metric", "max_new_tokens", "n_tokens"),
}
_OF_ANSWERS = ("finish_reason", "completion_tokens", "reasoning_tokens")

# One (value in [0, 1], verdict, metric) for each metric under which an answer is scored.
Rating = list[tuple[float, str, str]]
Rate = Callable[[Mapping[str, Any], str, str | None], Rating]


def score_rows(
    instances: pa.Table,
    generations: pa.Table,
    rate: Rate,
    *,
    model: str,
    translations: pa.Table | None = None,
) -> pa.Table:
    """The scores of `generations` (records.scores_schema), in the same order.

    `instances` needs instance_id, task, example_id, references and the factors (not the prompt).
    `rate(row, text, translated)` gives an answer's value, verdict and metric, or several of them: a
    row of scores each. Its `row` has the instance's columns, and finish_reason, completion_tokens and
    reasoning_tokens of the answer; `translated` is None where the text is no other in English. A
    skipped or failed request has the value 0.0, and the finish reason as its verdict.

    Raises UserError where an instance or an answer comes twice, an answer belongs to no instance, an
    instance has no answer, or an answer has no translation.
    """
    answers = _keys(generations)
    _refuse_doubled("instances", instances["instance_id"].to_pylist())
    _refuse_doubled("generations", answers)
    places = pc.index_in(generations["instance_id"], instances["instance_id"])
    if places.null_count:
        orphan = answers[places.is_null().to_pylist().index(True)]
        raise _inconsistent(f"the generations answer {_shown(orphan)}, which no instance file has")
    if unanswered := set(instances["instance_id"].to_pylist()).difference(
        key for key, _ in answers
    ):
        raise _inconsistent(
            f"{len(unanswered)} instance(s) have no answer, such as {min(unanswered)}"
        )
    english = None if translations is None else _translated(translations)
    joined = instances.take(places)
    for name in _OF_ANSWERS:
        joined = joined.append_column(name, generations[name])

    ratings: Rating = []
    rows: list[int] = []
    texts = generations["text"].to_pylist()
    for i, row in enumerate(_each(joined)):
        translated = None
        if english is not None and row["finish_reason"] not in FAILED:
            if answers[i] not in english:
                raise _inconsistent(f"the answer {_shown(answers[i])} has no translation")
            translated = english[answers[i]] if english[answers[i]] != texts[i] else None
        if row["finish_reason"] in FAILED:
            # Rated all the same, for the names of the metrics.
            rated = [(0.0, row["finish_reason"], metric) for *_, metric in rate(row, "", None)]
        else:
            rated = rate(row, texts[i], translated)
        ratings += rated
        rows += [i] * len(rated)

    factors = {f.name: str(f.type) for f in instances.schema if f.name not in _NOT_FACTORS}
    schema, places = scores_schema(factors), pa.array(rows, pa.int64())
    columns = {
        **{name: joined[name].take(places) for name in ("example_id", "task", *_OF_ANSWERS)},
        **{name: joined[name].take(places) for name in factors},
        **{name: generations[name].take(places) for name in ("instance_id", "sample")},
        "model": [model] * len(rows),
        "value": [value for value, _, _ in ratings],
        "verdict": [verdict for _, verdict, _ in ratings],
        "metric": [metric for *_, metric in ratings],
    }
    return pa.table({name: columns[name] for name in schema.names}, schema=schema)


def _each(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=4096):
        yield from batch.to_pylist()


def _keys(table: pa.Table) -> list[tuple[str, int]]:
    return list(zip(table["instance_id"].to_pylist(), table["sample"].to_pylist(), strict=True))


def _translated(translations: pa.Table) -> dict[tuple[str, int], str]:
    keys = _keys(translations)
    _refuse_doubled("translations", keys)
    return dict(zip(keys, translations["text"].to_pylist(), strict=True))


def _refuse_doubled(what: str, keys: list) -> None:
    if len(set(keys)) < len(keys):
        seen: set = set()
        doubled = next(key for key in keys if key in seen or seen.add(key))
        raise _inconsistent(f"the {what} hold {_shown(doubled)} twice")


def _shown(key: str | tuple[str, int]) -> str:
    return key if isinstance(key, str) else f"{key[0]} sample {key[1]}"


def _inconsistent(what: str) -> UserError:
    return UserError(
        f"{what}: instances, generations and translations were not made from each other; delete the "
        "generations and translations of this model and run again (the journal keeps finished work)."
    )
