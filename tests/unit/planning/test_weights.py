"""A model of the hub and a file of tiktoken are looked for once, before any job."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tiktoken import load

from needlework.errors import UserError
from needlework.planning.preflight import weights
from needlework.planning.preflight.weights import check_encoding, check_hub_model

ROOT = Path(__file__).resolve().parents[3]


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
