"""Keys, logins and proxies of the backend `openai`: used where they belong, shown nowhere."""

from __future__ import annotations

import base64
import json
import logging
import os
import sys
import threading
import time
import traceback
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest
import yaml

import factories.models
from factories.models import SECRET, answers, remote, requests
from http_server import OpenAIServer, Reply, completion, prompt_of, refusal
from needlework.errors import UserError
from needlework.given import given as blocks
from needlework.journal import Journal
from needlework.models import remote_models
from needlework.models.backends.base import Answer
from needlework.models.backends.openai import backend as openai
from needlework.models.generation import Policy, generate
from needlework.planning.preflight.checks import check
from needlework.planning.preflight.used import Used
from runs import ROOT, Workflow

# A key of characters that JSON may escape.
KEY = "ABSKabc/def+ghi0123456789=="
# As JSON may write it: in part, in a text in a text.
ESCAPED = {
    "plain": KEY,
    "escaped": KEY.replace("/", "\\/").replace("+", "\\u002B").replace("=", "\\u003d"),
    "a text in a text": KEY.replace("/", "\\" * 7 + "/").replace("=", "\\" * 4 + "u003d"),
}


ENTRY = {"backend": "openai", "name": "some-model", "base_url": "http://127.0.0.1:9/v1"}


def configured(**changes: Any) -> dict[str, Any]:
    return factories.models.configured("remote", **{**ENTRY, "key_env": "A_KEY", **changes})


def backend(server: OpenAIServer, **changes: Any) -> openai.OpenaiBackend:
    return remote(**{"base_url": server.url, **changes})


def answer(server: OpenAIServer, **changes: Any) -> Answer:
    (only,) = answers(backend(server, **changes), requests("Who?"))
    return only


def everything_of(error: BaseException | None) -> str:
    """What could be printed of an exception, and of those that it came from."""
    if error is None:
        return ""
    shown = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
    return shown + everything_of(error.__cause__) + everything_of(error.__context__)


@pytest.mark.parametrize("form", ESCAPED)
def test_the_key_shows_nowhere(server, tmp_path, caplog, monkeypatch, form) -> None:
    """Not even where the server says it back, the address holds it, and everything is logged."""
    monkeypatch.setenv("A_KEY", KEY)
    for library in ("", "openai", "httpx2", "httpcore2"):
        # As an application that wants to see everything.
        caplog.set_level(logging.DEBUG, library or None)
    monkeypatch.setenv("OPENAI_LOG", "debug")
    monkeypatch.setattr(remote_models, "ATTEMPTS", 2)
    echo = {"X-Echo": KEY, "Location": f"/v1?key={KEY}"}

    def reply(number: int, body: Any) -> Reply:
        replies = {
            "says it": completion(body, f"Your key is {KEY}."),
            "filtered": completion(body, KEY, finish_reason=KEY),
            "no JSON": Reply({"key": f"\x1b[31m{KEY}\n"}),
            "busy": refusal(500, f"Not with {KEY}"),
            "too long": refusal(400, f"context_length_exceeded {KEY}"),
            "refused": refusal(400, f"\x1b[31mNot with {KEY}\n"),
            "denied": refusal(401, f"\x1b[31mIncorrect API key provided: {KEY}\n"),
        }
        right = replies[prompt_of(body)]
        content = json.dumps(right.body).replace(KEY, ESCAPED[form]).encode()
        end = -1 if prompt_of(body) == "no JSON" else None
        return Reply(content[:end], right.status, echo)

    server.reply = reply
    first = ["says it", "filtered", "no JSON", "busy", "too long", "refused"]
    login = server.url.replace("://", "://user:" + KEY.replace("/", "%2F") + "@")
    with Journal(tmp_path / "journal") as journal:
        model = backend(server, base_url=login)
        table = generate(requests(*first), model, journal, Policy(max_failed=9))
        assert table["text"].to_pylist()[0] == "Your key is ***."
        with pytest.raises(UserError, match=r"Incorrect API key provided: \*\*\*") as error:
            generate(requests(*first, "denied"), backend(server, base_url=login), journal)
    assert {prompt_of(received.body) for received in server.received} == {*first, "denied"}
    assert "\x1b" not in str(error.value)
    kept = "".join(path.read_text("utf-8") for path in (tmp_path / "journal").rglob("*.json*"))
    assert "***" in kept
    shown = kept + caplog.text + everything_of(error.value) + str(table.to_pylist()) + repr(model)
    assert KEY[:7] not in shown and "u0041" not in shown


DUMMIES = {
    **{"none": "<answer>none</answer>", "1234": "The number is 7812345.", "status": "stop"},
    "choices": "Two choices.",
}


@pytest.mark.parametrize("key", DUMMIES)
def test_a_dummy_key_corrupts_no_answer_and_shows_nowhere(server, monkeypatch, key) -> None:
    monkeypatch.setenv("A_KEY", key)
    asked = {"model": "m", "messages": []}
    replies = {
        "answer": completion(asked, DUMMIES[key]),
        "refused": refusal(400, f"content_filter: not with {key}"),
        "long": refusal(400, f"context_length_exceeded with {key}"),
        "ended": completion(asked, key, finish_reason="abort"),
        "odd": Reply({"choices": [key]}),
    }
    server.reply = lambda number, body: replies[prompt_of(body)]
    first, *others = answers(backend(server), requests(*replies))
    assert (first.text, first.finish_reason, first.error) == (DUMMIES[key], "stop", None)
    assert others[0].error == "status 400: content_filter: not with ***"
    assert others[1].finish_reason == "skipped" and len(server.received) == len(replies)
    for one in others:
        assert "***" in one.error and key not in one.error.removeprefix("status 400")


# Pairs need neither passages nor a search.
PAIRS = {"tasks": ["key_value"], "keys": ["uuid"], "n_pairs": [{"n": 10, "indices": [0]}]}


@pytest.mark.slow
def test_the_key_reaches_no_process_list_and_no_file(server, tmp_path) -> None:
    """Of Snakemake and its jobs, while one waits for an endpoint that says the key back."""
    name = "results/generations/remote/lost_in_the_middle.parquet"
    seen = threading.Event()
    server.reply = lambda number, body: Reply(
        completion(body, f"Your key is {SECRET}.").body, after=seen
    )
    entry = configured()["models"]["remote"] | {"base_url": server.url, "context": 4096}
    config = {
        "run": {"models": ["remote"]},
        "models": {"remote": {key: value for key, value in entry.items() if value is not None}},
        "benchmarks": {"lost_in_the_middle": PAIRS},
    }
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(config))
    command = Workflow(ROOT, tmp_path).command(
        "--verbose", "--configfile", str(tmp_path / "mine.yaml"), "--nolock", "--", name
    )
    with (tmp_path / "terminal").open("wb") as terminal:
        own = {"env": os.environ | {"OPENAI_LOG": "debug"}, "cwd": ROOT}
        snakemake = psutil.Popen(command, stdout=terminal, stderr=terminal, **own)
    try:
        end = time.monotonic() + 120
        while not server.received:
            assert snakemake.poll() is None and time.monotonic() < end, "nothing was asked"
            time.sleep(0.05)
        processes = [snakemake, *snakemake.children(recursive=True)]
        lines = [" ".join(process.cmdline()).encode() for process in processes]
        seen.set()
        assert snakemake.wait(120) == 0, (tmp_path / "terminal").read_text()
    finally:
        seen.set()
        if snakemake.is_running():
            snakemake.terminate()
    assert server.received[0].headers["authorization"] == f"Bearer {SECRET}"
    assert any(b"generate_answers" in line for line in lines)
    assert not any(SECRET.encode() in line for line in lines)
    assert set(pq.read_table(tmp_path / name)["text"].to_pylist()) == {"Your key is ***."}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {".log", ".jsonl", ".parquet"} <= {path.suffix for path in files}
    for file in files:
        assert SECRET.encode() not in file.read_bytes(), file


def test_an_unusable_proxy_is_named_without_its_password(own_key, monkeypatch) -> None:
    # As where the package that speaks SOCKS is not installed.
    monkeypatch.setitem(sys.modules, "socksio", None)
    for variable, value in (
        ("HTTPS_PROXY", "http://user:pa/ssword1234@proxy:8080"),
        ("http_proxy", "http://user:password1234@proxy:port"),
        ("ALL_PROXY", "socks4://user:password1234@proxy:1"),
    ):
        model = remote()
        with monkeypatch.context() as patch:
            patch.setenv(variable, value)
            with pytest.raises(UserError, match="HTTP_PROXY, HTTPS_PROXY and ALL_PROXY") as error:
                model.load()
        model.close()
        shown = "".join(traceback.format_exception(error.value))
        assert "correct or unset" in shown
        assert "ssword1234" not in shown and "'pa'" not in shown


PAGE = b"<!DOCTYPE html><html><title>ERROR</title></html>"


def behind(proxy: OpenAIServer, monkeypatch, variable: str = "http_proxy") -> None:
    """Set the proxy, with a login, for all addresses."""
    monkeypatch.setenv("NO_PROXY", "elsewhere")
    monkeypatch.setenv(variable, f"http://someone:{SECRET}@{proxy.address}")


@pytest.mark.parametrize(
    ("variable", "status"),
    [*[("http_proxy", status) for status in (200, 302, 407, 502)], ("HTTPS_PROXY", 503)],
)
def test_a_proxy_that_answers_for_a_local_server_is_named(server, monkeypatch, variable, status):
    """Or that is not there."""
    server.reply = lambda number, body: Reply(PAGE, status, {"Content-Type": "text/html"})
    behind(server, monkeypatch, variable)
    scheme = "https" if variable == "HTTPS_PROXY" else "http"
    with pytest.raises(UserError) as error:
        answers(remote(f"{scheme}://127.0.0.1:9/v1"), requests("a", "b", "c"))
    said = str(error.value)
    assert f"the proxy in {variable};" in said and "add 127.0.0.1 to NO_PROXY" in said
    assert "Check the key" not in said and SECRET not in said
    assert len(server.received) <= 3
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    with pytest.raises(UserError, match=rf"proxy in {variable}; .* to NO_PROXY"):
        answers(remote(f"{scheme}://127.0.0.1:8/v1"), requests("a"))


def test_what_a_proxy_passes_on_is_the_server_s(server, monkeypatch) -> None:
    """An answer, and an error in JSON. After an answer a page is a server's that is away."""
    behind(server, monkeypatch)
    too_long = refusal(400, "too long", "context_length_exceeded")
    server.reply = lambda number, body: too_long
    assert answer(server, base_url="http://127.0.0.1:9/v1").finish_reason == "skipped"
    once = iter([completion, lambda body: Reply(PAGE, 503)])
    server.reply = lambda number, body: next(once, completion)(body)
    model = remote("http://127.0.0.1:9/v1", concurrency=1)
    assert [own.text for own in answers(model, requests("a", "b"))] == ["<a>", "<b>"]


@pytest.mark.parametrize("value", ["", "  "])
def test_a_missing_key_is_named_before_any_work(value, monkeypatch) -> None:
    monkeypatch.setenv("A_KEY", value)
    wanted = r"the model models\.remote needs an API key: set the environment variable A_KEY"
    with pytest.raises(UserError, match=wanted):
        check(blocks(configured()), Used(models={"remote"}))
    model = remote()
    with pytest.raises(UserError, match=wanted):
        model.load()
    model.close()
    # Where it is not needed it is not asked for.
    check(blocks(configured(key_env=None)), Used(models={"remote"}), local=False)
    check(blocks(configured()), Used(models={"lexical"}))


def test_a_malformed_key_does_not_show_in_the_error(monkeypatch) -> None:
    monkeypatch.setenv("A_KEY", f"{SECRET}\nx")
    with pytest.raises(UserError, match="A_KEY") as error:
        check(blocks(configured()), Used(models={"remote"}))
    assert SECRET not in everything_of(error.value)
    with pytest.raises(UserError, match=r"models\.remote\.key_env is not the name") as error:
        configured(key_env=SECRET)
    assert SECRET not in str(error.value)


def test_the_login_in_an_address_shows_nowhere(server, caplog) -> None:
    """Nor as the header that is made of it, which a server may write back."""
    caplog.set_level(logging.INFO)
    url = server.url.replace("http://", "http://someone:pass%20word9@")

    def reply(number: int, body: Any) -> Reply:
        header = server.received[-1].headers.get("authorization", "")
        said = (
            f"You sent {header}, so pass word9, {base64.b64encode(b'someone:pass word9').decode()}"
        )
        return refusal(400, f"content_filter: {said}") if number else completion(body, said)

    server.reply = reply
    found = answers(backend(server, base_url=url, key_env=None), requests("a", "b"))
    shown = caplog.text + repr(found)
    assert "***" in shown
    for secret in ("pass word9", "pass%20word9", base64.b64encode(b"someone:pass word9").decode()):
        assert secret not in shown
