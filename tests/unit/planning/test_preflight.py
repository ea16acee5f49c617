"""What a run lacks is told before its first job."""

from __future__ import annotations

import http.server
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from tiktoken import load

from factories import demo_run
from http_server import OpenAIServer
from needlework.errors import UserError
from needlework.given import given as blocks
from needlework.models.backends import backend_names
from needlework.planning.config import validated
from needlework.planning.preflight import weights
from needlework.planning.preflight.checks import check
from needlework.planning.preflight.files import check_model_files, check_times, without_records
from needlework.planning.preflight.packages import (
    BACKENDS,
    EMBEDDERS,
    PROVIDERS,
    TRANSLATORS,
    missing_packages,
)
from needlework.planning.preflight.used import Used, used_by
from needlework.planning.preflight.weights import check_encoding, check_hub_model
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


def test_a_file_of_the_future_is_named_with_its_remedy(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = Path("results/corpora/c.parquet")
    made.parent.mkdir(parents=True)
    own = tmp_path / "my data.jsonl"
    for file in (made, own):
        file.touch()
    files = [str(made), str(own), "results/absent.parquet"]
    check_times(files)
    ahead = time.time() + 5000
    for file in (made, own):
        os.utime(file, (ahead, ahead))
    with pytest.raises(UserError, match=r"and 1 more, is dated .*the clock says") as said:
        check_times(files)
    remedy = str(said.value).partition("with `")[2].partition("`")[0]
    assert os.system(remedy) == 0
    check_times(files)


class Hub(BaseHTTPRequestHandler):
    """A hub that has org/there at its main branch, and nothing else."""

    asked: list[str]

    def do_HEAD(self) -> None:
        type(self).asked.append(self.path)
        known = self.path.startswith("/org/there/")
        self.send_response(200 if "/resolve/main/" in self.path and known else 404)
        missing = "RevisionNotFound" if known else "RepoNotFound"
        self.send_header("X-Error-Code", missing)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[type[Hub]]:
    Hub.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("HF_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    yield Hub
    server.shutdown()
    server.server_close()


def test_an_unknown_model_or_revision_is_told(hub) -> None:
    check_hub_model("embedders.mine", "org/there")
    assert hub.asked == ["/org/there/resolve/main/config.json"]
    with pytest.raises(UserError, match=r"embedders\.mine.*'org/absent'.*the hub has no such"):
        check_hub_model("embedders.mine", "org/absent")
    with pytest.raises(UserError, match=r"no such `revision`"):
        check_hub_model("embedders.mine", "org/there", "0" * 40)


def test_folders_and_cached_models_are_not_asked_for(hub, tmp_path: Path) -> None:
    check_hub_model("embedders.mine", str(tmp_path))
    model = tmp_path / "cache/hub/models--org--kept"
    (model / "snapshots/abc").mkdir(parents=True)
    (model / "snapshots/abc/config.json").touch()
    (model / "refs").mkdir()
    (model / "refs/main").write_text("abc")
    check_hub_model("embedders.mine", "org/kept")
    check_hub_model("embedders.mine", "org/kept", "abc")
    assert hub.asked == []
    with pytest.raises(UserError, match=r"is the folder .*nowhere, which does not exist"):
        check_hub_model("embedders.mine", str(tmp_path / "nowhere"))


def test_without_a_network_the_cache_is_named(hub, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("HF_ENDPOINT", f"http://user:secret@127.0.0.1:{port}")
    remedy = r"cannot be reached .*Set `name` to a local folder"
    with pytest.raises(UserError, match=remedy) as said:
        check_hub_model("embedders.mine", "org/there")
    assert "secret" not in str(said.value)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match=r"not in the cache .*and HF_HUB_OFFLINE is set: unset it"):
        check_hub_model("embedders.mine", "org/there")
    assert hub.asked == []


def test_an_encodings_file_is_named_before_it_is_fetched(hub, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    there = f"{os.environ['HF_ENDPOINT']}/org/there/resolve/main"
    monkeypatch.setattr(weights, "ENCODINGS", there)
    said = check_encoding("tokenizers.t", "o200k_base")
    assert said.startswith("tokenizers.t: the first run fetches http") and len(hub.asked) == 1
    assert check_encoding("tokenizers.t", "o200k_harmony", ask=False) == said
    # An unknown encoding is told where it is loaded.
    assert check_encoding("tokenizers.t", "o300k") == "" and len(hub.asked) == 1
    monkeypatch.setattr(weights, "ENCODINGS", os.environ["HF_ENDPOINT"])
    with pytest.raises(UserError, match=r"o200k_base\.tiktoken cannot be reached \(Not Found\)"):
        check_encoding("tokenizers.t", "o200k_base")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setattr(weights, "ENCODINGS", f"http://127.0.0.1:{port}")
    trouble = r"t: http.*/cl100k_base.* cannot be reached \(Connection refused\), and .* no copy"
    with pytest.raises(UserError, match=trouble + r".* set TIKTOKEN_CACHE_DIR to its folder"):
        check_encoding("tokenizers.t", "cl100k_base")


def test_an_encoding_in_tiktokens_cache_is_not_asked_for(monkeypatch, tmp_path) -> None:
    """Under the name that docs/air-gapped.md and tiktoken itself give it."""
    page = (ROOT / "docs/air-gapped.md").read_text(encoding="utf-8")
    found = re.search(r"`o200k_base` is\s+`(\w{40})`", page)
    assert found
    (tmp_path / found[1]).touch()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert check_encoding("tokenizers.t", "o200k_base") == ""
    assert load.read_file_cached(f"{weights.ENCODINGS}/o200k_base.tiktoken") == b""


def test_an_address_that_never_answers_is_left_in_seconds(hub, monkeypatch) -> None:
    monkeypatch.setattr(weights, "TIMEOUT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(UserError, match="cannot be reached"):
            check_hub_model("embedders.mine", "org/there")
