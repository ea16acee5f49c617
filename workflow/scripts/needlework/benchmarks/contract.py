"""What the stages ask of a benchmark, in types; docs/adding-a-benchmark.md says it in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa


class Result(NamedTuple):
    """A table or a figure.

    `needs` says what it is made of: "scores" of all models, "ceilings" (what the translator did to
    gold answers), "instances" (the prompts' factors and lengths in tokens, for every tokenizer), or
    "token_counts" (the same prompts counted in every tokenizer).
    """

    title: str
    needs: str = "scores"


class Search(NamedTuple):
    """The search of distractors in one language: whose questions, in which passages.

    No passage that holds an answer in one of `answer_languages` is found; the module
    `needlework.metrics.<comparison>` says what that means, by its `normalise` and `contains`, and agrees
    with the benchmark's metric. `kinds` are "semantic" (near the question) and "random".
    """

    needles: str
    question_lang: str
    haystack: str
    lang: str
    answer_languages: list[str]
    kinds: list[str]
    comparison: str = "normalisation"


class Built(NamedTuple):
    """The prompts of a slice, the counts of what could not be built, and texts that it made itself.

    `documents` has the schema records.DOCUMENTS; prompts refer to its rows as
    `<benchmark>/<slice>/<passage_id>`.
    """

    instances: pa.Table
    counts: dict[str, int]
    documents: pa.Table | None = None
