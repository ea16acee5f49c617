"""The description of a corpus. Planning reads it, so it needs the standard library alone."""

from __future__ import annotations

from typing import NamedTuple


class Corpus(NamedTuple):
    """A corpus: the module that reads it, and the files that it is read from."""

    # A module below `needlework`.
    reader: str
    # The published source of its files, and the part of the source.
    source: str | None = None
    part: str | None = None
    # The keys of the configuration that may choose it, as `settings.registered.corpus` says.
    serves: tuple[str, ...] = ()
    # The patterns of its files, with `{lang}` for the language. If it has no source, they lie in
    # resources/sample, and for a user's further languages in the folder that `sources.<source>.folder` names.
    files: tuple[str, ...] = ()
    # The languages that a package holds.
    packaged: tuple[str, ...] = ()
    # Its languages, if its files do not tell them.
    languages: tuple[str, ...] = ()
    # Files below resources/ that its reader gets first, in every language. If a corpus has only such files,
    # `files` and no `part`, a user's folder extends it.
    resources: tuple[str, ...] = ()
    # The benchmark that defines what else a table depends on (`Plan.corpus_settings`, `corpus_files`).
    benchmark: str = ""
