"""All corpora: the reader, the source and the languages of each.

Planning reads this, so it needs the standard library and YAML alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from needlework.data.corpora.corpus import Corpus
from needlework.data.published_files import Source, load_registry
from needlework.errors import UserError
from needlework.folders import entries
from needlework.given import Block, given

if TYPE_CHECKING:
    from needlework.settings.sources import OwnCorpus

# Codes of languages, and those of a user's own folder.

# A language's code, as a pattern: of settings, of folders' names, and of files' names (common.smk).
LANGUAGE = "[a-z0-9]{1,35}"


def folder_languages(folder: str | None, source: str = "oneruler") -> list[str]:
    """The languages of a user's folder (`sources.<source>.folder`): the names of its subfolders.

    Raises UserError if there is no such folder, or a subfolder's name is not a language's code.
    """
    if folder is None:
        return []
    if not Path(folder).is_dir():
        raise UserError(f"sources.{source}.folder: {folder} is not a folder: correct the path.")
    names = [path.name for path in entries(folder) if path.is_dir()]
    for name in names:
        if not re.fullmatch(LANGUAGE, name):
            raise UserError(
                f"sources.{source}.folder: {Path(folder) / name} is not named by a language's code, "
                "which has small letters and digits only, at most 35: rename it, or move it elsewhere."
            )
    return names


ROOT = Path(__file__).resolve().parents[5]


_SAMPLE = ("en", "de", "es", "zh", "vi", "hi", "ar")
# Corpora that any benchmark may use.
SHARED = {
    "mlqa": Corpus("data.corpora.extractive", "mlqa", serves=("needles", "questions")),
    "mlqa_passages": Corpus("data.corpora.titled", "mlqa"),
    "xquad": Corpus("data.corpora.extractive", "xquad", serves=("needles", "questions")),
    "xquad_passages": Corpus("data.corpora.titled", "xquad"),
    "xquad_paragraphs": Corpus("data.corpora.titled", "xquad", serves=("haystack",)),
    "mmarco": Corpus("data.corpora.mmarco", "mmarco", serves=("haystack",)),
    "sample_questions": Corpus(
        "data.corpora.sample",
        serves=("needles", "questions"),
        files=("*.json",),
        languages=_SAMPLE,
    ),
    "sample_passages": Corpus(
        "data.corpora.sample", serves=("haystack",), files=("*.json",), languages=_SAMPLE
    ),
}


def _all() -> dict[str, Corpus]:
    """The shared corpora, and those of each benchmark that has a module `corpora`."""
    found = dict(SHARED)
    for path in sorted((ROOT / "workflow/scripts/needlework/benchmarks").glob("*/corpora.py")):
        found |= import_module(f"needlework.benchmarks.{path.parent.name}.corpora").CORPORA
    return found


CORPORA = _all()


@lru_cache(None)
def sources() -> dict[str, Source]:
    """The registry of published files."""
    return load_registry(ROOT / "resources/sources.yaml")


# What a user's own corpus may serve as, by its kind.
OWN_SERVES = {
    "questions": ("needles", "questions"),
    "passages": ("haystack",),
    "texts": ("haystacks", "books"),
    "records": ("records",),
}
# The endings of a user's local files.
OWN_FORMATS = (".parquet", ".jsonl", ".csv")
# The contexts of a user's questions, as passages of their own: what the name ends with.
OWN_PASSAGES = "_passages"
# The same without their titles.
OWN_PARAGRAPHS = "_paragraphs"


def corpus_table(corpus: str, lang: str) -> str:
    """The file of a corpus in a language, below the working directory."""
    return f"results/corpora/{corpus}/{lang}.parquet"


def local_files(patterns: Sequence[str]) -> list[str]:
    """The files that match the patterns of a user's data set, in the patterns' order, each once.

    `*` in a file's name stands for any characters; all other characters, such as `[1]` or `?`, for
    themselves.
    """
    return list(dict.fromkeys(str(file) for pattern in patterns for file in _matching(pattern)))


def _matching(pattern: str) -> list[Path]:
    path = Path(pattern)
    if "*" not in path.name:
        return [path] if path.exists() else []
    # A hidden file is meant only by a pattern that begins with its dot, as in a shell.
    found = entries(path.parent, hidden=path.name.startswith("."))
    return [file for file in found if _matches(file.name, path.name.split("*"))]


def _matches(name: str, parts: Sequence[str]) -> bool:
    """Whether a name has these parts in this order, the first at its beginning and the last at its end.

    A regular expression with many `.*` would take for ever.
    """
    first, *middle, last = parts
    if not (name.startswith(first) and name.endswith(last) and len(name) >= len(first) + len(last)):
        return False
    at, end = len(first), len(name) - len(last)
    for part in middle:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def own_corpus(name: str, own: Mapping[str, OwnCorpus]) -> OwnCorpus | None:
    """A user's corpus in `own` (`corpora`), by its name or by the name of the table with its contexts."""
    found = own.get(name) or own.get(base_of(name))
    return found if isinstance(found, Block) else given(found)


def base_of(name: str) -> str:
    """The corpus of questions to whose contexts this name refers; the name itself if there is none."""
    return name.removesuffix(OWN_PASSAGES).removesuffix(OWN_PARAGRAPHS)


def languages_of(name: str, own: Mapping[str, OwnCorpus] = MappingProxyType({})) -> tuple[str, ...]:
    """The languages of a corpus, without the languages of a user's folder. `own` are the user's corpora."""
    entry = own_corpus(name, own)
    return _languages_of(name) if entry is None else tuple(sorted(entry.languages))


@lru_cache(None)
def _languages_of(name: str) -> tuple[str, ...]:
    corpus = CORPORA[name]
    if corpus.languages:
        return corpus.languages
    if corpus.source is not None:
        files = sources()[corpus.source].files
        found = {lang for file in files if file.part == corpus.part for lang in file.languages}
        return tuple(sorted(found.union(corpus.packaged)))
    return tuple(sorted(path.name for path in (ROOT / "resources/sample/oneruler").glob("*/")))


def serving(key: str, own: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """The corpora that a key of the configuration can choose; `own` has the kinds of the user's."""
    named = [name for name, corpus in CORPORA.items() if key in corpus.serves]
    named += [name for name, kind in own.items() if key in OWN_SERVES[kind]]
    if key == "haystack":
        # The contexts of questions as distractors, without titles: the needle has none either.
        named += [f"{name}{OWN_PARAGRAPHS}" for name, kind in own.items() if kind == "questions"]
    return named
