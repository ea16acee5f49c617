"""ONERULER's tables from the mirror of the released files, through the real reader."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pyarrow as pa

from needlework.benchmarks.oneruler import corpus as oneruler
from needlework.data.corpora.books import BOOKS

LANGUAGES = (
    "cs da de en es fa fi fr hi hu it ja ko nl no pl pt ru sr st sv sw ta uk vi zh"
).split()

_DICTIONARIES = dict(
    pair.split(":")
    for pair in (
        "zh:Chinese cs:Czech da:Danish nl:Dutch fi:Finnish fr:French de:German hi:Hindi hu:Hungarian "
        "it:Italian ja:Japanese ko:Korean no:Norwegian fa:Persian pl:Polish pt:Portuguese ru:Russian "
        "sr:Serbian st:Sesotho es:Spanish sw:Swahili sv:Swedish ta:Tamil uk:Ukrainian vi:Vietnamese"
    ).split()
)
# By which names tiktoken looks for its encodings.
_ENCODINGS = {
    "cl100k_base.tiktoken": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base.tiktoken": "fb374d419588a4632f3f557e76b4b70aebbca790",
}


def tiktoken_cache(mirror: Path, folder: Path) -> str:
    """Put tiktoken's encodings into `folder`; what TIKTOKEN_CACHE_DIR must be."""
    for name, cached in _ENCODINGS.items():
        shutil.copyfile(mirror / "tokenizers" / name, folder / cached)
    return str(folder)


def tables(mirror: Path, corpora: Mapping[str, list[tuple[str, str]]]) -> dict:
    """The inputs that `plan.reads` names, by input and language."""
    return {
        kind: {lang: _table(mirror, corpus, lang) for corpus, lang in wanted}
        for kind, wanted in corpora.items()
    }


@cache
def _table(mirror: Path, corpus: str, lang: str) -> pa.Table:
    return oneruler.table(corpus, lang, files(mirror, corpus, lang), {})


def files(mirror: Path, corpus: str, lang: str) -> list[str]:
    """The released files of a corpus in a language; English words are those of a package."""
    data = mirror / "oneruler/OneRuler/data"
    name = _DICTIONARIES.get(lang)
    found = {
        "oneruler_books": sorted((data / "books" / lang).glob("*.txt")),
        "oneruler_nouns": [data / "vocab/100_noun_list_translated.tsv"],
        "oneruler_words": [data / f"vocab/dictionaries/{name}/{name}.csv"] if name else [],
        "oneruler_prompts": sorted((data / "prompt" / lang).glob("*.txt")),
    }
    return [str(file) for file in found[corpus]]


def book_of(sentences: list[str], joint: str = " ") -> pa.Table:
    """A book of the given sentences."""
    starts = [0]
    for sentence in sentences[:-1]:
        starts.append(starts[-1] + len(sentence) + len(joint))
    return pa.table([["book"], [joint.join(sentences)], [starts]], schema=BOOKS)
