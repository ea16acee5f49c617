"""The corpora of M4LE: its released rows, and the data sets that rows are constructed from."""

from __future__ import annotations

from typing import Any

from needlework.benchmarks.m4le.data.tasks import SLUGS, TASKS
from needlework.data.corpora.corpus import Corpus

READER = "benchmarks.m4le.corpus"
# The wording around what a row holds.
WORDED: Any = {"resources": ("m4le/frames.yaml",), "benchmark": "m4le"}
RELEASED = tuple(task.slug for task in TASKS.values())

CORPORA = {
    **{
        f"m4le_{release}": Corpus(READER, "m4le", release, languages=RELEASED, **WORDED)
        for release in ("2024", "2023")
    },
    "m4le_constructed": Corpus(READER, languages=tuple(SLUGS), **WORDED),
    "m4le_sample": Corpus(READER, files=("m4le/*.yaml",), languages=("sample",), **WORDED),
}
