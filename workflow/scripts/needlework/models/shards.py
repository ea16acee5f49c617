"""Merge the answers of a model's shards into one table, as one job would write it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from needlework.answer_states import ANSWERED, CUT, EMPTY, ERROR, PROMPT_CUT
from needlework.errors import UserError
from needlework.models.outcomes import PromptSize, cut_prompts, read_tokens
from needlework.records import GENERATIONS, read_table, taken

# What became of requests whose answers were paid for.
_PAID = (ANSWERED, CUT, EMPTY, PROMPT_CUT)


def merge(
    files: Sequence[str | Path],
    max_failed: int = 0,
    sizes: Mapping[str, PromptSize] | None = None,
) -> pa.Table:
    """The answers of all shards of a benchmark, with the rows and order of `generate`.

    `sizes` are the sizes of all prompts (`InstanceRequests.sizes`). With them, a server's limit is found that
    one shard alone could not show; prompts that it cut count as failed. Raises UserError if more than
    `max_failed` requests failed in all shards together.
    """
    tables = [read_table(file) for file in files]
    merged = pa.concat_tables(tables)
    order = [("instance_id", "ascending"), ("sample", "ascending")]
    merged = taken(merged, pc.sort_indices(merged.select(["instance_id", "sample"]), order))
    merged, cut = _without_cut(merged, sizes or {})
    n_failed = pc.sum(pc.equal(merged["finish_reason"], ERROR)).as_py() or 0
    if n_failed > max_failed and cut:
        raise UserError(
            f"all shards together show that the endpoint cut {len(cut)} of {len(merged)} prompts (the first: "
            f"{cut[0]}). With them {n_failed} requests failed, more than `max_failed: {max_failed}` allows. "
            "Raise the server's context, or lower `context`; with `generation: {again: [cut]}` and "
            "`shards: 1` of the model, the same command asks them again, and pays again."
        )
    if n_failed > max_failed:
        errors = [table.filter(pc.field("finish_reason") == ERROR)["error"] for table in tables]
        failed = [str(file) for file, found in zip(files, errors, strict=True) if len(found)]
        first = next(found[0] for found in errors if len(found))
        raise UserError(
            f"{n_failed} of {len(merged)} requests failed in all shards, more than "
            f"`max_failed: {max_failed}` allows; the first: {first}. Correct the cause, delete "
            f"{', '.join(failed)} and run again to retry them."
        )
    return merged.combine_chunks().cast(GENERATIONS)


def _without_cut(answers: pa.Table, sizes: Mapping[str, PromptSize]) -> tuple[pa.Table, list[str]]:
    """The rows, those that are found to answer a cut prompt as errors, and what is said of each of these."""
    names, outcomes = (answers[column].to_pylist() for column in ("instance_id", "outcome"))
    counts = read_tokens(answers.select(["prompt_tokens", "cached_tokens"]).to_pylist())
    asked = [
        place
        for place, name in enumerate(names)
        if counts[place] and name in sizes and outcomes[place] in _PAID
    ]
    prompts = [sizes[names[place]].read(counts[place]) for place in asked]
    found = {asked[place]: said for place, said in cut_prompts(prompts).items()}
    cut_ones = {place for place in found if outcomes[place] != PROMPT_CUT}
    if not cut_ones:
        return answers, []
    mask = pa.array([place in cut_ones for place in range(len(answers))])
    new = {
        "raw_text": pc.coalesce(answers["raw_text"], answers["text"]),
        "text": pa.scalar("", answers["text"].type),
        "finish_reason": pa.scalar(ERROR, answers["finish_reason"].type),
        "outcome": pa.scalar(PROMPT_CUT, answers["outcome"].type),
        "error": pa.array(
            [found.get(place) for place in range(len(answers))], answers["error"].type
        ),
    }
    for name, values in new.items():
        changed = pc.if_else(mask, values, answers[name])
        answers = answers.set_column(answers.column_names.index(name), name, changed)
    return answers, [found[place] for place in sorted(cut_ones)]
