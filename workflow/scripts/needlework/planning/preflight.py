"""Checks before any work starts, other than of the configuration: packages, GPUs, files, room in prompts."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from needlework.benchmarks.contract import Config
from needlework.errors import UserError
from needlework.folders import entries
from needlework.given import given
from needlework.models.answer_folders import may_have_answers
from needlework.models.engine_arguments import gpus
from needlework.planning.model_access import (
    answers_folder,
    check_encoding,
    check_hub_model,
    check_hub_token,
    check_local_folder,
    check_service,
    check_translation_service,
    check_weights,
    is_installed,
)
from needlework.planning.model_checks import check_lengths
from needlework.prompts.tokenizers import PACKAGES, load_tokenizer
from needlework.scoring.translators.base import check_translator
from needlework.services.endpoints import SET_UP_INSPECT

# More than any chat template with a system prompt takes. If so many tokens are left, none is counted.
_TEMPLATE_TOKENS = 512
# The packages that read a model's tokenizer, by backend; Snakemake's own environment may lack them.
_READ_WITH = {
    "openvino": ("openvino_genai", "jinja2", "pyarrow"),
    "transformers": ("transformers", "torch", "pyarrow"),
}
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
_SET_UP = (
    "run `make setup`, which installs all but vLLM and inspect_ai, or Snakemake with --use-conda"
)
_REMEDIES = {
    "vllm": "run Snakemake with --use-conda, or in an environment that holds vLLM (envs/vllm.yaml), or start "
    "`vllm serve` there and take `backend: openai`",
    "inspect": SET_UP_INSPECT,
}


@dataclass
class Used:
    """The names in the configuration that the jobs of a run use.

    `semantic` are benchmarks whose metric compares meanings; `translating` is whether a job translates.
    """

    models: set[str] = field(default_factory=set)
    tokenizers: set[str] = field(default_factory=set)
    embedders: set[str] = field(default_factory=set)
    semantic: set[str] = field(default_factory=set)
    judges: set[str] = field(default_factory=set)
    translating: bool = False


def used_by(config: Config, jobs: Iterable[tuple[str, Any]]) -> Used:
    """The names that these jobs use. A job is given as its rule's name and its wildcards."""
    used = Used()
    for rule, wildcards in jobs:
        if rule in ("generate_answers", "generate_shard", "audit_answers"):
            used.models.add(wildcards.model)
        elif rule == "judge_replies":
            used.judges.add(wildcards.model)
        elif rule in ("build_instances", "count_tokens", "count_books"):
            used.tokenizers.add(wildcards.tokenizer)
        elif rule == "embed_corpus":
            used.embedders.add(wildcards.embedder)
        elif rule == "measure_similarity":
            used.embedders.add(config["retrieval"]["embedder"])
        elif rule in ("score_answers", "score_audit"):
            metric = config["benchmarks"][wildcards.benchmark].get("metric")
            used.semantic |= {wildcards.benchmark} if metric == "released_semantic" else set()
        used.translating |= rule.startswith("translate_")
    return used


def judge_warnings(config: Config, judges: Iterable[str], local: bool, planning: bool) -> list[str]:
    """Sentences about what judges lack; without a judge, all other results are made."""
    found = []
    for name in sorted(judges):
        try:
            found += check_service(config, name, local, planning)
        except UserError as error:
            found.append(f"Warning: the judge will be missing: {error}")
    return found


def missing_packages(config: Config, used: Used) -> tuple[list[str], list[str]]:
    """What this Python lacks of the packages that jobs import, in sentences with the remedy.

    The second list is of models that have answers in the journal: it may have all that the run asks for.
    """
    # By the place in the configuration: packages, remedy, and whether the journal has answers.
    needed: dict[str, tuple[tuple[str, ...], str, bool]] = {}
    for name in used.models:
        model = config["models"][name]
        packages = BACKENDS.get(model["backend"], ())
        if model["backend"] == "inspect":
            packages += PROVIDERS.get(model["name"].partition("/")[0], ())
        remedy = _REMEDIES.get(model["backend"], _SET_UP)
        answered = may_have_answers(answers_folder(config), model)
        needed[f"models.{name}"] = packages, remedy, answered
    for name in used.tokenizers:
        packages = tuple(PACKAGES[config["tokenizers"][name]["kind"]])
        needed[f"tokenizers.{name}"] = packages, _SET_UP, False
    for name in used.embedders:
        packages = EMBEDDERS.get(config["embedders"][name]["kind"], ())
        needed[f"embedders.{name}"] = packages, _SET_UP, False
    for name in used.semantic:
        where = f"benchmarks.{name}.metric"
        needed[where] = EMBEDDERS["sentence-transformers"], _SET_UP, False
    if used.translating:
        name = config["translation"]["translator"]
        packages = TRANSLATORS.get(config["translators"][name]["kind"], ())
        needed[f"translators.{name}"] = packages, _SET_UP, False
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


def check(config: Config, used: Used, *, local: bool = True, planning: bool = False) -> list[str]:
    """Raise UserError if a key, a token, weights or a tokenizer is missing that the jobs of a run use.

    If jobs are `local`, also if a length leaves no room for a chat template, or if an endpoint cannot be
    reached or trusted and the journal has no answer of its model. If the journal has any answer, it may have
    all: then a sentence is returned.

    With `planning` no job follows: no tokenizer is loaded, the hub is not asked, and an endpoint may be
    started later (a sentence is returned).
    """
    warnings = _check_translator(config, local, planning) if used.translating else []
    for name in sorted(used.embedders):
        embedder = config["embedders"][name]
        # A cluster's machines may have a cache, or a network, that this one lacks.
        if embedder["kind"] == "sentence-transformers" and local:
            where = f"embedders.{name}"
            check_hub_model(where, embedder["name"], embedder["revision"], ask=not planning)
    for name in sorted(used.models):
        warnings += _check_model(config, name, local, planning)
    for name in sorted(used.tokenizers):
        warnings += _check_tokenizer(name, config["tokenizers"][name], local, planning)
    return warnings


def _check_translator(config: Config, local: bool, planning: bool) -> list[str]:
    name = config["translation"]["translator"]
    translator = config["translators"][name]
    check_translator(given(translator))
    if translator["kind"] == "nllb" and local:
        where = f"translators.{name}"
        check_hub_model(where, translator["name"], translator["revision"], ask=not planning)
    if translator.get("base_url"):
        return check_translation_service(config, name, local, planning)
    return []


def _check_model(config: Config, name: str, local: bool, planning: bool) -> list[str]:
    """Raise UserError if a model cannot be had; warnings about an endpoint that may be started later."""
    model = config["models"][name]
    warnings = check_service(config, name, local, planning)
    for key in ("name", "lora"):
        if model["backend"] in ("vllm", "transformers") and model[key] and local:
            check_local_folder(f"models.{name}.{key}", model[key])
    if model["backend"] == "openvino" and local:
        check_weights(f"models.{name}", model["name"])
    if model["gated"]:
        check_hub_token(f"models.{name}", model["name"])
    if local:
        _check_template(config, name)
    return warnings


def _check_tokenizer(
    name: str, tokenizer: Mapping[str, Any], local: bool, planning: bool
) -> list[str]:
    """Raise UserError if a tokenizer cannot be loaded; a sentence on what will be fetched.

    If its package is not installed here, the job's own environment has it.
    """
    fetched = ""
    if tokenizer["kind"] == "tiktoken" and local:
        fetched = check_encoding(f"tokenizers.{name}", tokenizer["encoding"], ask=not planning)
    if planning:
        if tokenizer["kind"] == "huggingface" and local:
            check_local_folder(f"tokenizers.{name}.name", tokenizer["name"])
        elif tokenizer["kind"] == "openvino" and local:
            check_weights(f"tokenizers.{name}", tokenizer["name"])
    elif all(map(is_installed, PACKAGES[tokenizer["kind"]])):
        # Nothing is counted here, and proofs need more packages than Snakemake has.
        load_tokenizer(name, tokenizer, whole=True)
        return []
    return [fetched] if fetched else []


def without_records(folder: str | Path = ".") -> str:
    """The warning about results without Snakemake's records; "" if there are none.

    Without them Snakemake knows neither parameters nor code, and goes by the times of files alone.
    """
    results, records = Path(folder) / "results", Path(folder) / ".snakemake/metadata"
    if not entries(results) or entries(records):
        return ""
    return (
        f"{results.absolute()} comes without the records in .snakemake. So a change of settings is not "
        "noticed, and if the files' times were not kept, everything is made again (from the journal, if it "
        "is there). If this version made the results with this configuration, run once with --touch and the "
        "same targets."
    )


def _check_template(config: Config, name: str) -> None:
    """Raise UserError if a model's lengths leave no room for its chat template.

    If this machine cannot read the model's tokenizer, nothing is checked: the model's job checks it.
    """
    entry = config["models"][name]
    thoughts = entry["reasoning"]["max_tokens"] if entry["reasoning"] else 0
    reader = "transformers" if entry["backend"] == "vllm" else entry["backend"]
    readable = reader in _READ_WITH and all(map(is_installed, _READ_WITH[reader]))
    # Code of a model's repository runs in the job alone.
    if not readable or entry["trust_remote_code"]:
        return
    try:
        check_lengths(config, name, thoughts + _TEMPLATE_TOKENS)
        return
    except UserError:
        pass
    from needlework.models.backends.base import load_backend

    backend = load_backend(name, given({**entry, "backend": reader}))
    try:
        backend.load()
        overhead = backend.overhead()
    except UserError:
        return
    finally:
        backend.close()
    check_lengths(config, name, overhead or 0)


def _listed(places: Sequence[str]) -> str:
    """Places of the configuration in words: the first three, and how many more."""
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return ", ".join(places[:3]) + more


def check_gpus(config: Config, models: Iterable[str], declared: int | None) -> None:
    """Raise UserError where the job of one of `models` takes more GPUs than this run declares.

    Snakemake would give such a job what is declared, say nothing, and start others beside it.
    `declared` is the limit of the resource `gpu`, None where there is none. What takes one GPU where
    there is any runs without as well, or says itself that it cannot.
    """
    for name in sorted(models):
        model = config["models"][name]
        needed = gpus(given(model["engine"])) if model["backend"] == "vllm" else 0
        if declared is None or needed <= max(declared, 1):
            continue
        arguments = [
            f"{key} {model['engine'][key]}"
            for key in ("tensor_parallel_size", "pipeline_parallel_size")
            if model["engine"][key] > 1
        ]
        raise UserError(
            f"models.{name}.engine takes {needed} GPUs ({' times '.join(arguments)}), and this run "
            f"declares {declared} (the resource `gpu`): run with `--resources gpu={needed} downloads=4`, "
            f"or set `gpu: {needed}` under `resources` in the profile (profiles/default/config.yaml, unless "
            "you name another), where there are so many; or lower `tensor_parallel_size`."
        )


# Files whose time is ahead of the clock: Snakemake fails each job that reads one, after its work is done.

# Less than a job takes, and more than the clocks of a network's file servers differ.
TOLERATED_S = 1.0


def check_times(files: Iterable[str]) -> None:
    """Raise UserError where one of the files that jobs will read was written in the future.

    So are files that came with a wrong time, and all results from before the clock was set back.
    """
    now = time.time()
    ahead = {}
    for file in {str(file) for file in files}:
        try:
            written = Path(file).stat().st_mtime
        except OSError:
            continue
        if written > now + TOLERATED_S:
            ahead[file] = written
    if not ahead:
        return
    first = max(ahead, key=lambda file: (ahead[file], file))
    shown = datetime.fromtimestamp(min(ahead[first], 2**31)).strftime("%Y-%m-%d %H:%M:%S")
    clock = datetime.fromtimestamp(now).strftime("%Y-%m-%d %H:%M:%S")
    others = f", and {len(ahead) - 1} more," if len(ahead) > 1 else ""
    roots = sorted({_root(file) for file in ahead})
    find = f"find {' '.join(map(shlex.quote, roots[:5]))} -newermt now -exec touch {{}} +"
    raise UserError(
        f"{first}{others} is dated {shown}, but the clock says {clock}. Snakemake fails jobs that read files "
        f"of the future. Correct the clock, or set the files' times to now with `{find}`. It reruns nothing."
    )


def _root(file: str) -> str:
    """The folder of results where a file is one of them, the file itself elsewhere."""
    return "results" if file.startswith("results/") else file
