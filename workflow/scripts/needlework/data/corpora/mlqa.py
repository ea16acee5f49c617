"""MLQA: questions in seven languages; each is in two to four of them, with the same id."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from needlework.data.archives import Archive
from needlework.data.corpora.extractive import read_squad
from needlework.errors import UserError

# Context and question in one language. The files with two languages hold nothing that these do not.
MEMBER = "MLQA_V1/{split}/{split}-context-{lang}-question-{lang}.json"
ANY_MEMBER = re.compile(r"MLQA_V1/(\w+)/\1-context-(\w+)-question-\2\.json")


def table(corpus: str, lang: str, files: Sequence[str], settings: Mapping[str, str]) -> pa.Table:
    """The corpus in `lang` from its one file, as the rule `read_corpus` asks for it."""
    return read(files[0], settings["split"], lang)


def read(zip_path: str | Path, split: str, lang: str) -> pa.Table:
    """QUESTIONS rows, sorted by id, of one language of MLQA_V1.zip (`split`: "dev" or "test").

    Question and context are both in `lang`; an id names the same question in every language.
    UserError if the archive does not have the split or the language, or is broken.
    """
    with Archive(Path(zip_path)) as archive:
        member = MEMBER.format(split=split, lang=lang)
        if member not in archive.names:
            raise UserError(f"{zip_path} {_what_it_lacks(archive.names, split, lang)}.")
        return read_squad(archive.read(member), f"{zip_path}, {member}")


def _what_it_lacks(names: set[str], split: str, lang: str) -> str:
    there = sorted(match.groups() for name in names if (match := ANY_MEMBER.fullmatch(name)))
    languages = [language for part, language in there if part == split]
    if languages:
        return (
            f"has no language {lang!r} in its split {split!r}: choose among {', '.join(languages)}"
        )
    if there:
        splits = " or ".join(
            f"`sources.mlqa.split: {part}`" for part in sorted({part for part, _ in there})
        )
        return f"has no split {split!r}: set {splits}"
    return "is not MLQA's archive: delete it and run again"
