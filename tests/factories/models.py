"""Requests to models, and a model behind an endpoint of OpenAI's protocol."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from needlework.models.backends.base import Answer, Backend, Request, load_backend
from needlework.planning.config import validated
from needlework.prompts.spans import literal

# The key in the environment variable A_KEY of tests, which may show nowhere.
SECRET = "sk-very-secret-0123456789"

# A whole entry of the configuration, without the address.
REMOTE: dict[str, Any] = {
    **{"model": "remote", "backend": "openai", "name": "some-model", "revision": None},
    **{"chat": True, "system": None, "stop": None, "reasoning": None, "request": {}},
    "sampling": {"temperature": 0, "top_k": None, "top_p": 1, "seed": 0},
    **{"key_env": "A_KEY", "concurrency": 8, "timeout": 60},
    **{"batch": False, "batch_tokens": None},
}


def requests(*prompts: str, samples: int = 1, new: int = 16, n_tokens: int = 1) -> list[Request]:
    """A request for each sample of each prompt, the instances named i000, i001, ..."""
    return [
        Request(f"i{n:03d}", sample, "exact", [literal("question", p)], ["x"], new, n_tokens, {})
        for n, p in enumerate(prompts)
        for sample in range(samples)
    ]


def configured(model: str, **entry: Any) -> dict[str, Any]:
    """The whole configuration of a checkout in which this model runs alone."""
    config = copy.deepcopy(_default())
    config["run"]["models"] = [model]
    config["models"][model] = {"tokenizer": "words", "context": 40000, **entry}
    return validated(config)


@functools.cache
def _default() -> dict[str, Any]:
    path = Path(__file__).resolve().parents[2] / "config.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def remote(base_url: str = "http://127.0.0.1:9/v1", **changes: Any) -> Any:
    """A model behind an endpoint; without an address, one where nobody listens."""
    return load_backend("openai", {**REMOTE, "base_url": base_url, **changes})


def answers(model: Backend, asked: Sequence[Request]) -> list[Answer]:
    """What a model answers, from its loading to its end."""
    model.load()
    try:
        return list(model.generate(asked))
    finally:
        model.close()
