"""The prompts of M4LE: one per row of a task, from released, constructed or sample rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from needlework.benchmarks.m4le.data.tasks import CONSTRUCTED
from needlework.benchmarks.m4le.factors import COLUMNS, NAMED_BY
from needlework.benchmarks.m4le.plan import NAME, Slice, asks_alone
from needlework.contract import Built, SliceSettings
from needlework.prompts.instances import Instances, Spans
from needlework.prompts.spans import Span
from needlework.prompts.tokenizers import Tokenizer

Tables: TypeAlias = Mapping[str, Mapping[str, pa.Table]]


def build(
    slice_settings: SliceSettings,
    tables: Tables,
    templates: Sequence[str | Path],
    tokenizer: Tokenizer,
) -> Built:
    """One prompt for each row whose bucket is among the slice's lengths. `templates` are not used.

    `slice_settings` is the result of `plan.settings`. The prompts are spans of the rows' own texts.
    `references` holds the first accepted answer, which the oracle answers; `accepted` holds all accepted
    answers.
    """
    own = Slice(**slice_settings)
    made = Instances(NAME, {**COLUMNS, "accepted": "strings"}, NAMED_BY, tokenizer, Spans())
    skipped = 0
    alone: set[tuple[str, str]] = set()
    for batch in tables["rows"][own.slice].to_batches(max_chunksize=64):
        for row in batch.to_pylist():
            # A row without a bucket studies the place of its needle.
            if row["bucket"] and row["bucket"] not in own.lengths:
                skipped += 1
                continue
            _add(made, own, row, tokenizer, row["bucket"] or row["length"])
            if not (own.closed_book and row["bucket"] and asks_alone(row["task"])):
                continue
            # The question without its texts, once, if it is parted from them: of no length, as 0.
            last = row["pieces"][-1]
            text = row["text"][last["start"] : last["end"]].lstrip("\n")
            if last["role"] == "question" and (row["task"], text) not in alone:
                alone.add((row["task"], text))
                question = {**last, "start": last["end"] - len(text)}
                bare = {"pieces": [question], "text": text, "gold": [], "n_items": 0}
                bare |= {"bucket": 0, "length": None}
                _add(made, own, {**row, **bare}, tokenizer, row["bucket"])
    return Built(made.table(), {"rows of other lengths": skipped})


def _add(
    made: Instances,
    own: Slice,
    row: Mapping[str, Any],
    tokenizer: Tokenizer,
    limit: int,
) -> None:
    """Add the instance of a row; `limit` is the longest answer where the configuration names none."""
    task, source = CONSTRUCTED[row["task"]], f"{own.data}/{own.slice}/{row['passage_id']}"
    made.add(
        (
            made.spans.number(Span(piece["role"], source, piece["start"], piece["end"]))
            for piece in row["pieces"]
        ),
        row["text"],
        n_tokens=tokenizer.count(row["text"]),
        ability=task.ability,
        task_type=task.task_type,
        lang=own.lang or task.lang,
        domain=task.domain,
        length=row["bucket"],
        position=position(row["gold"], row["n_items"]),
        candidates=row["n_items"],
        source=own.source,
        units=row["length"],
        task=task.name,
        example_id=row["passage_id"],
        references=row["answers"][:1],
        accepted=row["answers"],
        metric=task.metric,
        max_new_tokens=own.max_new_tokens[task.name] or limit,
    )


def position(gold: Sequence[int], n_items: int) -> float | None:
    """The position of the only needle: 0 before all other items, 1 after them.

    None if there is no needle, or no other item.
    """
    return gold[0] / (n_items - 1) if len(gold) == 1 and n_items > 1 else None
