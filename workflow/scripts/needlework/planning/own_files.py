"""The user's own data sets and folders: where they lie, and that they can be read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.data.corpora.registry import (
    CORPORA,
    OWN_FORMATS,
    OWN_PARAGRAPHS,
    OWN_PASSAGES,
    base_of,
    local_files,
)
from needlework.errors import UserError
from needlework.planning.layout import ROOT
from needlework.planning.values import quoted

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration
    from needlework.settings.sources import OwnData

# File systems take 255 bytes a name, and endings follow.
LONGEST_NAME = 100


def of_workflow(path: str | None) -> str | None:
    """A path in the workflow's folder, if the run's folder lacks it.

    A preset names the workflow's own files.
    """
    own = path and ROOT / path
    return str(own) if own and not Path(str(path)).exists() and own.exists() else path


def find_own_files(config: dict[str, Any]) -> None:
    """Find the files of the user's data and language among the workflow's own files.

    A preset's example names such files.
    """
    for corpus in config["corpora"].values():
        for data in corpus["languages"].values():
            data["files"] = [of_workflow(path) for path in data["files"]]
    for name in ("oneruler", "mlongrr"):
        config["sources"][name]["folder"] = of_workflow(config["sources"][name]["folder"])
    for own in config["benchmarks"].values():
        for lang, given in own.get("instructions", {}).items():
            if isinstance(given, str):
                own["instructions"][lang] = of_workflow(given)


def check_corpora(config: Configuration) -> None:
    """Raise UserError if a corpus of the user's has no name, data or column that can be used."""
    for name in config.corpora:
        where, languages = f"corpora.{name}", config.corpora[name].languages
        if not re.fullmatch("[a-z0-9_]+", name) or base_of(name) != name:
            raise UserError(
                f"corpora.{quoted(name)} is not a valid name: use small letters, digits and '_', and do not "
                f"end it with {OWN_PASSAGES!r} or {OWN_PARAGRAPHS!r}."
            )
        if len(name) > LONGEST_NAME:
            raise UserError(
                f"{where} has a name of {len(name)} characters, but names are parts of paths: take one of at "
                f"most {LONGEST_NAME}."
            )
        if name in CORPORA:
            raise UserError(f"{where} is already the name of a corpus: choose another name.")
        for lang in languages:
            _check_data(f"{where}.languages.{lang}", languages[lang])


def _check_data(where: str, data: OwnData) -> None:
    """Raise UserError if a data set is neither of the hub, at a commit, nor of local files."""
    if data.files:
        for pattern in data.files:
            if Path(pattern).is_dir():
                raise UserError(
                    f"{where}.files: {pattern} is a folder: name the files in it, as in "
                    f"{Path(pattern) / '*.parquet'}."
                )
        found = local_files(data.files)
        if not found:
            raise UserError(f"{where}.files: {data.files[0]} is not a file: correct the path.")
        for file in found:
            if "::" in file:
                # The package that reads them takes `::` for a file within an archive.
                raise UserError(
                    f"{where}.files: {file} has '::' in its name, which cannot be read: rename it."
                )
        endings = {Path(file).suffix for file in found}
        if len(endings) > 1 or not endings <= set(OWN_FORMATS):
            raise UserError(
                f"{where}.files end in {', '.join(sorted(endings))}: give files of one kind, with the ending "
                f"{' or '.join(OWN_FORMATS)}."
            )
