"""All corpora: what reads each, where it comes from, and which languages it has.

Planning reads this, so it needs the standard library and YAML alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from needlework.data.corpora.m4le_data.tasks import SLUGS, TASKS
from needlework.data.registry import Source, load_registry
from needlework.entry import Entry

ROOT = Path(__file__).resolve().parents[5]


class Corpus(NamedTuple):
    """Where a corpus comes from: the module that reads it, and the source and its part.

    serves: the keys of the configuration that may choose it, by the schema's keyword `corpus`. files: the
    patterns of its files, with the language for `{lang}`: of a corpus without a source in resources/sample,
    of one that has languages of the user's own in the folder that `sources.<source>.folder` names. packaged:
    the languages that a package holds. languages: those of a corpus whose files do not tell. resources:
    files below resources/ that its reader gets first, in every language; a corpus that has these alone
    besides `files`, and no `part`, is extended by a folder. benchmark: the one that says what else a table
    depends on (`Benchmark.corpus_settings`, `corpus_files`).
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


# What ONERULER has of a language, in the embedded sample and in a user's folder.
_BOOKS = ("{lang}/book.txt", "{lang}/sentences.json")
_NOUNS = ("nouns.tsv",)
_WORDS = ("{lang}/words.csv",)
_PROMPTS = ("{lang}/niah.json", "{lang}/cwe.txt")
_SAMPLE = ("en", "de", "es", "zh", "vi", "hi", "ar")

# mLongRR's needles, cities and prompts, and what a user's folder adds.
_NEEDLES = ("needles.csv", "cities.csv", "prompts.csv")
_CUT_BY = ("mlongrr/needles.csv", "mlongrr/english_punkt.txt")
_OWN_NEEDLES = tuple(f"mlongrr/{name}" for name in _NEEDLES)
_MLONGRR = ("en", "vi", "id", "sw", "so", "az")


# The wording around what a row of M4LE holds.
_M4LE: Any = {"resources": ("m4le/frames.yaml",), "benchmark": "m4le"}
_M4LE_TASKS = tuple(task.slug for task in TASKS.values())


def _in_sample(patterns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"oneruler/{pattern}" for pattern in patterns)


CORPORA = {
    "mlqa": Corpus("mlqa", "mlqa", serves=("needles", "questions")),
    "mlqa_passages": Corpus("titled", "mlqa"),
    "xquad": Corpus("xquad", "xquad", serves=("needles", "questions")),
    "xquad_passages": Corpus("titled", "xquad"),
    "xquad_paragraphs": Corpus("titled", "xquad", serves=("haystack",)),
    "mmarco": Corpus("mmarco", "mmarco", serves=("haystack",)),
    "sample_questions": Corpus(
        "sample", serves=("needles", "questions"), files=("*.json",), languages=_SAMPLE
    ),
    "sample_passages": Corpus("sample", serves=("haystack",), files=("*.json",), languages=_SAMPLE),
    "nq_open": Corpus("nq_open", "lost-in-the-middle", "oracle", serves=("questions",)),
    # The same questions among each other's gold passages: all in one small file.
    "nq_gold": Corpus("nq_open", "lost-in-the-middle", "oracle", serves=("questions",)),
    "nq_gold_passages": Corpus("titled", "lost-in-the-middle", "oracle"),
    "nq_open_released": Corpus("nq_open", "lost-in-the-middle", "documents"),
    "nq_open_released_passages": Corpus("nq_open", "lost-in-the-middle", "documents"),
    "nq_open_retrieved": Corpus("nq_open", "lost-in-the-middle", "retrieval"),
    "nq_open_retrieved_passages": Corpus("nq_open", "lost-in-the-middle", "retrieval"),
    "wikipedia": Corpus("wikipedia", "wikipedia"),
    **{
        f"key_value_{n}": Corpus("key_value", "lost-in-the-middle", f"key_value_{n}")
        for n in (75, 140, 300)
    },
    "oneruler_books": Corpus(
        "oneruler", "oneruler", "books", serves=("haystacks", "books"), files=_BOOKS
    ),
    "oneruler_nouns": Corpus("oneruler", "oneruler", "nouns", files=_NOUNS),
    "oneruler_words": Corpus(
        "oneruler", "oneruler", "words", serves=("words",), files=_WORDS, packaged=("en",)
    ),
    "oneruler_prompts": Corpus("oneruler", "oneruler", "prompts", files=_PROMPTS),
    "sample_books": Corpus("oneruler", serves=("haystacks", "books"), files=_in_sample(_BOOKS)),
    "sample_nouns": Corpus("oneruler", files=_in_sample(_NOUNS)),
    "sample_words": Corpus("oneruler", serves=("words",), files=_in_sample(_WORDS)),
    "sample_prompts": Corpus("oneruler", files=_in_sample(_PROMPTS)),
    "mlongrr_articles": Corpus(
        *("mlongrr", "mlongrr", "one_needle"),
        serves=("haystacks",),
        files=("{lang}/*.txt",),
        resources=_CUT_BY,
    ),
    "mlongrr_released_one": Corpus("mlongrr", "mlongrr", "one_needle", resources=_CUT_BY),
    "mlongrr_released_three": Corpus("mlongrr", "mlongrr", "three_needles", resources=_CUT_BY),
    "paul_graham_essays": Corpus(
        *("mlongrr", "paul-graham-essays", "essays"), serves=("haystacks",), resources=_CUT_BY
    ),
    "mlongrr_needles": Corpus(
        *("mlongrr", "mlongrr"), files=_NEEDLES, languages=_MLONGRR, resources=_OWN_NEEDLES
    ),
    "sample_needles": Corpus(
        "mlongrr",
        files=tuple(f"mlongrr/{name}" for name in _NEEDLES),
        languages=("en", "sw", "zh"),
        resources=_OWN_NEEDLES,
    ),
    **{
        f"m4le_{release}": Corpus("m4le", "m4le", release, languages=_M4LE_TASKS, **_M4LE)
        for release in ("2024", "2023")
    },
    "m4le_constructed": Corpus("m4le", languages=tuple(SLUGS), **_M4LE),
    "m4le_sample": Corpus("m4le", files=("m4le/*.yaml",), languages=("sample",), **_M4LE),
}


@lru_cache(None)
def sources() -> dict[str, Source]:
    """The registry of published files."""
    return load_registry(ROOT / "resources/sources.yaml")


# What a user's own corpus may serve as, by its kind, and which of its columns must be mapped.
OWN_SERVES = {
    "questions": ("needles", "questions"),
    "passages": ("haystack",),
    "texts": ("haystacks", "books"),
    "records": ("records",),
}
OWN_NEEDS = {
    "questions": ("question", "context", "answers"),
    "passages": ("text",),
    "texts": ("text",),
    "records": ("text",),
}
# What reads a user's local file, by its ending.
OWN_FORMATS = {".parquet": "parquet", ".jsonl": "json", ".csv": "csv"}
# The contexts of a user's questions, as passages of their own: what the name ends with.
OWN_PASSAGES = "_passages"

Own = Mapping[str, Entry]


def corpus_table(corpus: str, lang: str) -> str:
    """The file of a corpus in a language, below the working directory."""
    return f"results/corpora/{corpus}/{lang}.parquet"


def local_files(patterns: Sequence[str]) -> list[str]:
    """The files that the patterns of a user's data set name, in the patterns' order."""
    return [
        str(file)
        for pattern in patterns
        for file in sorted(Path(pattern).parent.glob(Path(pattern).name))
    ]


def own_corpus(name: str, own: Own) -> Entry | None:
    """A user's corpus among `own` (`corpora` in the configuration), or that whose contexts these are."""
    return own.get(name) or own.get(name.removesuffix(OWN_PASSAGES))


def languages_of(name: str, own: Own = MappingProxyType({})) -> tuple[str, ...]:
    """The languages of a corpus, without those of a user's folder; `own` are the user's corpora."""
    entry = own_corpus(name, own)
    return _languages_of(name) if entry is None else tuple(sorted(entry["languages"]))


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


def serving(key: str, own: Own = MappingProxyType({})) -> list[str]:
    """The corpora among which a key of the configuration chooses (the schema's keyword `corpus`)."""
    named = [name for name, corpus in CORPORA.items() if key in corpus.serves]
    return named + [name for name, entry in own.items() if key in OWN_SERVES[entry["kind"]]]
