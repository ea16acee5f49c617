"""What an endpoint's replies mean: the cases of reports, and others of their kinds, over a real server."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.models import answers, remote, requests
from http_server import OpenAIServer, Reply
from needlework.errors import UserError
from needlework.models import remote_models
from needlework.models.backends.base import Answer
from needlework.models.openai_batch_endpoint import read_result
from needlework.models.openai_protocol import Refusal, other_model, read_reply

REPORTED = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data/replies/reported.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch) -> None:
    monkeypatch.setattr(remote_models, "RATE_LIMIT_S", 0.3)
    monkeypatch.setattr(remote_models, "LONGEST_RATE_PAUSE_S", 0.05)


def ask(server: OpenAIServer, reply: Any, status: int = 200, **changes: Any) -> Answer:
    """The answer of a model behind a server that always replies so."""
    server.reply = lambda number, asked: reply if isinstance(reply, Reply) else Reply(reply, status)
    (answer,) = answers(remote(server.url, concurrency=1, **changes), requests("Who?"))
    return answer


@pytest.mark.parametrize("case", REPORTED, ids=[case["id"] for case in REPORTED])
def test_a_reported_reply_is_read_by_its_body(server, caplog, case) -> None:
    content = (b"\xef\xbb\xbf" if case.get("bom") else b"") + json.dumps(case["body"]).encode()
    with caplog.at_level(logging.WARNING):
        try:
            answer = ask(server, content, case.get("status", 200))
        except UserError:
            answer = None
    if answer is None:
        outcome = "gives up"
    elif "all requests wait" in caplog.text:
        outcome = "waits"
    elif answer.finish_reason == "skipped":
        outcome = "skipped"
    else:
        outcome = "error" if answer.error else "answer"
    assert outcome == case["right"], case["why"]
    assert len(server.received) <= case.get("most", 99)


def body(text: str | None = "42", **changes: Any) -> dict[str, Any]:
    """A completion; `changes` are of its choice, or of the body where they begin with `_`."""
    own = {name: value for name, value in changes.items() if not name.startswith("_")}
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": "stop", "message": message} | own
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    whole = {name[1:]: value for name, value in changes.items() if name.startswith("_")}
    return {"model": "some-model", "choices": [choice], "usage": usage} | whole


GOOD = json.dumps(body()).encode()
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
    answer = ask(server, ANSWERS[shape])
    assert (answer.text, answer.error) == ("42", None)
    assert len(server.received) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ("choices", "error", "message", "content", "finish_reason", "usage", "index", "code")
LIKE_A_REPLY = st.recursive(
    JSON,
    lambda inner: st.dictionaries(st.sampled_from(FIELDS), inner) | st.lists(inner, max_size=2),
    max_leaves=12,
)


@given(
    status=st.sampled_from([200, 400, 403, 429, 500]),
    content=LIKE_A_REPLY.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=30),
    text=st.text(min_size=1).filter(str.strip),
    chat=st.booleans(),
)
def test_any_reply_is_read_without_inventing_an_answer(status, content, text, chat) -> None:
    """Nothing that a server sends is a traceback, and what has no text of a choice is no answer."""
    found = read_reply(status, content, chat, str, lambda value: value)
    assert isinstance(found, Refusal | Answer)
    if isinstance(found, Answer) and found.text:
        assert status == 200 and found.text in json.dumps(json.loads(content), ensure_ascii=False)
    else:
        assert isinstance(found, Refusal) or found.error or status == 200
    right = json.dumps(body(text) | {"choices": [{**body(text)["choices"][0], "text": text}]})
    answer = read_reply(200, right.encode(), chat, str, lambda value: value)
    assert isinstance(answer, Answer) and (answer.text, answer.error) == (text, None)


CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
FAILURES = {
    "an error beside an empty text": body("", _error={"code": 502, "message": "upstream died"}),
    "an error beside a text": body("4", _error={"code": 502, "message": "upstream died"}),
    "an error in the choice": body("", error={"code": 502, "message": "upstream died"}),
    "a tool call": body(None, message={"role": "assistant", "content": None, "tool_calls": [CALL]}),
    "a function call": body(None, message={"content": "", "function_call": {"name": "f"}}),
    "neither text nor reason": body("", finish_reason=None),
}


@pytest.mark.parametrize("shape", FAILURES)
def test_a_reply_that_is_no_answer_is_a_failure(server, shape) -> None:
    assert ask(server, FAILURES[shape]).error
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


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_in_a_good_status_is_what_it_says(kind) -> None:
    """In a batch, a line's body is read by the same reader."""
    for said in KINDS[kind]:
        found = read_reply(200, json.dumps(said).encode(), True, str, lambda value: value)
        assert isinstance(found, Refusal) and found.kind == kind, said
        line = {"response": {"status_code": 200, "body": said}}
        answer = read_result(line, True, str)
        assert answer.error and answer.refused == (kind == "too_long"), said


def test_the_status_says_who_is_at_fault() -> None:
    def kind(status: int, content: bytes = b"") -> str:
        found = read_reply(status, content, True, str, lambda value: value)
        assert isinstance(found, Refusal)
        return found.kind

    assert {kind(status) for status in (429, 502, 503, 521, 522, 523)} == {"limited"}
    assert {kind(status) for status in (401, 402, 404)} == {"fatal"}
    assert {kind(status) for status in (400, 403, 422, 504, 524)} == {"failed"}
    assert {kind(status) for status in (408, 425, 500, 505, 520)} == {"passing"}
    assert kind(403, b"no access to this model") == kind(400, b"insufficient_quota") == "fatal"


def test_a_limit_beyond_the_server_s_names_the_key(server) -> None:
    (case,) = (case for case in REPORTED if case["id"] == "ep-06")
    own = ask(server, case["body"], 400, request={"max_tokens": 32000})
    assert "`request: max_tokens` (32000)" in str(own.error)
    assert "limit of 16 tokens" in str(ask(server, case["body"], 400).error)


def test_a_known_limit_marks_an_answer_of_unknown_end(server) -> None:
    for tokens, end in ((15, "stop"), (16, "length")):
        usage = {"prompt_tokens": 3, "completion_tokens": tokens}
        answer = ask(server, body("a b", finish_reason=None, _usage=usage))
        assert (answer.finish_reason, answer.unknown_end) == (end, True)


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content", "parts"])
def test_reasoning_is_kept_beside_an_empty_text_alone(server, name) -> None:
    message: dict[str, Any] = {"content": None, name: "It is 42."}
    if name == "parts":
        message = {"content": [{"type": "thinking", "thinking": "It is 42."}]}
    answer = ask(server, body(message=message))
    assert (answer.text, answer.error, answer.reasoning) == ("", None, "It is 42.")
    assert ask(server, body(message={"content": "42", name: "It is 42."})).reasoning is None


def test_another_model_in_the_reply_is_named(server, caplog) -> None:
    assert ask(server, body(_model="other-v9")).served == "other-v9"
    assert "asked for the model some-model, and its reply names other-v9" in caplog.text


@pytest.mark.parametrize(
    ("asked", "served", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4", "gpt-4-0613", True),
        ("gemini-pro", "models/gemini-pro-002", True),
        ("org/Name", "name", True),
        ("org/name:free", "org/name", True),
        ("claude-latest", "claude-20250219", True),
        ("llama3", "llama3:latest", True),
        ("/models/x.gguf", "x", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("qwen2:7b", "qwen2:72b", False),
        ("made", "another-model-v9", False),
    ],
)
def test_a_dated_name_is_no_other_model(asked, served, same) -> None:
    assert other_model(asked, served) != same
