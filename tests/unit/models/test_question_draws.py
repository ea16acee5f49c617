"""What the doctor asks: nested draws of whole questions, fixed cells, other batches."""

from __future__ import annotations

import pyarrow as pa
import pytest

from factories.models import block
from needlework.factor import MOST_LEVELS
from needlework.models.question_draws import cells, draw_questions, of_questions, other_batches

TABLE = pa.table(
    {
        "example_id": [q for q in ("q1", "q2", "q3") for _ in range(3)] + ["q4"],
        "position": ["start", "middle", "end"] * 3 + [None],
        **{"depth": [0, 50, 100] * 3 + [None], "length": [512] * 10},
        "lang": ["en"] * 6 + ["de"] * 4,
    }
)


def test_a_larger_draw_begins_with_a_smaller_one() -> None:
    names = [f"q{n}" for n in range(100)]
    whole = draw_questions(names * 3, None, 0, "mlneedle")
    assert sorted(whole) == sorted(names) and whole != sorted(names)
    for n in (1, 10, 99):
        assert draw_questions(reversed(names), n, 0, "mlneedle") == whole[:n]
    assert (
        draw_questions(names, None, 1, "mlneedle")
        != whole
        != draw_questions(names, None, 0, "oneruler")
    )


def test_questions_are_drawn_with_all_their_prompts() -> None:
    assert of_questions(TABLE, ["q2"])["position"].to_pylist() == ["start", "middle", "end"]
    assert of_questions(TABLE, []).num_rows == 0


def test_cells_are_all_prompts_and_each_level() -> None:
    """Numbers in their order, cells of the same prompts once, and none of a factor of many levels."""
    position = [("all", "", 4), ("position", "end", 3), ("position", "middle", 3)]
    position.append(("position", "start", 3))
    lang = [("lang", "de", 2), ("lang", "en", 2)]

    def found(table: pa.Table, *factors: str) -> list[tuple]:
        return [(c["by"], c["level"], c["questions"]) for c in cells(table, list(factors))]

    assert found(TABLE, "position", "length", "lang") == position + lang
    assert found(TABLE, "position", "depth") == found(TABLE, "position")
    assert [level for _, level, _ in found(TABLE, "depth")] == ["", "0", "50", "100"]
    many = pa.table({"example_id": ["q"] * 99, "index": list(range(99))})
    assert MOST_LEVELS < 99 and len(found(many, "index")) == 1
    assert found(TABLE.slice(0, 0), "position") == []


@pytest.mark.parametrize(
    ("entry", "changed"),
    [
        ({"backend": "openvino", "batch_size": None}, {"batch_size": 4}),
        ({"backend": "openvino", "batch_size": 4}, {"batch_size": 2}),
        ({"backend": "transformers", "batch_size": None}, {"batch_size": 4}),
        (
            {"backend": "vllm", "engine": {"dtype": "x"}},
            {"engine": {"dtype": "x", "max_num_seqs": 64}},
        ),
        ({"backend": "vllm", "engine": {"max_num_seqs": 1}}, {"engine": {"max_num_seqs": 4}}),
        ({"backend": "openai", "concurrency": 8}, {"batch": False, "concurrency": 4}),
    ],
)
def test_a_second_answer_is_given_in_other_batches(entry, changed) -> None:
    assert other_batches(block(entry)) == changed
