"""Whether this Python has the packages that jobs import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from needlework.data.packaged import is_installed
from needlework.installed import SET_UP
from needlework.planning.chosen import metrics_of
from needlework.planning.preflight.keys import may_be_answered
from needlework.planning.preflight.used import Used
from needlework.prompts.tokenizers import PACKAGES
from needlework.services.endpoints import SET_UP_INSPECT

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration


# The packages that jobs import, by backend, provider of inspect, kind of embedder and kind of translator.
BACKENDS: dict[str, tuple[str, ...]] = {
    "openai": ("openai", "httpx2"),
    "vllm": ("vllm",),
    "transformers": ("torch", "transformers"),
    "openvino": ("openvino", "openvino_genai", "jinja2"),
    "inspect": ("inspect_ai",),
}
PROVIDERS: dict[str, tuple[str, ...]] = {
    "anthropic": ("anthropic",),
    "google": ("google.genai",),
    "mistral": ("mistralai",),
    "openai": ("openai",),
    "openrouter": ("openai",),
    "ollama": ("openai",),
}
EMBEDDERS: dict[str, tuple[str, ...]] = {"sentence-transformers": ("sentence_transformers",)}
TRANSLATORS: dict[str, tuple[str, ...]] = {
    "nllb": ("torch", "transformers"),
    "google": ("httpx",),
    "llm": ("httpx",),
}
_REMEDIES = {
    "vllm": "run Snakemake with --use-conda, or in an environment that holds vLLM (envs/vllm.yaml), or start "
    "`vllm serve` there and take `backend: openai`",
    "inspect": SET_UP_INSPECT,
}


def missing_packages(config: Configuration, used: Used) -> tuple[list[str], list[str]]:
    """Sentences on packages that jobs import and this Python lacks, with the remedy.

    The second list is of models with answers in the journal, which may have all answers that the run needs.
    """
    # By the place in the configuration: packages, remedy, and whether the journal has answers.
    needed: dict[str, tuple[tuple[str, ...], str, bool]] = {}
    for name in used.models:
        model = config.models[name]
        packages = BACKENDS.get(model.backend, ())
        if model.backend == "inspect":
            packages += PROVIDERS.get(model.name.partition("/")[0], ())
        remedy = _REMEDIES.get(model.backend, SET_UP)
        needed[f"models.{name}"] = packages, remedy, may_be_answered(config, model)
    for name in used.tokenizers:
        packages = tuple(PACKAGES[config.tokenizers[name].kind])
        needed[f"tokenizers.{name}"] = packages, SET_UP, False
    for name in used.embedders:
        packages = EMBEDDERS.get(config.embedders[name].kind, ())
        needed[f"embedders.{name}"] = packages, SET_UP, False
    for name in used.scored:
        packages = tuple(
            package
            for metric in metrics_of(config, name)
            for package in (*metric.packages, *EMBEDDERS.get(metric.embedder.get("kind", ""), ()))
        )
        needed[f"benchmarks.{name}.metric"] = packages, SET_UP, False
    if used.translating:
        name = config.translation.translator
        packages = TRANSLATORS.get(config.translators[name].kind, ())
        needed[f"translators.{name}"] = packages, SET_UP, False
    groups: dict[tuple[str, str, bool], list[str]] = {}
    for where, (packages, remedy, answered) in sorted(needed.items()):
        if lacking := [package for package in packages if not is_installed(package)]:
            groups.setdefault((" and ".join(lacking), remedy, answered), []).append(where)
    missing: list[str] = []
    perhaps: list[str] = []
    for (names, remedy, answered), places in groups.items():
        verb = "are" if " and " in names else "is"
        sentence = f"{_listed(places)}: {names} {verb} not installed here: {remedy}."
        if answered:
            perhaps.append(f"{sentence} Until then, only answers in the journal can be used.")
        else:
            missing.append(sentence)
    return missing, perhaps


def _listed(places: Sequence[str]) -> str:
    """Places of the configuration in words: the first three, and how many more."""
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return ", ".join(places[:3]) + more
