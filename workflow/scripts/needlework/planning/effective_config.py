"""Which part of a configuration a run uses, and which variables of the environment hold its keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from needlework.benchmarks.contract import Config
from needlework.data.corpora.registry import base_of
from needlework.planning.affects import not_affecting
from needlework.planning.schema import ROOT
from needlework.prompts.wording import all_texts
from needlework.services.endpoints import published_url

# The variables that libraries look for by themselves.
_USUAL = (
    *("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "OPENAI_API_KEY", "GOOGLE_TRANSLATE_API_KEY"),
    *("ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY", "OPENROUTER_API_KEY"),
    *("AZUREAI_API_KEY", "AWS_SECRET_ACCESS_KEY"),
)


def effective_config(config: Config) -> dict[str, Any]:
    """The part of a validated configuration on which this run's results depend.

    Entries that the run does not name are left out, and so is what changes no result: where keys,
    mirrors and journals are, prices and throughputs.
    """
    run = config["run"]
    judge = [config["judge"]] if config.get("judge") else []
    named = dict.fromkeys([*run["models"], *judge])
    models = {name: _plain_entry("models", config["models"][name]) for name in named}
    tokenizers = {entry["tokenizer"] for entry in models.values()} | set(run.get("tokenizers", []))
    embedder, translator = config["retrieval"]["embedder"], config["translation"]["translator"]
    benchmarks = {name: _worded(config["benchmarks"][name]) for name in run["benchmarks"]}
    corpora = {base_of(name) for name in _texts(benchmarks)}
    return {
        "run": run,
        **({"judge": judge[0]} if judge else {}),
        **({"audit": config["audit"]} if run.get("audits") else {}),
        "sources": config["sources"],
        "corpora": {name: own for name, own in config["corpora"].items() if name in corpora},
        "retrieval": config["retrieval"],
        "embedders": {embedder: config["embedders"][embedder]},
        "tokenizers": {name: config["tokenizers"][name] for name in sorted(tokenizers)},
        "models": models,
        "translation": config["translation"],
        "translators": {translator: _plain_entry("translators", config["translators"][translator])},
        "benchmarks": benchmarks,
    }


def _worded(own: Mapping[str, Any]) -> Mapping[str, Any]:
    """A benchmark's block with the user's instructions themselves in the place of their folders."""
    if not own.get("instructions"):
        return own
    texts = {lang: all_texts(given) for lang, given in own["instructions"].items()}
    return {**own, "instructions": texts}


def _texts(value: Any) -> Iterator[str]:
    """Every text among the values of a part of the configuration."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)


def _plain_entry(section: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    plain = not_affecting(section, entry, "nothing")
    if "base_url" in plain:
        plain["base_url"] = published_url(plain["base_url"])
    if "base_url" in plain.get("args", {}):
        own = plain["args"]
        plain["args"] = own | {"base_url": published_url(str(own["base_url"]))}
    template = plain.get("chat_template")
    if template and Path(template).is_relative_to(ROOT):
        # In another clone, too, the workflow's own file is found by this path.
        plain["chat_template"] = Path(template).relative_to(ROOT).as_posix()
    return plain


def key_variables(config: Config) -> list[str]:
    """The environment variables that can hold a key of this configuration."""
    entries = [*config["models"].values(), *config["translators"].values()]
    return sorted({*_USUAL, *filter(None, (entry.get("key_env") for entry in entries))})
