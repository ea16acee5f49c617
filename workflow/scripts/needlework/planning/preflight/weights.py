"""Whether weights and encodings are available.

They may be on the Hugging Face hub, in its cache, or in local files.
"""

from __future__ import annotations

import hashlib
import os
from errno import ETIMEDOUT
from http.client import HTTPException
from pathlib import Path
from tempfile import gettempdir
from threading import Thread
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from needlework.data.packaged import is_installed, is_packaged, local_name
from needlework.errors import UserError
from needlework.services.endpoints import shown_url

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


def check_weights(where: str, name: str) -> None:
    """Raise UserError if a file or folder of weights for OpenVINO does not exist."""
    if not Path(local_name(name, f"{where}.name")).exists():
        raise UserError(
            f"{where}.name is {Path(name).absolute()}, which does not exist: correct the path of the GGUF "
            "file or OpenVINO folder, which is relative to the folder in which the workflow runs."
        )


def check_local_folder(where: str, name: str) -> None:
    """Raise UserError if a name is that of a folder, and not of a model on the hub, and there is none."""
    folder = Path(name)
    if (name.startswith(("/", ".", "~")) or name.count("/") > 1) and not folder.is_dir():
        raise UserError(
            f"{where} is the folder {folder.absolute()}, which does not exist: correct the path, which is "
            "relative to the folder in which the workflow runs."
        )


def check_hub_token(where: str, name: str) -> None:
    """Raise UserError if a gated model is no local folder and there is no token for the hub."""
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
    """Raise UserError if a model is no folder, is in no cache, and cannot be downloaded from the hub.

    This takes a few seconds at most; a job would try for minutes. `where` is the model's place in the
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
    """A sentence if the file of one of tiktoken's encodings must still be downloaded; "" if it is here.

    Raises UserError if it cannot be downloaded. Its address is asked only with `ask`. Other encodings are not
    checked.
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
