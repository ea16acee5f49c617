"""Runs that answer the same requests at once: which one a run sends next."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from factories.generations import Watched, documents, instances
from needlework.journal import Journal
from needlework.models.backends.base import Answer, Request
from needlework.models.generation import InstanceRequests, generate
from needlework.models.other_runs import Turns
from needlework.records import write_table


def runs_in_turn(size: int, runs: int) -> Counter[int]:
    """How often each request is sent by runs that send one each in turn, and hear of it 20 rounds later."""
    turns = [Turns(size, number, random.Random(number)) for number in range(runs)]
    rounds: list[list[int]] = []
    while mine := [request for turn in turns if (request := turn.next()) is not None]:
        rounds.append(mine)
        if len(rounds) > 20:
            for turn in turns:
                turn.finished(rounds[-21])
    return Counter(request for mine in rounds for request in mine)


@pytest.mark.parametrize("runs", [1, 2, 8])
def test_runs_together_send_little_more_than_needed(runs: int) -> None:
    sent = runs_in_turn(5000, runs)
    assert len(sent) == 5000
    assert sent.total() <= 5000 * (1 if runs == 1 else 1.01 + 0.01 * runs)


def test_a_run_jumps_from_finished_requests_into_the_widest_gap() -> None:
    turns = Turns(1000, 0, random.Random(1))
    assert [turns.next() for _ in range(3)] == [0, 1, 2]
    turns.finished([*range(3, 100), *range(150, 300)])
    jumped = turns.next()
    assert jumped is not None and 600 < jumped < 800
    assert turns.next() == jumped + 1


def test_a_run_alone_goes_back_to_the_beginning() -> None:
    turns = Turns(10, 1, random.Random(1))
    assert [turns.next() for _ in range(11)] == [*range(5, 10), *range(5), None]


class Slow(Watched):
    batch_size = 8

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        for answer in super().generate(batch):
            time.sleep(0.01)
            yield answer


def test_two_runs_at_once_ask_little_twice(tmp_path: Path, monkeypatch) -> None:
    """On one journal, started together. What both have under way may be asked twice."""
    monkeypatch.setattr("needlework.models.other_runs.LOOK_SECONDS", 0.0)
    write_table(instances(100), tmp_path / "i.parquet")

    def run(backend: Watched, name: str = "j") -> pa.Table:
        with Journal(tmp_path / name) as journal:
            asked = InstanceRequests([tmp_path / "i.parquet"], documents())
            return generate(asked, backend, journal)

    one, two, third = Slow(), Slow(), Watched()
    with ThreadPoolExecutor(2) as pool:
        tables = [*pool.map(run, (one, two))]
    assert tables == [run(third), run(Watched(), "alone")] and third.asked.total() == 0
    assert one.asked and two.asked and len(one.asked | two.asked) == 100
    assert (one.asked + two.asked).total() <= 100 + 3 * 8
