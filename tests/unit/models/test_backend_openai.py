"""The backend `openai` against a real server on loopback that goes wrong as a test asks."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
import time
import tracemalloc
from collections import Counter
from typing import Any

import pytest

from factories.models import SECRET, answers, remote, requests
from http_server import OpenAIServer, Reply, completion, prompt_of, refusal
from needlework.errors import UserError
from needlework.jobs.stop import Stopped
from needlework.journal import Journal
from needlework.models import remote_models
from needlework.models.backends.base import Answer
from needlework.models.backends.openai import backend as openai
from needlework.models.generation import generate
from runs import ROOT


def backend(server: OpenAIServer, **changes: Any) -> openai.OpenaiBackend:
    return remote(**{"base_url": server.url, **changes})


def answer(server: OpenAIServer, **changes: Any) -> Answer:
    (only,) = answers(backend(server, **changes), requests("Who?"))
    return only


def test_a_prompt_is_a_message_or_stands_as_is(server) -> None:
    assert [answer(server, chat=chat).text for chat in (True, False)] == ["<Who?>"] * 2
    chat, base = server.received
    assert (chat.path, base.path) == ("/v1/chat/completions", "/v1/completions")
    assert chat.headers["authorization"] == f"Bearer {SECRET}"
    assert chat.body["messages"] == [{"role": "user", "content": "Who?"}]
    assert base.body["prompt"] == "Who?" and "messages" not in base.body
    asked = {key: chat.body[key] for key in ("model", "temperature", "top_p", "max_tokens")}
    assert asked == {"model": "some-model", "temperature": 0, "top_p": 1, "max_tokens": 16}
    assert "top_k" not in chat.body


def test_the_configuration_adds_fields_and_takes_some_out(server) -> None:
    own = {"max_tokens": None, "max_completion_tokens": 4096, "seed": None, "effort": "low"}
    answer(server, request=own, base_url=f"{server.url}?api-version=2024-10-21")
    body = server.received[0].body
    assert not {"max_tokens", "seed", "top_k"} & set(body)
    assert (body["max_completion_tokens"], body["effort"]) == (4096, "low")
    # An address with a query keeps it at the end.
    assert server.received[0].path.endswith("/completions?api-version=2024-10-21")


def test_samples_have_seeds_of_their_own(server) -> None:
    model = backend(server, concurrency=1)
    assert len(answers(model, requests("a", "b", samples=2))) == 4
    seeds = [received.body["seed"] for received in server.received]
    assert len(set(seeds)) == 4
    answers(backend(server, concurrency=1), requests("b", samples=2))
    assert [received.body["seed"] for received in server.received[4:]] == seeds[2:]


@pytest.mark.parametrize("key_env", [None, "A_KEY"])
def test_only_openai_gets_what_its_variables_say(server, monkeypatch, key_env) -> None:
    """Without a key none is sent, least of all the one that the client would find by itself."""
    names = {"OPENAI_ORG_ID": "org-mine", "OPENAI_PROJECT_ID": "proj_mine"}
    keys = {"OPENAI_API_KEY": SECRET, "OPENAI_ADMIN_KEY": SECRET}
    for name, value in (names | keys).items():
        monkeypatch.setenv(name, value)
    assert answer(server, key_env=key_env).text == "<Who?>"
    # As if it were OpenAI's own.
    monkeypatch.setattr(openai, "OPENAI", server.url)
    assert answer(server, key_env=key_env, base_url=server.url + "/").text == "<Who?>"
    other, own = (received.headers for received in server.received)
    assert not {"openai-organization", "openai-project"} & set(other)
    assert not set(names.values()) & set(other.values())
    assert (own["openai-organization"], own["openai-project"]) == ("org-mine", "proj_mine")
    assert any(SECRET in value for value in other.values()) == (key_env is not None)


# What goes wrong

REFUSED = refusal(400, "flagged by our policy", "content_filter")
FAULTS = {
    **{"429": refusal(429, "slow down"), "500": refusal(500, "oops")},
    **{"503": Reply(b"<html>busy</html>", 503), "408": Reply(b"", 408)},
    **{"no response": Reply(stop_after=0), "half a body": Reply({"choices": []}, stop_after=5)},
    "no JSON": Reply(b"hello"),
    "no bytes of text": Reply(b"\xff\xfe\x00", headers={"Content-Type": "application/json"}),
    "another type": Reply(b"<html></html>", headers={"Content-Type": "text/html"}),
    "a number for choices": Reply({"choices": 5}),
    "an error that is called a success": Reply({"error": {"message": "no upstream", "code": 502}}),
    "deep": Reply(b"[" * 200_000),
}


def test_only_passing_faults_are_passed_over(server, monkeypatch) -> None:
    """Each is one request's; one that lasts is that request's failure, and a refusal at once."""
    monkeypatch.setattr(remote_models, "ATTEMPTS", 3)
    tries: Counter[str] = Counter()

    def reply(number: int, body: Any) -> Reply:
        prompt = prompt_of(body)
        tries[prompt] += 1
        fault, _, lasting = prompt.partition(" that lasts")
        if fault in FAULTS and (lasting or tries[prompt] <= 2):
            return FAULTS[fault]
        return REFUSED if prompt == "b" else completion(body)

    server.reply = reply
    lasting = [f"{name} that lasts: " for name in FAULTS if name not in ("429", "503")]
    asked = requests("a", *FAULTS, *lasting, "b", "c")
    found = dict(zip((r.prompt for r in asked), answers(backend(server), asked), strict=True))
    failed = {prompt: one for prompt, one in found.items() if one.error}
    assert failed.keys() == {*lasting, "b"}
    assert all(found[prompt].text == f"<{prompt}>" for prompt in found.keys() - failed.keys())
    assert failed.pop("b").error == "status 400: flagged by our policy"
    for one in failed.values():
        assert one.text == "" and one.error.endswith("(attempt 3)") and len(one.error) < 300
    assert tries == dict.fromkeys([*FAULTS, *lasting], 3) | dict.fromkeys("abc", 1)
    # An answer says why an earlier attempt failed, and one of the first attempt says nothing.
    remarks = {prompt: found[prompt].remarks for prompt in ("c", *FAULTS)}
    assert remarks["c"] is None and remarks["500"] == ("retried: status 500: oops",)
    assert remarks["an error that is called a success"] == (
        "retried: status 200 with the error 502: no upstream",
    )


def test_a_server_that_starts_is_waited_for(server, monkeypatch) -> None:
    monkeypatch.setattr(remote_models, "LONGEST_RATE_PAUSE_S", 0.02)
    server.reply = lambda number, body: refusal(502, "loading") if number < 9 else completion(body)
    assert answer(server).text == "<Who?>"
    assert len(server.received) == 10
    monkeypatch.setattr(remote_models, "RATE_LIMIT_S", 0.2)
    server.reply = lambda number, body: refusal(503, "loading")
    assert "status 503: loading" in answer(server).error


def test_a_stream_is_read(server) -> None:
    events = [
        {"choices": [{"index": 0, "delta": {"content": "<Who"}}]},
        {"choices": [{"index": 0, "delta": {"content": "?>"}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    lines = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)

    def reply(number: int, body: Any) -> Reply:
        if not body.get("stream"):
            return refusal(400, "This model only supports stream mode")
        return Reply(lines + b"data: [DONE]\n\n", headers={"Content-Type": "text/event-stream"})

    server.reply = reply
    assert "request: {stream: true}" in answer(server).error
    assert answer(server, request={"stream": True}).text == "<Who?>"


def test_a_moved_address_ends_the_job(server) -> None:
    moved = Reply(b"", 301, headers={"Location": "http://elsewhere.example/v1?key=secret"})
    server.reply = lambda number, body: moved
    said = r"has moved \(status 301, Location http://elsewhere.example/v1\)"
    with pytest.raises(UserError, match=said):
        answer(server)
    assert len(server.received) == 1


def test_an_answer_that_does_not_come_is_not_waited_for(server) -> None:
    over = threading.Event()
    server.reply = lambda number, body: Reply(
        completion(body).body, after=over if number == 0 else None
    )
    assert answer(server, timeout=0.2).text == "<Who?>"
    over.set()
    assert len(server.received) == 2


def test_a_limit_without_a_header_is_waited_for(server, monkeypatch) -> None:
    monkeypatch.setattr(remote_models, "FIRST_PAUSE_S", 0.004)
    began = time.monotonic()

    def reply(number: int, body: Any) -> Reply:
        # Six attempts, at pauses that double, would have been over after a third of that.
        limited = time.monotonic() < began + 0.4
        return refusal(429, "slow down") if limited else completion(body)

    server.reply = reply
    prompts = [str(n) for n in range(40)]
    found = answers(backend(server, concurrency=20), requests(*prompts))
    assert [a.text for a in found] == [f"<{prompt}>" for prompt in prompts]
    # Each waits for as long again as the limit has lasted.
    assert len(server.received) - 40 <= 20 * 15
    assert server.received[-1].time - began < 10


def test_a_limit_by_the_minute_lets_all_through(server) -> None:
    windows: Counter[int] = Counter()

    def reply(number: int, body: Any) -> Reply:
        # Here a minute has a fifth of a second. What is refused counts too, as at OpenAI.
        window = int(time.monotonic() * 5)
        windows[window] += 1
        return completion(body) if windows[window] <= 4 else refusal(429, "slow down")

    server.reply = reply
    prompts = [str(n) for n in range(20)]
    found = answers(backend(server), requests(*prompts))
    assert [a.text for a in found] == [f"<{prompt}>" for prompt in prompts]
    assert len(server.received) > 20


def test_an_endpoint_that_asks_for_hours_is_not_waited_for(server) -> None:
    server.reply = lambda number, body: refusal(429, "tomorrow", Retry_After="7200")
    assert answer(server).error == "status 429: tomorrow (attempt 1)"
    (found,) = answers(remote(), requests("a"))
    assert found.error == "the connection failed (ConnectError) (attempt 6)"


@pytest.mark.parametrize(
    ("status", "code"),
    [(401, None), (402, None), (429, "insufficient_quota"), (400, "billing_hard_limit_reached")],
)
def test_what_no_request_can_survive_stops_them_all(server, status, code) -> None:
    bad = refusal(status, "No.", code)
    server.reply = lambda number, body: completion(body) if number < 3 else bad
    model = backend(server, concurrency=1)
    model.load()
    found = []
    with pytest.raises(UserError, match=rf"models\.remote: http.* status {status}: No\. Check"):
        found.extend(model.generate(requests(*"abcdefgh")))
    model.close()
    assert [a.text for a in found] == ["<a>", "<b>", "<c>", ""]
    assert len(server.received) == 4


def test_answers_under_way_at_a_fatal_error_are_kept(server, tmp_path) -> None:
    fatal = Reply(refusal(401, "No.").body, 401, delay=0.1)
    server.reply = lambda number, body: (
        fatal if prompt_of(body) == "b" else Reply(completion(body).body, delay=0.3)
    )
    with Journal(tmp_path) as journal:
        with pytest.raises(UserError, match="status 401"):
            generate(requests(*"abcdef"), backend(server, concurrency=3), journal)
        assert sorted(record["text"] for record in journal.records()) == ["<a>", "<c>"]
    assert len(server.received) == 3


@pytest.mark.parametrize(
    ("first", "bad", "said"),
    [
        (50, refusal(400, "This account was closed."), "was closed"),
        (0, refusal(403, "This account was closed."), "was closed"),
        (0, refusal(400, "Unknown parameter: 'top_k'."), "'top_k'.*top_k: null"),
        (0, Reply({"choices": [{"finish_reason": "stop"}]}), "an unknown shape"),
        (0, refusal(429, "slow down"), "status 429: slow down"),
        (30, FAULTS["no response"], "connection"),
    ],
    ids=["account", "forbidden", "parameter", "shape", "limit", "dead"],
)
def test_an_endpoint_that_only_fails_is_not_asked_everything(server, monkeypatch, first, bad, said):
    monkeypatch.setattr(remote_models, "RATE_LIMIT_S", 0.3)
    monkeypatch.setattr(remote_models, "ATTEMPTS", 2)
    server.reply = lambda number, body: completion(body) if number < first else bad
    with pytest.raises(UserError, match=rf"20 requests in a row failed .*{said}"):
        answers(backend(server, concurrency=4), requests(*map(str, range(99))))
    prompts = {prompt_of(received.body) for received in server.received}
    assert first + 20 <= len(prompts) < first + 30


@pytest.mark.parametrize(
    "bad",
    [
        refusal(400, "The response was filtered.", "content_filter"),
        refusal(400, "Invalid prompt: your prompt was flagged.", "invalid_prompt"),
        refusal(429, "Request too large for some-model: Limit 30000, Requested 37313."),
        # Any refusal, where answers stand between.
        refusal(400, "This prompt is none."),
    ],
    ids=["azure", "openai", "too large", "other"],
)
def test_prompts_that_are_refused_for_what_they_are_stop_nothing(server, bad) -> None:
    """However many in a row: neighbours hold the same documents."""
    right = {*range(0, 30, 3)} if "none" in str(bad.body) else {0, 29}
    server.reply = lambda number, body: completion(body) if number in right else bad
    found = answers(backend(server, concurrency=1), requests(*map(str, range(30))))
    assert {place for place, a in enumerate(found) if a.error is None} == right
    assert bad.body["error"]["message"] in found[1].error and len(server.received) == 30


def test_answers_keep_their_order_within_the_concurrency_limit(server) -> None:
    five = threading.Barrier(5)

    def reply(number: int, body: Any) -> Reply:
        if number < 5:
            five.wait(60)
        return Reply(completion(body).body, delay=0.2 if prompt_of(body) == "0" else 0.0)

    server.reply = reply
    prompts = [str(n) for n in range(40)]
    found = answers(backend(server, concurrency=5), requests(*prompts))
    assert [a.text for a in found] == [f"<{prompt}>" for prompt in prompts]
    assert server.most_at_once == 5


# A process with a limit on open files, and the limit up to which it may raise its own.
FEW_FILES = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, int(sys.argv[2])))
from factories.models import answers, remote, requests
found = answers(remote(sys.argv[1], concurrency=80), requests(*map(str, range(160))))
print(sum(answer.text == f"<{n}>" for n, answer in enumerate(found)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("hard", [64, 1024])
def test_few_open_files_lower_the_concurrency_and_lose_nothing(server, hard) -> None:
    server.reply = lambda number, body: Reply(completion(body).body, delay=0.2)
    paths = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "workflow/scripts")])
    done = subprocess.run(
        [sys.executable, "-c", FEW_FILES, server.url, str(hard)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "160\n", done.stderr[-3000:]
    assert done.stderr.count("raise the limit on open files (`ulimit -n`)") == (hard == 64)
    assert (server.most_at_once <= 16) == (hard == 64)


def test_a_reply_that_decompresses_without_end_is_no_answer(server, monkeypatch) -> None:
    """60 KB of it would be 60 MB."""
    monkeypatch.setattr(remote_models, "ATTEMPTS", 1)
    headers, bomb = {"Content-Encoding": "gzip"}, gzip.compress(bytes(60_000_000))
    for status in (200, 400):
        server.reply = lambda number, body, status=status: Reply(bomb, status, headers)
        tracemalloc.start()
        try:
            (found,) = answers(backend(server), requests("a"))
            # As much as a reply may have, and a copy of it, and a piece.
            assert tracemalloc.get_traced_memory()[1] < 30_000_000
        finally:
            tracemalloc.stop()
        assert "the reply is longer than 4 MB" in found.error


def test_an_answer_is_no_longer_than_its_limit(server) -> None:
    server.reply = lambda number, body: completion(body, "x" * 6_000_000)
    (found,) = answers(backend(server, request={"max_tokens": 3000}), requests("a"))
    assert found.error is None and len(found.text) == 6_000_000
    (found,) = answers(backend(server), requests("a"))
    # And it is not asked again.
    assert "the reply is longer than 4 MB" in found.error and len(server.received) == 2


@pytest.mark.parametrize("pause", ["600", ""])
def test_a_stopped_run_sends_no_request_and_no_retry(server, stop_run, tmp_path, pause) -> None:
    """What is under way is waited for; what the endpoint puts off is not."""
    under_way = threading.Barrier(4)

    def respond(number: int, body: Any) -> Reply:
        if number >= 4:
            return completion(body)
        under_way.wait(60)
        stop_run()
        if number % 2:
            return Reply(completion(body).body, delay=0.1)
        return Reply(b"", 429 if pause else 500, {"Retry-After": pause} if pause else {})

    server.reply = respond
    asked = requests(*"abcdefgh")
    rows: list[dict[str, Any]] = []
    with Journal(tmp_path) as journal:
        with pytest.raises(Stopped, match="stopped by SIGTERM"):
            generate(asked, remote(server.url, concurrency=4), journal, told=rows.extend)
        assert len(server.received) == 4
        assert Counter(row["outcome"] for row in rows) == {"answered": 2, "unasked": 6}
        assert len([*journal.records()]) == 2


def test_a_certificate_file_that_is_missing_is_named(server, monkeypatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "gone.pem")
    with pytest.raises(UserError, match="SSL_CERT_FILE"):
        answer(server)


CHARSETS = ("idna", "punycode", "undefined", "hex", "rot13", "utf-16", "none such", "\xe9")


def test_a_charset_that_the_server_names_says_nothing(server) -> None:
    """Nor a compressed reply, of an answer or an error."""

    def reply(number: int, body: Any) -> Reply:
        status, charset = prompt_of(body)[1:].split("|")
        right = completion(body) if status == "200" else refusal(400, "content_filter: nö")
        content = gzip.compress(json.dumps(right.body, ensure_ascii=False).encode())
        kind = {"Content-Type": f"application/json; charset={charset}", "Content-Encoding": "gzip"}
        return Reply(content, int(status), kind)

    server.reply = reply
    prompts = [f"é{status}|{charset}" for status in (200, 400) for charset in CHARSETS]
    for prompt, found in zip(prompts, answers(backend(server), requests(*prompts)), strict=True):
        if "200" in prompt:
            assert found.text == f"<{prompt}>"
        else:
            assert "content_filter: nö" in found.error


def test_a_pause_that_is_asked_for_is_made_by_all(server) -> None:
    pause = {"Retry_After_Ms": "400", "Retry_After": "0"}
    server.reply = lambda number, body: (
        refusal(429, "slow down", **pause) if number == 0 else completion(body)
    )
    assert all(a.text for a in answers(backend(server, concurrency=1), requests(*"abc")))
    waited = [r.time - server.received[0].time for r in server.received[1:]]
    assert len(waited) == 3 and min(waited) >= 0.4


def test_a_reply_longer_than_any_answer_is_not_asked_again(server) -> None:
    """Eight at once, with a character that makes each of a text's characters take four bytes."""
    text = "é" * 3_000_000 + "🙂"
    body = json.dumps(completion({"messages": [], "model": "m"}, text).body).encode()
    server.reply = lambda number, _: Reply(body)
    tracemalloc.start()
    try:
        found = answers(backend(server, concurrency=8), requests(*"abcdefgh"))
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()
    assert all("the reply is longer than 4 MB" in one.error for one in found)
    assert len(server.received) == 8


def test_answers_that_a_stopped_run_has_are_written(server, stop_run, tmp_path) -> None:
    def respond(number: int, body: Any) -> Reply:
        stop_run()
        return completion(body)

    server.reply = respond
    with Journal(tmp_path) as journal:
        assert generate(requests("a"), remote(server.url), journal).num_rows == 1


def test_each_answer_follows_once_earlier_ones_are_known(server) -> None:
    """And what is no longer wanted is given up at once."""
    # Between answers nothing is sent, so the first ones wait until the last request has come.
    all_sent, known = threading.Barrier(3), threading.Event()

    def reply(number: int, body: Any) -> Reply:
        all_sent.wait(60)
        return Reply(completion(body).body, after=known if prompt_of(body) == "late" else None)

    server.reply = reply
    model = backend(server)
    model.load()
    found = model.generate(requests("a", "b", "late"))
    assert [next(found).text, next(found).text] == ["<a>", "<b>"]
    model.close()
    found.close()
    assert server.under_way == 1 and len(server.received) == 3
    known.set()


def test_half_a_character_is_no_reason_to_fail(server) -> None:
    (only,) = answers(backend(server), requests("a\ud800b"))
    assert (only.text, only.error) == ("<a?b>", None)


def test_what_rests_when_all_is_lost_is_not_waited_for(server) -> None:
    """A request that was told to come back in a minute."""
    busy, lost = refusal(503, "later", Retry_After="60"), refusal(401, "No.")
    server.reply = lambda number, body: (
        busy if prompt_of(body) == "a" else Reply(lost.body, 401, delay=0.2)
    )
    began = time.monotonic()
    with pytest.raises(UserError, match="status 401"):
        answers(backend(server, concurrency=2), requests(*"abc"))
    assert len(server.received) == 2 and time.monotonic() - began < 60
