"""What an endpoint's replies mean: the cases of reports, and others of their kinds, over a real server."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from http_server import OpenAIServer, Reply, completion
from needlework.errors import UserError
from needlework.models import remote_models
from needlework.models.backends.base import Answer, Request, load_backend
from needlework.models.openai_batch_endpoint import read_result
from needlework.models.openai_protocol import Refusal, other_model, read_reply
from needlework.prompts.spans import literal

REPORTED = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data/replies/reported.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
ENTRY: dict[str, Any] = {
    "model": "m",
    "backend": "openai",
    "name": "made",
    "revision": None,
    "chat": True,
    "system": None,
    "stop": None,
    "reasoning": None,
    "sampling": {"temperature": 0, "top_k": 50, "top_p": 1.0, "seed": 0},
    "request": {},
    "key_env": None,
    "concurrency": 1,
    "timeout": 30,
    "batch": False,
}


@pytest.fixture
def server(monkeypatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(remote_models, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(remote_models, "RATE_LIMIT_S", 0.3)
    monkeypatch.setattr(remote_models, "LONGEST_RATE_PAUSE_S", 0.05)
    with OpenAIServer() as running:
        yield running


def backend(server: OpenAIServer, **changes: Any) -> Any:
    return load_backend("openai", {**ENTRY, "base_url": server.url, **changes})


def ask(server: OpenAIServer, **changes: Any) -> Answer:
    model = backend(server, **changes)
    try:
        model.load()
        (answer,) = model.generate(
            [Request("i0", 0, "exact", [literal("question", "Who?")], ["x"], 16, 1, {})]
        )
        return answer
    finally:
        model.close()


def outcome(server: OpenAIServer, caplog: Any) -> str:
    """What one request ends as: answer, skipped, gives up, waits or error."""
    with caplog.at_level(logging.WARNING):
        try:
            answer = ask(server)
        except UserError:
            return "gives up"
    if "all requests wait" in caplog.text:
        return "waits"
    if answer.finish_reason == "skipped":
        return "skipped"
    return "error" if answer.error else "answer"


@pytest.mark.parametrize("case", REPORTED, ids=[case["id"] for case in REPORTED])
def test_a_reported_reply_is_read_by_its_body(server, caplog, case) -> None:
    body = json.dumps(case["body"]).encode()
    content = (b"\xef\xbb\xbf" if case.get("bom") else b"") + body
    server.reply = lambda number, asked: Reply(content, case.get("status", 200))
    assert outcome(server, caplog) == case["right"], case["why"]
    assert len(server.received) <= case.get("most", 99)


def body(text: str | None = "42", **changes: Any) -> dict[str, Any]:
    """A completion; `changes` are of its choice, or of the body where they begin with `_`."""
    own = {name: value for name, value in changes.items() if not name.startswith("_")}
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
    } | own
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    whole = {name[1:]: value for name, value in changes.items() if name.startswith("_")}
    return {"model": "made", "choices": [choice], "usage": usage} | whole


GOOD = json.dumps(body()).encode()
UPSTREAM = {"code": 502, "message": "upstream died"}
EVENTS = b"".join(
    b"data: " + json.dumps(event).encode() + b"\n\n"
    for event in (
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "4"}}]},
        {"choices": [{"index": 0, "delta": {"content": "2"}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
    )
)
ANSWERS = {
    "bytes after it": GOOD + b"\n{}garbage",
    "the same twice": GOOD + b"\n" + GOOD,
    "an empty text before it": b"{}" + GOOD,
    "padding before it": b"\0" * 5000 + GOOD,
    "UTF-16": json.dumps(body()).encode("utf-16"),
    "a stream of events": EVENTS + b"data: [DONE]\n\n",
    "an empty error beside it": json.dumps(body(_error={"code": 0, "message": ""})).encode(),
    "null for the reason": json.dumps(body(finish_reason=None)).encode(),
    "other choices before it": json.dumps(
        {"choices": [{**body("no")["choices"][0], "index": 1}, body()["choices"][0]]}
    ).encode(),
}


@pytest.mark.parametrize("shape", ANSWERS)
def test_a_paid_answer_is_read_at_once(server, shape) -> None:
    server.reply = lambda number, asked: Reply(ANSWERS[shape])
    answer = ask(server)
    assert (answer.text, answer.error) == ("42", None)
    assert len(server.received) == 1


CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
FAILURES = {
    "an error beside an empty text": body("", _error=UPSTREAM),
    "an error beside a text": body("4", _error=UPSTREAM),
    "an error in the choice": body("", error=UPSTREAM),
    "a tool call": body(None, message={"role": "assistant", "content": None, "tool_calls": [CALL]}),
    "a function call": body(None, message={"content": "", "function_call": {"name": "f"}}),
    "neither text nor reason": body("", finish_reason=None),
}


@pytest.mark.parametrize("shape", FAILURES)
def test_a_reply_that_is_no_answer_is_a_failure(server, shape) -> None:
    server.reply = lambda number, asked: Reply(FAILURES[shape])
    assert ask(server).error
    assert len(server.received) == 1


KINDS = {
    "fatal": [
        {"error": {"message": "Insufficient credits", "code": "402"}},
        {"error": {"message": "No.", "type": "authentication_error"}},
        {"error": {"message": "No.", "code": "insufficient_quota"}},
        [{"error": {"message": "No.", "code": 401, "status": "UNAUTHENTICATED"}}],
        {"message": "No.", "code": 402},
    ],
    "limited": [
        {"error": {"message": "Rate limit reached", "type": "rate_limit_exceeded"}},
        {"error": "Too many requests"},
        {"object": "error", "message": "slow down", "code": 429},
    ],
    "too_long": [
        {"error": "This model's maximum context length is 512 tokens."},
        {"detail": "prompt is too long: 900 tokens > 512 maximum", "code": 500},
    ],
    "limit": [
        {"error": {"message": "max_tokens is too large: 32000. At most 16384.", "code": 400}},
        {"error": {"message": "`max_tokens` must be less than or equal to `8192`", "code": 400}},
        {"error": {"message": "max_tokens: 32000 > 8192, which is the maximum", "code": 400}},
    ],
    "content": [{"error": {"message": "flagged", "code": "content_filter"}}],
    "passing": [
        {"error": {"message": "no upstream"}},
        {"error": {"message": "no upstream", "code": 502}},
        {"error": {"message": "busy", "code": 1301}},
        {},
        None,
        "hello",
    ],
    "failed": [{"error": {"message": "top_k is unknown", "code": 400}}],
}


@pytest.mark.parametrize(
    ("kind", "said"), [(kind, said) for kind, bodies in KINDS.items() for said in bodies]
)
def test_an_error_in_a_good_status_is_what_it_says(kind, said) -> None:
    found = read_reply(200, json.dumps(said).encode(), True, str, lambda value: value)
    assert isinstance(found, Refusal) and found.kind == kind
    # In a batch, a line's body is read by the same reader.
    line = {"response": {"status_code": 200, "body": said}}
    answer = read_result(line, True, str)
    assert answer.error and answer.refused == (kind == "too_long")


def test_a_limit_beyond_the_server_s_names_the_key(server) -> None:
    case = next(case for case in REPORTED if case["id"] == "ep-06")
    server.reply = lambda number, asked: Reply(case["body"], 400)
    assert "`request: max_tokens` (32000)" in str(ask(server, request={"max_tokens": 32000}).error)
    assert "limit of 16 tokens" in str(ask(server).error)


def test_a_known_limit_marks_an_answer_of_unknown_end(server) -> None:
    long = {"prompt_tokens": 3, "completion_tokens": 16}
    server.reply = lambda number, asked: Reply(body("a b", finish_reason=None, _usage=long))
    answer = ask(server)
    assert (answer.finish_reason, answer.unknown_end) == ("length", True)
    server.reply = lambda number, asked: Reply(body("a b", finish_reason=None))
    assert ask(server).finish_reason == "stop"


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content", "parts"])
def test_reasoning_beside_an_empty_text_is_kept(server, name) -> None:
    message: dict[str, Any] = {"content": None, name: "It is 42."}
    if name == "parts":
        message = {"content": [{"type": "thinking", "thinking": "It is 42."}]}
    server.reply = lambda number, asked: Reply(body(message=message))
    answer = ask(server)
    assert (answer.text, answer.error, answer.reasoning) == ("", None, "It is 42.")


def test_reasoning_beside_a_text_is_left_out(server) -> None:
    message = {"content": "42", "reasoning": "It is 42."}
    server.reply = lambda number, asked: Reply(body(message=message))
    assert ask(server).reasoning is None


def test_another_model_in_the_reply_is_named(server, caplog) -> None:
    server.reply = lambda number, asked: Reply(completion(asked).body | {"model": "other-v9"})
    assert ask(server).served == "other-v9"
    assert "asked for the model made, and its reply names other-v9" in caplog.text


@pytest.mark.parametrize(
    ("asked", "served"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("gpt-4", "gpt-4-0613"),
        ("gemini-pro", "models/gemini-pro-002"),
        ("org/Name", "name"),
        ("org/name:free", "org/name"),
        ("claude-latest", "claude-20250219"),
        ("llama3", "llama3:latest"),
        ("/models/x.gguf", "x"),
    ],
)
def test_a_dated_name_is_the_same_model(asked, served) -> None:
    assert not other_model(asked, served)


@pytest.mark.parametrize(
    ("asked", "served"),
    [("gpt-4o", "gpt-4o-mini"), ("qwen2:7b", "qwen2:72b"), ("made", "another-model-v9")],
)
def test_another_size_is_another_model(asked, served) -> None:
    assert other_model(asked, served)
