"""Requests to models, and a model behind an endpoint of OpenAI's protocol."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic_core import to_jsonable_python

from needlework.given import given
from needlework.models.backends.base import Answer, Backend, Request, load_backend
from needlework.models.settings import OF_BACKENDS
from needlework.planning.config import validated
from needlework.prompts.spans import literal
from needlework.settings.models import ModelSettings

# The key in the environment variable A_KEY of tests, which may show nowhere.
SECRET = "sk-very-secret-0123456789"

# A whole entry of the configuration, without the address.
REMOTE: dict[str, Any] = {
    **{"model": "remote", "backend": "openai", "name": "some-model", "revision": None},
    **{"chat": True, "system": None, "stop": [], "reasoning": None, "request": {}},
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


@functools.cache
def _usual() -> dict[str, Any]:
    fields = {k: own for k, own in ModelSettings.model_fields.items() if not own.is_required()}
    usual = {k: own.get_default(call_default_factory=True) for k, own in fields.items()}
    others = {key: other.default for key, other in OF_BACKENDS.items()}
    return to_jsonable_python({**others, **usual})


def block(keys: Mapping[str, Any]) -> Any:
    """A model's entry as planning hands it on, with the defaults of the keys that it lacks."""
    return given({**_usual(), **keys})


def backend_of(backend: str, entry: Mapping[str, Any]) -> Any:
    """A model's backend, not loaded yet. The entry may name the model and its journal beside its keys."""
    own = {"model": "m", "journal": "journal", **entry, "backend": backend}
    model, journal = own.pop("model"), own.pop("journal")
    return load_backend(model, block(own), journal)


def remote(base_url: str = "http://127.0.0.1:9/v1", **changes: Any) -> Any:
    """A model behind an endpoint; without an address, one where nobody listens."""
    return backend_of("openai", {**REMOTE, "base_url": base_url, **changes})


def answers(model: Backend, asked: Sequence[Request]) -> list[Answer]:
    """What a model answers, from its loading to its end."""
    model.load()
    try:
        return list(model.generate(asked))
    finally:
        model.close()
