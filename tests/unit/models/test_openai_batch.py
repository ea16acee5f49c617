"""The batch API against a real server on loopback: nothing is submitted twice, and nothing is lost."""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from factories.batches import backend, failing, kept, refuse, rows, sizes, texts
from factories.models import SECRET, answers, requests
from http_server import BatchServer, Reply, completion, prompt_of, refusal
from needlework.errors import UserError
from needlework.jobs.stop import FILE, Stopped
from needlework.models.backends.base import Answer
from needlework.models.backends.openai import batches
from needlework.models.backends.openai.backend import OpenaiBackend


@pytest.fixture
def server(batch_server: BatchServer) -> BatchServer:
    return batch_server


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
        **{"temperature": 0, "top_p": 1, "seed": 0, "max_tokens": 16},
    }


def test_requests_of_equal_bodies_have_answers_of_their_own(server, tmp_path) -> None:
    """Without a seed, two samples of a prompt look the same."""
    found = answers(backend(server.url, tmp_path, request={"seed": None}), requests("a", samples=3))
    assert [a.text for a in found] == ["<a>"] * 3
    assert sorted(server.asked.values()) == [1, 1, 1]


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
def test_batches_keep_the_endpoint_s_limits(server, tmp_path, monkeypatch, limit, most, expected):
    monkeypatch.setattr(batches, limit, most)
    found = answers(backend(server.url, tmp_path), requests(*"abcdefg"))
    assert [a.text for a in found] == [f"<{letter}>" for letter in "abcdefg"]
    assert sizes(server) == expected
    for batch in server.batches.values():
        size = len(server.files[batch["input_file_id"]])
        assert size <= batches.MOST_BYTES or expected == [1] * 7


def test_no_more_tokens_are_under_way_than_allowed(server, tmp_path) -> None:
    most = []

    def finish(batch: dict) -> None:
        under_way = [batch, *(b for b in server.batches.values() if b["status"] == "in_progress")]
        most.append(sum(10 * len(server.lines(b)) for b in under_way))

    server.finish = finish
    letters = "abcdefghijklmnopqrst"
    model = backend(server.url, tmp_path, batch_tokens=80)
    found = answers(model, requests(*letters, n_tokens=10))
    assert [a.text for a in found] == [f"<{letter}>" for letter in letters]
    assert sizes(server) == [2] * 10
    assert max(most) == 80


@pytest.mark.parametrize("limits", [(80, 80), (None, 80)])
def test_batches_of_another_job_count_against_the_tokens(server, tmp_path, limits) -> None:
    """Another benchmark's of the same model; both read the journal before either wrote to it."""
    server.works = False
    models = [backend(server.url, tmp_path, batch_tokens=limit) for limit in limits]
    for model in models:
        model.load()

    def ask(letter: str, model: OpenaiBackend) -> str:
        (found,) = model.generate(requests(letter, n_tokens=70))
        model.close()
        return found.text

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(ask, "a", models[0])
        while server.count("GET", "/batches/") < 2:
            time.sleep(0.01)
        other = pool.submit(ask, "b", models[1])
        time.sleep(0.2)
        assert len(server.batches) == 1
        server.works = True
        assert (one.result(20), other.result(20)) == ("<a>", "<b>")
    assert sizes(server) == [1, 1]


def test_a_job_submits_one_batch_however_few_answers_it_takes(server, tmp_path) -> None:
    assert texts(server, tmp_path / "job", "abcd") == ["<a>", "<b>", "<c>", "<d>"]
    assert sizes(server) == [4]


@pytest.mark.parametrize("most", [None, 80])
def test_a_batch_over_the_limit_waits_for_others(server, tmp_path, most) -> None:
    failing(server, "Enqueued token limit.", "batch_1", "batch_2", "batch_4")
    batches.MOST_REQUESTS = 2
    expected = [f"<{letter}>" for letter in "abcdef"]
    assert texts(server, tmp_path, "abcdef", model={"batch_tokens": most}) == expected
    # The endpoint has their files.
    files = [batch["input_file_id"] for batch in server.batches.values()]
    assert sorted(files.count(file) for file in set(files)) == [1, 2, 3]
    assert server.count("POST", "/files") == 3
    # What was held back is not taken for lost by the next run.
    assert texts(server, tmp_path, "abcdef", model={"batch_tokens": most}) == expected
    assert len(server.batches) == 6


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
def test_only_what_a_damaged_file_lacks_is_paid_for_again(server, tmp_path, damage, monkeypatch):
    """It is read again, and paid for again once it stays damaged."""
    damaged_until(server, DAMAGED[damage], 3)
    assert texts(server, tmp_path / "one", "ab") == ["<a>", "<b>"]
    assert sizes(server) == [2]
    server.batches.clear()
    monkeypatch.setattr(batches, "ATTEMPTS", 3)
    damaged_until(server, DAMAGED[damage], 1000)
    with pytest.raises(UserError, match=r"1 of 2 requests failed.*(cannot be read|hold 1 of 2)"):
        texts(server, tmp_path, "ab")
    assert len(kept(tmp_path)) == 1
    assert texts(server, tmp_path, "ab") == ["<a>", "<b>"]
    assert sizes(server) == [2, 1] and set(server.asked.values()) == {1, 2}


def test_a_line_too_many_holds_nothing_up(server, tmp_path) -> None:
    """And an answer counts before an error to its request."""

    def finish(batch: dict) -> None:
        file = batch["output_file_id"]
        failed = json.loads(server.files[file].splitlines()[0]) | {"response": None}
        batch["error_file_id"] = server.upload(json.dumps(failed).encode() + b"\n")["id"]
        server.files[file] += b'not JSON\n[]\n{"custom_id": 5}\n'

    server.finish = finish
    assert texts(server, tmp_path, "ab") == ["<a>", "<b>"]


def test_an_unknown_status_is_polled_for_a_limited_time(server, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(batches, "ATTEMPTS", 3)
    server.works = False
    create = server.create
    server.create = lambda body: create(body | {"status": "paused"})
    wanted = r"status of the batch batch_0 is 'paused'.*again, and they"
    with pytest.raises(UserError, match=wanted):
        texts(server, tmp_path, "a")
    assert server.count("GET", "/batches/batch_0") == 3


@pytest.mark.parametrize("counts", [True, False])
def test_a_file_named_late_is_collected_in_the_same_run(server, tmp_path, counts) -> None:
    retrieve = server.retrieve

    def late(name: str) -> dict[str, Any]:
        batch = dict(retrieve(name))
        hidden = {"output_file_id": None} if server.count("GET", f"/batches/{name}") < 3 else {}
        return {k: v for k, v in (batch | hidden).items() if counts or k != "request_counts"}

    server.retrieve = late
    assert texts(server, tmp_path, "ab") == ["<a>", "<b>"]
    assert sizes(server) == [2]


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ({"custom_id": "other", "response": None}, "the batch has no answer to it"),
        *[({}, "not answered: null"), ({"response": 5}, "the line is not a completion: {")],
        ({"response": {"status_code": 200}}, "the response is not a completion: "),
        ({"response": {"status_code": 500, "body": None}}, "status 500: null"),
        ({"response": None, "error": {"message": "no"}}, "not answered: no"),
    ],
)
def test_a_malformed_result_is_its_request_s_error(server, tmp_path, result, error) -> None:
    def finish(batch: dict) -> None:
        key = server.lines(batch)[0]["custom_id"]
        file = batch["output_file_id"]
        other, _ = server.files[file].splitlines(keepends=True)
        server.files[file] = other + json.dumps({"custom_id": key, **result}).encode() + b"\n"

    server.finish = finish
    bad, good = answers(backend(server.url, tmp_path), requests("a", "b"))
    assert bad.error.startswith(error)
    assert bad.text == "" and bad.finish_reason != "skipped"
    assert (good.text, good.error) == ("<b>", None)


FAULTS = {
    **{"429": refusal(429, "slow down"), "500": Reply(b"<html>", 500)},
    "no response": Reply(stop_after=0),
    "half a body": Reply({"id": "file-0", "status": "completed"}, stop_after=5),
    **{"no JSON": Reply(b"hello"), "no id": Reply({})},
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


def refuse_b(server: BatchServer) -> None:
    bad = refusal(400, "flagged")
    server.answer = lambda body: bad if prompt_of(body) == "b" else completion(body)


def end_early(server: BatchServer, status: str) -> None:
    """Have the first batch end after two answers."""

    def finish(batch: dict) -> None:
        if len(server.batches) > 1:
            return
        server.work(batch, 2)
        if status == "expired":
            # Its own words for each request that it had no time for.
            late = {"code": "batch_expired", "message": "This request could not be executed."}
            key = server.lines(batch)[2]["custom_id"]
            batch |= server.results([], [{"custom_id": key, "response": None, "error": late}])
        batch["status"] = status

    server.finish = finish


def show_no_results(server: BatchServer) -> None:
    shown, retrieve = ("id", "object", "status", "created_at"), server.retrieve
    server.retrieve = lambda name: {field: retrieve(name)[field] for field in shown}


def lose_the_batch(server: BatchServer) -> None:
    """One is made though its response is lost, and a list of batches is refused."""
    replies = {"POST": Reply(stop_after=0), "GET": refusal(401, "No.")}
    server.fault = lambda number, method, path: replies[method] if path == "/batches" else None
    server.after = True


# What goes wrong in a run of these prompts, what is said, and the batches once the next run has ended.
RUNS: dict[str, tuple[Callable[[BatchServer], None], str, str, list[int]]] = {
    "a refused line": (refuse_b, "abc", "1 of 3 requests failed.*status 400: flagged", [3, 1]),
    "expired": (
        lambda server: end_early(server, "expired"),
        *("abcd", "2 of 4 requests failed.*could not be executed", [4, 2]),
    ),
    "cancelled": (
        lambda server: end_early(server, "cancelled"),
        *("abcd", "2 of 4 requests failed.*was ended as cancelled", [4, 2]),
    ),
    "a failed batch": (
        lambda server: failing(server, f"Enqueued token limit. {SECRET}"),
        *("ab", r"2 of 2 .*the batch failed: Enqueued token limit. \*\*\*", [2, 2]),
    ),
    "no money": (
        lambda server: refuse(server, refusal(402, "Pay first."), "POST", "/batches"),
        *("a", "status 402: Pay first; check the key", [1]),
    ),
    "another key": (
        lambda server: refuse(server, refusal(401, "Who are you?"), "GET", "/batches/"),
        *("a", "401.*batch_0 cannot be collected: use the key", [1]),
    ),
    "nothing is shown": (show_no_results, "ab", "batch_0 is completed, without any result", [2]),
    "unreadable results": (
        lambda server: damaged_until(server, lambda lines: b"", 5),
        *("ab", "hold 0 of 2 results, though it has ended", [2]),
    ),
    "no list": (lose_the_batch, "a", "status 401", [1]),
}


@pytest.mark.parametrize("how", RUNS)
def test_the_next_run_asks_only_what_has_no_answer(server, tmp_path, monkeypatch, how) -> None:
    monkeypatch.setattr(batches, "ATTEMPTS", 3)
    go_wrong, prompts, said, expected = RUNS[how]
    right = server.retrieve
    go_wrong(server)
    with pytest.raises(UserError, match=said):
        texts(server, tmp_path, prompts)
    server.answer, server.retrieve, server.after = completion, right, False
    server.finish = server.fault = lambda *_: None
    assert texts(server, tmp_path, prompts) == [f"<{letter}>" for letter in prompts]
    assert sizes(server) == expected
    if how == "no money":
        # It was refused in so many words: nobody needs to look for it.
        assert server.count("GET", "/batches") == server.count("GET", "/batches/")


def test_answers_come_as_soon_as_their_batch_has_ended(server, tmp_path) -> None:
    """Not in the order of requests: what is known and not given is lost in a kill."""
    late = Reply({"id": "batch_0", "status": "in_progress"})
    server.fault = lambda number, method, path: late if path == "/batches/batch_0" else None
    batches.MOST_REQUESTS = 1
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
    monkeypatch.setattr(batches, "ATTEMPTS", 3)
    refuse(server, LOST[how][1], "GET", LOST[how][0])
    batches.MOST_REQUESTS = 1
    for _ in range(2):
        with pytest.raises(UserError, match=r"batch_0.*after `touch ") as error:
            texts(server, tmp_path, "abc")
        assert kept(tmp_path) == ["<b>", "<c>"]
        assert sizes(server) == [1, 1, 1]
    said = r"touch (\S+)`, the next run submits its 1 request\(s\) again"
    (file,) = re.findall(said, str(error.value))
    Path(file).touch()
    for _ in range(2):
        assert texts(server, tmp_path, "abc") == ["<a>", "<b>", "<c>"]
    assert sizes(server) == [1, 1, 1, 1]
    assert [prompt_of(line["body"]) for line in server.lines(server.batches["batch_3"])] == ["a"]


MONEY = refusal(400, "Billing hard limit has been reached.", "billing_hard_limit_reached")


@pytest.mark.parametrize("path", ["/files", "/batches"])
def test_a_refused_batch_costs_those_under_way_nothing(server, tmp_path, path) -> None:
    refuse(server, MONEY, "POST", path, after=2)
    batches.MOST_REQUESTS = 1
    with pytest.raises(UserError, match=r"status 400: Billing hard limit .*; check the key"):
        texts(server, tmp_path, "abcd")
    assert kept(tmp_path) == ["<a>", "<b>"]
    assert server.count("POST", path) == 3
    server.fault = lambda *_: None
    assert len(texts(server, tmp_path, "abcd")) == 4
    assert sizes(server) == [1, 1, 1, 1] and max(server.asked.values()) == 1


def test_a_refused_batch_costs_those_of_an_earlier_run_nothing(server, tmp_path) -> None:
    """Wherever their requests stand among all. Their job was killed before it kept the answer."""
    answers(backend(server.url, tmp_path), requests(*"abc")[2:])
    refuse(server, MONEY, "POST", "/")
    batches.MOST_REQUESTS = 1
    with pytest.raises(UserError, match="Billing hard limit"):
        texts(server, tmp_path, "abcd")
    assert kept(tmp_path) == ["<c>"]


def test_batches_share_one_wait_for_a_dead_endpoint(server, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(batches, "ATTEMPTS", 4)
    refuse(server, Reply(b"", 503), "GET", "/batches/")
    batches.MOST_REQUESTS = 1
    with pytest.raises(UserError, match=r"keeps failing .* run again to collect it"):
        texts(server, tmp_path, "abcdef")
    assert server.count("GET", "/batches/") == 4 + 5
    server.fault = lambda *_: None
    assert len(texts(server, tmp_path, "abcdef")) == 6
    assert len(server.batches) == 6


HOPELESS = [
    (refusal(429, "tomorrow", Retry_After="7200"), r"keeps failing \(status 429: tomorrow\)"),
    (refusal(429, "No.", "insufficient_quota"), "answers with status 429: No; check"),
    (refusal(404, f"Gone. {SECRET}"), r"models\.remote: .*404: Gone. \*\*\*; .*batch: false"),
]


@pytest.mark.parametrize(("reply", "said"), HOPELESS)
def test_what_a_wait_does_not_help_is_not_tried_again(server, tmp_path, reply, said) -> None:
    server.fault = lambda *_: reply
    with pytest.raises(UserError, match=said):
        texts(server, tmp_path, "a")
    assert server.count("POST", "/files") == 1


@pytest.mark.parametrize("key", ["none", "EMPTY", "1234", "batch", "custom_id", "completed"])
def test_a_dummy_key_corrupts_no_batch(server, tmp_path, monkeypatch, key) -> None:
    monkeypatch.setenv("A_KEY", key)
    server.answer = lambda body: (
        refusal(400, f"Not with {key}.")
        if prompt_of(body) == "b"
        else completion(body, f"{key} 123456")
    )
    table = rows(server, tmp_path, requests("a", "b"), max_failed=1)
    assert [row["text"] for row in table] == [f"{key} 123456", ""]
    assert table[1]["error"] == "status 400: Not with ***."
    assert sizes(server) == [2]


@pytest.mark.parametrize("escaped", [False, True])
def test_the_key_shows_nowhere(server, tmp_path, caplog, monkeypatch, escaped) -> None:
    """Not even where the endpoint says it back, as it is or as JSON may escape it."""
    for library in ("", "openai", "httpx2", "httpcore2"):
        caplog.set_level(logging.DEBUG, library or None)
    key = "ABSKabc/def+ghi0123456789=="
    monkeypatch.setenv("A_KEY", key)
    monkeypatch.setattr(batches, "ATTEMPTS", 2)
    written = (key.replace("/", "\\/").replace("=", "\\u003d") if escaped else key).encode()

    def finish(batch: dict) -> None:
        for file in (batch["output_file_id"], batch["error_file_id"]):
            server.files[file] = server.files[file].replace(key.encode(), written)

    server.finish = finish
    server.answer = lambda body: (
        refusal(400, f"Your key is {key}")
        if prompt_of(body) == "b"
        else completion(body, f"Your key is {key}.")
    )
    said = b'{"error": {"message": "not with ' + written + b'"}}'
    seen = iter([Reply(said, 500)])
    server.fault = lambda *_: next(seen, None)
    table = rows(server, tmp_path, requests("a", "b"), max_failed=1)
    assert [row["text"] for row in table] == ["Your key is ***.", ""]
    assert table[1]["error"] == "status 400: Your key is ***"
    shown = json.dumps(table)
    for reply in (Reply(said, 500), Reply(b"no JSON " + written), Reply(said, 401)):
        server.fault = lambda *_, reply=reply: reply
        with pytest.raises(UserError, match=r"\*\*\*") as error:
            texts(server, tmp_path, "c")
        shown += str(error.value)
    for file in tmp_path.rglob("*"):
        shown += "" if file.is_dir() else file.read_bytes().decode("utf-8", "replace")
    assert "ABSK" not in shown + caplog.text
    assert not any(key.encode() in received.content for received in server.received)


def test_a_stopped_run_submits_nothing_and_collects_it_later(
    server, stop_run, tmp_path, monkeypatch
) -> None:
    """The endpoint works on, so the job does not wait. Two batches had been submitted of four."""
    monkeypatch.setattr(batches, "MOST_REQUESTS", 2)
    server.works = False

    def see(number: int, method: str, path: str) -> None:
        if len(server.batches) == 2:
            stop_run()

    server.fault = see
    with pytest.raises(Stopped, match=r"by SIGTERM.*: the next run collects them"):
        texts(server, tmp_path, "abcdefgh")
    assert len(server.batches) == 2
    server.works, server.fault = True, lambda number, method, path: None
    monkeypatch.setenv(FILE, os.devnull)
    monkeypatch.setattr("needlework.jobs.stop._signal", "")
    assert texts(server, tmp_path, "abcdefgh") == [f"<{letter}>" for letter in "abcdefgh"]
    assert set(server.asked.values()) == {1} and len(server.asked) == 8


def test_a_batch_without_results_is_not_paid_for_twice(server, tmp_path) -> None:
    server.finish = lambda batch: batch.pop("output_file_id")
    with pytest.raises(UserError, match=r"the files of batch_0 hold 0 of 1 results"):
        texts(server, tmp_path, "c")
    assert sizes(server) == [1]


def test_a_proxy_before_a_local_endpoint_is_named(server, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("NO_PROXY", "elsewhere")
    monkeypatch.setenv("http_proxy", f"http://{server.address}")
    server.fault = lambda number, method, path: Reply(b"<html>", 503)
    with pytest.raises(UserError, match=r"proxy in http_proxy; .* add 127.0.0.1 to NO_PROXY"):
        answers(backend("http://127.0.0.1:9/v1", tmp_path), requests("a"))
    assert len(server.received) == 1


def test_an_empty_name_of_a_file_is_none(server, tmp_path) -> None:
    server.finish = lambda batch: [
        batch.setdefault(name, "") for name in ("error_file_id", "output_file_id")
    ]
    assert texts(server, tmp_path, "ab") == ["<a>", "<b>"]
    server.answer = lambda body: refusal(400, "flagged")
    with pytest.raises(UserError, match="all 2 requests that were sent were refused or failed"):
        texts(server, tmp_path, "cd", max_failed=2)
    assert sizes(server) == [2, 2]


@pytest.mark.parametrize("call", [("POST", "/files"), ("GET", "/batches/batch_0")])
def test_retry_after_is_honoured(server, tmp_path, call) -> None:
    times = []

    def fault(number: int, method: str, path: str) -> Reply | None:
        if (method, path) == call:
            times.append(time.monotonic())
        return refusal(429, "slow down", Retry_After_Ms="400") if len(times) == 1 else None

    server.fault = fault
    assert [a.text for a in answers(backend(server.url, tmp_path), requests("a"))] == ["<a>"]
    assert times[1] - times[0] >= 0.4


def test_several_lost_batches_are_all_named(server, tmp_path, caplog) -> None:
    gone = refusal(404, "No such batch.")
    server.fault = lambda number, method, path: gone if path[-2:] in ("_0", "_2") else None
    batches.MOST_REQUESTS = 1
    with pytest.raises(UserError, match=r"batch_0 .* The log has 1 more of this kind\."):
        texts(server, tmp_path, "abc")
    assert kept(tmp_path) == ["<b>"]
    assert "batch_2 cannot be collected" in caplog.text
    assert server.count("GET", "/batches/") == 3
