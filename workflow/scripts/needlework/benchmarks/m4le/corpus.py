"""M4LE's rows, from the released files, from the source data sets, or from the embedded sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from needlework.benchmarks.m4le.data.families import Recipe, Study, construct
from needlework.benchmarks.m4le.data.rows import Row, read_rows, rows_table, sample_records
from needlework.benchmarks.m4le.data.sources import source_records
from needlework.benchmarks.m4le.data.tasks import (
    CONSTRUCTED,
    SLUGS,
    Task,
    load_frames,
    task_in,
    worded,
)


@dataclass(frozen=True)
class Making:
    """What a table of rows depends on besides its files, as `plan.corpus_settings` returns it."""

    lengths: Sequence[int]
    # Of constructed rows.
    examples: int = 0
    seed: int = 0
    positions: Mapping[str, int] | None = None
    # Of the embedded sample, which is one table: its tasks.
    tasks: Sequence[str] = ()
    # Of a user's records with texts of their own.
    lang: str = ""
    wording: Mapping[str, str] = field(default_factory=dict)


def table(corpus: str, lang: str, files: Sequence[str], settings: Mapping[str, Any]) -> pa.Table:
    """ROWS of the task with the slug `lang`, as the rule `read_corpus` asks for them.

    The first of `files` holds the frames; the rows are made of the others. `settings` are fields of
    `Making`.
    """
    making = Making(**settings)
    frames_file, *data = map(Path, files)
    frames = load_frames(frames_file)
    read = sample_records if corpus == "m4le_sample" else source_records

    def rows(task: Task) -> Iterator[Row]:
        frame = frames[task.frame]
        if making.wording:
            task, frame = task_in(task.name, making.lang), worded(frame, making.wording)
        if corpus in ("m4le_2023", "m4le_2024"):
            return read_rows(task, frame, data[0], making.lengths)
        study = Study(**making.positions) if making.positions else None
        recipe = Recipe(making.lengths, making.examples, making.seed, study)
        return construct(task, frame, read(task, data), recipe)

    tasks = [CONSTRUCTED[name] for name in making.tasks] or [SLUGS[lang]]
    return rows_table((row for task in tasks for row in rows(task)), f"m4le's {lang}")
