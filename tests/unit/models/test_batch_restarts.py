"""Jobs that ask in batches and are killed: nothing is submitted twice, whenever and how often."""

from __future__ import annotations

import itertools
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from factories.batches import backend, failing, rows, sizes, texts
from factories.models import answers, requests
from http_server import BatchServer
from needlework.errors import UserError
from needlework.journal import Journal
from needlework.models.backends.base import Request
from needlework.models.backends.openai import batches
from needlework.services.endpoints import Passing


@pytest.fixture
def server(batch_server: BatchServer) -> BatchServer:
    return batch_server


class Killed(BaseException):
    """What ends a job here at a moment when a kill could."""


class Mortal:
    """An endpoint whose caller is killed at a call, before or after it has come through.

    `at` is the number of the call, or its name.
    """

    def __init__(self, endpoint: Any, at: int | str, after: bool) -> None:
        self._endpoint, self._at, self._after = endpoint, at, after
        self._calls = itertools.count()

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._endpoint, name)
        if name in ("clean", "path"):
            return real

        def call(*given: Any) -> Any:
            killed = self._at in (next(self._calls), name)
            if killed and not self._after:
                raise Killed
            found = real(*given)
            if killed:
                raise Killed
            return found

        return call


def run_killed(
    server: BatchServer, folder: Path, prompts: str, at: int | str, after: bool = False
) -> bool:
    """Whether a run was killed before its end; nothing that it collected was kept."""
    model = backend(server.url, folder)
    model.load()
    model._batches._endpoint = Mortal(model._batches._endpoint, at, after)
    try:
        list(model.generate(requests(*prompts)))
    except Killed:
        return True
    finally:
        model.close()
    return False


@pytest.mark.parametrize("after", [False, True])
def test_a_run_killed_at_any_call_pays_for_nothing_twice(server, tmp_path, after) -> None:
    """Nor where its answers were collected and not kept."""
    batches.MOST_REQUESTS = 2
    for at in itertools.count():
        server.batches.clear()
        killed = run_killed(server, tmp_path / str(at), "abcde", at, after)
        assert texts(server, tmp_path / str(at), "abcde") == [f"<{letter}>" for letter in "abcde"]
        assert sorted(server.asked.values()) == [1] * 5
        if not killed:
            break
    # Three files, three batches, a question for each, and its file of answers.
    assert at >= 12


def test_a_killed_jobs_batch_over_the_limit_is_resubmitted(server, tmp_path) -> None:
    assert run_killed(server, tmp_path, "ab", "retrieve")
    failing(server, "Enqueued token limit.", "batch_0")
    assert texts(server, tmp_path, "ab") == ["<a>", "<b>"]
    assert server.count("POST", "/files") == 1 and len(server.batches) == 2


def test_the_batch_with_pending_answers_counts(server, tmp_path) -> None:
    """Whichever the journal names first: files of the same second are in no order."""
    batch, planned = another_run(server, tmp_path, requests("a")[0])
    records = [
        {"key": "new", "event": "submitted", "id": server.create(batch)["id"]},
        {"key": "new", **planned},
        {"key": "old", "event": "ended", "released": planned["requests"]},
        {"key": "old", **planned},
    ]
    for record in records:
        with Journal(tmp_path / "batches/remote") as journal:
            journal.append([record])
    assert texts(server, tmp_path, "a") == ["<a>"]
    assert len(server.batches) == 1


def another_run(server: BatchServer, folder: Path, asked: Request) -> tuple[dict, dict]:
    """The batch that another run would create for a request, and its plan as a journal has it."""
    key = backend(server.url, folder)._key(asked)
    line = {"custom_id": key, "body": {"model": "m", "messages": [{"content": asked.prompt}]}}
    file = server.upload(json.dumps(line).encode())["id"]
    planned = {"event": "planned", "address": server.url, "tokens": 1, "time": 0, "requests": [key]}
    return {"input_file_id": file, "completion_window": "24h"}, planned


def hide(server: BatchServer, seconds: float) -> None:
    """Have the endpoint's list show a batch so long after its creation."""
    made: dict[str, float] = {}
    create, listed = server.create, server.list

    def create_at(body: dict[str, Any]) -> dict[str, Any]:
        batch = create(body)
        made[batch["id"]] = time.monotonic()
        return batch

    def list_late(after: str | None) -> dict[str, Any]:
        page, now = listed(after), time.monotonic()
        return page | {"data": [b for b in page["data"] if now - made[b["id"]] >= seconds]}

    server.create, server.list = create_at, list_late


def test_a_kill_after_a_late_attempt_submits_nothing_twice(server, tmp_path, monkeypatch) -> None:
    """However long ago the first attempt was."""
    monkeypatch.setattr(batches, "SETTLE_S", 0.6)
    monkeypatch.setattr(batches, "ATTEMPTS", 1000)
    hide(server, 0.3)
    killed = backend(server.url, tmp_path)
    killed.load()
    endpoint = killed._batches._endpoint
    create, attempts = endpoint.create, []

    def create_and_die(name: str, file: str) -> str:
        attempts.append(time.time())
        if len(attempts) == 1:
            raise Passing("busy")
        create(name, file)
        raise Killed

    endpoint.create = create_and_die
    with pytest.raises(Killed):
        list(killed.generate(requests("a", "b")))
    killed.close()
    assert attempts[1] - attempts[0] >= 0.6
    assert texts(server, tmp_path, "ab") == ["<a>", "<b>"]
    assert sizes(server) == [2]


def test_a_batch_that_another_run_ended_is_not_created(server, tmp_path) -> None:
    """Its creation fails at first, and meanwhile the other run submits the requests itself."""
    first = backend(server.url, tmp_path)
    first.load()
    endpoint = first._batches._endpoint
    create, find = endpoint.create, endpoint.find
    failed, ended = Event(), Event()

    def fail_once(name: str, file: str) -> str:
        if failed.is_set():
            return create(name, file)
        failed.set()
        raise Passing("busy")

    def find_later(name: str, since: float) -> str | None:
        assert ended.wait(30)
        return find(name, since)

    endpoint.create, endpoint.find = fail_once, find_later
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(lambda: list(first.generate(requests("a", "b"))))
        assert failed.wait(30)
        assert texts(server, tmp_path, "ab") == ["<a>", "<b>"]
        time.sleep(0.1)
        ended.set()
        with pytest.raises(UserError, match="another run has taken over the requests of the batch"):
            job.result(30)
    first.close()
    assert texts(server, tmp_path, "ab") == ["<a>", "<b>"]
    assert sizes(server) == [2]


def test_an_attempt_recorded_before_the_end_is_waited_for(server, tmp_path, monkeypatch) -> None:
    """As another run's may be at the last moment."""
    monkeypatch.setattr(batches, "SETTLE_S", 2)
    hide(server, 0.2)
    (asked,) = requests("a")
    batch, planned = another_run(server, tmp_path, asked)
    name, append = "0" * 32, Journal.append
    with Journal(tmp_path / "batches" / "remote") as other:
        other.append([{"key": name, **planned}])

        def attempt_first(journal: Journal, records: Any) -> None:
            records = list(records)
            ends = any(record.get("event") in ("ending", "ended") for record in records)
            if ends and not server.batches:
                append(other, [{"key": name, "event": "attempted", "time": time.time()}])
                server.create({**batch, "metadata": {"needlework": name}})
            append(journal, records)

        monkeypatch.setattr(Journal, "append", attempt_first)
        assert [row["text"] for row in rows(server, tmp_path, [asked])] == ["<a>"]
    assert len(server.batches) == 1


def test_a_batch_of_another_address_is_not_paid_for_twice(server, tmp_path) -> None:
    assert run_killed(server, tmp_path, "a", "retrieve")
    with BatchServer() as other, pytest.raises(UserError, match="set `base_url` to that"):
        answers(backend(other.url, tmp_path), requests("a"))
    assert not other.batches
