"""Types that construction and planning of all benchmarks share.

They are apart from `benchmark`, so that a change to how results are described does not change prompts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict

from needlework.given import given

if TYPE_CHECKING:
    import pyarrow as pa

    class Run(TypedDict, total=False):
        """What results know of a run (`RunFacts.run_settings`, `planning.inputs.facts`).

        data: what the prompts and the paper's are made of, in words. models: in order. published: their names
        in the paper. setup: the values of settings that move the paper's numbers. unit_of_length: "words" or
        "tokens"; in_words: the models whose lengths are in words. scored_by: the metric, in words. decoding,
        added: how models decode, and what their entries add to prompts, in words. controls: those that are no
        models but controls. asked, counted: who was asked a part, and who is in means, in words.
        """

        data: str
        models: list[str]
        published: dict[str, str]
        setup: dict[str, Any]
        unit_of_length: str
        in_words: list[str]
        scored_by: str
        decoding: dict[str, str]
        added: dict[str, list[str]]
        controls: list[str]
        asked: str
        counted: str

        # Of several benchmarks (`run_settings` in their plans): values with instructions of the user's; the
        # metric; pairs of models; tokenizers in the order of rows.
        instructions: list[str]
        metric: str
        instruction_tuning: list[list[str]]
        tokenizers: list[str]
        # Of MLNeedle.
        needle_languages: list[str]
        claimed_length: dict[str, int | None]
        greedy_or_sampling: list[list[str]]
        # Of Lost in the Middle.
        encoder_decoder: list[str]
        published_tokenizers: dict[str, str]
        # Of ONERULER.
        long_contexts: str
        backends: dict[str, str]
        wikipedia_articles: dict[str, int]
        equal_text: list[list[str]]
        reasoning: list[str]
        text_tokenizer: str
        encodings: dict[str, str]
        # Of mLongRR.
        spread: dict[int, Any]
        haystack: str
        template: str
        counted_as: dict[str, str]
        other_tokenizers: dict[str, str]
        # Of M4LE.
        reference: str
        reference_name: str
        lengths: list[int]
        places: int
        chat: list[str]
else:
    # No prompt depends on what results know: its code digest has no key of theirs.
    Run = dict

# What the prompts of a slice depend on, as a rule's parameter; each benchmark's plan reads it as a dataclass.
SliceSettings: TypeAlias = Mapping[str, Any]
# (corpus, language) of a table.
CorpusTable: TypeAlias = tuple[str, str]


def block_of(config: Any, benchmark: str) -> Any:
    """A benchmark's block of the configuration, with the run's seed.

    Only the benchmark knows the class of its block.
    """
    return given({**config["benchmarks"][benchmark], "seed": config["run"]["seed"]})


def in_words(corpus: str, number: int | str, of: str) -> str:
    """The name of a corpus and the number of its questions, as in captions."""
    name = "the embedded sample" if corpus.startswith("sample") else corpus
    return f"{name}, {number} {of}"


class Search(NamedTuple):
    """The search of distractors in one language."""

    # The questions, and their language.
    needles: str
    question_lang: str
    # The passages to search, and their language.
    haystack: str
    lang: str
    # A passage that holds an answer in one of these languages is never found.
    answer_languages: list[str]
    # "semantic" (near the question) and "random".
    kinds: list[str]
    # The module `needlework.data.comparison.<comparison>` decides whether a passage holds an answer, by its
    # `normalise` and `contains`. It agrees with the benchmark's metric.
    comparison: str = "normalisation"


class Built(NamedTuple):
    """The prompts of a slice, counts of prompts that could not be built, and documents of the construction.

    `documents` has the schema records.DOCUMENTS. Prompts refer to its rows as
    `<benchmark>/<slice>/<passage_id>`.
    """

    instances: pa.Table
    counts: dict[str, int]
    documents: pa.Table | None = None
