"""The batch API against a real server on loopback: nothing is submitted twice, and nothing is lost."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from http_server import BatchServer, Reply, completion, prompt_of, refusal
from needlework.errors import UserError
from needlework.journal import Journal
from needlework.models import openai_batches
from needlework.models.backends.base import Answer, Request, load_backend
from needlework.models.backends.openai import OpenAI
from needlework.models.generation import Policy, generate
from needlework.planning.config import validated
from needlework.planning.layout import Layout
from needlework.prompts.spans import literal
from needlework.services.endpoints import Passing

TESTS = Path(__file__).resolve().parents[2]
SECRET = "sk-very-secret-0123456789"


@pytest.fixture
def server(monkeypatch) -> Iterator[BatchServer]:
    monkeypatch.setenv("A_KEY", SECRET)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(openai_batches, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(openai_batches, "LONGEST_PAUSE_S", 0.05)
    monkeypatch.setattr(openai_batches, "SETTLE_S", 0.05)
    # A test may set it.
    monkeypatch.setattr(openai_batches, "MOST_REQUESTS", openai_batches.MOST_REQUESTS)
    with BatchServer() as running:
        yield running


def backend(url: str, journal: Path, **changes: Any) -> OpenAI:
    entry = {
        "model": "remote",
        "name": "some-model",
        "revision": None,
        "base_url": url,
        "key_env": "A_KEY",
        "chat": True,
        "sampling": {"temperature": 0, "top_k": None, "top_p": 1, "seed": 0},
        "request": {},
        "concurrency": 8,
        "timeout": 5,
        "batch": True,
        "batch_tokens": None,
        "journal": str(journal),
    }
    return load_backend("openai", entry | changes)


def requests(*prompts: str, samples: int = 1, n_tokens: int = 10) -> list[Request]:
    return [
        Request(f"i{n:03d}", sample, "t", [literal("question", prompt)], ["x"], 16, n_tokens, {})
        for n, prompt in enumerate(prompts)
        for sample in range(samples)
    ]


def answers(model: OpenAI, asked: Sequence[Request]) -> list[Answer]:
    model.load()
    try:
        return list(model.generate(asked))
    finally:
        model.close()


def rows(server: BatchServer, folder: Path, asked: Sequence[Request], **options: Any) -> list[dict]:
    """A job: what is missing is asked for, the rest is in the journal."""
    model = backend(server.url, folder, **options.pop("model", {}))
    with Journal(folder / "generations") as journal:
        return generate(asked, model, journal, Policy(**options)).to_pylist()


def sizes(server: BatchServer) -> list[int]:
    """How many requests each batch had."""
    return [len(server.lines(batch)) for batch in server.batches.values()]


# What is submitted, and what comes back


@pytest.mark.parametrize("chat", [True, False])
def test_a_batch_is_submitted_and_collected(server, tmp_path, chat) -> None:
    asked = requests("a", "b\u2028\U0001f600", "c", samples=2)
    found = answers(backend(server.url, tmp_path, chat=chat), asked)
    assert [a.text for a in found] == [f"<{request.prompt}>" for request in asked]
    assert found[0] == Answer("<a>", "stop", 3, None, 2, None)
    (batch,) = server.batches.values()
    path = "/v1/chat/completions" if chat else "/v1/completions"
    assert batch["endpoint"] == path
    lines = server.lines(batch)
    assert {(line["method"], line["url"]) for line in lines} == {("POST", path)}
    assert [prompt_of(line["body"]) for line in lines] == [request.prompt for request in asked]
    assert len({line["body"]["seed"] for line in lines}) == 6
    assert lines[0]["body"] | {"seed": 0} == {
        "model": "some-model",
        **({"messages": [{"role": "user", "content": "a"}]} if chat else {"prompt": "a"}),
        "temperature": 0,
        "top_p": 1,
        "seed": 0,
        "max_tokens": 16,
    }


def test_requests_of_equal_bodies_have_answers_of_their_own(server, tmp_path) -> None:
    """Without a seed, two samples of a prompt look the same."""
    found = answers(backend(server.url, tmp_path, request={"seed": None}), requests("a", samples=3))
    assert [a.text for a in found] == ["<a>"] * 3
    assert sorted(server.asked.values()) == [1, 1, 1]


def test_a_journal_is_good_for_both_ways_of_asking(server, tmp_path) -> None:
    both = [backend(server.url, tmp_path, batch=batch).identity() for batch in (True, False)]
    assert both[0] == both[1]


@pytest.mark.parametrize(
    ("limit", "most", "expected"),
    [
        ("MOST_REQUESTS", 3, [3, 3, 1]),
        ("MOST_REQUESTS", 7, [7]),
        # A line has about 330 bytes.
        ("MOST_BYTES", 700, [2, 2, 2, 1]),
        # Even one request is too much: the endpoint may refuse it.
        ("MOST_BYTES", 100, [1] * 7),
    ],
)
def test_batches_keep_the_endpoint_s_limits(
    server, tmp_path, monkeypatch, limit, most, expected
) -> None:
    monkeypatch.setattr(openai_batches, limit, most)
    asked = requests(*"abcdefg")
    found = answers(backend(server.url, tmp_path), asked)
    assert [a.text for a in found] == [f"<{letter}>" for letter in "abcdefg"]
    assert sizes(server) == expected
    for batch in server.batches.values():
        size = len(server.files[batch["input_file_id"]])
        assert size <= openai_batches.MOST_BYTES or expected == [1] * 7


def test_no_more_tokens_are_under_way_than_allowed(server, tmp_path) -> None:
    most = 0

    def finish(batch: dict) -> None:
        nonlocal most
        under_way = [batch, *(b for b in server.batches.values() if b["status"] == "in_progress")]
        most = max(most, sum(10 * len(server.lines(b)) for b in under_way))

    server.finish = finish
    letters = "abcdefghijklmnopqrst"
    found = answers(backend(server.url, tmp_path, batch_tokens=80), requests(*letters))
    assert [a.text for a in found] == [f"<{letter}>" for letter in letters]
    assert sizes(server) == [2] * 10
    assert most == 80


def test_batches_of_an_earlier_job_count_against_the_tokens(server, tmp_path) -> None:
    """Another benchmark's of the same model, for instance, which was killed."""
    server.works = False
    earlier = backend(server.url, tmp_path)
    earlier.load()
    other = requests("other", n_tokens=70)
    Thread(target=lambda: list(earlier.generate(other)), daemon=True).start()
    while server.count("GET", "/batches/") < 2:
        time.sleep(0.01)
    model = backend(server.url, tmp_path, batch_tokens=80)
    found: list[Answer] = []
    asking = Thread(target=lambda: found.extend(answers(model, requests("a"))), daemon=True)
    asking.start()
    time.sleep(0.2)
    assert len(server.batches) == 1
    server.works = True
    asking.join(20)
    assert [a.text for a in found] == ["<a>"] and sizes(server) == [1, 1]


def test_batches_of_a_concurrent_job_count_too(server, tmp_path) -> None:
    """Both read the journal before either of them wrote to it."""
    server.works = False
    found: dict[str, list[Answer]] = {}
    jobs = []
    for letter in "ab":
        model = backend(server.url, tmp_path, batch_tokens=80)
        model.load()
        asked = requests(letter, n_tokens=70)

        def ask(letter=letter, model=model, asked=asked) -> None:
            found[letter] = list(model.generate(asked))
            model.close()

        jobs.append(Thread(target=ask, daemon=True))
    jobs[0].start()
    while server.count("GET", "/batches/") < 2:
        time.sleep(0.01)
    jobs[1].start()
    time.sleep(0.2)
    assert len(server.batches) == 1
    server.works = True
    for job in jobs:
        job.join(20)
    assert {letter: a.text for letter, (a,) in found.items()} == {"a": "<a>", "b": "<b>"}
    assert sizes(server) == [1, 1]


def test_a_job_submits_all_that_is_missing_at_once(server, tmp_path) -> None:
    """However few answers it takes at a time."""
    table = rows(server, tmp_path, requests(*"abcd"))
    assert [row["text"] for row in table] == ["<a>", "<b>", "<c>", "<d>"]
    assert sizes(server) == [4]


def test_each_call_is_a_batch(server, tmp_path) -> None:
    model = backend(server.url, tmp_path)
    model.load()
    for letter in "ab":
        (found,) = model.generate(requests(letter))
        assert found.text == f"<{letter}>"
    model.close()
    assert sizes(server) == [1, 1]


# What goes wrong


def test_a_refused_line_is_retried_in_the_next_run(server, tmp_path) -> None:
    def answer(body: Any) -> Reply:
        return refusal(400, "flagged") if prompt_of(body) == "b" else completion(body)

    server.answer = answer
    asked = requests("a", "b", "c")
    with pytest.raises(UserError, match=r"1 of 3 requests failed.*status 400: flagged"):
        rows(server, tmp_path, asked)
    server.answer = completion
    table = rows(server, tmp_path, asked)
    assert [row["text"] for row in table] == ["<a>", "<b>", "<c>"]
    assert sizes(server) == [3, 1]


def test_an_overlong_prompt_is_skipped_and_retried_next_run(server, tmp_path) -> None:
    said = "This model's maximum context length is 8192 tokens."
    server.answer = lambda body: refusal(400, said, "context_length_exceeded")
    (row,) = rows(server, tmp_path, requests("a"))
    assert (row["finish_reason"], row["error"]) == ("skipped", f"status 400: {said}")
    assert sizes(server) == [1]
    # Served with a larger context, for instance.
    server.answer = completion
    (row,) = rows(server, tmp_path, requests("a"))
    assert (row["finish_reason"], row["text"]) == ("stop", "<a>")
    assert sizes(server) == [1, 1]


@pytest.mark.parametrize("status", ["expired", "cancelled"])
def test_unanswered_requests_are_retried_in_the_next_run(server, tmp_path, status) -> None:
    def finish(batch: dict) -> None:
        if len(server.batches) == 1:
            server.work(batch, 2)
            if status == "expired":
                # Its own words for each request that it had no time for.
                late = {"code": "batch_expired", "message": "This request could not be executed."}
                key = server.lines(batch)[2]["custom_id"]
                right = server.lines(batch)[:2]
                assert len(right) == 2
                wrong = {"custom_id": key, "response": None, "error": late}
                batch |= server.results([], [wrong])
            batch["status"] = status

    server.finish = finish
    asked = requests("a", "b", "c", "d")
    said = "could not be executed|was ended as cancelled"
    with pytest.raises(UserError, match=rf"2 of 4 requests failed.*({said})"):
        rows(server, tmp_path, asked)
    assert [row["text"] for row in rows(server, tmp_path, asked)] == ["<a>", "<b>", "<c>", "<d>"]
    assert sizes(server) == [4, 2]


def test_a_batch_that_fails_says_why(server, tmp_path) -> None:
    def finish(batch: dict) -> None:
        said = {"code": "token_limit_exceeded", "message": f"Enqueued token limit. {SECRET}"}
        batch |= {"status": "failed", "errors": {"data": [said]}}
        batch |= {"output_file_id": None, "error_file_id": None, "request_counts": None}

    server.finish = finish
    with pytest.raises(UserError, match=r"2 of 2 .*the batch failed: Enqueued token limit. \*\*\*"):
        rows(server, tmp_path, requests("a", "b"))
    server.finish = lambda batch: None
    assert len(rows(server, tmp_path, requests("a", "b"))) == 2
    assert sizes(server) == [2, 2]


def too_much(server: BatchServer, *names: str) -> None:
    """These batches exceed the endpoint's limit of tokens under way."""

    def finish(batch: dict) -> None:
        if batch["id"] in names:
            said = {"code": "token_limit_exceeded", "message": "Enqueued token limit."}
            batch |= {"status": "failed", "errors": {"data": [said]}}
            batch |= {"output_file_id": None, "error_file_id": None, "request_counts": None}

    server.finish = finish


@pytest.mark.parametrize("most", [None, 80])
def test_a_batch_over_the_limit_waits_for_others(server, tmp_path, most) -> None:
    too_much(server, "batch_1", "batch_2", "batch_4")
    openai_batches.MOST_REQUESTS = 2
    model = {"batch_tokens": most}
    table = rows(server, tmp_path, requests(*"abcdef"), model=model)
    assert [row["text"] for row in table] == [f"<{letter}>" for letter in "abcdef"]
    # The endpoint has their files.
    files = [batch["input_file_id"] for batch in server.batches.values()]
    assert sorted(files.count(file) for file in set(files)) == [1, 2, 3]
    assert server.count("POST", "/files") == 3
    # What was held back is not taken for lost by the next run.
    assert len(rows(server, tmp_path, requests(*"abcdef"), model=model)) == 6
    assert len(server.batches) == 6


def test_a_killed_jobs_batch_over_the_limit_is_resubmitted(server, tmp_path) -> None:
    server.works = False
    killed = backend(server.url, tmp_path)
    killed.load()
    asked = requests("a", "b")
    Thread(target=lambda: list(killed.generate(asked)), daemon=True).start()
    while server.count("GET", "/batches/") < 2:
        time.sleep(0.01)
    again = backend(server.url, tmp_path)
    # The first job sees no more of it: it was killed.
    killed._batches._endpoint.retrieve = lambda batch: {"status": "in_progress"}
    too_much(server, "batch_0")
    server.works = True
    assert [a.text for a in answers(again, asked)] == ["<a>", "<b>"]
    assert server.count("POST", "/files") == 1 and len(server.batches) == 2


DAMAGED = {
    "torn": lambda lines: lines[:-9],
    "cut between lines": lambda lines: lines[: lines.index(b"\n") + 1],
    "one twice": lambda lines: 2 * lines[: lines.index(b"\n") + 1],
    "no key": lambda lines: lines.replace(b'"custom_id"', b'"custom"', 1),
}


def damaged_until(server: BatchServer, damage: Any, reads: int) -> None:
    """Have the file of answers of the first batch be damaged for its first readings."""
    whole: dict[str, bytes] = {}

    def finish(batch: dict) -> None:
        whole.setdefault(batch["output_file_id"], server.files[batch["output_file_id"]])

    def damaged(number: int, method: str, path: str) -> Reply | None:
        file = path.removeprefix("/files/").removesuffix("/content")
        first = next(iter(whole), None)
        count = server.count("GET", path)
        return Reply(damage(whole[file])) if file == first and count <= reads else None

    server.finish, server.fault = finish, damaged


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_file_of_results_is_read_again(server, tmp_path, damage) -> None:
    damaged_until(server, DAMAGED[damage], 3)
    asked = requests("a", "b")
    assert [row["text"] for row in rows(server, tmp_path, asked)] == ["<a>", "<b>"]
    assert sizes(server) == [2]


@pytest.mark.parametrize("damage", DAMAGED)
def test_only_what_a_damaged_file_lacks_is_paid_for_again(
    server, tmp_path, damage, monkeypatch
) -> None:
    monkeypatch.setattr(openai_batches, "ATTEMPTS", 3)
    damaged_until(server, DAMAGED[damage], 1000)
    asked = requests("a", "b")
    with pytest.raises(UserError, match=r"1 of 2 requests failed.*(cannot be read|hold 1 of 2)"):
        rows(server, tmp_path, asked)
    assert len(kept(tmp_path)) == 1
    assert [row["text"] for row in rows(server, tmp_path, asked)] == ["<a>", "<b>"]
    assert sizes(server) == [2, 1] and set(server.asked.values()) == {1, 2}


def test_an_unreadable_results_file_is_not_paid_for_twice(server, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(openai_batches, "ATTEMPTS", 3)
    damaged_until(server, lambda lines: b"", 5)
    asked = requests("a", "b")
    with pytest.raises(UserError, match=r"hold 0 of 2 results, though it has ended"):
        rows(server, tmp_path, asked)
    assert [row["text"] for row in rows(server, tmp_path, asked)] == ["<a>", "<b>"]
    assert sizes(server) == [2]


@pytest.mark.parametrize("line", [b"not JSON", b"[]", b'{"custom_id": 5}'])
def test_a_line_too_many_holds_nothing_up(server, tmp_path, line) -> None:
    damaged_until(server, lambda lines: lines + line + b"\n", 1000)
    asked = requests("a", "b")
    assert [row["text"] for row in rows(server, tmp_path, asked)] == ["<a>", "<b>"]


def test_an_answer_counts_before_an_error_to_its_request(server, tmp_path) -> None:
    def finish(batch: dict) -> None:
        key = json.loads(server.files[batch["output_file_id"]])["custom_id"]
        failed = json.dumps({"custom_id": key, "response": None}).encode()
        batch["error_file_id"] = server.upload(failed + b"\n")["id"]

    server.finish = finish
    assert [row["text"] for row in rows(server, tmp_path, requests("a"))] == ["<a>"]


def test_an_unknown_status_is_polled_for_a_limited_time(server, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(openai_batches, "ATTEMPTS", 3)
    server.works = False
    create = server.create
    server.create = lambda body: create(body | {"status": "paused"})
    with pytest.raises(
        UserError, match=r"status of the batch batch_0 is 'paused'.*again, and they"
    ):
        rows(server, tmp_path, requests("a"))
    assert server.count("GET", "/batches/batch_0") == 3


@pytest.mark.parametrize("empty", ["error_file_id", "output_file_id"])
def test_an_empty_name_of_a_file_is_none(server, tmp_path, empty) -> None:
    server.finish = lambda batch: batch.setdefault(empty, "")
    if empty == "output_file_id":
        server.answer = lambda body: refusal(400, "flagged")
        with pytest.raises(UserError, match="all 2 requests that were sent were refused or failed"):
            rows(server, tmp_path, requests("a", "b"), max_failed=2)
    else:
        table = rows(server, tmp_path, requests("a", "b"), max_failed=2)
        assert [row["text"] for row in table] == ["<a>", "<b>"]
    assert sizes(server) == [2]


@pytest.mark.parametrize("counts", [True, False])
def test_a_file_named_late_is_collected_in_the_same_run(server, tmp_path, counts) -> None:
    retrieve = server.retrieve

    def late(name: str) -> dict[str, Any]:
        batch = dict(retrieve(name))
        if server.count("GET", f"/batches/{name}") < 3:
            batch["output_file_id"] = None
        if not counts:
            del batch["request_counts"]
        return batch

    server.retrieve = late
    table = rows(server, tmp_path, requests("a", "b"))
    assert [row["text"] for row in table] == ["<a>", "<b>"]
    assert sizes(server) == [2]


def test_a_completed_batch_that_shows_nothing_is_not_resubmitted(server, tmp_path) -> None:
    retrieve = server.retrieve

    def bare(name: str) -> dict[str, Any]:
        kept = ("id", "object", "status", "created_at")
        return {field: retrieve(name)[field] for field in kept}

    server.retrieve = bare
    asked = requests("a", "b")
    with pytest.raises(UserError, match=r"batch_0 is completed, without any result"):
        rows(server, tmp_path, asked)
    server.retrieve = retrieve
    assert [row["text"] for row in rows(server, tmp_path, asked)] == ["<a>", "<b>"]
    assert sizes(server) == [2]


def test_an_answer_in_parts_is_taken_from_a_batch(server, tmp_path) -> None:
    def answer(body: Any) -> Reply:
        reply = completion(body)
        reply.body["choices"][0]["message"]["content"] = [{"type": "text", "text": "Paris"}]
        return reply

    server.answer = answer
    assert [row["text"] for row in rows(server, tmp_path, requests("a"))] == ["Paris"]
    assert sizes(server) == [1]


def test_a_batch_without_results_is_not_paid_for_twice(server, tmp_path) -> None:
    server.finish = lambda batch: batch.pop("output_file_id")
    asked = requests("a")
    with pytest.raises(UserError, match=r"the files of batch_0 hold 0 of 1 results"):
        rows(server, tmp_path, asked)
    assert server.count("POST", "/batches") == 1


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ('{"custom_id": "other", "response": null}', "the batch has no answer to it"),
        ('{"custom_id": "KEY"}', "not answered: null"),
        ('{"custom_id": "KEY", "response": 5}', "the line is not a completion: {"),
        (
            '{"custom_id": "KEY", "response": {"status_code": 200, "body": {"choices": []}}}',
            "the response is not a completion: ",
        ),
        (
            '{"custom_id": "KEY", "response": {"status_code": 200}}',
            "the response is not a completion: ",
        ),
        (
            '{"custom_id": "KEY", "response": {"status_code": 500, "body": null}}',
            "status 500: null",
        ),
        ('{"custom_id": "KEY", "response": null, "error": {"message": "no"}}', "not answered: no"),
    ],
)
def test_a_malformed_result_is_an_error(server, tmp_path, result, error) -> None:
    """Of its own request: the other one is answered."""

    def finish(batch: dict) -> None:
        key = server.lines(batch)[0]["custom_id"]
        file = batch["output_file_id"]
        other, _ = server.files[file].splitlines(keepends=True)
        server.files[file] = other + result.replace("KEY", key).encode() + b"\n"

    server.finish = finish
    bad, good = answers(backend(server.url, tmp_path), requests("a", "b"))
    assert bad.error.startswith(error)
    assert bad.text == "" and bad.finish_reason != "skipped"
    assert (good.text, good.error) == ("<b>", None)


FAULTS = {
    "429": refusal(429, "slow down"),
    "500": Reply(b"<html>", 500),
    "no response": Reply(stop_after=0),
    "half a body": Reply({"id": "file-0", "status": "completed"}, stop_after=5),
    "no JSON": Reply(b"hello"),
    "no object": Reply([]),
    "no id": Reply({}),
    "an empty id": Reply({"id": ""}),
}


@pytest.mark.parametrize("after", [False, True], ids=["unheard", "heard"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_passing_fault_is_passed_over(server, tmp_path, fault, after) -> None:
    """Every call fails once. Where it was heard all the same, nothing is submitted a second time."""
    seen = set()

    def failing(number: int, method: str, path: str) -> Reply | None:
        content = path.endswith("content")
        if (method, path) in seen or ("id" in fault and method == "GET" and not content):
            return None
        seen.add((method, path))
        return FAULTS[fault]

    server.fault, server.after = failing, after
    found = answers(backend(server.url, tmp_path), requests("a", "b"))
    assert [a.text for a in found] == ["<a>", "<b>"]
    assert max(server.asked.values()) == 1


def test_an_endpoint_without_batches_is_a_clear_error(server, tmp_path) -> None:
    server.fault = lambda number, method, path: refusal(404, f"Not found {SECRET}")
    with pytest.raises(
        UserError, match=r"models\.remote: .*status 404: Not found \*\*\*; .*batch: false"
    ):
        rows(server, tmp_path, requests("a"))
    assert server.count("POST", "/files") == 1


def test_a_refused_batch_is_submitted_in_the_next_run(server, tmp_path) -> None:
    def no_money(number: int, method: str, path: str) -> Reply | None:
        return refusal(402, "Pay first.") if (method, path) == ("POST", "/batches") else None

    server.fault = no_money
    with pytest.raises(UserError, match=r"status 402: Pay first; check the key"):
        rows(server, tmp_path, requests("a"))
    server.fault = lambda *_: None
    assert len(rows(server, tmp_path, requests("a"))) == 1
    # It was refused in so many words: nobody needs to look for it.
    assert server.count("GET", "/batches") == server.count("GET", "/batches/")


def test_an_unknown_batch_is_not_paid_for_twice(server, tmp_path) -> None:
    server.works = False
    server.fault = lambda number, method, path: (
        refusal(401, "Who are you?") if path.startswith("/batches/") else None
    )
    with pytest.raises(UserError, match=r"401.*batch_0 cannot be collected: use the key"):
        rows(server, tmp_path, requests("a"))
    server.fault = lambda number, method, path: None
    server.works = True
    assert len(rows(server, tmp_path, requests("a"))) == 1
    assert sizes(server) == [1]
    with BatchServer() as other, pytest.raises(UserError, match="set `base_url` to that"):
        asked = requests("a")
        model = backend(other.url, tmp_path)
        answers(model, asked)


def kept(folder: Path) -> list[str]:
    """The texts in the journal of answers."""
    with Journal(folder / "generations") as journal:
        return sorted(record["text"] for record in journal.records())


def test_answers_come_as_soon_as_their_batch_has_ended(server, tmp_path) -> None:
    """Not in the order of requests: what is known and not given is lost in a kill."""
    late = Reply({"id": "batch_0", "status": "in_progress"})
    server.fault = lambda number, method, path: late if path == "/batches/batch_0" else None
    openai_batches.MOST_REQUESTS = 1
    model = backend(server.url, tmp_path)
    model.load()
    found = model.answers(requests(*"abc"))
    assert {place: a.text for place, a in (next(found), next(found))} == {1: "<b>", 2: "<c>"}
    server.fault = lambda *_: None
    assert [(place, a.text) for place, a in found] == [(0, "<a>")]
    model.close()


LOST = {
    "unknown": ("/batches/batch_0", refusal(404, "No such batch.")),
    "its file is": ("/files/file-3/content", refusal(404, "No such file.")),
    "its file is damaged": ("/files/file-3/content", Reply(b"hello")),
}


@pytest.mark.parametrize("how", LOST)
def test_a_lost_batch_costs_the_others_nothing(server, tmp_path, how, monkeypatch) -> None:
    """Their answers are kept, and the lost one's requests are paid for again when that is said."""
    monkeypatch.setattr(openai_batches, "ATTEMPTS", 3)
    lost, fault = LOST[how]
    server.fault = lambda number, method, path: fault if path == lost else None
    openai_batches.MOST_REQUESTS, asked = 1, requests(*"abc")
    for _ in range(2):
        with pytest.raises(UserError, match=r"batch_0.*after `touch ") as error:
            rows(server, tmp_path, asked)
        assert kept(tmp_path) == ["<b>", "<c>"]
        assert sizes(server) == [1, 1, 1]
    (file,) = re.findall(
        r"touch (\S+)`, the next run submits its 1 request\(s\) again", str(error.value)
    )
    Path(file).touch()
    for _ in range(2):
        table = rows(server, tmp_path, asked)
        assert [row["text"] for row in table] == ["<a>", "<b>", "<c>"]
    assert sizes(server) == [1, 1, 1, 1]
    assert [prompt_of(line["body"]) for line in server.lines(server.batches["batch_3"])] == ["a"]


def test_several_lost_batches_are_all_named(server, tmp_path, caplog) -> None:
    gone = refusal(404, "No such batch.")
    server.fault = lambda number, method, path: gone if path[-2:] in ("_0", "_2") else None
    openai_batches.MOST_REQUESTS = 1
    with pytest.raises(UserError, match=r"batch_0 .* The log has 1 more of this kind\."):
        rows(server, tmp_path, requests(*"abc"))
    assert kept(tmp_path) == ["<b>"]
    assert "batch_2 cannot be collected" in caplog.text
    assert server.count("GET", "/batches/") == 3


MONEY = refusal(400, "Billing hard limit has been reached.", "billing_hard_limit_reached")


@pytest.mark.parametrize("path", ["/files", "/batches"])
def test_a_refused_batch_costs_those_under_way_nothing(server, tmp_path, path) -> None:
    server.fault = lambda number, method, name: (
        MONEY if (method, name) == ("POST", path) and server.count("POST", path) > 2 else None
    )
    openai_batches.MOST_REQUESTS, asked = 1, requests(*"abcd")
    with pytest.raises(UserError, match=r"status 400: Billing hard limit .*; check the key"):
        rows(server, tmp_path, asked)
    assert kept(tmp_path) == ["<a>", "<b>"]
    assert server.count("POST", path) == 3
    server.fault = lambda *_: None
    assert len(rows(server, tmp_path, asked)) == 4
    assert sizes(server) == [1, 1, 1, 1] and max(server.asked.values()) == 1


def test_a_refused_batch_costs_those_of_an_earlier_run_nothing(server, tmp_path) -> None:
    """Wherever their requests stand among all."""
    # Its job was killed before the answer was in the journal.
    answers(backend(server.url, tmp_path), requests("c"))
    server.fault = lambda number, method, path: MONEY if method == "POST" else None
    openai_batches.MOST_REQUESTS, asked = 1, requests(*"abcd")
    with pytest.raises(UserError, match="Billing hard limit"):
        rows(server, tmp_path, asked)
    assert kept(tmp_path) == ["<c>"]


def test_batches_share_one_wait_for_a_dead_endpoint(server, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(openai_batches, "ATTEMPTS", 4)
    busy = Reply(b"", 503)
    server.fault = lambda number, method, path: busy if path.startswith("/batches/") else None
    openai_batches.MOST_REQUESTS, asked = 1, requests(*"abcdef")
    with pytest.raises(UserError, match=r"keeps failing .* run again to collect it"):
        rows(server, tmp_path, asked)
    assert server.count("GET", "/batches/") == 4 + 5
    server.fault = lambda *_: None
    assert len(rows(server, tmp_path, asked)) == 6
    assert len(server.batches) == 6


@pytest.mark.parametrize("call", [("POST", "/files"), ("GET", "/batches/batch_0")])
def test_retry_after_is_honoured(server, tmp_path, call) -> None:
    times = []

    def fault(number: int, method: str, path: str) -> Reply | None:
        if (method, path) == call:
            times.append(time.monotonic())
        return refusal(429, "slow down", Retry_After="1") if len(times) == 1 else None

    server.fault = fault
    assert [a.text for a in answers(backend(server.url, tmp_path), requests("a"))] == ["<a>"]
    assert times[1] - times[0] >= 0.95


def test_an_endpoint_that_asks_for_hours_is_not_waited_for(server, tmp_path) -> None:
    server.fault = lambda *_: refusal(429, "tomorrow", Retry_After="7200")
    with pytest.raises(UserError, match=r"keeps failing \(status 429: tomorrow\)"):
        answers(backend(server.url, tmp_path), requests("a"))
    assert server.count("POST", "/files") == 1


def test_without_money_nothing_is_tried_again(server, tmp_path) -> None:
    server.fault = lambda *_: refusal(429, "You exceeded your quota.", "insufficient_quota")
    with pytest.raises(UserError, match="answers with status 429: You exceeded your quota; check"):
        answers(backend(server.url, tmp_path), requests("a"))
    assert server.count("POST", "/files") == 1


# A restart


JOB = """
import logging, sys
sys.path[:0] = [{scripts!r}, {tests!r}]
logging.basicConfig(level=logging.INFO)
from pathlib import Path
from needlework.models import openai_batches
openai_batches.FIRST_PAUSE_S = 0.05
openai_batches.LONGEST_PAUSE_S = 0.05
openai_batches.SETTLE_S = 0.3
openai_batches.MOST_REQUESTS = 4
sys.path.insert(0, {here!r})
from test_openai_batch import backend, requests
from needlework.models.generation import Policy, generate
from needlework.journal import Journal
from needlework.records import write_table

folder = Path(sys.argv[2])
asked = requests(*(f"prompt {{n}}" for n in range(9)))
model = backend(sys.argv[1], folder)
with Journal(folder / "generations") as journal:
    write_table(generate(asked, model, journal), folder / "answers.parquet")
"""


def start(server: BatchServer, folder: Path) -> subprocess.Popen:
    code = JOB.format(
        scripts=str(TESTS.parent / "workflow/scripts"),
        tests=str(TESTS),
        here=str(Path(__file__).parent),
    )
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-c", code, server.url, str(folder)], stdout=log, stderr=log
        )


def kill_when(job: subprocess.Popen, true: Any) -> None:
    """SIGKILL the job once `true()`."""
    deadline = time.monotonic() + 60
    while not true():
        assert job.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(job.pid, signal.SIGKILL)
    job.wait()


MOMENTS = {
    "after an upload": (lambda server: server.files, 0),
    "before it knows of a batch": (lambda server: server.batches, 0.3),
    "before it knows of the second one": (lambda server: len(server.batches) >= 2, 0.3),
    "after the second one": (lambda server: len(server.batches) >= 2, 0),
    "while it waits": (lambda server: server.count("GET", "/batches/batch_2") >= 2, 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_job_submits_nothing_twice(server, tmp_path, moment) -> None:
    """Not even where it was killed between the endpoint's doing and its word of it."""
    there, stall = MOMENTS[moment]
    server.works = False
    server.stall = stall
    kill_when(start(server, tmp_path), lambda: there(server))
    server.stall = 0.0
    server.works = True
    job = start(server, tmp_path)
    assert job.wait(60) == 0, (tmp_path / "log").read_text()
    assert sorted(server.asked.values()) == [1] * 9
    found = pq.read_table(tmp_path / "answers.parquet")["text"].to_pylist()
    assert found == [f"<prompt {n}>" for n in range(9)]
    assert not list(tmp_path.rglob("*.part"))


def test_answers_that_were_collected_and_not_kept_are_collected_again(server, tmp_path) -> None:
    asked = requests("a", "b")
    first = backend(server.url, tmp_path)
    assert [a.text for a in answers(first, asked)] == ["<a>", "<b>"]
    # The job was killed before an answer was in the journal: the batch still has them.
    assert [row["text"] for row in rows(server, tmp_path, asked)] == ["<a>", "<b>"]
    assert sizes(server) == [2]


def test_the_batch_with_pending_answers_counts(server, tmp_path) -> None:
    """Whichever the journal names first: files of the same second are in no order."""
    asked = requests("a")
    key = backend(server.url, tmp_path)._key(asked[0])
    server.works = False
    line = {"custom_id": key, "body": {"model": "m", "messages": [{"content": "a"}]}}
    file = server.upload(json.dumps(line).encode())
    batch = server.create({"input_file_id": file["id"], "completion_window": "24h"})
    planned = {"event": "planned", "address": server.url, "tokens": 1, "time": 0, "requests": [key]}
    records = [
        {"key": "old", **planned},
        {"key": "old", "event": "ended", "released": [key]},
        {"key": "new", **planned},
        {"key": "new", "event": "submitted", "id": batch["id"]},
    ]
    folder = tmp_path / "batches/remote"
    folder.mkdir(parents=True)
    for n, record in enumerate(reversed(records)):
        (folder / f"{n}.jsonl").write_text(json.dumps(record) + "\n")
    server.works = True
    assert [row["text"] for row in rows(server, tmp_path, asked)] == ["<a>"]
    assert len(server.batches) == 1


def test_a_batch_that_never_was_is_submitted_after_a_while(server, tmp_path) -> None:
    with Journal(tmp_path / "batches" / "remote") as journal:
        model = backend(server.url, tmp_path)
        (asked,) = requests("a")
        planned = {
            "event": "planned",
            "address": server.url,
            "tokens": 10,
            "time": time.time(),
            "requests": [model._key(asked)],
        }
        journal.append([{"key": "0" * 32, **planned}])
    began = time.monotonic()
    assert len(rows(server, tmp_path, [asked])) == 1
    assert time.monotonic() - began >= 0.05
    assert server.count("GET", "/batches") >= 2
    assert sizes(server) == [1]


class Killed(BaseException):
    """What ends a job here at a moment when a kill could."""


def hide(server: BatchServer, seconds: float) -> None:
    """Have the endpoint's list show a batch so long after its creation."""
    made: dict[str, float] = {}
    create, listed = server.create, server.list

    def create_at(body: dict[str, Any]) -> dict[str, Any]:
        batch = create(body)
        made[batch["id"]] = time.monotonic()
        return batch

    def list_late(after: str | None) -> dict[str, Any]:
        page = listed(after)
        shown = [b for b in page["data"] if time.monotonic() - made[b["id"]] >= seconds]
        return page | {"data": shown}

    server.create, server.list = create_at, list_late


def test_a_kill_after_a_late_attempt_submits_nothing_twice(server, tmp_path, monkeypatch) -> None:
    """However long ago the first attempt was."""
    monkeypatch.setattr(openai_batches, "SETTLE_S", 0.6)
    hide(server, 0.3)
    asked = requests("a", "b")
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
    monkeypatch.setattr(openai_batches, "ATTEMPTS", 1000)
    with pytest.raises(Killed):
        list(killed.generate(asked))
    killed.close()
    assert attempts[1] - attempts[0] >= 0.6
    assert [row["text"] for row in rows(server, tmp_path, asked)] == ["<a>", "<b>"]
    assert sizes(server) == [2]


def test_a_batch_that_another_run_ended_is_not_created(server, tmp_path) -> None:
    """Its creation fails at first, and meanwhile the other run submits the requests itself."""
    asked = requests("a", "b")
    first = backend(server.url, tmp_path)
    first.load()
    endpoint = first._batches._endpoint
    create, find = endpoint.create, endpoint.find
    failed, ended = Event(), Event()
    troubles: list[str] = []

    def fail_once(name: str, file: str) -> str:
        if failed.is_set():
            return create(name, file)
        failed.set()
        raise Passing("busy")

    def find_later(name: str, since: float) -> str | None:
        assert ended.wait(30)
        return find(name, since)

    endpoint.create, endpoint.find = fail_once, find_later

    def ask() -> None:
        try:
            list(first.generate(asked))
        except UserError as error:
            troubles.append(str(error))

    job = Thread(target=ask, daemon=True)
    job.start()
    assert failed.wait(30)
    assert [row["text"] for row in rows(server, tmp_path, asked)] == ["<a>", "<b>"]
    time.sleep(0.1)
    ended.set()
    job.join(30)
    first.close()
    assert sizes(server) == [2]
    (trouble,) = troubles
    assert "another run has taken over the requests of the batch" in trouble
    assert [a.text for a in answers(backend(server.url, tmp_path), asked)] == ["<a>", "<b>"]
    assert sizes(server) == [2]


def test_an_attempt_recorded_before_the_end_is_waited_for(server, tmp_path, monkeypatch) -> None:
    """As another run's may be at the last moment."""
    monkeypatch.setattr(openai_batches, "SETTLE_S", 2)
    hide(server, 0.2)
    (asked,) = requests("a")
    model = backend(server.url, tmp_path)
    folder, name = tmp_path / "batches" / "remote", "0" * 32
    planned = {"event": "planned", "address": server.url, "tokens": 1, "time": 0}
    line = {"custom_id": model._key(asked), "body": {"model": "m", "messages": [{"content": "a"}]}}
    file = server.upload(json.dumps(line).encode())["id"]
    with Journal(folder) as other:
        other.append([{"key": name, **planned, "requests": [line["custom_id"]]}])
        append = Journal.append

        def attempt_first(journal: Journal, records: Any) -> None:
            records = list(records)
            ends = any(record.get("event") in ("ending", "ended") for record in records)
            if ends and not server.batches:
                append(other, [{"key": name, "event": "attempted", "time": time.time()}])
                server.create(
                    {
                        "input_file_id": file,
                        "completion_window": "24h",
                        "metadata": {"needlework": name},
                    }
                )
            append(journal, records)

        monkeypatch.setattr(Journal, "append", attempt_first)
        assert [row["text"] for row in rows(server, tmp_path, [asked])] == ["<a>"]
    assert len(server.batches) == 1


def test_a_refusal_to_list_batches_releases_none(server, tmp_path) -> None:
    """One may have been made, though its response was lost."""
    asked = requests("a")

    def fault(number: int, method: str, path: str) -> Reply | None:
        if (method, path) == ("POST", "/batches"):
            return Reply(stop_after=0)
        return refusal(401, "No.") if (method, path) == ("GET", "/batches") else None

    server.fault, server.after = fault, True
    with pytest.raises(UserError, match="status 401"):
        rows(server, tmp_path, asked)
    server.fault = lambda *_: None
    assert [row["text"] for row in rows(server, tmp_path, asked)] == ["<a>"]
    assert sizes(server) == [1]


# The key


@pytest.mark.parametrize("key", ["none", "EMPTY", "1234", "batch", "custom_id", "completed"])
def test_a_dummy_key_corrupts_no_batch(server, tmp_path, monkeypatch, key) -> None:
    monkeypatch.setenv("A_KEY", key)

    def answer(body: Any) -> Reply:
        if prompt_of(body) == "b":
            return refusal(400, f"Not with {key}.")
        return completion(body, f"{key} 123456")

    server.answer = answer
    table = rows(server, tmp_path, requests("a", "b"), max_failed=1)
    assert [row["text"] for row in table] == [f"{key} 123456", ""]
    assert table[1]["error"] == "status 400: Not with ***."
    assert sizes(server) == [2]


def test_the_key_shows_nowhere(server, tmp_path, caplog) -> None:
    for library in ("", "openai", "httpx2", "httpcore2"):
        caplog.set_level(logging.DEBUG, library)

    def answer(body: Any) -> Reply:
        if prompt_of(body) == "b":
            return refusal(400, f"Your key is {SECRET}")
        return completion(body, f"Your key is {SECRET}.")

    server.answer = answer
    seen = iter([refusal(500, SECRET), refusal(500, SECRET)])
    server.fault = lambda number, method, path: next(seen, None)
    table = rows(server, tmp_path, requests("a", "b"), max_failed=1)
    assert [row["text"] for row in table] == ["Your key is ***.", ""]
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or SECRET.encode() not in file.read_bytes(), file
    assert SECRET not in caplog.text + json.dumps(table)
    assert not any(SECRET.encode() in received.content for received in server.received)


def test_a_key_that_json_escapes_shows_nowhere(server, tmp_path, caplog, monkeypatch) -> None:
    caplog.set_level(logging.INFO)
    key = "ABSKabc/def+ghi0123456789=="
    monkeypatch.setenv("A_KEY", key)
    monkeypatch.setattr(openai_batches, "ATTEMPTS", 2)
    written = key.replace("/", "\\/").replace("=", "\\u003d").encode()

    def answer(body: Any) -> Reply:
        if prompt_of(body) == "b":
            return refusal(400, f"Your key is {key}")
        return completion(body, f"Your key is {key}.")

    def finish(batch: dict) -> None:
        for file in (batch["output_file_id"], batch["error_file_id"]):
            server.files[file] = server.files[file].replace(key.encode(), written)

    server.answer, server.finish = answer, finish
    said = b'{"error": {"message": "not with ' + written + b'"}}'
    replies = [Reply(said, 500), Reply(b"no JSON " + written), Reply(said, 401)]
    table = rows(server, tmp_path, requests("a", "b"), max_failed=1)
    assert [row["text"] for row in table] == ["Your key is ***.", ""]
    assert table[1]["error"] == "status 400: Your key is ***"
    shown = json.dumps(table)
    for reply in replies:
        server.fault = lambda *_, reply=reply: reply
        with pytest.raises(UserError, match=r"\*\*\*") as error:
            rows(server, tmp_path, requests("c"))
        shown += str(error.value)
    for file in tmp_path.rglob("*.jsonl"):
        shown += file.read_text("utf-8")
    assert "ABSK" not in shown + caplog.text


# The configuration

MODEL = {"backend": "openai", "name": "x", "tokenizer": "words", "context": 131072}


def configured(**changes: Any) -> dict[str, Any]:
    config = yaml.safe_load((TESTS.parent / "config.yaml").read_text(encoding="utf-8"))
    config["run"] = {"models": ["remote"], "benchmarks": ["mlneedle"]}
    config["models"]["remote"] = MODEL | changes
    return validated(config)


@pytest.mark.parametrize(
    "change",
    [
        {"batch": True},
        {"batch": True, "batch_tokens": 90_000},
        {"price": {"input": 1, "output": 2}},
        {"throughput": {"prefill": 1, "decode": 2}},
    ],
    ids=str,
)
def test_transport_and_prices_do_not_invalidate_answers(change) -> None:
    changed, plain = Layout(configured(**change)), Layout(configured())
    assert changed.model_settings("remote") == plain.model_settings("remote")


def test_only_an_endpoint_has_batches() -> None:
    with pytest.raises(
        UserError, match=r"models\.remote\.batch says nothing to the backend lexical"
    ):
        configured(backend="lexical", name=None, batch=True)
