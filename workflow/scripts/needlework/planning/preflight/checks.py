"""All checks before a run: of the models, tokenizers and so on that its jobs use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needlework.data.packaged import is_installed
from needlework.errors import UserError
from needlework.given import given
from needlework.planning.chosen import metrics_of
from needlework.planning.model_checks import check_lengths, thoughts_of
from needlework.planning.preflight.keys import check_service, check_translation_service
from needlework.planning.preflight.used import Used
from needlework.planning.preflight.weights import (
    check_encoding,
    check_hub_model,
    check_hub_token,
    check_local_folder,
    check_weights,
)
from needlework.prompts.tokenizers import PACKAGES, load_tokenizer
from needlework.scoring.translators.base import check_translator

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration
    from needlework.settings.tokenizers import Tokenizer


# More than any chat template with a system prompt takes. If so many tokens are left, none is counted.
_TEMPLATE_TOKENS = 512
# The packages that read a model's tokenizer, by backend; Snakemake's own environment may lack them.
_READ_WITH = {
    "openvino": ("openvino_genai", "jinja2", "pyarrow"),
    "transformers": ("transformers", "torch", "pyarrow"),
}


def check(
    config: Configuration, used: Used, *, local: bool = True, planning: bool = False
) -> list[str]:
    """Raise UserError if a key, a token, weights or a tokenizer is missing that the jobs of a run use.

    If jobs are `local`, two more errors are raised. A length may leave no room for a chat template. An
    endpoint may be unreachable or untrusted while the journal has no answer of its model; if the journal has
    any answer, it may have all, so a sentence is returned instead.

    If it is only `planning`, no job follows. No tokenizer is loaded and the hub is not asked. An endpoint may
    be started later, so a sentence is returned.
    """
    warnings = _check_translator(config, local, planning) if used.translating else []
    for name in sorted(used.embedders):
        embedder = config.embedders[name]
        # A cluster's machines may have a cache, or a network, that this one lacks.
        if embedder.kind == "sentence-transformers" and local:
            where = f"embedders.{name}"
            check_hub_model(where, embedder.name, embedder.revision, ask=not planning)
    for name in sorted(used.scored) if local else ():
        for metric in metrics_of(config, name):
            if metric.embedder.get("kind") == "sentence-transformers":
                where = f"benchmarks.{name}.metric"
                check_hub_model(where, metric.embedder["name"], ask=not planning)
    for name in sorted(used.models):
        warnings += _check_model(config, name, local, planning)
    for name in sorted(used.tokenizers):
        warnings += _check_tokenizer(name, config.tokenizers[name], local, planning)
    return warnings


def _check_translator(config: Configuration, local: bool, planning: bool) -> list[str]:
    name = config.translation.translator
    translator = config.translators[name]
    check_translator(translator)
    if translator.kind == "nllb" and local:
        where = f"translators.{name}"
        check_hub_model(where, translator.name, translator.revision, ask=not planning)
    return check_translation_service(config, name, local, planning)


def _check_model(config: Configuration, name: str, local: bool, planning: bool) -> list[str]:
    """Raise UserError if a model cannot be had; warnings about an endpoint that may be started later."""
    model = config.models[name]
    warnings = check_service(config, name, local, planning)
    if model.backend in ("vllm", "transformers"):
        if local:
            check_local_folder(f"models.{name}.name", model.name)
        if local and model.backend == "vllm" and model.lora:
            check_local_folder(f"models.{name}.lora", model.lora)
        if model.gated:
            check_hub_token(f"models.{name}", model.name)
    if model.backend == "openvino" and local:
        check_weights(f"models.{name}", model.name)
    if local:
        _check_template(config, name)
    return warnings


def _check_tokenizer(name: str, tokenizer: Tokenizer, local: bool, planning: bool) -> list[str]:
    """Raise UserError if a tokenizer cannot be loaded; a sentence on what will be fetched.

    If its package is not installed here, the job's own environment has it.
    """
    fetched = ""
    if tokenizer.kind == "tiktoken" and local:
        fetched = check_encoding(f"tokenizers.{name}", tokenizer.encoding, ask=not planning)
    if planning:
        if tokenizer.kind == "huggingface" and local:
            check_local_folder(f"tokenizers.{name}.name", tokenizer.name)
        elif tokenizer.kind == "openvino" and local:
            check_weights(f"tokenizers.{name}", tokenizer.name)
    elif all(map(is_installed, PACKAGES[tokenizer.kind])):
        # Nothing is counted here, and proofs need more packages than Snakemake has.
        load_tokenizer(name, dict(tokenizer), whole=True)
        return []
    return [fetched] if fetched else []


def _check_template(config: Configuration, name: str) -> None:
    """Raise UserError if a model's lengths leave no room for its chat template.

    If this machine cannot read the model's tokenizer, nothing is checked: the model's job checks it.
    """
    model = config.models[name]
    reader = "transformers" if model.backend == "vllm" else model.backend
    readable = reader in _READ_WITH and all(map(is_installed, _READ_WITH[reader]))
    # Code of a model's repository runs in the job alone.
    if not readable or model.trust_remote_code:
        return
    try:
        check_lengths(config, name, thoughts_of(model) + _TEMPLATE_TOKENS)
        return
    except UserError:
        pass
    from needlework.models.backends.base import load_backend

    backend = load_backend(name, given({**dict(model), "backend": reader}))
    try:
        backend.load()
        overhead = backend.overhead()
    except UserError:
        return
    finally:
        backend.close()
    check_lengths(config, name, overhead or 0)
