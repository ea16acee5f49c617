"""How similar needles and distractors are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from needlework.prompts.similarity import similarities
from needlework.prompts.spans import Documents, Span
from needlework.records import SPAN


class Letters:
    """A vector of a text: its share of a, b and c."""

    dimensions = 3

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        counts = np.array([[text.count(letter) for letter in "abc"] for text in texts], float)
        return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)


TEXTS = {"n1": "aaa", "p1": "aab", "p2": "ccc", "p3": "a"}


def prompt(*spans: tuple[str, str | None]) -> list[dict]:
    """A prompt of spans (role, document); None is a text of the prompt's own."""
    return [
        Span(role, f"c/en/{name}", 0, 1)._asdict() if name else Span(role, text="?")._asdict()
        for role, name in spans
    ]


def test_a_prompt_has_the_mean_over_its_distractors() -> None:
    prompts = [
        prompt(("needle", "n1"), ("haystack", None), ("distractor", "p1"), ("distractor", "p2")),
        # A document that stands twice counts once.
        prompt(("distractor", "p3"), ("needle", "n1"), ("distractor", "p3")),
        prompt(("question", None), ("needle", "n1")),
        prompt(("distractor", "p1")),
    ]
    instances = pa.table({"instance_id": list("wxyz"), "prompt": pa.array(prompts, pa.list_(SPAN))})
    documents = Documents()
    documents.add("c/en", pa.table({"passage_id": list(TEXTS), "text": list(TEXTS.values())}))
    found = similarities(instances, documents, Letters())
    assert found["instance_id"].to_pylist() == list("wxyz")
    assert found["similarity"].to_pylist() == [
        pytest.approx((2 / 5**0.5 + 0) / 2), pytest.approx(1), None, None,
    ]  # fmt: skip
