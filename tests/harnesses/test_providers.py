"""Real inspect_ai in its environment behind servers that speak three protocols: outcomes as of `openai`."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from provider_server import ProviderServer

from factories.models import block, remote, requests
from http_server import Reply, completion, prompt_of, refusal
from needlework.journal import Journal
from needlework.models import remote_models
from needlework.models.generation import Policy, generate
from needlework.planning.preflight import first_request
from needlework.services.endpoints import PROVIDER_KEYS
from runs import ROOT

PYTHON = ROOT / ".venv-inspect/bin/python"
SECRET, LOGIN = "sk-a1b2c3d4e5f6g7h8i9", "CANARYPW77qq"
NAMES = {
    "openai-api": "openai-api/local/some-model",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "google": "google/gemini-2.5-flash",
}
KEYS = ("LOCAL_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY")
AMAZON = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.large,
    pytest.mark.xdist_group("harnesses"),
    pytest.mark.skipif(
        not PYTHON.exists(), reason="inspect_ai is not here: run `make setup-harnesses`"
    ),
]


@pytest.fixture
def server(monkeypatch) -> Iterator[ProviderServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ProviderServer() as running:
        yield running


def entry(provider: str, server: ProviderServer, **changes: Any) -> dict[str, Any]:
    """A model's entry as a configuration has it with defaults."""
    url = server.url if provider == "openai-api" else server.host
    own = {
        **{"backend": "inspect", "model": "remote", "name": NAMES[provider], "revision": None},
        **{"chat": True, "system": None, "stop": [], "variant": None, "answer_prefix": None},
        **{"args": {"base_url": url}, "reasoning": None, "concurrency": 8, "timeout": 2},
        "sampling": {"temperature": 0, "top_p": 1.0, "top_k": None, "seed": 0},
    }
    return own | changes


def asking(home: Path) -> dict[str, str]:
    """The environment of a process that asks a provider, with its keys."""
    own = {"PATH": os.environ["PATH"], "HOME": str(home), "NO_PROXY": "127.0.0.1"}
    own["PYTHONPATH"] = str(ROOT / "workflow/scripts")
    return own | dict.fromkeys((*KEYS, *AMAZON), SECRET)


class Asker:
    """A process that has imported inspect_ai, and forks one for each job: see ask_provider.py."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._process = subprocess.Popen(
            [PYTHON, Path(__file__).parent / "ask_provider.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=home,
            env=asking(home),
        )

    def _send(self, folder: Path, environment: Mapping[str, str], **job: Any) -> int:
        job |= {"folder": str(folder), "environment": environment}
        print(json.dumps(job), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def start(self, own: dict[str, Any], prompts: list[str], folder: Path, **changes: str) -> int:
        """Start to ask, with changes of the environment; the id of the process that asks."""
        (folder / "found.json").unlink(missing_ok=True)
        return self._send(folder, asking(self._home) | changes, entry=own, prompts=prompts)

    def wait(self) -> int:
        """The exit status of the process that asks, once it has ended."""
        return int(self._process.stdout.readline())

    def said(self, folder: Path) -> str:
        """What the process said, once it has ended well."""
        status, said = self.wait(), (folder / "said.txt").read_text("utf-8")
        assert status == 0, said[-3000:]
        return said

    def ask(
        self, own: dict[str, Any], prompts: list[str], folder: Path, **changes: str
    ) -> dict[str, Any]:
        """What came of it; no secret is in what was said or kept."""
        self.start(own, prompts, folder, **changes)
        said, out = self.said(folder), (folder / "found.json").read_text("utf-8")
        for text in (out, said, *(p.read_text() for p in (folder / "journal").rglob("*.jsonl"))):
            assert SECRET not in text
        return json.loads(out) | {"said": said}

    def run(self, code: str, given: str, folder: Path, environment: Mapping[str, str]) -> str:
        """What lines of Python say of an input."""
        self._send(folder, environment, code=code, input=given)
        return self.said(folder)

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def asker(tmp_path_factory) -> Iterator[Asker]:
    made = Asker(tmp_path_factory.mktemp("home"))
    yield made
    made.close()


def by_openai(server: ProviderServer, prompts: list[str], folder: Path, monkeypatch) -> list[dict]:
    """The rows of the backend `openai`, with the same server."""
    monkeypatch.setattr(remote_models, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(remote_models, "ATTEMPTS", 3)
    model = remote(server.url, key_env=None, timeout=2)
    rows: list[dict] = []
    policy = Policy(context=40000, max_failed=1000)
    with Journal(folder / "openai") as journal:
        generate(requests(*prompts), model, journal, policy, told=rows.extend)
    return rows


def faulty(body: dict[str, Any], tries: Counter[str]) -> Reply:
    """What is replied to a prompt: its first word says the fault."""
    prompt = prompt_of(body)
    tries[prompt] += 1
    first = tries[prompt] == 1
    details = {"prompt_tokens_details": {"cached_tokens": 7}}
    match prompt.split()[0]:
        case "rate" if first:
            return refusal(429, f"slow down {SECRET}", retry_after="1")
        case "away" if first:
            return refusal(503, f"overloaded {SECRET}")
        case "busy" if first:
            return refusal(529, f"overloaded {SECRET}")
        case "broken":
            return refusal(500, f"an inner error {SECRET}")
        case "torn" if first:
            return Reply(b"", stop_after=0)
        case "late" if first:
            return Reply(completion(body).body, delay=3)
        case "long":
            said = "prompt is too long: maximum number of tokens exceeded"
            return refusal(400, said, "context_length_exceeded")
        case "filtered":
            return completion(body, "", finish_reason="content_filter")
        case "bad":
            return refusal(400, f"no such field {SECRET}")
        case "cut":
            return completion(body, "cut he", finish_reason="length")
        case "empty":
            return completion(body, "")
        case "cached":
            counts = {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13}
            return completion(body, "c", usage=counts | details)
        case "thinks":
            reply = completion(body, "")
            reply.body["choices"][0]["message"]["reasoning_content"] = "so and so"
            return reply
    return completion(body)


PROMPTS = [
    *(
        "fine 1",
        "fine 2",
        "rate",
        "away",
        "busy",
        "broken",
        "torn",
        "late",
        "long",
        "filtered",
        "bad",
    ),
    *("cut", "empty", "cached", "thinks"),
]


@pytest.mark.parametrize("provider", NAMES)
def test_outcomes_are_those_of_the_openai_backend(
    server, asker, tmp_path, monkeypatch, provider
) -> None:
    tries: Counter[str] = Counter()
    server.reply = lambda number, body: faulty(body, tries)
    found = asker.ask(entry(provider, server), PROMPTS, tmp_path)
    counted = dict(tries)
    tries.clear()
    expected = by_openai(server, PROMPTS, tmp_path, monkeypatch)
    names = ("text", "finish_reason", "outcome", "prompt_tokens")
    ours, theirs = (
        [{name: row.get(name) for name in names} for row in rows]
        for rows in (found["rows"], expected)
    )
    assert ours == theirs
    assert counted == dict(tries)
    rows = dict(zip(PROMPTS, found["rows"], strict=True))
    assert rows["cached"]["cached_tokens"] == 7
    assert "retried" in found["said"] and "attempt 3" in rows["broken"]["error"]
    assert rows["fine 1"]["text"] == "<fine 1>"
    assert any(r.startswith("reasoning_only") for r in rows["thinks"]["remarks"])


def test_a_setting_that_the_provider_drops_is_told(server, asker, tmp_path) -> None:
    own = entry("anthropic", server)
    found = asker.ask(own, ["a", "b"], tmp_path)
    assert found["account"]["remarks"]["dropped"] == 2
    assert found["account"]["examples"]["dropped"] == "temperature"
    thinking = entry("google", server, reasoning={"max_tokens": 512})
    assert "dropped" not in asker.ask(thinking, ["c"], tmp_path)["account"]["remarks"]
    sent = server.received[-1].body["sent"]["generationConfig"]
    assert sent["temperature"] == 0 and sent["maxOutputTokens"] == 528
    assert sent["thinkingConfig"]["thinking_budget"] == 512


def test_nothing_answered_is_sent_again_after_kills(server, asker, tmp_path) -> None:
    server.reply = lambda number, body: Reply(completion(body).body, delay=0.02)
    prompts = [f"p{n}" for n in range(150)]
    own = entry("anthropic", server)
    answered_before: set[str] = set()
    before: Counter[str] = Counter()
    for _ in range(5):
        process = asker.start(own, prompts, tmp_path)
        wanted, until = len(server.received) + 12, time.monotonic() + 30
        while len(server.received) < wanted and time.monotonic() < until:
            time.sleep(0.005)
        os.kill(process, signal.SIGKILL)
        assert asker.wait() == signal.SIGKILL
        # What was under way at a kill may be sent again; nothing in the journal is.
        after = Counter(prompt_of(r.body) for r in server.received)
        assert all(after[prompt] == before[prompt] for prompt in answered_before)
        with Journal(tmp_path / "journal") as journal:
            answered_before = {str(record["text"])[1:-1] for record in journal.records()}
        before = after
    found = asker.ask(own, prompts, tmp_path)
    after = Counter(prompt_of(r.body) for r in server.received)
    assert all(after[prompt] == before[prompt] for prompt in answered_before)
    assert len(answered_before) >= 10
    assert [row["text"] for row in found["rows"]] == [f"<{prompt}>" for prompt in prompts]


@pytest.mark.parametrize("name", ["ollama/some-model", "bedrock/meta.llama3-1-70b-instruct-v1:0"])
def test_a_providers_client_retries_nothing_by_itself(server, asker, tmp_path, name) -> None:
    """Ollama's knows no such argument, and Amazon's asks the environment."""
    server.reply = lambda number, body: refusal(500, "an inner error")
    amazon = name.startswith("bedrock")
    args = {"base_url": server.host, "region_name": "x"} if amazon else {"base_url": server.url}
    own = entry("openai-api", server, name=name, args=args, timeout=30)
    found = asker.ask(own, ["a"], tmp_path)
    assert "attempt 3" in found["rows"][0]["error"] and len(server.received) == 3


@pytest.mark.parametrize("provider", ["openai-api", "anthropic"])
def test_a_port_above_the_largest_is_named(server, asker, tmp_path, provider) -> None:
    own = entry(provider, server, args={"base_url": "http://127.0.0.1:99999/v1"}, concurrency=1)
    found = asker.ask(own, ["a", "b"], tmp_path)
    assert "cannot be reached: the port of its address" in found["failed"]
    assert not server.received and "TaskGroup" not in found["failed"]


@pytest.mark.parametrize("provider", ["openai-api", "anthropic"])
def test_an_overload_in_a_good_status_is_waited_for(server, asker, tmp_path, provider) -> None:
    overloaded = Reply({"error": {"type": "overloaded_error", "message": "Overloaded"}})
    server.reply = lambda number, body: overloaded if number < 5 else completion(body)
    found = asker.ask(entry(provider, server, concurrency=1), ["a"], tmp_path)
    assert found["rows"][0]["text"] == "<a>" and "all requests wait" in found["said"]


def test_an_error_in_a_good_status_is_no_empty_answer(server, asker, tmp_path) -> None:
    server.reply = lambda number, body: Reply({"error": {"message": "no upstream"}})
    found = asker.ask(entry("google", server), ["a"], tmp_path)
    assert "all 1 requests that were sent were refused or failed" in found["failed"]


@pytest.mark.parametrize("provider", NAMES)
@pytest.mark.parametrize("status", [200, 400])
def test_a_login_in_an_address_shows_nowhere(server, asker, tmp_path, provider, status) -> None:
    """Nor as the header that is made of it, which a server writes back."""

    def reply(number: int, body: Any) -> Reply:
        said = server.received[-1].headers.get("authorization", "none")
        return completion(body, said) if status == 200 else refusal(status, said)

    server.reply = reply
    url = server.url if provider == "openai-api" else server.host
    args = {"base_url": url.replace("http://", f"http://user:{LOGIN}@")}
    found = asker.ask(entry(provider, server, args=args), ["a"], tmp_path)
    basic = base64.b64encode(f"user:{LOGIN}".encode()).decode()
    kept = "".join(path.read_text() for path in (tmp_path / "journal").rglob("*.jsonl"))
    assert not [s for s in (LOGIN, basic) if s in json.dumps(found) + kept]
    assert "***" in json.dumps(found["rows"])


@pytest.mark.parametrize("provider", NAMES)
@pytest.mark.parametrize("status", [200, 403, 503])
def test_a_proxy_that_answers_for_a_local_server_is_named(
    server, asker, tmp_path, provider, status
) -> None:
    server.reply = lambda number, body: Reply(b"<html>no</html>", status)
    proxy = {"NO_PROXY": "elsewhere", "http_proxy": server.host}
    found = asker.ask(entry(provider, server), ["a", "b"], tmp_path, **proxy)
    assert "proxy in http_proxy; " in found["failed"]
    assert "add 127.0.0.1 to NO_PROXY" in found["failed"]


def test_a_missing_key_is_named(server, asker, tmp_path) -> None:
    own = entry("google", server) | {"name": "mistral/mistral-large"}
    found = asker.ask(own, ["a"], tmp_path)
    assert "MISTRAL_API_KEY" in found["failed"]


def test_a_fatal_refusal_stops_all(server, asker, tmp_path) -> None:
    server.reply = lambda number, body: refusal(401, f"no {SECRET}")
    found = asker.ask(entry("google", server, concurrency=1, timeout=30), ["a", "b", "c"], tmp_path)
    assert "status 401" in found["failed"]
    assert [prompt_of(r.body) for r in server.received] == ["a"], found["said"][-3000:]


# Makes each provider's client without a key, and with each of its variables alone; prints what was said.
TRY_KEYS = """
import json, os, sys
from inspect_ai.model import get_model
os.environ["CLOUDFLARE_ACCOUNT_ID"] = "account"
def said(name):
    try:
        get_model(name, memoize=False)
    except BaseException as error:
        return str(error) or repr(error)
    return ""
found = {}
for provider, (name, variables) in json.load(sys.stdin).items():
    found[provider] = {"": said(name)}
    for variable in variables:
        os.environ[variable] = "true"
        found[provider][variable] = said(name)
        del os.environ[variable]
print(json.dumps(found))
"""


def test_each_provider_reads_the_keys_that_planning_looks_for(asker, tmp_path) -> None:
    asked = {name: (f"{name}/some-model", variables) for name, variables in PROVIDER_KEYS.items()}
    asked["openai-api"] = ("openai-api/my-own/some-model", ["MY_OWN_API_KEY"])
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "MY_OWN_BASE_URL": "http://localhost"}
    said = asker.run(TRY_KEYS, json.dumps(asked), tmp_path, env)
    found = json.loads(said.splitlines()[-1])
    # Two providers' packages are in no environment of ours: their modules name the variables.
    modules = next((ROOT / ".venv-inspect").glob("lib/*/site-packages/inspect_ai/model/_providers"))
    for provider, (_, variables) in asked.items():
        if provider in ("grok", "groq"):
            source = (modules / f"{provider}.py").read_text("utf-8")
            assert all(f'"{variable}"' in source for variable in variables), provider
            continue
        without = found[provider].pop("")
        assert variables[0] in without or variables[-1] in without, (provider, without)
        for variable, said in found[provider].items():
            assert variables[0] not in said, (provider, variable, said)


REFUSAL = """
import json, sys
from needlework.given import given
from needlework.planning.preflight.first_request import inspect_refusal
print(json.dumps(inspect_refusal(given(json.load(sys.stdin)))))
"""


def test_a_provider_is_asked_in_a_process_of_its_own(server, asker, tmp_path) -> None:
    server.reply = server.first_reply = lambda *_: refusal(401, f"no such key {SECRET}")
    own = json.dumps(entry("google", server))
    trouble, remedy = json.loads(asker.run(REFUSAL, own, tmp_path, asking(tmp_path)))
    assert trouble.startswith("it refuses the key in ") and "GOOGLE_API_KEY" in remedy
    assert SECRET not in trouble


@pytest.mark.parametrize("provider", NAMES)
def test_a_provider_is_asked_one_word_before_any_job(
    server, asker, tmp_path, monkeypatch, provider
) -> None:
    """By the process's own code, in a fork of one that has imported inspect_ai."""

    def forked(command: list[str], *, input: str, env: Mapping[str, str], **_: Any) -> Any:
        code = f"import runpy; runpy.run_module({command[-1]!r}, run_name='__main__')"
        said = asker.run(code, input, tmp_path, env)
        return subprocess.CompletedProcess(command, 0, said)

    def refused() -> tuple[str, str] | None:
        return first_request.inspect_refusal(block(own))

    own = entry(provider, server)
    for name, value in asking(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(first_request.subprocess, "run", forked)
    assert refused() is None
    asked = server.received or server.asked_first
    assert len(asked) == 1 and prompt_of(asked[0].body) == "Hi"
    server.reply = server.first_reply = lambda *_: refusal(401, f"no such key {SECRET}")
    trouble, remedy = refused()
    (variable,) = [name for name in KEYS if name in remedy]
    assert trouble.startswith("it refuses the key in ") and variable in trouble
    server.reply = server.first_reply = lambda *_: refusal(404, f"no such model {SECRET}")
    trouble, remedy = refused()
    assert trouble.startswith("status 404: ") and "`name`" in remedy
    assert SECRET not in trouble
    server.reply = server.first_reply = lambda *_: refusal(429, "slow down")
    assert refused() is None
