"""Checks that no key or password gets into results, journals or logs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from needlework.benchmarks.contract import Config
from needlework.errors import UserError
from needlework.planning.config_files import quoted
from needlework.printable import SECRET
from needlework.services.endpoints import PROVIDER_KEYS, provider_keys


def check_verbose(config: Config, executor: str, verbose: bool) -> None:
    """Raise UserError where a run's debugging output would hold a key that is in the environment.

    Every job that the Slurm plugin starts writes its whole environment to its log at that level.
    """
    if executor != "slurm" or not verbose:
        return
    found = [name for name in key_variables(config) if os.environ.get(name, "").strip()]
    if found:
        raise UserError(
            f"--verbose would write {' and '.join(found)} into .snakemake/slurm_logs: the Slurm plugin logs "
            "each job's whole environment then. Run without it (`verbose` in a profile is the same), or "
            "unset what holds a key, where this run needs none."
        )


# The variables that libraries look for by themselves.
_USUAL = (
    *("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "GOOGLE_TRANSLATE_API_KEY"),
    *("AZUREAI_API_KEY", "AWS_SECRET_ACCESS_KEY"),
    *(
        name
        for names in PROVIDER_KEYS.values()
        for name in names
        if name.endswith(("KEY", "TOKEN"))
    ),
)


def key_variables(config: Config) -> list[str]:
    """The environment variables that can hold a key of this configuration."""
    entries = [*config["models"].values(), *config["translators"].values()]
    own = {entry["key_env"] for entry in entries if entry.get("key_env")}
    for model in config["models"].values():
        if model["backend"] == "inspect":
            own.update(provider_keys(model["name"]))
    return sorted({*_USUAL, *own})


# Secrets must not stand in a configuration: results, journals and the artifact hold its values.

# Fields whose value is a secret, as words of their names.
_SECRET_NAMES = re.compile(
    r"(.*_)?(api_?key|access_?key|private_?key|secret(_?key)?|passw(or)?d|passphrase|credentials?|bearer"
    r"|authori[sz]ation|cookie|(auth|access|api|hf|bearer|refresh|session|security|id)_?token)(_.*)?"
    r"|key|token|auth"
)
# Variables that every environment has, or that programs use for something else than a key.
_NO_KEYS = re.compile(
    r"PATH|HOME|USER|USERNAME|LOGNAME|SHELL|PWD|OLDPWD|LANG|LANGUAGE|LC_.*|TERM|TZ|TMPDIR|TMP|TEMP|HOST"
    r"|HOSTNAME|DISPLAY|EDITOR|VISUAL|PAGER|MAIL|SHLVL|PS1|IFS|UID|EUID|_|.*_?PROXY|XDG_.*|SSH_.*|SLURM_.*"
    r"|CONDA_.*|VIRTUAL_ENV|PYTHON.*|LD_.*|DYLD_.*|CUDA_.*|OMP_.*|MKL_.*|HF_HOME|HF_ENDPOINT|HF_HUB_.*"
    r"|TIKTOKEN_.*|.*_PATH|.*_DIR|.*_HOME",
    re.IGNORECASE,
)
# Keys that never get into results as they are: addresses may hold a password.
_ELSEWHERE = (["key_env"], ["base_url"], ["mirror"])
# Parts of the configuration whose fields are an engine's or an endpoint's.
_FOREIGN = ("request", "args", "engine", "config", "rope_scaling")


def check_published_values(config: Config) -> None:
    """Raise UserError where a value looks like a key or a password; the message does not show it."""
    for where, value in _texts(config, []):
        name = ".".join(where)
        if SECRET.search(value) or _has_login(value):
            raise UserError(
                f"{name} looks like a key or a password, and results hold the configuration: take it out. "
                f"{_REMEDY}."
            )
        foreign = len(where) > 3 and where[0] == "models" and where[2] in _FOREIGN
        if foreign and _SECRET_NAMES.fullmatch(_words(where[-1])):
            raise UserError(
                f"{name} is a field for a key, and results hold the configuration: take it out. {_REMEDY}."
            )


_REMEDY = (
    "An endpoint's key belongs into an environment variable that `key_env` names, and the hub's into "
    "HF_TOKEN"
)


def check_key_variable(where: str, variable: str | None) -> None:
    """Raise UserError where `key_env` is not the name of a variable that can hold a key."""
    if not variable:
        return
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,99}", variable) or SECRET.search(variable):
        # It may be the key itself, so it is not shown.
        raise UserError(
            f"{where}.key_env is not the name of an environment variable: put the key into a variable, "
            "and the variable's name here."
        )
    if _NO_KEYS.fullmatch(variable):
        raise UserError(
            f"{where}.key_env is {quoted(variable)}, a variable that holds no key, and its value would be "
            "sent to the endpoint: put the key into a variable of its own, and that variable's name here."
        )


def _words(name: str) -> str:
    """A field's name in small letters, with `_` between its words."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", apart.lower()).strip("_")


def _has_login(text: str) -> bool:
    """Whether a text is a URL with a password."""
    if "://" not in text:
        return False
    try:
        return bool(urlsplit(text.strip()).password)
    except ValueError:
        return False


def _texts(value: Any, where: list[str]) -> Iterator[tuple[list[str], str]]:
    """Every text in a value that can get into results, with its place."""
    if isinstance(value, str):
        if where[-1:] not in _ELSEWHERE:
            yield where, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, [*where, str(key)])
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, where)
