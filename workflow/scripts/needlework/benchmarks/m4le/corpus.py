"""M4LE's rows, from the released files, from the source data sets, or from the embedded sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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


def table(corpus: str, lang: str, files: Sequence[str], settings: Mapping[str, Any]) -> pa.Table:
    """ROWS of the task with the slug `lang`, as the rule `read_corpus` asks for them.

    The first of `files` holds the frames; the rows are made of the others. `settings` come from
    `plan.corpus_settings`: lengths, examples, seed, and if needed positions, and lang and wording of a
    user's records. The embedded sample is one table with its own tasks.
    """
    frames_file, *data = map(Path, files)
    frames = load_frames(frames_file)
    names = settings["tasks"] if corpus == "m4le_sample" else [SLUGS[lang].name]
    found = (
        row
        for name in names
        for row in _rows(corpus.removeprefix("m4le_"), CONSTRUCTED[name], frames, data, settings)
    )
    return rows_table(found, f"m4le's {lang}")


def _rows(
    kind: str,
    task: Task,
    frames: Mapping[str, Frame],
    files: Sequence[Path],
    settings: Mapping[str, Any],
) -> Iterator[Row]:
    frame = frames[task.frame]
    if "wording" in settings:
        task = task_in(task.name, settings["lang"])
        frame = worded(frame, settings["wording"])
    if kind in ("2023", "2024"):
        return read_rows(task, frame, files[0], settings["lengths"])
    records = (sample_records if kind == "sample" else source_records)(task, files)
    study = Study(**settings["positions"]) if "positions" in settings else None
    recipe = Recipe(settings["lengths"], settings["examples"], settings["seed"], study)
    return construct(task, frame, records, recipe)
