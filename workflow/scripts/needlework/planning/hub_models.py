"""Whether a model of the Hugging Face hub can be had, asked once before any job needs it.

Only the standard library: Snakemake's own environment may lack the hub's.
"""

from __future__ import annotations

import os
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from needlework.data.packaged import is_packaged, local_name
from needlework.errors import UserError
from needlework.services.endpoints import shown_url

TIMEOUT_S = 4.0
_REMEDY = (
    "set `name` to a local folder, or HF_HOME to a cache that holds the model, and without internet "
    "HF_HUB_OFFLINE=1 too"
)
# What the hub says of a model that is not there, in the header X-Error-Code.
_ABSENT = {
    "RepoNotFound": "the hub has no such model, or only for those with a token (HF_TOKEN)",
    "RevisionNotFound": "the hub's model has no such `revision`",
    "GatedRepo": "the hub's model needs a licence to be accepted, and HF_TOKEN",
}


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
    if name.startswith(("/", ".", "~")) or name.count("/") > 1:
        raise UserError(
            f"{where}.name is the folder {Path(name).absolute()}, which does not exist: correct the path, "
            "which is relative to the folder in which the workflow runs."
        )
    if _is_set("HF_HUB_OFFLINE") or _is_set("TRANSFORMERS_OFFLINE"):
        raise UserError(
            f"{where}: the model {name!r} is not in the cache ({_cache()}), and HF_HUB_OFFLINE is set: unset "
            "it, or set `name` to a local folder, or HF_HOME to a cache that holds the model."
        )
    if ask and (trouble := _trouble(name, revision or "main")):
        raise UserError(
            f"{where}: the model {name!r} cannot be had: {trouble}. {_capital(_REMEDY)}."
        )


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
    try:
        urlopen(request, timeout=TIMEOUT_S).close()
    except HTTPError as error:
        return _ABSENT.get(error.headers.get("X-Error-Code", ""), "")
    except URLError as error:
        why = error.reason
        said = why.strerror if isinstance(why, OSError) else None
        return f"{shown_url(hub)} cannot be reached ({said or type(why).__name__})"
    except (OSError, HTTPException, ValueError) as error:
        return f"{shown_url(hub)} cannot be reached ({type(error).__name__})"
    return ""


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


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
