"""Which models, tokenizers and so on the jobs of a run use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration


@dataclass
class Used:
    """The names in the configuration that the jobs of a run use."""

    models: set[str] = field(default_factory=set)
    tokenizers: set[str] = field(default_factory=set)
    embedders: set[str] = field(default_factory=set)
    # Benchmarks whose answers a job scores.
    scored: set[str] = field(default_factory=set)
    judges: set[str] = field(default_factory=set)
    # Whether a job translates.
    translating: bool = False


def used_by(config: Configuration, jobs: Iterable[tuple[str, Any]]) -> Used:
    """The names that `jobs` use. A job is given as its rule's name and its wildcards."""
    used = Used()
    for rule, wildcards in jobs:
        if rule in ("generate_answers", "generate_shard", "doctor_answers"):
            used.models.add(wildcards.model)
        elif rule == "judge_replies":
            used.judges.add(wildcards.model)
        elif rule in ("build_instances", "count_tokens", "count_books"):
            used.tokenizers.add(wildcards.tokenizer)
        elif rule == "embed_corpus":
            used.embedders.add(wildcards.embedder)
        elif rule == "measure_similarity":
            used.embedders.add(config.retrieval.embedder)
        elif rule in ("score_answers", "score_doctor"):
            used.scored.add(wildcards.benchmark)
        used.translating |= rule.startswith("translate_")
    return used
