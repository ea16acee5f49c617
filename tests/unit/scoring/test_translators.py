"""Translators that are services: what they are asked, what goes wrong, and what a run keeps."""

from __future__ import annotations

import gzip
import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest

from http_server import OpenAIServer, Reply, completion, prompt_of, refusal
from needlework.errors import UserError
from needlework.given import given
from needlework.jobs.stop import FILE, Stopped
from needlework.journal import Journal
from needlework.scoring.translation import (
    Translated,
    translate,
)
from needlework.scoring.translators import google as google_translator
from needlework.scoring.translators import http
from needlework.scoring.translators.base import Translator, check_translator, load_translator

SECRET = "sk-very-secret-0123456789"
GERMAN = "Der Fluss fließt durch die alte Stadt und ins Meer."


def google_answer(body: Any) -> Reply:
    return Reply({"data": {"translations": [{"translatedText": f"<{q}>"} for q in body["q"]]}})


def llm_answer(body: Any) -> Reply:
    return completion(body, f" <{prompt_of(body)}>\n")


@pytest.fixture
def service(monkeypatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("A_KEY", SECRET)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(http, "FIRST_PAUSE_S", 0.01)
    # To tell languages takes seconds.
    monkeypatch.setattr(Translator, "needs_languages", False)
    with OpenAIServer() as running:
        yield running


def google(service: OpenAIServer, **changes: Any) -> dict[str, Any]:
    url = service.url.removesuffix("/v1")
    return given({"kind": "google", "key_env": "A_KEY", "base_url": url} | changes)


def llm(service: OpenAIServer, **changes: Any) -> dict[str, Any]:
    own = {"name": "some-model", "base_url": service.url}
    return given(google(service, kind="llm") | own | changes)


KINDS = {"google": (google, google_answer), "llm": (llm, llm_answer)}


@pytest.fixture(params=KINDS)
def kind(request) -> tuple[Callable[..., dict[str, Any]], Callable[[Any], Reply]]:
    """A service's block of the configuration, and its right answer to a request."""
    return KINDS[request.param]


def test_a_request_to_google_holds_all_that_it_takes() -> None:
    most = google_translator.MAX_CHARACTERS
    texts = ["a" * (most // 2), "b" * (most - most // 2), "c", "d" * (most + 1), *"e" * 129]
    portions = [*google_translator._portions(texts)]
    assert [*map(len, portions)] == [2, 1, 1, 128, 1]
    assert [text for portion in portions for text in portion] == texts


def test_google_gets_the_texts_and_the_key_in_a_header(service):
    service.reply = lambda number, body: google_answer(body)
    check_translator(google(service))
    texts = ["uno & dos", *map(str, range(128))]
    english = load_translator(google(service)).translate(texts, ["es"] * len(texts))
    assert english == [f"<{text}>" for text in texts]
    got, _ = service.received
    assert got.path == "/language/translate/v2"
    assert got.headers["x-goog-api-key"] == SECRET
    assert got.body == {"q": texts[:128], "target": "en", "format": "text"}


def test_llm_gets_the_text_as_a_user_s_message(service, monkeypatch):
    service.reply = lambda number, body: llm_answer(body)
    check_translator(llm(service))
    texts = [f"texto {number}" for number in range(30)]
    english = load_translator(llm(service)).translate(texts, ["es"] * 30)
    assert english == [f"<{text}>" for text in texts]
    got = service.received[0]
    assert got.path == "/v1/chat/completions"
    assert got.headers["authorization"] == f"Bearer {SECRET}"
    assert (got.body["model"], got.body["temperature"]) == ("some-model", 0)
    assert [message["role"] for message in got.body["messages"]] == ["system", "user"]
    # Without a key none is sent. A model may answer nothing.
    monkeypatch.delenv("A_KEY")
    service.reply = lambda number, body: Reply({"choices": [{"message": {"content": None}}]})
    check_translator(llm(service, key_env=None))
    assert load_translator(llm(service, key_env=None)).translate(["uno"], ["es"]) == [""]
    assert "authorization" not in service.received[-1].headers


def numbered(count: int) -> list[str]:
    return [f"Der Fluss Nummer {number} fließt durch die alte Stadt." for number in range(count)]


def asked(service: OpenAIServer) -> list[str]:
    bodies = [got.body for got in service.received]
    return sorted(
        text for body in bodies for text in body.get("q") or [body["messages"][-1]["content"]]
    )


@pytest.mark.parametrize("ends", ["refused", "stopped", "full"])
def test_what_is_translated_when_a_run_ends_is_kept(
    service, kind, stop_run, tmp_path, monkeypatch, ends
) -> None:
    """A lasting fault, a signal, a full disk: nothing more is sent, and nothing again."""
    monkeypatch.setattr(google_translator, "MAX_TEXTS", 1)
    block, answer = kind
    texts, append, refused = numbered(40), Journal.append, Event()

    def respond(number: int, body: Any) -> Reply:
        if number == 9 and ends == "refused":
            # All that was answered is on the disk by now, so a kill loses no more.
            end = time.monotonic() + 60
            while len([*Journal(tmp_path).records()]) < 9:
                assert time.monotonic() < end
                time.sleep(0.01)
            refused.set()
            return Reply({"error": {"message": "no such model"}}, 400)
        if number > 9 and ends == "refused":
            refused.wait(60)
        if number == 9 and ends == "stopped":
            stop_run()
        return Reply(answer(body).body, delay=0.05)

    def full(journal: Journal, records: Any) -> None:
        if len(service.received) > 9:
            raise UserError("the disk is full")
        append(journal, records)

    service.reply = respond
    with monkeypatch.context() as patch, pytest.raises((UserError, Stopped)) as error:
        if ends == "full":
            patch.setattr(Journal, "append", full)
        translate(texts, load_translator(block(service)), tmp_path)
    said = {"refused": "status 400: ", "stopped": "SIGTERM", "full": "the disk is full"}
    assert said[ends] in str(error.value)
    assert len(service.received) < 30
    monkeypatch.setattr("needlework.jobs.stop._signal", "")
    monkeypatch.delenv(FILE)
    kept = len([*Journal(tmp_path).records()])
    service.received.clear()
    service.reply = lambda number, body: answer(body)
    found = translate(texts, load_translator(block(service)), tmp_path)
    assert [text for _, text in found] == [f"<{text}>" for text in texts]
    assert len(service.received) == 40 - kept < 40


def test_a_text_refused_for_its_content_is_not_translated(service, tmp_path, caplog):
    texts = numbered(3)
    cut = {"message": {"content": "The r"}, "finish_reason": "content_filter"}
    for place, refused in enumerate(
        (
            refusal(400, "No.", "content_filter"),
            refusal(400, "Azure OpenAI's content management policy"),
            refusal(403, "Your input was flagged"),
            Reply({"choices": [cut]}),
        )
    ):
        caplog.clear()
        service.received.clear()
        service.reply = lambda number, body, refused=refused: (
            refused if "Nummer 1" in body["messages"][-1]["content"] else llm_answer(body)
        )
        for _ in range(2):
            found = translate(texts, load_translator(llm(service)), tmp_path / str(place))
            assert [text for _, text in found] == [f"<{texts[0]}>", "", f"<{texts[2]}>"]
        assert asked(service) == texts
        (warning,) = [r.message for r in caplog.records if r.levelname == "WARNING"]
        assert "begins with 'Der Fluss Nummer 1" in warning
        assert "is left without a translation" in warning
    # A refused key is no refused text.
    service.reply = lambda number, body: refusal(401, "suspended", "content_policy")
    with pytest.raises(UserError, match=r"status 401: .*suspended"):
        translate([GERMAN], load_translator(llm(service)), tmp_path)


def test_reasoning_is_no_part_of_a_translation(service, tmp_path):
    written = {
        "<think>Could be Paris, London</think>\n\nRome": "Rome",
        "Could be Paris</think>Rome": "Rome",
        "<think>Could be Paris, London": "",
        "Rome": "Rome",
    }
    for place, (reply, english) in enumerate(written.items()):
        service.reply = lambda number, body, reply=reply: completion(body, reply)
        # The second time from the journal, which keeps the reasoning.
        for _ in range(2):
            found = translate([GERMAN], load_translator(llm(service)), tmp_path / str(place))
            assert found == [Translated("und", english)]
    assert len(service.received) == 4


def test_a_cut_translation_is_an_error_and_not_kept(service, tmp_path):
    for reason in ("length", "model_length"):
        cut = {"choices": [{"message": {"content": "The r"}, "finish_reason": reason}]}
        service.reply = lambda number, body, cut=cut: Reply(cut)
        with pytest.raises(UserError, match=r"begins with 'Der Fluss fließt.*: raise the limit"):
            translate([GERMAN], load_translator(llm(service)), tmp_path)
    service.reply = lambda number, body: llm_answer(body)
    found = translate([GERMAN], load_translator(llm(service)), tmp_path)
    assert found == [Translated("und", f"<{GERMAN}>")]


A_NUMBER = {"translations": [{"translatedText": 7}]}
FAULTS = {
    "busy": Reply(b"<html>busy</html>", 503),
    "too many requests": Reply(b"", 429, {"Retry-After": "0"}),
    "dropped connection": Reply(stop_after=0),
    "not JSON": Reply(b'{"data": '),
    "another shape": Reply({"data": [], "choices": []}),
    "not text": Reply({"data": A_NUMBER, "choices": [{"message": {"content": 7}}]}),
    "too few": Reply({"data": {"translations": []}, "choices": [{}]}),
    "deeply nested": Reply(b"[" * 100_000),
    "broken compression": Reply(b"not gzip", headers={"Content-Encoding": "gzip"}),
}


def test_a_fault_is_tried_again_and_told_if_it_lasts(service, kind, monkeypatch):
    monkeypatch.setattr(http, "ATTEMPTS", 3)
    block, answer = kind
    translator = load_translator(block(service))
    lasts = r"failed: .* \(attempt 3\); check .* run again"
    for fault in FAULTS.values():
        service.received.clear()
        service.reply = lambda number, body, fault=fault: fault if number < 2 else answer(body)
        assert translator.translate(["uno"], ["es"]) == ["<uno>"]
        service.reply = lambda number, body, fault=fault: fault
        with pytest.raises(UserError, match=lasts) as error:
            translator.translate(["uno"], ["es"])
        assert service.address in str(error.value)
        assert len(service.received) == 6
    nobody = block(service, base_url="http://127.0.0.1:9")
    with pytest.raises(UserError, match=r"the connection failed .*\(attempt 3\)"):
        load_translator(nobody).translate(["uno"], ["es"])


def test_retry_after_is_honoured_unless_it_asks_for_hours(service, kind, monkeypatch):
    block, answer = kind
    pauses, after = [], "7"
    monkeypatch.setattr(http, "rest", pauses.append)
    service.reply = lambda number, body: (
        answer(body) if number == 1 else Reply(b"", 429, {"Retry-After": after})
    )
    translator = load_translator(block(service))
    assert translator.translate(["uno"], ["es"]) == ["<uno>"] and pauses == [7]
    after = "7200"
    with pytest.raises(UserError, match=r"status 429 \(attempt 1\)"):
        translator.translate(["uno"], ["es"])


def test_refused_requests_are_not_retried_and_hide_the_key(service, kind, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    block, answer = kind
    denied = f"\x1b[31mAPI key {SECRET} is not valid\n" + "x" * 5000
    service.reply = lambda number, body: (
        answer(body) if number == 0 else Reply(denied.encode(), 403)
    )
    with_password = service.url.replace("://", f"://user:{SECRET}@")
    translator = load_translator(block(service, base_url=f"{with_password}?key={SECRET}"))
    translate([GERMAN], translator, tmp_path)
    with pytest.raises(UserError, match=r"status 403: .*API key \*\*\* is not valid") as error:
        translate(["El río fluye por la ciudad vieja y llega hasta el mar."], translator, tmp_path)
    assert len(service.received) == 2
    assert "\x1b" not in str(error.value)
    assert len(str(error.value)) < 600
    assert SECRET not in str(error.value) + caplog.text
    assert not any(SECRET in file.read_text("utf-8") for file in tmp_path.rglob("*.jsonl"))


def test_a_key_that_json_escapes_shows_nowhere(service, kind, tmp_path, caplog, monkeypatch):
    caplog.set_level(logging.DEBUG)
    key = "ABSKabc/def+ghi0123456789=="
    monkeypatch.setenv("A_KEY", key)
    written = key.replace("/", "\\/").replace("=", "\\u003d").encode()
    block, answer = kind

    def respond(number: int, body: Any) -> Reply:
        reply = refusal(403, "not with KEY") if number else answer(body)
        content = json.dumps(reply.body).encode().replace(b"KEY", written)
        return Reply(content, reply.status)

    service.reply = respond
    translator = load_translator(block(service))
    text = GERMAN + " KEY"
    (found,) = translate([text], translator, tmp_path)
    assert "***" in found.text
    with pytest.raises(UserError, match=r"not with \*\*\*") as error:
        translate(["El río fluye por la ciudad vieja y llega hasta el mar."], translator, tmp_path)
    kept = "".join(file.read_text("utf-8") for file in tmp_path.rglob("*.jsonl"))
    assert "***" in kept
    assert "ABSK" not in kept + str(error.value) + caplog.text


def test_missing_keys_and_wrong_urls_are_named_before_work(service, kind, monkeypatch):
    block, answer = kind
    for url in ("", "localhost:8000/v1", "ftp://host/v1", "http://", "http://a:b:c/"):
        with pytest.raises(UserError, match=r"\.base_url is not an http"):
            check_translator(block(service, base_url=url))
    # What `$(cat file)` or an editor leaves at the end of a key is no part of it.
    monkeypatch.setenv("A_KEY", f" {SECRET}\r\n")
    service.reply = lambda number, body: answer(body)
    load_translator(block(service)).translate(["uno"], ["es"])
    assert any(SECRET in value for value in service.received[0].headers.values())
    monkeypatch.setenv("A_KEY", f"{SECRET}\nx")
    with pytest.raises(UserError, match="A_KEY") as error:
        check_translator(block(service))
    assert SECRET not in str(error.value)
    monkeypatch.setenv("A_KEY", "  ")
    for _ in range(2):
        with pytest.raises(UserError, match="needs an API key: set the environment variable A_KEY"):
            check_translator(block(service))
        monkeypatch.delenv("A_KEY", raising=False)


CHECKS = """
from needlework.given import given
from needlework.scoring.translators.base import check_translator

service = {"key_env": "A_KEY", "base_url": "https://host/v1", "name": "some/model"}
for kind in ("none", "nllb", "google", "llm"):
    check_translator(given({"kind": kind, **service}))
"""


def test_checks_need_the_standard_library_alone(root):
    environment = {"A_KEY": SECRET, "PYTHONPATH": str(root / "workflow" / "scripts")}
    # -S: none of the installed packages can be imported.
    subprocess.run([sys.executable, "-S", "-c", CHECKS], env=environment, check=True)


def test_broken_replies_give_one_sentence(service, monkeypatch):
    monkeypatch.setattr(http, "ATTEMPTS", 1)
    headers = {"Content-Type": "text/plain; charset=punycode", "Content-Encoding": "gzip"}
    for status, content in ((200, bytes(70_000_000)), (400, b"\xff\xfeno")):
        reply = Reply(gzip.compress(content, 1), status, headers)
        service.reply = lambda number, body, reply=reply: reply
        with pytest.raises(UserError, match=r"the translator some-model .* failed: "):
            load_translator(llm(service)).translate(["gift"], ["de"])


def test_a_dummy_key_corrupts_no_translation(service, monkeypatch) -> None:
    for secret in ("none", "1234", "text"):
        monkeypatch.setenv("A_KEY", secret)
        service.reply = lambda number, body, said=f"The word {secret}.": completion(body, said)
        english = load_translator(llm(service)).translate(["x"], ["es"])
        assert english == [f"The word {secret}."]
    assert len(service.received) == 3


def test_a_proxy_that_answers_for_a_local_service_is_named(service, kind, monkeypatch) -> None:
    block, answer = kind
    monkeypatch.setenv("NO_PROXY", "elsewhere")
    monkeypatch.setenv("http_proxy", f"http://someone:{SECRET}@{service.address}")
    own = block(service, base_url="http://127.0.0.1:9/v1")
    for number, status in enumerate((200, 403, 503), 1):
        service.reply = lambda number, body, status=status: Reply(b"<html>no</html>", status)
        with pytest.raises(UserError, match=r"proxy in http_proxy; .* to NO_PROXY") as error:
            load_translator(own).translate(["uno"], ["es"])
        assert len(service.received) == number and SECRET not in str(error.value)
    service.reply = lambda number, body: answer(body)
    assert load_translator(own).translate(["uno"], ["es"]) == ["<uno>"]
