"""Checks that no key or password gets into results, journals or logs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from needlework.errors import UserError
from needlework.printable import SECRET
from needlework.services.endpoints import (
    PROVIDER_KEYS,
    environment_logins,
    hidden,
    is_address,
    provider_keys,
)

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration


def check_verbose(config: Configuration, executor: str, verbose: bool) -> None:
    """Raise UserError if a run's debugging output would hold a secret that is in the environment.

    At that level, every job that the Slurm plugin starts writes its whole environment to its log. A secret is
    a key, or a login in an address, such as a proxy's.
    """
    if executor != "slurm" or not verbose:
        return
    found = [name for name in key_variables(config) if os.environ.get(name, "").strip()]
    found += sorted(environment_logins())
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


def key_variables(config: Configuration) -> list[str]:
    """The environment variables that can hold a key of this configuration."""
    models = [config.models[name] for name in config.models]
    translators = [config.translators[name] for name in config.translators]
    own = {getattr(entry, "key_env", None) for entry in [*models, *translators]}
    for model in models:
        if model.backend == "inspect":
            own.update(provider_keys(model.name))
    return sorted({*_USUAL, *filter(None, own)})


# Secrets must not stand in a configuration: results, journals and the artifact hold its values.

# Fields whose value is a secret, as words of their names.
_SECRET_NAMES = re.compile(
    r"(.*_)?(api_?key|access_?key|private_?key|secret(_?key)?|passw(or)?d|passphrase|credentials?|bearer"
    r"|authori[sz]ation|cookie|(auth|access|api|hf|bearer|refresh|session|security|id)_?token)(_.*)?"
    r"|key|token|auth"
)
# Parts of the configuration whose fields are an engine's, an endpoint's or a template's.
_FOREIGN = ("request", "args", "engine", "config", "rope_scaling", "template")
# Fields of a provider's client that hold a key, too.
_OF_CLIENTS = re.compile(r"(.*_)?(key|token|pass|pwd|login|user(_?name)?)")
# Fields that hold headers or queries, of which any may be a key, and those that are known to be none.
_OF_REQUESTS = re.compile(r"(.*_)?(headers?|query|params|cookies)")
_HARMLESS = re.compile(
    r"(anthropic|open_?ai)_(beta|version)|user_agent|accept(_language)?|content_type|http_referer|referer"
    r"|x_title|api_version"
)


def check_published_values(config: object) -> None:
    """Raise UserError if a value looks like a key or a password; the message does not show it."""
    for where, value in _scalars(config, []):
        name = ".".join(where)
        foreign = (
            where[3:] if where[:1] == ["models"] and where[2:3] and where[2] in _FOREIGN else []
        )
        words = [_words(part) for part in foreign]
        of_request = any(map(_OF_REQUESTS.fullmatch, words[:-1])) and not _HARMLESS.fullmatch(
            words[-1]
        )
        of_client = bool(words) and where[2] == "args" and any(map(_OF_CLIENTS.fullmatch, words))
        if of_request or of_client or any(map(_SECRET_NAMES.fullmatch, words)):
            raise UserError(
                f"{name} is a field for a key, and results hold the configuration: take it out. {_REMEDY}."
            )
        if _is_masked(where, value):
            continue
        if SECRET.search(value) or _has_login(value):
            raise UserError(
                f"{name} looks like a key or a password, and results hold the configuration: take it out. "
                f"{_REMEDY}."
            )


def _is_masked(where: list[str], value: str) -> bool:
    """Whether a value gets into no file as it is: an address, which may hold a login, or `key_env`."""
    match where:
        case ["mirror"] | ["models" | "translators", _, "base_url" | "key_env"]:
            return True
        case ["models", _, "args", *_, name]:
            return is_address(name, value)
    return False


def hide_logins(config: dict[str, Any]) -> None:
    """Remove the logins in addresses from the configuration.

    Jobs are given the configuration in a file, and read the logins by `revealed`.
    """
    for registry in ("models", "translators"):
        entries = config[registry].items()
        config[registry] = {name: hidden(entry, f"{registry}.{name}") for name, entry in entries}
    if config["mirror"]:
        config["mirror"] = hidden({"base_url": config["mirror"]}, "mirror")["base_url"]


_REMEDY = (
    "An endpoint's key belongs into an environment variable that `key_env` names, and the hub's into "
    "HF_TOKEN"
)


def _words(name: str) -> str:
    """A field's name in small letters, with `_` between its words."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", apart.lower()).strip("_")


def _has_login(text: str) -> bool:
    """Whether a text is a URL with a login, or with a key in its query."""
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return False
    if not parts.scheme or not parts.netloc:
        return False
    return "@" in parts.netloc or any(
        _SECRET_NAMES.fullmatch(_words(name)) or _IN_QUERIES.fullmatch(_words(name))
        for name, _ in parse_qsl(parts.query)
    )


_IN_QUERIES = re.compile(r"(.*_)?(sig|signature|code|subscription_?key|pass|pwd|user)")


def _scalars(value: Any, where: list[str]) -> Iterator[tuple[list[str], str]]:
    """Every text and number in a value, with its place, and every key, with the place of its mapping."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        yield where, str(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if SECRET.search(str(key)):
                yield where, str(key)
            else:
                yield from _scalars(item, [*where, str(key)])
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(item, where)
