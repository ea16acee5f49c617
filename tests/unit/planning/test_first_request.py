"""What an endpoint is asked before any job, and what is said of its reply."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from http_server import OpenAIServer, Reply, completion
from needlework.errors import UserError
from needlework.given import given
from needlework.planning.preflight.first_request import refusal
from needlework.planning.preflight.keys import check_service, check_translation_service
from needlework.services.endpoints import hidden

KEY = "sk-verysecret0123456789"
WORDS = {"tokenizers": {"words": {"kind": "words"}}}
UNAUTHORIZED = Reply({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 401)


def listed(*names: str, **fields: Any) -> Reply:
    return Reply({"object": "list", "data": [{"id": name, **fields} for name in names]})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("MINE_KEY", KEY)
    with OpenAIServer() as running:
        yield running


def entry(server: OpenAIServer, **changes: Any) -> dict[str, Any]:
    own = {"backend": "openai", "name": "mine", "base_url": server.url, "key_env": "MINE_KEY"}
    own |= {"chat": True, "batch": False, "context": 8192, "tokenizer": "words"}
    return given({**own, **changes})


def test_a_listed_model_costs_no_prompt(server: OpenAIServer) -> None:
    server.listed = listed("other", "mine")
    assert refusal(entry(server)) is None
    (asked,) = server.asked_first
    assert asked.path == "/v1/models" and asked.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key_env", ["MINE_KEY", None])
def test_a_hidden_login_and_query_reach_the_endpoint(server: OpenAIServer, key_env: str) -> None:
    url = server.url.replace("http://", "http://me:pass%20word@") + "?api-version=1"
    model = given(hidden(entry(server, base_url=url, key_env=key_env), "models.mine"))
    assert "pass" not in str(model)
    server.first_reply = lambda _: Reply(b"me:pass word, api-version=1 and bWU6cGFzcyB3b3Jk", 404)
    trouble, _ = refusal(model) or ("", "")
    assert trouble.startswith("status 404: ") and "bWU6" not in trouble
    first, second = server.asked_first
    assert first.path == "/v1/models?api-version=1"
    assert second.path == "/v1/chat/completions?api-version=1"
    own = f"Bearer {KEY}" if key_env else "Basic bWU6cGFzcyB3b3Jk"
    assert first.headers["authorization"] == second.headers["authorization"] == own


@pytest.mark.parametrize("where", ["listed", "first_reply"])
def test_a_refused_key_names_its_variable(server: OpenAIServer, where: str) -> None:
    setattr(server, where, UNAUTHORIZED if where == "listed" else lambda body: UNAUTHORIZED)
    trouble, remedy = refusal(entry(server)) or ("", "")
    assert "refuses the key in MINE_KEY (status 401)" in trouble and "MINE_KEY" in remedy
    assert KEY not in trouble + remedy
    trouble, remedy = refusal(entry(server, key_env=None)) or ("", "")
    assert "asks for a key" in trouble and "`key_env`" in remedy


def test_a_name_that_is_not_served_lists_the_served_ones(server: OpenAIServer) -> None:
    server.listed = listed(*(f"model-{number}" for number in range(7)))
    # A server may answer for names that it does not list.
    assert refusal(entry(server)) is None
    server.first_reply = lambda body: Reply({"error": {"message": "model not found"}}, 404)
    trouble, remedy = refusal(entry(server)) or ("", "")
    assert trouble == "it does not serve 'mine'"
    assert remedy.endswith("model-0, model-1, model-2, model-3, model-4 and 2 more")


def test_a_wrong_address_names_the_end_of_it(server: OpenAIServer) -> None:
    server.first_reply = lambda body: Reply(f"no page here, {KEY}".encode(), 404)
    trouble, remedy = refusal(entry(server)) or ("", "")
    assert "status 404: no page here, ***" in trouble and "often in /v1" in remedy


def test_a_shorter_context_names_the_option_of_the_server(server: OpenAIServer) -> None:
    server.listed = listed("mine", max_model_len=4096)
    trouble, remedy = refusal(entry(server)) or ("", "")
    assert "takes 4,096 tokens" in trouble and "--max-model-len 8192" in remedy
    assert refusal(entry(server, context=4096)) is None
    # A token has several characters.
    assert refusal(entry(server), "characters") is None


@pytest.mark.parametrize(
    "reply",
    [
        Reply({"error": {"message": "max_tokens is too small"}}, 400),
        *(Reply({"error": {"message": "slow down"}}, 429), Reply(b"<html>starting</html>", 503)),
        *(Reply(stop_after=0), Reply({}, 307, {"Location": "http://127.0.0.1:9/v1"})),
    ],
)
def test_other_replies_are_left_to_the_job(server: OpenAIServer, reply: Reply) -> None:
    server.first_reply = lambda body: reply
    assert refusal(entry(server)) is None


def test_a_base_model_is_asked_to_complete_a_word(server: OpenAIServer) -> None:
    server.first_reply = completion
    assert refusal(entry(server, chat=False)) is None
    assert server.asked_first[-1].path == "/v1/completions"
    # A batch API may have no other.
    assert refusal(entry(server, batch=True)) is None and len(server.asked_first) == 3


def test_answers_in_the_journal_make_it_a_warning(server: OpenAIServer, tmp_path: Path) -> None:
    server.listed = UNAUTHORIZED
    config = given({"models": {"mine": entry(server)}, "journal": str(tmp_path), **WORDS})
    with pytest.raises(UserError, match=r"^models\.mine: http.*refuses the key in MINE_KEY"):
        check_service(config, "mine", local=True, planning=False)
    folder = tmp_path / "generations/mine"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text("{}\n")
    # Another model's, of an older version.
    (tmp_path / "generations/other").mkdir()
    (tmp_path / "generations/other/a.jsonl").write_text("{}\n")
    (said,) = check_service(config, "mine", local=True, planning=False)
    assert said.startswith("Warning: models.mine") and "only answers in the journal" in said


def test_a_dry_run_and_a_cluster_ask_nothing(server: OpenAIServer, tmp_path: Path) -> None:
    server.listed = UNAUTHORIZED
    config = given({"models": {"mine": entry(server)}, "journal": str(tmp_path), **WORDS})
    for local, planning in ((True, True), (False, False)):
        assert check_service(config, "mine", local=local, planning=planning) == []
    assert server.asked_first == []


def translating(server: OpenAIServer, journal: Path, kind: str) -> dict[str, Any]:
    """A configuration whose translator is of this kind, at the server."""
    own = {"kind": kind, "base_url": server.url, "key_env": "MINE_KEY"}
    own |= {"name": "mine"} if kind == "llm" else {}
    return given({"translators": {"own": own}, "journal": str(journal)})


@pytest.mark.parametrize(
    ("kind", "reply", "said"),
    [
        ("llm", UNAUTHORIZED, "it refuses the key in MINE_KEY (status 401)"),
        ("llm", Reply({"error": {"message": "no such model"}}, 404), "status 404: "),
        (
            "google",
            Reply({"error": {"message": f"API key not valid: {KEY}"}}, 400),
            "it refuses the key in MINE_KEY (status 400)",
        ),
        ("google", Reply({"error": {"message": "it is disabled"}}, 403), "status 403: "),
    ],
)
def test_a_translator_is_asked_before_any_job(server, tmp_path, kind, reply, said) -> None:
    server.listed, server.first_reply = reply, lambda body: reply
    config = translating(server, tmp_path, kind)
    assert check_translation_service(config, "own", local=True, planning=True) == []
    assert server.asked_first == []
    with pytest.raises(UserError, match=r"^translators\.own: http.*has no translation: ") as raised:
        check_translation_service(config, "own", local=True, planning=False)
    assert said in str(raised.value) and KEY not in str(raised.value)
    (tmp_path / "translations").mkdir()
    (tmp_path / "translations/a.jsonl").write_text("{}\n")
    (warning,) = check_translation_service(config, "own", local=True, planning=False)
    assert "only translations in the journal can be used" in warning


@pytest.mark.parametrize("kind", ["llm", "google"])
def test_a_translator_that_answers_may_be_used(server, tmp_path, kind) -> None:
    config = translating(server, tmp_path, kind)
    assert check_translation_service(config, "own", local=True, planning=False) == []
    path = "/v1/models" if kind == "llm" else "/v1/language/translate/v2/languages"
    assert server.asked_first[0].path == path and server.received == []


def test_a_translator_that_is_not_started_ends_the_run(tmp_path: Path) -> None:
    with OpenAIServer() as gone:
        config = translating(gone, tmp_path, "llm")
    with pytest.raises(UserError, match=r"cannot be reached .*: start the server"):
        check_translation_service(config, "own", local=True, planning=False)
    (said,) = check_translation_service(config, "own", local=True, planning=True)
    assert said.startswith("Warning: translators.own")
