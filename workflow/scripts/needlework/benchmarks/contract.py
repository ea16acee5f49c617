"""Types that construction and planning of all benchmarks share.

Apart from `benchmark`, so that prompts do not depend on how results are described.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from needlework.given import given

if TYPE_CHECKING:
    import pyarrow as pa

# A benchmark's block of the configuration, the whole of it, and what the prompts of a slice depend on.
Own: TypeAlias = Mapping[str, Any]
Config: TypeAlias = Mapping[str, Any]
SliceSettings: TypeAlias = Mapping[str, Any]
# An entry under `models`, `translators`, `embedders` or `corpora`; its keys depend on its kind.
Entry: TypeAlias = Mapping[str, Any]
# What results know of a run. `results.result.Run` is the same type: no prompt may depend on results.
Run: TypeAlias = Mapping[str, Any]
# (corpus, language) of a table.
CorpusTable: TypeAlias = tuple[str, str]


def block_of(config: Any, benchmark: str) -> Any:
    """A benchmark's block of the configuration, with the run's seed: the benchmark knows its class."""
    return given({**config["benchmarks"][benchmark], "seed": config["run"]["seed"]})


def in_words(corpus: str, number: int | str, of: str) -> str:
    """The name of a corpus and the number of its questions, as in captions."""
    name = "the embedded sample" if corpus.startswith("sample") else corpus
    return f"{name}, {number} {of}"


class Search(NamedTuple):
    """The search of distractors in one language: the questions, and the passages to search.

    A passage that holds an answer in one of `answer_languages` is never found. The module
    `needlework.data.comparison.<comparison>` decides whether it holds one, by its `normalise` and
    `contains`, and agrees with the benchmark's metric. `kinds` are "semantic" (near the question) and
    "random".
    """

    needles: str
    question_lang: str
    haystack: str
    lang: str
    answer_languages: list[str]
    kinds: list[str]
    comparison: str = "normalisation"


class Built(NamedTuple):
    """The prompts of a slice, counts of what could not be built, and documents that construction made itself.

    `documents` has the schema records.DOCUMENTS; prompts refer to its rows as
    `<benchmark>/<slice>/<passage_id>`.
    """

    instances: pa.Table
    counts: dict[str, int]
    documents: pa.Table | None = None
