"""Checks before any work starts, other than of the configuration's form."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from needlework.benchmarks.contract import Config
from needlework.data.packaged import local_name
from needlework.errors import UserError
from needlework.folders import entries
from needlework.models.engine_arguments import gpus
from needlework.planning.config import check_lengths
from needlework.planning.hub_models import check_hub_model
from needlework.prompts.tokenizers import PACKAGES, load_tokenizer
from needlework.scoring.translators.base import check_translator
from needlework.services.endpoints import api_key, shown_url

CONNECT_S = 5.0
# More than any chat template with a system prompt takes. If so many tokens are left, none is counted.
_TEMPLATE_TOKENS = 512
# The packages that read a model's tokenizer, by backend; Snakemake's own environment may lack them.
_READ_WITH = {
    "openvino": ("openvino_genai", "pyarrow"),
    "transformers": ("transformers", "torch", "pyarrow"),
}
# The packages that jobs import, by backend, provider of inspect, kind of embedder and kind of translator.
BACKENDS: dict[str, tuple[str, ...]] = {
    "openai": ("openai", "httpx2"),
    "vllm": ("vllm",),
    "transformers": ("torch", "transformers"),
    "openvino": ("openvino", "openvino_genai"),
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
    "inspect": "run Snakemake with --use-conda, or install inspect_ai and the provider's package beside "
    "Snakemake, at the versions of requirements/inspect.txt",
}


class Used(NamedTuple):
    """The names in the configuration that the jobs of a run use.

    `semantic` are benchmarks whose metric compares meanings; `translating` is whether a job translates.
    """

    models: frozenset[str]
    tokenizers: frozenset[str]
    embedders: frozenset[str]
    semantic: frozenset[str]
    translating: bool
    judges: frozenset[str] = frozenset()


def used_by(config: Config, jobs: Iterable[tuple[str, Any]]) -> Used:
    """The names that these jobs use. A job is given as its rule's name and its wildcards."""
    models: set[str] = set()
    tokenizers: set[str] = set()
    embedders: set[str] = set()
    semantic: set[str] = set()
    judges: set[str] = set()
    translating = False
    for rule, wildcards in jobs:
        if rule in ("generate_answers", "generate_shard", "audit_answers"):
            models.add(wildcards.model)
        elif rule == "judge_replies":
            judges.add(wildcards.model)
        elif rule in ("build_instances", "count_tokens", "count_books"):
            tokenizers.add(wildcards.tokenizer)
        elif rule == "embed_corpus":
            embedders.add(wildcards.embedder)
        elif rule == "measure_similarity":
            embedders.add(config["retrieval"]["embedder"])
        elif rule in ("score_answers", "score_audit"):
            metric = config["benchmarks"][wildcards.benchmark].get("metric")
            semantic |= {wildcards.benchmark} if metric == "released_semantic" else set()
        translating |= rule.startswith("translate_")
    return Used(
        frozenset(models),
        frozenset(tokenizers),
        frozenset(embedders),
        frozenset(semantic),
        translating,
        frozenset(judges),
    )


def judge_warnings(config: Config, judges: Iterable[str], local: bool, planning: bool) -> list[str]:
    """Sentences about what judges lack; without a judge, all other results are made."""
    found = []
    for name in sorted(judges):
        try:
            if config["models"][name]["backend"] == "openai":
                found += _check_endpoint(config, name, local, planning)
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
        needed[f"models.{name}"] = packages, remedy, bool(entries(_answers(config, name)))
    for name in used.tokenizers:
        packages = tuple(PACKAGES[config["tokenizers"][name]["kind"]])
        needed[f"tokenizers.{name}"] = packages, _SET_UP, False
    for name in used.embedders:
        packages = EMBEDDERS.get(config["embedders"][name]["kind"], ())
        needed[f"embedders.{name}"] = packages, _SET_UP, False
    for name in used.semantic:
        where = f"benchmarks.{name}.semantic_model"
        needed[where] = EMBEDDERS["sentence-transformers"], _SET_UP, False
    if used.translating:
        name = config["translation"]["translator"]
        packages = TRANSLATORS.get(config["translators"][name]["kind"], ())
        needed[f"translators.{name}"] = packages, _SET_UP, False
    groups: dict[tuple[str, str, bool], list[str]] = {}
    for where, (packages, remedy, answered) in sorted(needed.items()):
        if lacking := [package for package in packages if not _is_installed(package)]:
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


def check(
    config: Config,
    models: Iterable[str],
    tokenizers: Iterable[str],
    translating: bool,
    *,
    embedders: Iterable[str] = (),
    local: bool = True,
    planning: bool = False,
) -> list[str]:
    """Raise UserError where one of `models` or the translator lacks its key, or a tokenizer cannot be loaded.

    Or where one of `embedders` cannot be had, weights do not exist, or, where jobs are `local`, a length
    leaves no room for a chat template, or an endpoint cannot be reached or trusted and the journal has no
    answer of it. If the journal has any, it may have all: a sentence says so. A gated model lacks its key
    where there is no token of the hub's.

    All are what the jobs of this run use. A tokenizer whose package is not installed here is left to the
    job's own environment. With `planning` no job follows: no tokenizer is loaded, the hub is not asked, and
    an endpoint may be started later (a sentence says so).
    """
    if translating:
        translator = config["translators"][config["translation"]["translator"]]
        check_translator(translator)
        if translator["kind"] == "nllb" and local:
            where = f"translators.{config['translation']['translator']}"
            name, revision = translator["name"], translator["revision"]
            check_hub_model(where, name, revision, ask=not planning)
    for name in sorted(embedders):
        embedder = config["embedders"][name]
        # A cluster's machines may have a cache, or a network, that this one lacks.
        if embedder["kind"] == "sentence-transformers" and local:
            where = f"embedders.{name}"
            check_hub_model(where, embedder["name"], embedder["revision"], ask=not planning)
    silent = []
    for name in sorted(models):
        model = config["models"][name]
        if model["backend"] == "openai":
            silent += _check_endpoint(config, name, local, planning)
        for key in ("name", "lora"):
            if model["backend"] in ("vllm", "transformers") and model[key] and local:
                _check_folder(f"models.{name}.{key}", model[key])
        if model["backend"] == "openvino" and local:
            _check_weights(f"models.{name}", model["name"])
        if model["gated"] and not Path(model["name"]).is_dir() and not _hub_is_open():
            raise UserError(
                f"models.{name} is gated, and there is no token: accept the licence on the page of "
                f"{model['name']}, create a token of your account there, and set the environment variable "
                "HF_TOKEN to it; without internet, set HF_HUB_OFFLINE=1."
            )
        if local:
            _check_template(config, name)
    for name in sorted(tokenizers):
        tokenizer = config["tokenizers"][name]
        if planning:
            if tokenizer["kind"] == "huggingface" and local:
                _check_folder(f"tokenizers.{name}.name", tokenizer["name"])
            elif tokenizer["kind"] == "openvino" and local:
                _check_weights(f"tokenizers.{name}", tokenizer["name"])
        elif all(map(_is_installed, PACKAGES[tokenizer["kind"]])):
            # Nothing is counted here, and proofs need more packages than Snakemake has.
            load_tokenizer(name, tokenizer, {"from_pieces": False})
    return silent


def check_model_files(config: Config, results: str | Path = "results") -> None:
    """Raise UserError if a model's file of answers or chat template is gone, and older answers exist.

    Snakemake refuses a missing file only if it must make the answers; otherwise it would keep the older ones.
    """
    for name in config["run"]["models"]:
        older = Path(results) / "generations" / name
        for key in ("answers", "chat_template"):
            given = config["models"][name][key]
            for path in given if isinstance(given, list) else [given]:
                if path and not Path(path).exists() and entries(older, ".parquet"):
                    raise UserError(
                        f"models.{name}.{key} is {path}, which does not exist, but {older} has older "
                        "answers: correct the path, which is relative to the folder in which the workflow "
                        "runs, or delete that folder."
                    )


def without_records(folder: str | Path = ".") -> str:
    """The warning about results without Snakemake's records; "" if there are none.

    Without them Snakemake knows neither parameters nor code, and goes by the times of files alone.
    """
    results, records = Path(folder) / "results", Path(folder) / ".snakemake/metadata"
    if not entries(results) or entries(records):
        return ""
    return (
        f"{results.absolute()} comes without the records in .snakemake, so a change of settings is not "
        "noticed, and if the files' times were not kept, everything is made again (from the journal, if it "
        "is there): if this version made it with this configuration, run once with --touch and the same "
        "targets."
    )


def _check_template(config: Config, name: str) -> None:
    """Raise UserError if a model's lengths leave no room for its chat template.

    If this machine cannot read the model's tokenizer, nothing is checked: the model's job checks it.
    """
    entry = {**config["models"][name], "model": name}
    thoughts = entry["reasoning"]["max_tokens"] if entry["reasoning"] else 0
    reader = "transformers" if entry["backend"] == "vllm" else entry["backend"]
    readable = reader in _READ_WITH and all(map(_is_installed, _READ_WITH[reader]))
    # Code of a model's repository runs in the job alone.
    if not readable or entry["trust_remote_code"]:
        return
    try:
        check_lengths(config, name, thoughts + _TEMPLATE_TOKENS)
        return
    except UserError:
        pass
    from needlework.models.backends.base import load_backend

    backend = load_backend(reader, entry)
    try:
        backend.load()
        overhead = backend.overhead()
    except UserError:
        return
    finally:
        backend.close()
    check_lengths(config, name, overhead or 0)


def _check_endpoint(config: Config, name: str, local: bool, planning: bool) -> list[str]:
    """A sentence if nothing answers at a model's address, which an error is not.

    Raises UserError if its key or certificates are missing, or if nothing answers there and the journal has
    no answers, unless it is only `planning`.
    """
    model = config["models"][name]
    if model["key_env"]:
        api_key(model["key_env"], f"the model models.{name}")
    if model["base_url"].startswith("https:"):
        _check_authorities(f"models.{name}")
    if not local or not (found := _unreachable(model["base_url"])):
        return []
    trouble, remedy, may_pass = found
    said = f"models.{name}: {shown_url(model['base_url'])} cannot be reached ({trouble})"
    journal = _answers(config, name)
    answered = bool(entries(journal))
    if not answered and not (planning and may_pass):
        raise UserError(f"{said}, and {journal} has none of its answers: {remedy}.")
    only = "only answers in the journal can be used: " if answered else ""
    return [f"Warning: {said}: {only}{remedy}."]


def _check_authorities(where: str) -> None:
    """Raise UserError if the environment names certificates that are not there."""
    for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        if (path := os.environ.get(variable)) and not Path(path).exists():
            raise UserError(
                f"{where}: {variable} names {path}, which does not exist: correct or unset the variable."
            )


def _answers(config: Config, model: str) -> Path:
    """The folder of a model's answers in the journal."""
    return Path(config["journal"]).absolute() / "generations" / model


def _check_weights(where: str, name: str) -> None:
    """Raise UserError where a file or folder of weights for OpenVINO does not exist."""
    if not Path(local_name(name, f"{where}.name")).exists():
        raise UserError(
            f"{where}.name is {Path(name).absolute()}, which does not exist: correct the path of the GGUF "
            "file or OpenVINO folder, which is relative to the folder in which the workflow runs."
        )


def _is_installed(package: str) -> bool:
    """Whether this Python finds a package, which is not imported (only the packages that it lies in)."""
    try:
        return find_spec(package) is not None
    except ImportError:
        return False


def _listed(places: Sequence[str]) -> str:
    """Places of the configuration in words: the first three, and how many more."""
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return ", ".join(places[:3]) + more


def _check_folder(where: str, name: str) -> None:
    """Raise UserError where a name is that of a folder, and not of a model on the hub, and there is none."""
    folder = Path(name)
    if (name.startswith(("/", ".", "~")) or name.count("/") > 1) and not folder.is_dir():
        raise UserError(
            f"{where} is the folder {folder.absolute()}, which does not exist: correct the path, which is "
            "relative to the folder in which the workflow runs."
        )


def _unreachable(url: str) -> tuple[str, str, bool] | None:
    """Why an address cannot be used, the remedy, and whether that may pass; None if it can.

    Something must listen there, or at the proxy that leads there, and its certificate must be trusted.
    """
    parts = urlsplit(url)
    proxy = None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)
    at = urlsplit(proxy if "://" in proxy else f"http://{proxy}") if proxy else parts
    port = at.port or (443 if at.scheme == "https" else 80)
    try:
        with socket.create_connection((at.hostname, port), timeout=CONNECT_S) as connection:
            if parts.scheme == "https" and not proxy:
                _trusted().wrap_socket(connection, server_hostname=parts.hostname).close()
    except ssl.SSLCertVerificationError as error:
        return (
            f"its certificate is not trusted: {error.verify_message}",
            "name the file of the authority that signed it in the environment variable SSL_CERT_FILE",
            False,
        )
    except ssl.SSLError:
        return "it does not speak TLS there", "if it has none, `base_url` begins with http:", False
    except OSError as error:
        return error.strerror or str(error), "start the server, or correct `base_url`", True
    return None


def _trusted() -> ssl.SSLContext:
    """The authorities that the system trusts, and those that clients bring."""
    context = ssl.create_default_context()
    if _is_installed("certifi") and not os.environ.get("SSL_CERT_FILE"):
        import certifi

        context.load_verify_locations(certifi.where())
    return context


def _hub_is_open() -> bool:
    """Whether the hub need not be asked, or there is a token to ask it with."""
    offline = os.environ.get("HF_HUB_OFFLINE", "0").strip().lower() not in ("", "0", "false", "no")
    if offline or os.environ.get("HF_TOKEN", "").strip():
        return True
    # A login on this machine left one in a file.
    if not _is_installed("huggingface_hub"):
        return False
    from huggingface_hub import get_token

    return get_token() is not None


def check_gpus(config: Config, models: Iterable[str], declared: int | None) -> None:
    """Raise UserError where the job of one of `models` takes more GPUs than this run declares.

    Snakemake would give such a job what is declared, say nothing, and start others beside it.
    `declared` is the limit of the resource `gpu`, None where there is none. What takes one GPU where
    there is any runs without as well, or says itself that it cannot.
    """
    for name in sorted(models):
        model = config["models"][name]
        needed = gpus(model["engine"]) if model["backend"] == "vllm" else 0
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
