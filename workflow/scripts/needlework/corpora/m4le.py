"""M4LE's rows, from the released files, from the source data sets, or from the embedded sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from needlework.corpora.m4le_data.families import Recipe, construct
from needlework.corpora.m4le_data.frames import load_frames
from needlework.corpora.m4le_data.released import read_rows
from needlework.corpora.m4le_data.rows import rows_table
from needlework.corpora.m4le_data.sample import sample_records
from needlework.corpora.m4le_data.sources import source_records
from needlework.corpora.m4le_data.tasks import SLUGS


def table(corpus: str, lang: str, files: Sequence[str], settings: Mapping[str, Any]) -> pa.Table:
    """ROWS of the task with the slug `lang`, as the rule `read_corpus` asks for them.

    The first of `files` holds the frames, the others are what the rows are made of. `settings` are
    those of `plan.corpus_settings`: lengths, examples, seed.
    """
    task = SLUGS[lang]
    frames_file, *data = map(Path, files)
    frame = load_frames(frames_file)[task.name]
    kind = corpus.removeprefix("m4le_")
    if kind in ("2023", "2024"):
        rows = read_rows(task, frame, data[0], settings["lengths"])
    else:
        records = (sample_records if kind == "sample" else source_records)(task, data)
        recipe = Recipe(settings["lengths"], settings["examples"], settings["seed"])
        rows = construct(task, frame, records, recipe)
    return rows_table(rows, f"m4le's {task.name}")
