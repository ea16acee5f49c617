"""The folders of the journal that hold a model's answers and its batches.

A folder is named by the model's identity: all that answers depend on, except the prompt. The entry's name in
the configuration is no part of it. So an entry with another name finds its answers, and entries with equal
settings share them, even at the same time.

Older versions named folders by the entry. These folders are still searched, the one with the entry's own name
first, but nothing is written to them.

Only the standard library, since Snakemake's own process imports it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

from needlework.folders import entries, sibling_folders
from needlework.journal import Journal

# No name of an entry has this sign.
_SIGN = "@"


def journal_of(folder: Path, identity: Mapping[str, object], entry: str) -> Journal:
    """The journal of a model's answers in `folder`.

    Older versions have a folder by the name of its `entry`.
    """
    text = json.dumps(dict(identity), sort_keys=True)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    own = folder / f"{_label(identity)}{_SIGN}{digest}"
    older = [path for path in sibling_folders(folder / entry) if _SIGN not in path.name]
    return Journal(own, [folder / entry, *older])


def may_have_answers(folder: Path, entry: Mapping[str, object], name: str | None = None) -> bool:
    """Whether `folder` may have answers of a model, by its entry in the configuration.

    The configuration alone does not tell the identity, so folders of the same model with other settings count
    too. Of folders of older versions, the folder of the entry's `name` counts; without a name, every folder.
    """
    start = f"{_label(entry)}{_SIGN}"
    return any(
        path.name.startswith(start) or (_SIGN not in path.name and name in (None, path.name))
        for path in entries(folder)
        if path.is_dir() and entries(path)
    )


def _label(model: Mapping[str, object]) -> str:
    """The name of a model at its service, as far as a file's name can have it; of others the backend."""
    named = model["name"] if model.get("backend") in ("openai", "inspect") else model.get("backend")
    return re.sub(r"[^A-Za-z0-9._-]+", "_", str(named).rpartition("/")[2])[:40]
