"""The description of a corpus. Planning reads it, so it needs the standard library alone."""

from __future__ import annotations

from typing import NamedTuple


class Corpus(NamedTuple):
    """Where a corpus comes from: the module that reads it, below `needlework`, and the source and its part.

    serves: the keys of the configuration that may choose it, as `settings.registered.corpus` says. files: the
    patterns of its files, with `{lang}` for the language: in resources/sample if it has no source, for a
    user's further languages in the folder that `sources.<source>.folder` names. packaged: the languages that
    a package holds. languages: its languages, if its files do not tell them. resources: files below
    resources/ that its reader gets first, in every language; if a corpus has only these, `files` and no
    `part`, a user's folder extends it. benchmark: the benchmark that defines what else a table depends on
    (`Plan.corpus_settings`, `corpus_files`).
    """

    reader: str
    source: str | None = None
    part: str | None = None
    serves: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    packaged: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    benchmark: str = ""
