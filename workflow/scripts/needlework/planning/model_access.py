"""Whether models can be had: endpoints that answer, models of the Hugging Face hub, and local files.

All is asked once, before any job needs it. It needs only the standard library: Snakemake's own environment
may lack the hub's.
"""

from __future__ import annotations

import hashlib
import os
import socket
import ssl
from errno import ETIMEDOUT
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir
from threading import Thread
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request, getproxies, proxy_bypass, urlopen

from needlework.benchmarks.contract import Config
from needlework.data.packaged import is_packaged, local_name
from needlework.errors import UserError
from needlework.folders import entries
from needlework.models.answer_folders import may_have_answers
from needlework.planning.first_request import inspect_refusal, refusal, translator_refusal
from needlework.services.endpoints import (
    PROXY_REMEDY,
    PROXY_TROUBLE,
    api_key,
    check_provider_key,
    local_proxy,
    proxy_of,
    shown_url,
)

CONNECT_S = 5.0
TIMEOUT_S = 4.0
_REMEDY = (
    "Set `name` to a local folder, or HF_HOME to a cache that holds the model, and without internet "
    "HF_HUB_OFFLINE=1 too"
)
# Where tiktoken fetches the files of encodings, and the encodings of each file.
ENCODINGS = "https://openaipublic.blob.core.windows.net/encodings"
_FILES = {name: name for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")}
_FILES |= {"p50k_edit": "p50k_base", "o200k_harmony": "o200k_base"}
# What the hub says of a model that is not there, in the header X-Error-Code.
_ABSENT = {
    "RepoNotFound": "the hub has no such model, or only for those with a token (HF_TOKEN)",
    "RevisionNotFound": "the hub's model has no such `revision`",
    "GatedRepo": "the hub's model needs a licence to be accepted, and HF_TOKEN",
}


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


def check_service(config: Config, name: str, local: bool, planning: bool) -> list[str]:
    """A sentence if nothing answers at a model's address, if a proxy may, or if the model is refused.

    Raises UserError if its key or certificates are missing, or if the journal has no answers and nothing
    answers there or the answer is a refusal. If it is only `planning`, nothing is asked, and what does not
    answer may be started later. Of models on this machine there is nothing to check.
    """
    model = config["models"][name]
    if model["backend"] == "inspect":
        check_provider_key(model["name"], model["args"], f"the model models.{name}")
        return _check_provider(config, name, local, planning)
    if model["backend"] != "openai":
        return []
    if model["key_env"]:
        api_key(model["key_env"], f"the model models.{name}")
    if model["base_url"].startswith("https:"):
        _check_authorities(f"models.{name}")
    where = f"models.{name}: {shown_url(model['base_url'])}"
    # On a cluster, another address may be of the node where the job runs.
    asked = not planning and (local or model["base_url"].startswith("https:"))
    if local and (unreachable := _unreachable(model["base_url"])):
        trouble, remedy, may_pass = unreachable
        said = f"{where} cannot be reached ({trouble})"
    elif asked and (refused := refusal(model, config["tokenizers"][model["tokenizer"]]["kind"])):
        (trouble, remedy), may_pass = refused, False
        said = f"{where}: {trouble}"
    else:
        return proxy_warnings(f"models.{name}", model["base_url"])
    journal = answers_folder(config)
    answered = may_have_answers(journal, model, None if may_pass else name)
    none = f"{journal} has none of its answers"
    return _told(said, remedy, "" if answered else none, "answers", may_pass=planning and may_pass)


def _told(said: str, remedy: str, none: str, kept: str, *, may_pass: bool = False) -> list[str]:
    """The sentence on a service that cannot be used: a warning if the journal may have what is asked for.

    none: that the journal has nothing of it; "" if it may. kept: what the journal keeps, in the plural.
    Raises UserError if it has nothing, unless the trouble `may_pass` before the run.
    """
    if none and not may_pass:
        raise UserError(f"{said}, and {none}: {remedy}.")
    only = "" if none else f"only {kept} in the journal can be used: "
    return [f"Warning: {said}: {only}{remedy}."]


def _check_provider(config: Config, name: str, local: bool, planning: bool) -> list[str]:
    """As `check_service`, of a model of `backend: inspect` whose key is there.

    It is asked only if this Python has inspect_ai: with conda, only the jobs have it.
    """
    model = config["models"][name]
    asked = local and not planning and is_installed("inspect_ai")
    refused = inspect_refusal({**model, "model": name}) if asked else None
    if not refused:
        return proxy_warnings(f"models.{name}", model["args"].get("base_url"))
    trouble, remedy = refused
    journal = answers_folder(config)
    none = "" if may_have_answers(journal, model, name) else f"{journal} has none of its answers"
    return _told(f"models.{name}: {model['name']}: {trouble}", remedy, none, "answers")


def check_translation_service(config: Config, name: str, local: bool, planning: bool) -> list[str]:
    """As `check_service`, of a translator with an address, whose key is there."""
    translator = config["translators"][name]
    where, url = f"translators.{name}", translator["base_url"]
    asked = not planning and (local or url.startswith("https:"))
    if unreachable := _unreachable(url) if local else None:
        trouble, remedy, _ = unreachable
        trouble = f"it cannot be reached ({trouble})"
    elif asked and (refused := translator_refusal(translator)):
        trouble, remedy = refused
    else:
        return proxy_warnings(where, url)
    journal = Path(config["journal"]).absolute() / "translations"
    none = "" if entries(journal) else f"{journal} has no translation"
    said = f"{where}: {shown_url(url)}: {trouble}"
    later = planning and unreachable is not None
    return _told(said, remedy, none, "translations", may_pass=later)


def proxy_warnings(where: str, url: str | None) -> list[str]:
    """A sentence if the environment sends requests for a local address through a proxy."""
    said = local_proxy(url) if url else ""
    return [f"Warning: {where}: {said}."] if said else []


def _check_authorities(where: str) -> None:
    """Raise UserError if the environment names certificates that are not there."""
    for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        if (path := os.environ.get(variable)) and not Path(path).exists():
            raise UserError(
                f"{where}: {variable} names {path}, which does not exist: correct or unset the variable."
            )


def answers_folder(config: Config) -> Path:
    """The folder of the models' answers in the journal."""
    return Path(config["journal"]).absolute() / "generations"


def check_weights(where: str, name: str) -> None:
    """Raise UserError where a file or folder of weights for OpenVINO does not exist."""
    if not Path(local_name(name, f"{where}.name")).exists():
        raise UserError(
            f"{where}.name is {Path(name).absolute()}, which does not exist: correct the path of the GGUF "
            "file or OpenVINO folder, which is relative to the folder in which the workflow runs."
        )


def is_installed(package: str) -> bool:
    """Whether this Python finds a package. The package is not imported, only its parent packages are."""
    try:
        return find_spec(package) is not None
    except ImportError:
        return False


def check_local_folder(where: str, name: str) -> None:
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
    proxy = (proxy_of(url) or ("", ""))[1]
    if not proxy and not proxy_bypass(parts.hostname or ""):
        # macOS has proxies outside the environment, too.
        proxy = getproxies().get(parts.scheme, "")
    at = urlsplit(proxy if "://" in proxy else f"http://{proxy}") if proxy else parts
    try:
        port = at.port or (443 if at.scheme == "https" else 80)
    except ValueError:
        # Its text may hold a part of a password.
        return PROXY_TROUBLE, PROXY_REMEDY, False
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
        remedy = local_proxy(url) or "start the server, or correct `base_url`"
        return error.strerror or str(error), remedy, True
    return None


def _trusted() -> ssl.SSLContext:
    """The authorities that the system trusts, and those that clients bring."""
    context = ssl.create_default_context()
    if is_installed("certifi") and not os.environ.get("SSL_CERT_FILE"):
        import certifi

        context.load_verify_locations(certifi.where())
    return context


def check_hub_token(where: str, name: str) -> None:
    """Raise UserError if a gated model is no folder, and there is no token to ask the hub with."""
    if Path(name).is_dir() or _hub_is_open():
        return
    raise UserError(
        f"{where} is gated, and there is no token: accept the licence on the page of {name}, create a token "
        "of your account there, and set the environment variable HF_TOKEN to it; without internet, set "
        "HF_HUB_OFFLINE=1."
    )


def _hub_is_open() -> bool:
    """Whether the hub need not be asked, or there is a token to ask it with."""
    if _is_set("HF_HUB_OFFLINE") or os.environ.get("HF_TOKEN", "").strip():
        return True
    # A login on this machine left one in a file.
    if not is_installed("huggingface_hub"):
        return False
    from huggingface_hub import get_token

    return get_token() is not None


def check_hub_model(
    where: str, name: str, revision: str | None = None, *, ask: bool = True
) -> None:
    """Raise UserError where a model is no folder, in no cache, and cannot be had of the hub.

    It takes a few seconds at most; a job would try for minutes. `where` is the model's place in the
    configuration. The hub itself is asked only with `ask`.
    """
    if is_packaged(name):
        local_name(name, f"{where}.name")
        return
    if Path(name).is_dir() or _cached(name, revision):
        return
    check_local_folder(f"{where}.name", name)
    if _is_set("HF_HUB_OFFLINE") or _is_set("TRANSFORMERS_OFFLINE"):
        raise UserError(
            f"{where}: the model {name!r} is not in the cache ({_cache()}), and HF_HUB_OFFLINE is set: unset "
            "it, or set `name` to a local folder, or HF_HOME to a cache that holds the model."
        )
    if ask and (trouble := _trouble(name, revision or "main")):
        raise UserError(f"{where}: the model {name!r} cannot be had: {trouble}. {_REMEDY}.")


def _trouble(name: str, revision: str) -> str:
    """Why the hub does not give a model, in words; "" where it does, or may later."""
    hub = os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or "https://huggingface.co"
    if not hub.startswith(("http://", "https://")):
        return "HF_ENDPOINT is not an http(s) URL"
    address = f"{hub}/{quote(name)}/resolve/{quote(revision, safe='')}/config.json"
    request = Request(address, method="HEAD")
    if token := os.environ.get("HF_TOKEN", "").strip():
        # Not sent on to where a redirect leads.
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    error = _asked(request)
    if isinstance(error, HTTPError):
        return _ABSENT.get(error.headers.get("X-Error-Code", ""), "")
    return _not_reached(hub, error)


def _asked(request: Request) -> Exception | None:
    """What went wrong with a request; None if it was answered. It takes a few seconds at most."""
    found: list[Exception | None] = [TimeoutError(ETIMEDOUT, "no answer came")]

    def ask() -> None:
        try:
            urlopen(request, timeout=TIMEOUT_S).close()
            found[0] = None
        except (OSError, HTTPException, ValueError) as error:
            found[0] = error

    # No timeout applies while a name is resolved.
    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(2 * TIMEOUT_S)
    return found[0]


def _not_reached(address: str, error: Exception | None) -> str:
    """An error of `_asked` in words; "" without one."""
    if error is None:
        return ""
    why = error.reason if isinstance(error, URLError) else error
    said = why.strerror if isinstance(why, OSError) else why if isinstance(why, str) else None
    return f"{shown_url(address)} cannot be reached ({said or type(why).__name__})"


def check_encoding(where: str, encoding: str, *, ask: bool = True) -> str:
    """A sentence if the file of an encoding of tiktoken is still to be fetched; "" if it is here.

    Raises UserError if it cannot be fetched, unless the address is not asked (`ask`). Other encodings are not
    looked for.
    """
    if encoding not in _FILES:
        return ""
    url = f"{ENCODINGS}/{_FILES[encoding]}.tiktoken"
    # tiktoken's own rules.
    usual = str(Path(gettempdir(), "data-gym-cache"))
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", usual))
    file = Path(folder, hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest())
    if folder and file.is_file():
        return ""
    error = _asked(Request(url, method="HEAD")) if ask else None
    if error is None:
        return f"{where}: the first run fetches {url} (some MB)."
    raise UserError(
        f"{where}: {_not_reached(url, error)}, and {folder or 'no folder'} has no copy: fetch the file "
        f"elsewhere, name it {file.name}, and set TIKTOKEN_CACHE_DIR to its folder; or count in `words`."
    )


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    own = os.environ.get("HF_HOME") or f"{home}/huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or f"{own}/hub").expanduser()


def _cached(name: str, revision: str | None) -> bool:
    """Whether a cache of the hub's library, or of sentence-transformers, has files of the model."""
    folders = [_cache()]
    if own := os.environ.get("SENTENCE_TRANSFORMERS_HOME"):
        folders.append(Path(own).expanduser())
    # The library puts its own organization before a bare name.
    names = [name] if "/" in name else [name, f"sentence-transformers/{name}"]
    for folder in folders:
        for each in names:
            model = folder / f"models--{each.replace('/', '--')}"
            reference = model / "refs" / (revision or "main")
            commit = reference.read_text("utf-8").strip() if reference.is_file() else revision
            if commit and any((model / "snapshots" / commit).glob("*")):
                return True
    return False


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "0").strip().lower() not in ("", "0", "false", "no")
