"""What a corpus is. Planning reads this, so it needs the standard library alone."""

from __future__ import annotations

from typing import NamedTuple


class Corpus(NamedTuple):
    """Where a corpus comes from: the module that reads it, below `needlework`, and the source and its part.

    serves: the keys of the configuration that may choose it, by the schema's keyword `corpus`. files: the
    patterns of its files, with the language for `{lang}`: of a corpus without a source in resources/sample,
    of one that has languages of the user's own in the folder that `sources.<source>.folder` names. packaged:
    the languages that a package holds. languages: those of a corpus whose files do not tell. resources:
    files below resources/ that its reader gets first, in every language; a corpus that has these alone
    besides `files`, and no `part`, is extended by a folder. benchmark: the one that says what else a table
    depends on (`Plan.corpus_settings`, `corpus_files`).
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
