"""Shared by all clients of HTTP services: URLs and keys, retries, and secrets in messages.

It imports only the standard library: Snakemake's own process, which has no other packages, checks URLs and
keys.
"""

from __future__ import annotations

import base64
import email.utils
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from needlework.errors import UserError
from needlework.given import given
from needlework.installed import IN_WHEEL

T = TypeVar("T")
# How often a request is sent if a retry may help, and the first pause; each pause is twice the last.
ATTEMPTS = 6
FIRST_PAUSE_S = 1.0
# If a server asks for a longer pause, the request fails.
LONGEST_PAUSE_S = 600.0

# Statuses after which a retry may help, in addition to all from 500.
_TRANSIENT = {408, 425, 429}


class Passing(Exception):
    """An attempt failed, and a retry may succeed; the server asks for a pause of `pause` seconds."""

    def __init__(self, what: str, pause: float = 0.0) -> None:
        super().__init__(what)
        self.pause = pause


def api_key(variable: str, who: str, *, may_be_none: bool = True) -> str:
    """The key in an environment variable. Raises UserError if it is missing or malformed.

    `may_be_none`: whether `who` may be a server without keys, so that the error names `key_env: null`.
    """
    key = os.environ.get(variable, "").strip()
    if not key:
        none = ", or `key_env: null` for a server that asks for no key" if may_be_none else ""
        raise UserError(f"{who} needs an API key: set the environment variable {variable}{none}.")
    if not (key.isascii() and key.isprintable()):
        raise UserError(
            f"the environment variable {variable} (the API key of {who}) contains characters "
            "that are not allowed in a key: set it again."
        )
    return key


# inspect_ai needs other versions of packages than .venv has.
SET_UP_INSPECT = (
    ""
    if IN_WHEEL
    else (
        "run `make setup-inspect`, and .venv-inspect/bin/snakemake in place of .venv/bin/snakemake; or "
    )
) + "run Snakemake with --use-conda"
# The environment variables of keys that inspect_ai's providers read, one of which is enough: the usual first.
PROVIDER_KEYS = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "cloudflare": ("CLOUDFLARE_API_KEY", "CLOUDFLARE_API_TOKEN"),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_USE_ADC", "GOOGLE_GENAI_USE_VERTEXAI"),
    "grok": ("XAI_API_KEY", "GROK_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "hf-inference-providers": ("HF_TOKEN",),
    "meta": ("META_API_KEY", "MODEL_API_KEY"),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshot": ("MOONSHOT_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "perplexity": ("PERPLEXITY_API_KEY",),
    "sambanova": ("SAMBANOVA_API_KEY",),
    "together": ("TOGETHER_API_KEY",),
}
# Services behind a provider, as in `anthropic/bedrock/...`, whose logins take many forms.
_CLOUDS = ("azure", "bedrock", "vertex")


def provider_keys(name: str) -> tuple[str, ...]:
    """The variables that can have the key of `name`, a model as inspect_ai names it; none if unknown."""
    provider, service, *_ = [*name.split("/"), ""]
    if provider in ("openai-api", "openai-api-completions"):
        return (f"{service.upper().replace('-', '_')}_API_KEY",)
    return () if service in _CLOUDS else PROVIDER_KEYS.get(provider, ())


def check_provider_key(name: str, args: Mapping[str, object], who: str) -> None:
    """Raise UserError if no variable has the key of the provider of `name`, a model as inspect_ai names it.

    `args` are its client's.
    """
    variables = provider_keys(name)
    if not variables or {*args} & {"api_key", "use_adc"}:
        return
    if not any(os.environ.get(variable, "").strip() for variable in variables):
        usual, *others = variables
        also = f" (or {', '.join(others)})" if others else ""
        raise UserError(f"{who} needs an API key: set the environment variable {usual}{also}.")


def check_url(url: str, where: str) -> None:
    """Raise UserError unless `url`, the value of the key `where`, is a whole http(s) URL."""
    try:
        parts = urlsplit(url)
        # A port that is not a number raises ValueError when it is read.
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise UserError(
            f"{where} is not an http(s) URL, such as http://localhost:8000/v1: correct it."
        )
    if (end := re.search(r"/(chat/)?completions/*$", parts.path)) is not None:
        raise UserError(f"{where} ends in {end[0]}, which the requests add: leave it out.")


def shown_url(url: str) -> str:
    """The URL without user, password, query and fragment: each may hold a secret."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{re.split('[?#]', rest)[0].rpartition('@')[2]}"


# Services that anybody can reach, whose addresses say whose answers these are.
PUBLIC = frozenset(
    """
    api.openai.com api.anthropic.com generativelanguage.googleapis.com translation.googleapis.com
    api.fireworks.ai api.mistral.ai api.deepseek.com api.together.xyz api.groq.com api.cohere.ai api.x.ai
    openrouter.ai
    """.split()
)
# The path of Google's Cloud Translation, Basic edition.
GOOGLE_TRANSLATE = "/language/translate/v2"
# Stands for any other address. No such host can exist (RFC 2606).
PRIVATE_URL = "https://private.invalid/v1"


def published_url(url: str) -> str:
    """The URL for published files: the URL itself for a known public service, else PRIVATE_URL."""
    try:
        known = urlsplit(url).hostname in PUBLIC
    except ValueError:
        known = False
    return shown_url(url) if known else PRIVATE_URL


# The names of settings that hold an address, with a scheme or without.
_ADDRESS_NAMES = re.compile(r"(^|_)(url|uri|endpoint|host|proxy|base)$", re.IGNORECASE)


def is_address(name: str, value: object) -> bool:
    """Whether a setting of a client's is an address, which may hold a login, by its value or its name."""
    return isinstance(value, str) and bool("://" in value or _ADDRESS_NAMES.search(name))


def addresses(value: Any, name: str = "") -> Iterator[str]:
    """Every address among a client's settings."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from addresses(item, str(key))
    elif isinstance(value, list):
        for item in value:
            yield from addresses(item, name)
    elif is_address(name, value):
        yield value


def with_addresses(
    settings: Mapping[str, Any], instead: Callable[[str], str | None]
) -> dict[str, Any]:
    """A client's settings, with each address replaced by the result of `instead`.

    If `instead` returns None, the address is left out; so is a setting that is then empty.
    """

    def made(name: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return with_addresses(value, instead) or (None if value else {})
        if isinstance(value, list):
            items = [item for own in value if (item := made(name, own)) is not None]
            return items or (None if value else [])
        return instead(value) if is_address(name, value) else value

    new = {name: made(name, value) for name, value in settings.items()}
    return {k: value for k, value in new.items() if value is not None or settings[k] is None}


def without_addresses(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A client's settings without addresses of servers; places of files (s3://...) stay, without logins."""
    return with_addresses(settings, lambda url: shown_url(url) if _OF_FILES.match(url) else None)


_OF_FILES = re.compile(r"(?!https?:|wss?:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)


# Snakemake writes the configuration into a file for each script, which a kill leaves behind.
_ENTRY, _HIDDEN = ("base_url", "args"), "NEEDLEWORK_URL_"


def hidden(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    """An entry of the configuration without the logins and queries of its addresses.

    They are put into the environment of this process and its children. `where` is the entry's place in words.
    """

    def instead(url: str) -> str:
        if not any(mark in url for mark in "@?"):
            return url
        name = f"{_HIDDEN}{len(os.environ)}_{re.sub('[^A-Za-z0-9]', '_', where)}"
        os.environ[name] = url
        return f"{shown_url(url if '://' in url else f'://{url}')}#{name}"

    return _with_addresses_of(entry, instead)


def revealed(entry: T) -> T:
    """A hidden entry, such as a model's, as the user wrote it: a block of settings."""

    def original(url: str) -> str:
        name = url.rpartition("#")[2]
        return os.environ.get(name, url) if name.startswith(_HIDDEN) else url

    block: Any = entry
    return given(_with_addresses_of(dict(block), original))


def _with_addresses_of(entry: Mapping[str, Any], instead: Callable[[str], str]) -> dict[str, Any]:
    own = {key: entry[key] for key in _ENTRY if entry.get(key)}
    return {**entry, **with_addresses(own, instead)}


# For what a library says of a proxy, which may hold a part of its password.
PROXY_TROUBLE = "the proxy in the environment cannot be used"
PROXY_REMEDY = (
    "correct or unset the variables HTTP_PROXY, HTTPS_PROXY and ALL_PROXY (in capitals or not). A proxy is "
    "`http://user:password@host:port`, with special characters of the password escaped (`/` as `%2F`); "
    "socks5:// needs the package socksio"
)


def proxy_of(url: str) -> tuple[str, str] | None:
    """The variable of the environment whose proxy a request to `url` goes through, and its address."""
    parts, own = urlsplit(url), getproxies_environment()
    kind = next((kind for kind in (parts.scheme, "all") if own.get(kind)), None)
    if kind is None or proxy_bypass(parts.hostname or ""):
        return None
    names = [name for name, value in os.environ.items() if value == own[kind]]
    named = sorted(name for name in names if name.lower() == f"{kind}_proxy")
    return [f"{kind}_proxy", *named][-1], own[kind]


def local_proxy(url: str) -> str:
    """A warning if a local address would be asked through a proxy, and the remedy; "" if not."""
    host = urlsplit(url).hostname or ""
    found = proxy_of(url) if host and is_local(host) else None
    if found is None:
        return ""
    return (
        f"requests to {host} go through the proxy in {found[0]}; for a server on this machine or network, "
        f"add {host} to NO_PROXY (to no_proxy, where that is set)"
    )


def is_local(host: str) -> bool:
    """Whether a host is this machine, or by its name or number one of its network."""
    try:
        return not ip_address(host.partition("%")[0]).is_global
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".internal", ".lan"))


def secrets_in(url: str) -> list[str]:
    """The secrets in a URL, in the forms that a server may repeat: password, Basic credentials, queries."""
    rest = url.partition("://")[2] or url
    place, _, query = rest.partition("#")[0].partition("?")
    found = [value for _, value in parse_qsl(query)]
    login, at, _ = place.partition("/")[0].rpartition("@")
    if at:
        user, _, password = login.partition(":")
        found += [password or user, unquote(password or user)]
        for pair in (login, f"{unquote(user)}:{unquote(password)}"):
            found.append(base64.b64encode(pair.encode()).decode())
    # A shorter text may be a common word of answers.
    return sorted({secret for secret in found if len(secret) >= 6}, key=len, reverse=True)


def environment_logins() -> dict[str, list[str]]:
    """The secrets in the addresses that the environment holds, of proxies and servers, by variable."""
    found = {name: secrets_in(value) for name, value in os.environ.items() if "://" in value}
    return {name: secrets for name, secrets in found.items() if secrets}


def without_secrets(value: Any, secrets: Iterable[str]) -> Any:
    """Parsed JSON without the secrets in its texts.

    A secret that an answer may hold by chance, such as the dummy keys `none` and `1234`, stays: it would be
    cut from true answers, which are kept for good. For messages use `without`, which removes every secret.
    """
    return _cleaned(value, [secret for secret in secrets if _is_unmistakable(secret)])


def _is_unmistakable(secret: str) -> bool:
    mixed = any(map(str.isalpha, secret)) and any(map(str.isdigit, secret))
    return len(secret) >= (8 if mixed else 16)


def _cleaned(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = without(value, secret)
        return value
    if isinstance(value, list):
        return [_cleaned(item, secrets) for item in value]
    if isinstance(value, dict):
        return {_cleaned(k, secrets): _cleaned(item, secrets) for k, item in value.items()}
    return value


def excerpt(text: str, secret: str) -> str:
    """The beginning of a server's text, printable and without the secret."""
    text = "".join(c if c.isprintable() else " " for c in without(text, secret)[:2000])
    return " ".join(text.split())[:200]


def without(text: str, secret: str) -> str:
    """A server's text without the secret, even if the text is JSON that escapes it."""
    return _written(secret).sub("***", text) if secret else text


@cache
def _written(secret: str) -> re.Pattern[str]:
    """The secret as it is, and as JSON may write it; escapes are escaped again in a text in a text."""
    return re.compile(
        "".join(
            rf"(?:{re.escape(c)}|\\{{1,7}}(?:u(?i:{ord(c):04x})|{re.escape(c)}))" for c in secret
        )
    )


def may_pass(status: int) -> bool:
    """Whether a retry may help after this status."""
    return status in _TRANSIENT or status >= 500


def retry_after(headers: Mapping[str, str]) -> float:
    """How many seconds a response asks to be left alone; 0 if that is left open, or unreadable.

    `headers` are an HTTP library's, whose names ignore case.
    """
    milliseconds = _number(headers.get("Retry-After-Ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("Retry-After", "")
    seconds = _number(value)
    if seconds is not None:
        return seconds
    try:
        date = email.utils.parsedate_to_datetime(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    # A zone of -0000 is UTC too, and gives a date without a zone.
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\s*[0-9]+(\.[0-9]*)?\s*", text) else None
