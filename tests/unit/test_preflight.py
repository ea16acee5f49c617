"""What a run lacks is told before its first job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from needlework.config import validated
from needlework.errors import UserError
from needlework.preflight import check

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)


def run(**changes: Any) -> None:
    """Check a run whose model stands in the configuration with these changes."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    config["run"]["models"] = ["mine"]
    config["models"]["mine"] = {
        "backend": "vllm",
        "name": "some/model",
        "tokenizer": "words",
        "context": 4096,
        **changes,
    }
    check(validated(config), ["mine"], [], translating=False)


def test_a_gated_model_needs_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"models\.mine is gated.* page of some/model.*HF_TOKEN"):
        run(gated=True)
    run()
    monkeypatch.setenv("HF_TOKEN", "hf_something")
    run(gated=True)


def test_a_token_in_a_file_an_offline_run_and_a_local_folder_will_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run(gated=True, name=str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    run(gated=True)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "hf_something")
    run(gated=True)


@pytest.mark.parametrize("changes", [{"gated": True}, {"reasoning": {"max_tokens": 10}}])
def test_neither_a_licence_nor_thoughts_are_an_endpoint_s(changes: dict[str, Any]) -> None:
    with pytest.raises(
        UserError, match=f"{next(iter(changes))} says nothing to the backend openai"
    ):
        run(backend="openai", key_env=None, **changes)
