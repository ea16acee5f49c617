"""MLNeedle's scores: exact accuracy by the paper's metric or the released one, and existence accuracy."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from needlework.errors import UserError
from needlework.metrics import containment, existence, released_mlneedle
from needlework.records import scores_schema

METRICS = {"containment": containment.score, "released": released_mlneedle.score}

# An answer with one of these finish reasons is none.
FAILED = ("skipped", "error")
# The columns of instances that are no factor.
_NOT_FACTORS = {
    *("instance_id", "benchmark", "task", "example_id", "prompt", "references"),
    *("metric", "max_new_tokens", "n_tokens"),
}


def score(
    instances: pa.Table,
    generations: pa.Table,
    translations: pa.Table,
    *,
    model: str,
    metric: Literal["containment", "released"],
) -> pa.Table:
    """A row of SCORES for each row of `generations`, in the same order.

    `instances` needs instance_id, task, example_id, references and the factors (not the prompt),
    `generations` instance_id, sample, text and finish_reason. The tasks "exact" and "closed_book"
    are scored by `metric`, "existence" by the first Yes or No; an answer and its translation count
    by whichever is better. A skipped or failed request has the value 0.0, and the finish reason as
    its verdict.

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

    joined = instances.take(places)
    english = _translated(translations)
    values, verdicts, metrics = [], [], []
    for answer, text, finish_reason, task, references in zip(
        answers,
        generations["text"].to_pylist(),
        generations["finish_reason"].to_pylist(),
        joined["task"].to_pylist(),
        joined["references"].to_pylist(),
        strict=True,
    ):
        if finish_reason in FAILED:
            value, verdict = 0.0, finish_reason
        elif answer not in english:
            raise _inconsistent(f"the answer {_shown(answer)} has no translation")
        else:
            rate = existence.score if task == "existence" else METRICS[metric]
            translated = None if english[answer] == text else english[answer]
            value, verdict = rate(text, translated, references)
        values.append(value)
        verdicts.append(verdict)
        metrics.append("existence" if task == "existence" else metric)

    factors = {f.name: str(f.type) for f in instances.schema if f.name not in _NOT_FACTORS}
    return pa.table(
        {
            "instance_id": generations["instance_id"],
            "sample": generations["sample"],
            "model": [model] * len(answers),
            "metric": metrics,
            "value": values,
            "verdict": verdicts,
            "finish_reason": generations["finish_reason"],
            **{name: joined[name] for name in ("example_id", "task", *factors)},
        },
        schema=scores_schema(factors),
    )


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
