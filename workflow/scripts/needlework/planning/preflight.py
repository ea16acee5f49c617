"""What can be found wrong before any work starts, and is not the configuration's form."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from needlework.benchmarks.contract import Config
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


def check(
    config: Config,
    models: Iterable[str],
    tokenizers: Iterable[str],
    translating: bool,
    *,
    embedders: Iterable[str] = (),
    local: bool = True,
) -> list[str]:
    """Raise UserError where one of `models` or the translator lacks its key, or a tokenizer cannot be loaded.

    Or where one of `embedders` cannot be had, a folder of weights does not exist, or, where jobs are
    `local`, a length leaves no room for a chat template, or an endpoint cannot be reached and the journal
    has no answer of it. If the journal has any, it may have all: a sentence says so. A gated model lacks its
    key where there is no token of the hub's.

    All four are what the jobs of this run use. A tokenizer whose package is not installed here is left
    to the job's own environment.
    """
    if translating:
        translator = config["translators"][config["translation"]["translator"]]
        check_translator(translator)
        if translator["kind"] == "nllb" and local:
            where = f"translators.{config['translation']['translator']}"
            check_hub_model(where, translator["name"], translator["revision"])
    for name in sorted(embedders):
        embedder = config["embedders"][name]
        # A cluster's machines may have a cache, or a network, that this one lacks.
        if embedder["kind"] == "sentence-transformers" and local:
            check_hub_model(f"embedders.{name}", embedder["name"], embedder["revision"])
    silent = []
    for name in sorted(models):
        model = config["models"][name]
        if model["backend"] == "openai" and model["key_env"]:
            api_key(model["key_env"], f"the model models.{name}")
        if model["backend"] == "openai" and local and (trouble := _unreachable(model["base_url"])):
            said = f"models.{name}: {shown_url(model['base_url'])} cannot be reached ({trouble})"
            journal = Path(config["journal"]).absolute() / "generations" / name
            if not entries(journal):
                raise UserError(
                    f"{said}, and {journal} has none of its answers: start the server, or correct `base_url`."
                )
            silent.append(
                f"Warning: {said}: only answers in the journal can be used; start the server, or "
                "correct `base_url`."
            )
        for key in ("name", "lora"):
            if model["backend"] in ("vllm", "transformers") and model[key] and local:
                _check_folder(f"models.{name}.{key}", model[key])
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
        if all(map(find_spec, PACKAGES[tokenizer["kind"]])):
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
    readable = reader in _READ_WITH and all(map(find_spec, _READ_WITH[reader]))
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


def _check_folder(where: str, name: str) -> None:
    """Raise UserError where a name is that of a folder, and not of a model on the hub, and there is none."""
    folder = Path(name)
    if (name.startswith(("/", ".", "~")) or name.count("/") > 1) and not folder.is_dir():
        raise UserError(
            f"{where} is the folder {folder.absolute()}, which does not exist: correct the path, which is "
            "relative to the folder in which the workflow runs."
        )


def _unreachable(url: str) -> str:
    """Why nothing listens at a URL, or at the proxy that leads there; "" where something does."""
    parts = urlsplit(url)
    proxy = None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)
    if proxy:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname, port), timeout=CONNECT_S).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _hub_is_open() -> bool:
    """Whether the hub need not be asked, or there is a token to ask it with."""
    offline = os.environ.get("HF_HUB_OFFLINE", "0").strip().lower() not in ("", "0", "false", "no")
    if offline or os.environ.get("HF_TOKEN", "").strip():
        return True
    # A login on this machine left one in a file.
    if not find_spec("huggingface_hub"):
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
