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
    Frame,
    Task,
    load_frames,
    task_in,
    worded,
)


@dataclass(frozen=True)
class Making:
    """What a table of rows depends on besides its files, as `plan.corpus_settings` gives it."""

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
    names = making.tasks if corpus == "m4le_sample" else [SLUGS[lang].name]
    found = (
        row
        for name in names
        for row in _rows(corpus.removeprefix("m4le_"), CONSTRUCTED[name], frames, data, making)
    )
    return rows_table(found, f"m4le's {lang}")


def _rows(
    kind: str,
    task: Task,
    frames: Mapping[str, Frame],
    files: Sequence[Path],
    making: Making,
) -> Iterator[Row]:
    frame = frames[task.frame]
    if making.wording:
        task = task_in(task.name, making.lang)
        frame = worded(frame, making.wording)
    if kind in ("2023", "2024"):
        return read_rows(task, frame, files[0], making.lengths)
    records = (sample_records if kind == "sample" else source_records)(task, files)
    study = Study(**making.positions) if making.positions else None
    recipe = Recipe(making.lengths, making.examples, making.seed, study)
    return construct(task, frame, records, recipe)
