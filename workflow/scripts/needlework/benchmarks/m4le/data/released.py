"""M4LE as it was released: the hub's JSON Lines, read line by line."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from needlework.benchmarks.m4le.data.frames import Cut, Frame, Piece, cut, pieces
from needlework.benchmarks.m4le.data.rows import Row
from needlework.benchmarks.m4le.data.tasks import BUCKETS, BUCKETS_2023, Task
from needlework.data.archives import Archive
from needlework.data.corpora.json_lines import MAX_LINE_BYTES, Line, objects, read_lines
from needlework.errors import UserError

logger = logging.getLogger(__name__)

# The archive of the first release has 1.09 GB of text, compressed.
_MOST_BYTES = 16 << 30
# Members that an error lists.
_MOST_LISTED = 60
_KNOWN = {*BUCKETS, *BUCKETS_2023}


def read_rows(
    task: Task, frame: Frame, path: str | Path, buckets: Collection[int]
) -> Iterator[Row]:
    """The rows of a task's file in `buckets`, in the file's order.

    A prompt in which the frame is not found is one piece of haystack; these, and rows whose gold
    item is not among the items, are counted in the log. UserError if a line is not a JSON object, lacks
    a field, has an unknown bucket or an empty text. `path` is a JSON Lines file, or the first
    release's data.zip.
    """
    path = Path(path)
    counts: Counter[str] = Counter()
    for line in _zipped(path, task) if path.suffix == ".zip" else read_lines(path):
        bucket = line.get("length_bucket", int)
        if bucket not in _KNOWN:
            raise line.wrong(f"has the unknown length_bucket {bucket}")
        if bucket not in buckets:
            continue
        instruction, text = line.get("instruction", str), line.get("input", str)
        answers = line.texts("answers")
        if not text.strip() or not any(answer.strip() for answer in answers):
            raise line.wrong("has an empty 'input' or no answer")
        found = cut(frame, instruction, text)
        gold: list[int] = []
        if found is None:
            counts["rows without the task's frame"] += 1
            found_pieces = [Piece("haystack", 0, len(instruction) + 1 + len(text))]
        else:
            gold, missing = _gold(task, line.value, found)
            counts["rows with a gold item that is not there"] += missing
            found_pieces = pieces(frame, found, len(text), gold)
        yield Row(
            task=task.name,
            text=f"{instruction}\n{text}",
            pieces=found_pieces,
            answers=answers,
            bucket=bucket,
            length=line.get("total_length", int),
            gold=gold,
            n_items=len(found.items) if found else 0,
        )
    for what, count in counts.items():
        if count:
            logger.warning("%s: %d %s", task.name, count, what)


def _zipped(path: Path, task: Task) -> Iterator[Line]:
    """The lines of the task's file in an archive, wherever in it the file lies."""
    with Archive(path, max_total=_MOST_BYTES) as archive:
        wanted = [f"{name}.jsonl" for name in task.archived]
        names = [name for name in sorted(archive.names) if PurePosixPath(name).name in wanted]
        if len(names) != 1:
            raise UserError(_no_member(path, task, wanted, names or sorted(archive.names)))
        yield from objects(path / names[0], archive.lines(names[0], MAX_LINE_BYTES))


def _no_member(path: Path, task: Task, wanted: Sequence[str], found: Sequence[str]) -> str:
    """What an archive has in place of the task's one file. Its names are untrusted."""
    several = len({*wanted} & {PurePosixPath(name).name for name in found}) > 0
    listed = ", ".join(map(repr, found[:_MOST_LISTED]))
    more = f" and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
    return (
        f"{path} has {len(found) if several else 'no'} members named {' or '.join(wanted)}. It has "
        f"{listed}{more}. Leave {task.name} out of `benchmarks.m4le.tasks`, or set "
        '`benchmarks.m4le.release: "2024"`; another download has the same members.'
    )


def _gold(task: Task, row: Mapping[str, Any], found: Cut) -> tuple[list[int], bool]:
    """The places of the needles among the items, and whether the row names one that is not there."""
    labels = row.get("labels")
    if isinstance(index := row.get("gold_index"), int):
        named: Sequence[Any] = [index]
    elif isinstance(contexts := row.get("ctxs"), list):
        named = [
            i for i, c in enumerate(contexts) if isinstance(c, dict) and c.get("isgold") is True
        ]
    elif task.metric == "f1":
        named = re.findall(r"[0-9A-F]{6}", row["answers"][0])
    elif isinstance(labels, dict) and isinstance(labels.get(found.values.get("question")), list):
        named = labels[found.values["question"]]
    else:
        named = [found.values["gold"]] if found.values.get("gold") else []
    places = {id_: place for place, id_ in enumerate(found.ids)} if any(found.ids) else {}
    there = [
        places.get(name, -1) if isinstance(name, str) else name if isinstance(name, int) else -1
        for name in named
    ]
    gold = sorted({place for place in there if 0 <= place < len(found.items)})
    return gold, len(gold) < len(set(there))
