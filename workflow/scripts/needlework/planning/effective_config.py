"""Which part of a configuration a run uses, and which variables of the environment hold its keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from needlework.benchmarks.contract import Config
from needlework.planning.affects import not_affecting
from needlework.services.endpoints import shown_url

# The variables that libraries look for by themselves.
_USUAL = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "OPENAI_API_KEY", "GOOGLE_TRANSLATE_API_KEY")


def effective_config(config: Config) -> dict[str, Any]:
    """What of a validated configuration this run's results come from.

    Entries that the run does not name are left out, and so is what changes no result: where keys,
    mirrors and journals are, prices and throughputs.
    """
    run = config["run"]
    models = {name: _plain_entry("models", config["models"][name]) for name in run["models"]}
    tokenizers = {entry["tokenizer"] for entry in models.values()} | set(run.get("tokenizers", []))
    embedder, translator = config["retrieval"]["embedder"], config["translation"]["translator"]
    return {
        "run": run,
        "sources": config["sources"],
        "retrieval": config["retrieval"],
        "embedders": {embedder: config["embedders"][embedder]},
        "tokenizers": {name: config["tokenizers"][name] for name in sorted(tokenizers)},
        "models": models,
        "translation": config["translation"],
        "translators": {translator: _plain_entry("translators", config["translators"][translator])},
        "benchmarks": {name: config["benchmarks"][name] for name in run["benchmarks"]},
    }


def _plain_entry(section: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    plain = not_affecting(section, entry, "nothing")
    if "base_url" in plain:
        plain["base_url"] = shown_url(plain["base_url"])
    return plain


def key_variables(config: Config) -> list[str]:
    """The environment variables that can hold a key of this configuration."""
    entries = [*config["models"].values(), *config["translators"].values()]
    return sorted({*_USUAL, *filter(None, (entry.get("key_env") for entry in entries))})
