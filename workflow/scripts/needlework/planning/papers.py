"""The names that the papers give to models, and configuration values that results print."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from needlework.benchmarks.contract import Config
from needlework.errors import UserError
from needlework.planning.values import quoted
from needlework.printable import SECRET

# The names that the papers' tables give to models.

PUBLISHED = Path(__file__).resolve().parents[4] / "resources/published"


def check_published(config: Config) -> list[str]:
    """A sentence for each model of a run whose published name no paper of the run has.

    UserError if no paper at all has it: nothing could be compared.
    """
    run, notes = config["run"], []
    for model in run["models"]:
        name = config["models"][model]["published"]
        if not name:
            continue
        theirs = {file.stem: _names(file) for file in sorted(PUBLISHED.glob("*.csv"))}
        key = f"models.{model}.published"
        if not any(name in names for names in theirs.values()):
            raise UserError(
                f"{key} is {name!r}, which is in no paper's table: "
                f"{_meant(name, theirs)}or leave it out, if no paper has this model."
            )
        if not any(name in theirs.get(benchmark, ()) for benchmark in run["benchmarks"]):
            asked = {b: theirs.get(b, frozenset()) for b in run["benchmarks"]}
            notes.append(
                f"{key} is {name!r}, which is in no table of {' or '.join(asked)}: its numbers will not be "
                f"compared; {_meant(name, asked)}or leave it so."
            )
    return notes


def _meant(name: str, theirs: Mapping[str, frozenset[str]]) -> str:
    known = sorted(set().union(*theirs.values()))
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}? Correct it, " if near else "correct it, "


@lru_cache
def _names(file: Path) -> frozenset[str]:
    """What stands in a table's rows and columns, where a name may be one of several parts."""
    with file.open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    return frozenset(
        part
        for row in rows
        for key in ("row", "column")
        for part in (row[key], *row[key].split("/"))
    )


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
