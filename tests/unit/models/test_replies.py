"""What an endpoint's replies mean: the cases of reports, and others of their kinds, over a real server."""

from __future__ import annotations

import errno
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
from needlework.models.backends.openai.batch_endpoint import read_result
from needlework.models.openai_protocol import (
    Refusal,
    connection_trouble,
    is_too_long,
    other_model,
    read_reply,
)

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


def body(text: str | None = "42", /, **changes: Any) -> dict[str, Any]:
    """A completion; `changes` are of its choice, or of the body where they begin with `_`."""
    own = {name: value for name, value in changes.items() if not name.startswith("_")}
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": "stop", "message": message} | own
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    whole = {name[1:]: value for name, value in changes.items() if name.startswith("_")}
    return {"model": "some-model", "choices": [choice], "usage": usage} | whole


def read(said: Any, status: int = 200, chat: bool = True) -> Answer | Refusal:
    return read_reply(status, json.dumps(said).encode(), chat, str, lambda value: value)


def kind(status: int, said: Any) -> str:
    found = read(said, status)
    assert isinstance(found, Refusal)
    return found.kind


DETAILS = {
    **{"prompt_tokens": 100, "completion_tokens": 30},
    "prompt_tokens_details": {"cached_tokens": 64},
    "completion_tokens_details": {"reasoning_tokens": 20},
}
COUNTS: list[Any] = [
    *[None, {}, {"prompt_tokens": "3", "prompt_tokens_details": None}, {"prompt_tokens": 2**40}],
    *[[], [{"prompt_tokens": 1}], "n/a", 5],
]


def test_tokens_are_counted_by_the_endpoint() -> None:
    served = {"served": "some-model"}
    assert read(body("x", _usage=DETAILS)) == Answer("x", "stop", 100, 64, 30, 20, **served)
    for usage in COUNTS:
        assert read(body("x", _usage=usage)) == Answer("x", "stop", **served)


@pytest.mark.parametrize("chat", [True, False])
def test_all_endpoints_words_for_an_end_are_known(chat) -> None:
    def ended(word: str) -> Any:
        return read(body("half", text="half", finish_reason=word), chat=chat)

    for word in ("stop", "STOP", "eos", "end_turn", "eos_token", "stop_sequence"):
        assert (ended(word).text, ended(word).finish_reason) == ("half", "stop")
    for word in ("length", "Length", "model_length", "max_tokens", "MAX_TOKENS"):
        assert (ended(word).text, ended(word).finish_reason) == ("half", "length")
    for word in ("content_filter", "abort", "error"):
        assert f"{word!r}: half" in ended(word).error


THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "Rome?"}]}
TEXT, SOURCE = {"type": "text", "text": "Paris"}, {"type": "reference", "reference_ids": [1]}


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": [{"type": "text", "text": "Pa"}, {"type": "text", "text": "ris"}]}, "Paris"),
        ({"content": [THOUGHT, {"type": "reasoning", "text": "No?"}, TEXT, SOURCE]}, "Paris"),
        ({"content": [{"type": "thinking", "thinking": []}]}, ""),
        ({"content": [{"type": "refusal", "refusal": "I cannot say."}]}, "I cannot say."),
        ({"content": []}, ""),
        ({"content": None, "refusal": "I cannot say."}, "I cannot say."),
        ({"content": None, "refusal": None}, ""),
    ],
)
def test_a_message_is_its_text_and_refusals_are_answers(message, text) -> None:
    found = read(body(message=message))
    assert (found.text, found.finish_reason, found.error) == (text, "stop", None)


POEM = [{"type": "poem", "text": "x"}]
UNKNOWN = {
    **{"no message": body(message=None), "no object": {"choices": ["x"]}},
    "a number": body(message={"content": 5}, text=5),
    "unknown parts": body(message={"content": POEM}, text=[5]),
    "a list": body(message={"content": "x"}, text="x", finish_reason=[]),
    "another protocol": {"output": "x", "usage": {"completion_tokens": 5}},
}


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("shape", UNKNOWN)
def test_a_paid_answer_of_unknown_shape_is_an_error(shape, chat) -> None:
    found = read(UNKNOWN[shape], chat=chat)
    assert isinstance(found, Answer) and found.text == ""
    assert "the answer" in found.error and len(found.error) <= 200


TOO_LONG = [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000.",
    "This model's maximum context length is 2048 tokens. However, your prompt contains at "
    "least 2049 input tokens, which exceeds this limit even without any output tokens.",
    "The decoder prompt (length 9) is longer than the maximum model length of 8.",
    "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "the request exceeds the available context size, try increasing it",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "The input (9 tokens) is longer than the model's context length (8 tokens).",
    *("context_length_exceeded", "prompt too long; exceeded max context length by 100918 tokens"),
    *("the input length exceeds the context length", "Prompt exceeds max length", "Prompt 超长"),
    *("invalid params, context window exceeds limit (2013)", "Prompt tokens too long"),
]


@pytest.mark.parametrize("said", TOO_LONG)
def test_all_endpoints_words_for_too_long_are_known(said) -> None:
    """Of OpenAI, vLLM, its engine, TGI, Mistral, llama.cpp, Anthropic, Gemini, SGLang, Ollama and others."""
    assert kind(400, {"error": {"message": said}}) == "too_long"
    # MiniMax's native form.
    assert kind(200, {"choices": None, "base_resp": {"status_code": 1, "status_msg": said}}) == (
        "too_long"
    )


def test_a_context_full_before_an_answer_is_too_long() -> None:
    """Zhipu's form; after some words the answer was cut."""
    ended = "model_context_window_exceeded"
    assert kind(200, body("", finish_reason=ended)) == "too_long"
    assert read(body("half", finish_reason=ended)).finish_reason == "length"


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def test_an_overload_waits_in_every_form() -> None:
    """Anthropic's, Zhipu's, Google's, OpenRouter's, MiniMax's, and inside a stream."""
    for status in (200, 400, 500, 529):
        assert kind(status, OVERLOADED) == "limited"
    for said in ("", "<html>busy</html>", {"error": {"message": "The engine is overloaded"}}):
        assert kind(529, said) == "limited"
    busy = {"code": 529, "message": "busy"}
    for said in (
        *({"error": busy}, {"error": busy | {"code": "529"}}),
        {"error": {"code": 503, "message": "The model is overloaded. Try again later."}},
        {"type": "error", "error": {"message": "High traffic (2064)", "http_code": "529"}},
        {"base_resp": {"status_code": 1002, "status_msg": "rate limit"}},
        body("", error=busy, finish_reason="error", _usage=None),
    ):
        assert kind(200, said) == "limited", said
    event = b"event: error\ndata: " + json.dumps(OVERLOADED).encode() + b"\n\n"
    assert read_reply(200, event, True, str, lambda value: value).kind == "limited"
    # An answer that had begun is paid for; words alike are no overload.
    assert kind(200, body("4", error=busy, finish_reason="error")) == "failed"
    assert kind(500, {"error": "Overloaded torch operator invoked"}) == "passing"


@pytest.mark.parametrize(
    ("status", "words", "n_tokens", "skipped"),
    [
        (400, "Token budget: 8192 of 9,120 given", 9000, True),
        (413, "payload exceeds 8000 of 9100", 9000, True),
        (400, "token 17 is not allowed", 9000, False),
        (400, "temperature must be below 9000", 9000, False),
        (422, "length 9000", 9000, False),
    ],
)
def test_unknown_words_for_too_long_have_a_number_like_it(status, words, n_tokens, skipped) -> None:
    assert is_too_long(status, words, n_tokens) == skipped


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
    **{"bytes after it": GOOD + b"\n{}garbage", "the same twice": GOOD + b"\n" + GOOD},
    **{"an empty text before it": b"{}" + GOOD, "padding before it": b"\0" * 5000 + GOOD},
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
UPSTREAM = {"code": 502, "message": "upstream died"}
FAILURES = {
    "an error beside an empty text": body("", _error=UPSTREAM),
    "an error beside a text": body("4", _error=UPSTREAM),
    "an error in the choice": body("", error=UPSTREAM),
    "a tool call": body(None, message={"role": "assistant", "content": None, "tool_calls": [CALL]}),
    "a function call": body(None, message={"content": "", "function_call": {"name": "f"}}),
    "neither text nor reason": body("", finish_reason=None),
    "an unknown shape": UNKNOWN["no message"],
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
        {"error": {"message": "Overloaded", "type": "overloaded_error"}},
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
        *({"error": {"message": "busy", "code": 1301}}, {}, None, "hello"),
    ],
    "failed": [{"error": {"message": "top_k is unknown", "code": 400}}],
}


@pytest.mark.parametrize("expected", KINDS)
def test_an_error_in_a_good_status_is_what_it_says(expected) -> None:
    """In a batch, a line's body is read by the same reader."""
    for said in KINDS[expected]:
        assert kind(200, said) == expected, said
        line = {"response": {"status_code": 200, "body": said}}
        answer = read_result(line, True, str)
        assert answer.error and answer.refused == (expected == "too_long"), said


def test_the_status_says_who_is_at_fault() -> None:
    assert {kind(status, "") for status in (429, 502, 503, 521, 522, 523, 529)} == {"limited"}
    assert {kind(status, "") for status in (401, 402, 404)} == {"fatal"}
    assert {kind(status, "") for status in (400, 403, 422, 504, 524)} == {"failed"}
    assert {kind(status, "") for status in (408, 425, 500, 505, 520)} == {"passing"}
    assert kind(403, "no access to this model") == kind(400, "insufficient_quota") == "fatal"
    for status in (504, 524):
        assert "request: {stream: true}" in read("A timeout occurred", status).said


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
        *[("gpt-4o", "gpt-4o-2024-08-06", True), ("gpt-4", "gpt-4-0613", True)],
        *[("gemini-pro", "models/gemini-pro-002", True), ("org/Name", "name", True)],
        *[("org/name:free", "org/name", True), ("claude-latest", "claude-20250219", True)],
        *[("llama3", "llama3:latest", True), ("/models/x.gguf", "x", True)],
        *[("gpt-4o", "gpt-4o-mini", False), ("qwen2:7b", "qwen2:72b", False)],
        ("made", "another-model-v9", False),
    ],
)
def test_a_dated_name_is_no_other_model(asked, served, same) -> None:
    assert other_model(asked, served) != same


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_lack_of_file_descriptors_is_named(number: int) -> None:
    error = OSError("All connection attempts failed")
    error.__cause__ = ExceptionGroup("several", [OSError(number, "no file descriptor left")])
    said = connection_trouble(error)
    assert "`ulimit -n`" in said and "`concurrency`" in said
    assert connection_trouble(OSError()) == "the connection failed (OSError)"
