"""The prompts of a checkup: whole questions drawn by seed, and some of them again in other batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from needlework import seeding
from needlework.factor import MOST_LEVELS
from needlework.models.selection import Selection, mask
from needlework.records import CheckupCell, read_table

if TYPE_CHECKING:
    from needlework.models.settings import AnyModel

# The prompts in a batch of a model that is asked one at a time.
_TOGETHER = 4
_VLLM_AT_ONCE = 128


def asked(files: Iterable[str], lengths: Sequence[int], only: Selection) -> pa.Table:
    """The drawn prompts in instance files that a model gets, by its `lengths` and `only`."""
    table = pa.concat_tables(read_table(file) for file in files)
    # 0 has no length.
    table = table.filter(pc.is_in(table["length"], value_set=pa.array([0, *lengths], pa.int32())))
    return table.filter(mask(table, only))


def draw_questions(questions: Iterable[str], n: int | None, *seed: object) -> list[str]:
    """`n` questions drawn by seed, in the order of the draw.

    A larger draw begins with the smaller one.
    """
    order = sorted(set(questions), key=lambda name: seeding.rank_key("audit", *seed, name))
    return order[:n]


def of_questions(table: pa.Table, questions: Sequence[str]) -> pa.Table:
    """The rows of a table whose question is among `questions`."""
    return table.filter(pc.is_in(table["example_id"], value_set=pa.array(questions, pa.string())))


def cells(table: pa.Table, factors: Sequence[str]) -> list[CheckupCell]:
    """The cells of a checkup: all prompts, and each level of each factor, with the number of their questions.

    All existing prompts count, whether or not they are asked, so the numbers are known before the first
    answer. If several cells have the same prompts, only the first is kept.
    """
    questions = table["example_id"].to_pylist()
    found = {tuple(range(len(questions))): ("all", "")}
    for factor in factors:
        values = table[factor].to_pylist()
        levels = sorted({v for v in values if v is not None}, key=lambda v: (isinstance(v, str), v))
        if 1 < len(levels) <= MOST_LEVELS:
            for level in levels:
                places = tuple(i for i, value in enumerate(values) if value == level)
                found.setdefault(places, (factor, str(level)))
    return [
        {"by": by, "level": level, "questions": len({questions[i] for i in places})}
        for places, (by, level) in found.items()
        if places
    ]


def other_batches(entry: AnyModel) -> Mapping[str, object]:
    """Changes to a model's entry, by which the engine's batches differ from a run's."""
    engine = dict(entry.engine)
    if entry.backend == "vllm":
        at_once = engine.get("max_num_seqs") or _VLLM_AT_ONCE
        return {"engine": engine | {"max_num_seqs": _other(at_once)}}
    if entry.backend in ("openai", "inspect"):
        return {"batch": False, "concurrency": _other(entry.concurrency)}
    if entry.backend in ("openvino", "transformers"):
        usual = 1 if entry.backend == "openvino" else 8
        return {"batch_size": _other(entry.batch_size or usual)}
    return {}


def _other(at_once: int) -> int:
    return at_once // 2 if at_once > 1 else _TOGETHER
