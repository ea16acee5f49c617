"""The registry of published data sets, resources/sources.yaml: their files and addresses.

It needs nothing but the standard library and YAML, so that Snakemake can plan without more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from needlework import safe_yaml
from needlework.errors import UserError


@dataclass(frozen=True)
class SourceFile:
    """A published file."""

    # Its path below a mirror's root and below results/sources/.
    id: str
    url: str
    languages: tuple[str, ...]
    # The kind of file, if a source has several kinds.
    part: str | None = None
    # In bytes.
    size: int | None = None
    sha256: str | None = None
    md5: str | None = None
    # If `sha256` is not known: why, and what is checked instead.
    unverified: str | None = None


@dataclass(frozen=True)
class Source:
    """A published data set and its files."""

    name: str
    title: str
    homepage: str
    revision: str
    licence: str
    citation: str
    files: tuple[SourceFile, ...]

    @property
    def languages(self) -> list[str]:
        """The languages (ISO 639-1) of the source's files, sorted."""
        return sorted({language for file in self.files for language in file.languages})

    def of(self, lang: str, part: str | None = None) -> list[SourceFile]:
        """The files of a part that hold a language. Without any, UserError names the available files."""
        parts = [file for file in self.files if file.part == part]
        if found := [file for file in parts if lang in file.languages]:
            return found
        known = sorted({language for file in parts for language in file.languages})
        what = f"{self.name} ({part})" if part else self.name
        raise UserError(f"{what} has no language {lang!r}: choose among {', '.join(known)}.")


def load_registry(path: str | Path) -> dict[str, Source]:
    """The sources of resources/sources.yaml, by name. Raises UserError if an entry is malformed."""
    try:
        entries = safe_yaml.read(path)
        return {name: _source(name, entry) for name, entry in entries.items()}
    except (OSError, yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{path} is not a valid registry of sources ({error}): correct the entry."
        ) from None


def _source(name: str, entry: Mapping[str, Any]) -> Source:
    files = [
        SourceFile(**{**file, "languages": tuple(file["languages"])}) for file in entry["files"]
    ]
    for file in files:
        # The id becomes a path on the disk.
        if not re.fullmatch(rf"{re.escape(name)}(/\w[\w.-]*)+", file.id):
            raise ValueError(f"the id {file.id!r} is not a plain path below {name}/")
        if not (file.sha256 or file.unverified):
            raise ValueError(f"{file.id} has neither `sha256` nor `unverified`")
    return Source(**{**entry, "name": name, "files": tuple(files)})
