"""What a run lacks is told before its first job."""

from __future__ import annotations

import http.server
import re
import shutil
import ssl
import subprocess
import threading
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from factories import demo_run
from http_server import OpenAIServer
from needlework.errors import UserError
from needlework.given import given as blocks
from needlework.models.backends import backend_names
from needlework.planning.config import validated
from needlework.planning.preflight.checks import check
from needlework.planning.preflight.files import check_model_files, without_records
from needlework.planning.preflight.packages import (
    BACKENDS,
    EMBEDDERS,
    PROVIDERS,
    TRANSLATORS,
    missing_packages,
)
from needlework.planning.preflight.used import Used, used_by
from needlework.prompts.openvino_runtime import genai
from needlework.scoring.translators.base import translator_kinds
from needlework.services.endpoints import PROVIDER_KEYS
from smollm2 import NAME, smollm2

ROOT = Path(__file__).resolve().parents[3]
LACKS_MPNET = r"benchmarks\.mlneedle\.metric: the model .*all-mpnet-base-v2' is not in the cache"
INSPECT = {"backend": "inspect", "sampling": {"temperature": None}}


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)


def run(**changes: Any) -> list[str]:
    """Check a run whose model stands in the configuration with these changes."""
    own = {"backend": "vllm", "name": "some/model", "tokenizer": "words", "context": 4096}
    config = demo_run(run={"models": ["mine"]}, models={"mine": own | changes})
    return check(blocks(validated(config)), Used(models={"mine"}))


def test_older_answers_are_not_kept_for_a_missing_file(tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    entry = {"answers": str(answers), "chat_template": None}
    config = {"run": {"models": ["mine"]}, "models": {"mine": entry}}
    check_model_files(blocks(config), tmp_path)
    older = tmp_path / "generations/mine/mlneedle.parquet"
    older.parent.mkdir(parents=True)
    older.touch()
    with pytest.raises(UserError, match=r"models\.mine\.answers is .* has older answers"):
        check_model_files(blocks(config), tmp_path)
    answers.touch()
    check_model_files(blocks(config), tmp_path)


def test_a_gated_model_needs_a_token_unless_it_is_local(monkeypatch, tmp_path) -> None:
    with pytest.raises(UserError, match=r"models\.mine is gated.* page of some/model.*HF_TOKEN"):
        run(gated=True)
    run()
    run(gated=True, name=str(tmp_path))
    for variable in ("HF_TOKEN", "HF_HUB_OFFLINE"):
        monkeypatch.setenv(variable, "1")
        run(gated=True)
        monkeypatch.delenv(variable)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "hf_something")
    run(gated=True)


@pytest.mark.parametrize("changes", [{"gated": True}, {"reasoning": {"max_tokens": 10}}])
def test_neither_a_licence_nor_thoughts_are_an_endpoint_s(changes: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=f"{next(iter(changes))} is no key of the backend openai"):
        run(backend="openai", key_env=None, **changes)


@pytest.mark.parametrize("key", ["name", "lora"])
def test_a_missing_weights_folder_is_named_by_its_path(key, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    expected = re.escape(f"models.mine.{key} is the folder {tmp_path / 'weights/tiny'}, which does")
    for given in ("./weights/tiny", str(tmp_path / "weights/tiny")):
        with pytest.raises(UserError, match=expected):
            run(**{key: given})
    (tmp_path / "weights/tiny").mkdir(parents=True)
    run(**{key: "./weights/tiny"})
    run(**{key: "some/model"})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"backend": "openvino", "name": "weights/tiny.gguf"}, r"tiny\.gguf, which does not"),
        ({"backend": "openvino", "name": "package:no-such/a.gguf"}, r"no-such/a\.gguf is not in"),
        (
            {"backend": "openai", "key_env": None, "base_url": "https://127.0.0.1:9/v1"},
            r"SSL_CERT_FILE names /nowhere\.pem, which does not exist",
        ),
    ],
)
def test_missing_weights_and_certificates_are_named(changes, said, monkeypatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere.pem")
    with pytest.raises(UserError, match=said):
        run(**changes)


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("anthropic/claude-haiku-4-5", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"]),
        ("google/gemini-2.5-flash", ["GOOGLE_API_KEY", "GEMINI_API_KEY"]),
        ("openrouter/some/model", ["OPENROUTER_API_KEY"]),
        ("openai-api/my-own/model", ["MY_OWN_API_KEY"]),
    ],
)
def test_a_provider_of_inspect_needs_one_of_its_keys(name, variables, monkeypatch) -> None:
    for variable in [*variables, *PROVIDER_KEYS.get(name.partition("/")[0], ())]:
        monkeypatch.delenv(variable, raising=False)
    expected = f"models.mine needs an API key: set the environment variable {variables[0]}"
    with pytest.raises(UserError, match=expected):
        run(**INSPECT, name=name)
    for variable in variables:
        monkeypatch.setenv(variable, "a-key")
        assert run(**INSPECT, name=name) == []
        monkeypatch.delenv(variable)


def test_other_logins_of_providers_are_left_to_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    for name in ("ollama/some-model", "anthropic/bedrock/some-model"):
        assert run(**INSPECT, name=name) == []
    assert run(**INSPECT, name="google/gemini-2.5-flash", args={"use_adc": True}) == []


def test_an_endpoint_that_nothing_listens_at_is_told(monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    endpoint = {"backend": "openai", "key_env": None, "name": "x"}
    with OpenAIServer() as server:
        url = server.url.replace("//", "//user:password@")
        assert run(**endpoint, base_url=url) == []
    told = f"models.mine: {server.url} cannot be reached (Connection"
    folder = tmp_path / "journal/generations"
    lacking = f"^{re.escape(told)}.*and {folder} has none of its answers"
    with pytest.raises(UserError, match=lacking):
        run(**endpoint, base_url=url)
    # The journal may have all that is asked for: under this model's name, or in an older version's folder.
    for name, known in (("y@0123456789abcdef", False), ("x@0123456789abcdef", True), ("any", True)):
        (folder / name).mkdir(parents=True)
        (folder / name / "1.jsonl").write_text("")
        with nullcontext() if known else pytest.raises(UserError, match="none of its answers"):
            (said,) = run(**endpoint, base_url=url)
            assert said.startswith(f"Warning: {told}")
        shutil.rmtree(folder / name)
    # Behind a proxy, that is what has to be reached.
    monkeypatch.setenv("NO_PROXY", "")
    with OpenAIServer() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        assert run(**endpoint, base_url="http://no.such.host.invalid/v1") == []
    with pytest.raises(UserError, match="cannot be reached"):
        run(**endpoint, base_url="http://no.such.host.invalid/v1")


def test_the_locked_environments_hold_every_package_of_the_tables() -> None:
    """Each package is one of the names that requirements/ gives: another would be missing for ever."""
    files = ["envs/vllm.yaml", *(f"requirements/{n}.txt" for n in ("all", "inspect", "torch"))]
    locked = {
        found[1].replace("-", "_").lower()
        for file in files
        for line in (ROOT / file).read_text("utf-8").splitlines()
        if (found := re.match(r"[ -]*([A-Za-z][\w.-]*)", line))
    }
    tables = (BACKENDS, PROVIDERS, EMBEDDERS, TRANSLATORS)
    named = {package for table in tables for own in table.values() for package in own}
    assert {package.replace(".", "_") for package in named} <= locked
    assert set(BACKENDS) == set(backend_names()) - {"lexical", "oracle", "empty", "replay"}
    assert set(TRANSLATORS) == set(translator_kinds()) - {"none"}


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody but itself signed, and its key."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate")
def test_an_untrusted_certificate_is_told_before_any_job(monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    cert, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    endpoint = {"backend": "openai", "key_env": None, "name": "x"}
    endpoint["base_url"] = f"https://127.0.0.1:{server.server_address[1]}/v1"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(UserError, match=r"certificate is not trusted: self.*SSL_CERT_FILE"):
            run(**endpoint)
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        assert run(**endpoint) == []
    finally:
        server.shutdown()
        server.server_close()


def test_results_without_snakemake_s_records_are_told(tmp_path: Path) -> None:
    assert without_records(tmp_path) == ""
    (tmp_path / "results/tables").mkdir(parents=True)
    assert f"{tmp_path / 'results'} comes without the records" in without_records(tmp_path)
    (tmp_path / ".snakemake/metadata").mkdir(parents=True)
    assert "--touch" in without_records(tmp_path)
    (tmp_path / ".snakemake/metadata/one").write_text("")
    assert without_records(tmp_path) == ""


# Room for the chat template


def with_smollm2(reserve: int, **changes: Any) -> dict[str, Any]:
    """A configuration that asks SmolLM2 for ONERULER's prompts of all its context."""
    config = demo_run()
    smollm2()
    config["tokenizers"]["own"] = {"kind": "openvino", "name": NAME, "reserve": reserve}
    own = {"backend": "openvino", "name": NAME, "tokenizer": "own", "context": 8192}
    config["models"]["full"] = {**own, "lengths": {"oneruler": [8192]}, **changes}
    config["run"] |= {"models": ["full"], "benchmarks": ["oneruler"]}
    config["benchmarks"]["oneruler"]["lengths"] = [8192]
    return validated(config)


def test_a_length_without_room_for_the_template_names_the_reserve(monkeypatch) -> None:
    # Reading it takes seconds.
    monkeypatch.setattr(genai(), "Tokenizer", cache(genai().Tokenizer))
    lacking = r"8192 tokens, and its chat template and reasoning 30 more: 30 too many for the context of 8192"
    with pytest.raises(UserError, match=rf"models\.full.*{lacking}\. Set `reserve: 30` for tok"):
        check(blocks(with_smollm2(0)), Used(models={"full"}))
    with pytest.raises(UserError, match=r"Set `reserve: 30` for tokenizers\.own"):
        check(blocks(with_smollm2(29)), Used(models={"full"}))
    for enough in (with_smollm2(30), with_smollm2(0, chat=False)):
        assert check(blocks(enough), Used(models={"full"})) == []


@pytest.mark.parametrize("metric", ["containment", "released_semantic"])
def test_weights_and_packages_of_a_metric_are_looked_for(metric, monkeypatch, tmp_path) -> None:
    for name in ("HF_HUB_CACHE", "SENTENCE_TRANSFORMERS_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    config = blocks(validated(demo_run(benchmarks={"mlneedle": {"metric": metric}})))
    jobs = [("score_answers", SimpleNamespace(model="lexical", benchmark="mlneedle"))]
    used, compares = used_by(config, jobs), metric == "released_semantic"
    with pytest.raises(UserError, match=LACKS_MPNET) if compares else nullcontext():
        check(config, used)
    check(config, used, local=False)
    monkeypatch.setitem(EMBEDDERS, "sentence-transformers", ("a_package_that_is_nowhere",))
    missing, _ = missing_packages(config, used)
    assert [sentence.partition(" is ")[0] for sentence in missing] == (
        ["benchmarks.mlneedle.metric: a_package_that_is_nowhere"] if compares else []
    )
