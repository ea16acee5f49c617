"""Repeatability: what is counted, and that nothing is asked twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from needlework.journal import Journal
from needlework.models.backends.base import Answer, Backend, Request
from needlework.models.repeatability import REFERENCE, Condition, ask, conditions, draw
from needlework.prompts.spans import literal
from needlework.results.repeatability import compare

REQUESTS = [
    Request(f"i{n}", 0, "exact", [literal("question", f"Question {n}?")], ["x"], 8, 1, {})
    for n in range(6)
]


class Moody(Backend):
    """Its answers tell how many prompts came before in the same engine, and with how much company."""

    asked: ClassVar[list[str]] = []

    def identity(self) -> Mapping[str, Any]:
        return {"backend": "moody"}

    def load(self) -> None:
        self.before = 0

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        for request in batch:
            self.asked.append(request.instance_id)
            self.before += 1
            told = self.config["tells"]
            yield Answer(f"{request.instance_id} {self.before if told else ''}")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    Moody.asked = []
    with Journal(tmp_path) as opened:
        yield opened


def answers(journal: Journal, tells: bool, **how: Any) -> list[str]:
    def load(changes: Mapping[str, Any]) -> Backend:
        return Moody({"tells": tells, **changes})

    return ask(REQUESTS, str(how), Condition({}, **how), load, journal)["text"].to_pylist()


def test_answers_come_in_the_order_of_the_requests(journal: Journal) -> None:
    assert answers(journal, False) == [f"i{n} " for n in range(6)]
    assert answers(journal, False, reverse=True) == [f"i{n} " for n in range(6)]
    assert Moody.asked == [f"i{n}" for n in (*range(6), *reversed(range(6)))]


def test_the_last_pass_counts(journal: Journal) -> None:
    assert answers(journal, True, passes=2) == [f"i{n} {n + 7}" for n in range(6)]


def test_what_was_answered_is_not_asked_again(journal: Journal) -> None:
    first = answers(journal, True)
    assert answers(journal, True) == first and len(Moody.asked) == 6


def test_equal_prompts_are_asked_once(journal: Journal) -> None:
    twice = [*REQUESTS[:1], replace(REQUESTS[0], instance_id="again")]
    table = ask(twice, "x", Condition({}), lambda c: Moody({"tells": False}), journal)
    assert table["text"].to_pylist() == ["i0 ", "i0 "] and Moody.asked == ["i0"]


class Thinking(Backend):
    """Thinks, and is cut at a limit that is not part of the key."""

    def identity(self) -> Mapping[str, Any]:
        return {"backend": "thinking"}

    def holds(self, record: Mapping[str, Any]) -> bool:
        return record.get("cut_at") in (None, self.config["limit"])

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        for _ in batch:
            text = f"<think>hm</think>{'x' * self.config['limit']}"
            yield Answer(text, "length", cut_at=self.config["limit"])


def test_answers_are_those_of_a_run(journal: Journal) -> None:
    """Without reasoning, and asked again where a limit has changed."""
    for limit in (2, 8):
        condition = Condition({"limit": limit})
        table = ask(REQUESTS[:1], "x", condition, Thinking, journal)
        assert table["text"].to_pylist() == ["x" * limit]


def test_a_sample_is_drawn_by_seed_and_keeps_its_order() -> None:
    drawn = draw(REQUESTS, 3, 0)
    assert len(drawn) == 3 and drawn == [r for r in REQUESTS if r in drawn]
    assert drawn == draw(REQUESTS[::-1], 3, 0)[::-1]
    assert any(draw(REQUESTS, 3, seed) != drawn for seed in range(1, 6))
    assert draw(REQUESTS, 100, 0) == REQUESTS


def test_changes_are_counted_with_intervals(journal: Journal) -> None:
    tables = {
        REFERENCE: _table(journal, True),
        "reverse order": _table(journal, True, reverse=True),
    }
    values = {REFERENCE: [[1.0]] * 6, "reverse order": [[1.0]] * 4 + [[0.0], [1.0]]}
    (row,) = compare(tables, values)
    # 1 2 3 4 5 6 against 6 5 4 3 2 1.
    assert (row["n"], row["answers_changed"], row["scores_changed"]) == (6, 6, 1)
    assert row["scores_ci_low_independent"] < 1 / 6 < row["scores_ci_high_independent"]


def _table(journal: Journal, tells: bool, **how: Any) -> Any:
    return ask(REQUESTS, str(how), Condition({}, **how), lambda c: Moody({"tells": tells}), journal)


@pytest.mark.parametrize(
    ("backend", "own", "there"),
    [
        ("openvino", {"batch_size": None}, {"1 at once, then 8", "no prefix cache"}),
        ("openvino", {"batch_size": 4}, {"4 at once, then 1", "no prefix cache"}),
        ("transformers", {"batch_size": None}, {"8 at once, then 1"}),
        ("vllm", {}, {"one at a time", "no prefix cache"}),
        ("openai", {}, {"one at a time"}),
    ],
)
def test_each_backend_has_its_conditions(backend: str, own: dict, there: set[str]) -> None:
    found = conditions({"backend": backend, "engine": {}, **own})
    always = {REFERENCE, "same again", "second pass, warm", "reverse order"}
    assert set(found) == always | there
    # The order of a batch is the endpoint's.
    assert all(how.changes.get("batch") is False for how in found.values()) == (backend == "openai")
    assert next(iter(found)) == REFERENCE


def test_answers_that_were_paid_for_are_found(journal: Journal) -> None:
    """Under the key that they have had since the first version."""
    head = json.dumps([{"repeatability": [{"backend": "moody"}, "x"]}, 0, 8, None])
    key = hashlib.sha256(f"{head}\nQuestion 0?".encode()).hexdigest()
    journal.append([{"key": key, "text": "kept", "finish_reason": "stop"}])
    table = ask(REQUESTS[:1], "x", Condition({}), lambda c: Moody({"tells": False}), journal)
    assert table["text"].to_pylist() == ["kept"] and Moody.asked == []
