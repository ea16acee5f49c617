"""M4LE's real rows and sample rows, for tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from needlework.benchmarks.m4le import corpus as m4le
from needlework.benchmarks.m4le.data.tasks import SAMPLED, Cut, Frame, Item, Task, load_frames

ROOT = Path(__file__).resolve().parents[1]
FRAMES_FILE = ROOT / "resources/m4le/frames.yaml"
SAMPLE_FILES = sorted((ROOT / "resources/sample/m4le").glob("*.yaml"))


@lru_cache(maxsize=1)
def frames() -> dict[str, Frame]:
    """The frames of all tasks."""
    return load_frames(FRAMES_FILE)


def mirrored(mirror: Path, task: Task) -> Iterator[dict[str, Any]]:
    """The rows of the mirror's file of a task."""
    for line in (mirror / "m4le" / task.file).read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def sample(**settings: Any) -> pa.Table:
    """The sample's rows with other settings than the default's."""
    own = {"lengths": [500, 1000], "examples": 4, "seed": 0, "tasks": list(SAMPLED), **settings}
    return m4le.table("m4le_sample", "sample", [FRAMES_FILE, *SAMPLE_FILES], own)


def items_of(frame: Frame, found: Cut, text: str) -> list[Item]:
    """The items of a cut prompt, each split into its title and text by the frame."""
    ends = [start - len(frame.join or "") for start in found.items[1:]] + [found.items_end]
    pattern = re.escape(frame.item)
    for name, group in (("id", r"[0-9A-F]{6}|\d+"), ("title", ".*?"), ("text", ".*")):
        pattern = pattern.replace(re.escape(f"{{{name}}}"), f"(?P<{name}>{group})")
    items = []
    for start, end in zip(found.items, ends, strict=True):
        parts = re.compile(pattern, re.DOTALL).fullmatch(text, start, end)
        assert parts is not None, text[start:end][:200]
        items.append(Item(**parts.groupdict()))
    return items
