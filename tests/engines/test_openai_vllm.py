"""The backend `openai` against vLLM's own server, on the CPU, with a tiny model: see `make setup-vllm`."""

from __future__ import annotations

import os
import signal
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from jobs import PYTHON, Process

from factories.models import backend_of
from needlework.errors import UserError
from needlework.models.backends.base import Answer, Backend, Request
from needlework.prompts.spans import literal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.large,
    pytest.mark.xdist_group("vllm"),
    pytest.mark.skipif(
        not PYTHON.exists(), reason="vLLM's environment is not here: run `make setup-vllm`"
    ),
]

SECRET, LIMIT = "sk-very-secret-0123456789", 512
HAYSTACK = "House 12 of Quillmouth was built in 1501. Nobody lives there. " * 14


@pytest.fixture(scope="module")
def url(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server's address, once it answers. It asks for a key, which only its environment holds."""
    log = tmp_path_factory.mktemp("served") / "server.log"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = f"--host 127.0.0.1 --port {port} --served-model-name tiny --dtype float32"
    arguments += f" --enforce-eager --max-model-len {LIMIT} --enable-prompt-tokens-details"
    server = Process(
        "vllm.entrypoints.openai.api_server",
        *("--model", tiny / "model", *arguments.split()),
        terminal=log,
        more={"VLLM_API_KEY": SECRET, "VLLM_NO_USAGE_STATS": "1"},
    )
    try:
        end = time.monotonic() + 300
        while not healthy(port):
            assert server.poll() is None and time.monotonic() < end, log.read_text()[-3000:]
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        try:
            server.wait(30)
        finally:
            # Whatever it started, and did not end.
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as response:
            return response.status == 200
    except (urllib.error.URLError, OSError):
        return False


def ask(url: str, *prompts: str, samples: int = 1, **changes: Any) -> list[Answer]:
    """The tiny model's answers to the prompts, of at most 24 tokens."""
    config = {
        "model": "tiny",
        "name": "tiny",
        "revision": None,
        "base_url": url,
        "key_env": "A_KEY",
        "chat": True,
        "concurrency": 1,
        "timeout": 120,
        "request": {},
        "sampling": {"temperature": 1, "top_k": 50, "top_p": 1, "seed": 0},
        **changes,
    }
    model: Backend = backend_of("openai", config)
    asked = [
        Request(f"{n}", sample, "exact", [literal("question", prompt)], ["x"], 24, 1, {})
        for n, prompt in enumerate(prompts)
        for sample in range(samples)
    ]
    model.load()
    try:
        return list(model.generate(asked))
    finally:
        model.close()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", SECRET)
    monkeypatch.setenv("NO_PROXY", os.environ.get("NO_PROXY", "") + ",127.0.0.1")


@pytest.mark.parametrize("chat", [True, False])
def test_every_prompt_is_answered_and_counted(url: str, chat: bool) -> None:
    found = ask(url, *(f"When was house {n} built?" for n in range(6)), samples=2, chat=chat)
    assert [answer.error for answer in found] == [None] * 12
    assert {answer.finish_reason for answer in found} <= {"stop", "length"}
    assert any(answer.text for answer in found)
    for answer in found:
        assert answer.prompt_tokens and 0 < answer.completion_tokens <= 24
        if answer.finish_reason == "length":
            assert answer.completion_tokens == 24


def test_a_chat_template_is_put_around_an_instruction(url: str) -> None:
    (chat,), (raw,) = ask(url, "Who?"), ask(url, "Who?", chat=False)
    assert chat.prompt_tokens > raw.prompt_tokens


def test_a_sample_has_its_seed(url: str) -> None:
    once, again = (ask(url, "When was house 12 built?", samples=4) for _ in range(2))
    assert [answer.text for answer in once] == [answer.text for answer in again]
    assert len({answer.text for answer in once}) > 1


def test_what_the_cache_holds_is_counted(url: str) -> None:
    first, second = ask(url, f"{HAYSTACK} When?", f"{HAYSTACK} Where?")
    assert second.cached_tokens and second.cached_tokens >= 128
    assert second.cached_tokens < second.prompt_tokens < LIMIT
    assert first.error is None


@pytest.mark.parametrize("chat", [True, False])
def test_a_prompt_beyond_the_context_is_skipped(url: str, chat: bool) -> None:
    words = ask(url, "Nobody", HAYSTACK * 9, "Nobody", chat=chat)
    assert [answer.finish_reason == "skipped" for answer in words] == [False, True, False]
    assert "512" in words[1].error


@pytest.mark.parametrize("wrong", ["key", "name"])
def test_a_wrong_key_or_name_stops_the_job(url: str, wrong: str, monkeypatch) -> None:
    changes = {"name": "other"} if wrong == "name" else {}
    if wrong == "key":
        monkeypatch.setenv("A_KEY", "sk-another-0123456789")
    with pytest.raises(UserError, match=f"status {404 if changes else 401}") as error:
        ask(url, "a", "b", **changes)
    assert "sk-" not in str(error.value)
