"""What a benchmark is, as one typed value; docs/adding-a-benchmark.md says it in words.

Planning reads it, so builders, scorers and checks are named ("package.module:function") and imported by
the jobs that call them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.contract import Config, CorpusTable, Own, Run, Search, SliceSettings
from needlework.benchmarks.factor import Factor
from needlework.benchmarks.result import Hook, Result

if TYPE_CHECKING:
    from needlework.benchmarks.layouts import PromptTable


def _nothing(settings: Mapping[str, object]) -> list[str]:
    return []


def _no_values(config: Config) -> Run:
    return {}


def _no_decisions(own: Own) -> Own:
    return {}


def _unbounded(own: Own) -> int | None:
    return None


def _no_conditions(config: Config) -> dict[str, bool]:
    return {}


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: what tells its prompts apart, what they are made of, and what is made of their scores.

    factors: columns of instances and scores; `length` (int32) is one: the token budget, 0 where there is
    none. called: how figures order and name the values of factors and other labels. Of its configuration
    (`own`): decided, the keys whose values follow from others, with these values; notices, sentences
    about what it leaves out; slices, the names of the files into which prompts are divided; settings, all
    that a slice's prompts depend on, as JSON values, but files and tokenizer, given the lengths that
    models want; quotes, the tables that any prompt can refer to; spare, of each length in tokens, what a
    chat template may take beside the tokenizer's `reserve` (None: lengths do not bound prompts in
    tokens). conditions: by the names that `Result.conditions` has, whether `config` has prompts and
    models that fill such results. Of a slice's settings: reads, the tables that it is built from, by
    input name, and searches, the languages whose distractors.

    build: `(slice_settings, tables, templates, tokenizer) -> Built`. score: `(instances, generations,
    translations, *, model, settings) -> scores`; scoring_files: data that it alone reads, by the name of
    its argument, below resources/; scores_read: the argument that gets the tables that prompts quote,
    where it needs them; beside: metrics of further rows of scores, of which results are made only where
    the key `metric` names one; scored_by: columns of instances that it needs beside the factors.
    corpus_settings, corpus_files: of a corpus of this benchmark alone, what a table depends on, and its
    files (or None: as the registry says). setup: by name, where the configuration has what the paper's
    numbers depend on ("benchmarks.x.needles"). run: what else its results need to know. check: a hook that
    raises UserError where `config` cannot be built. prompts: the table of what its prompts are like.
    closed_book: column and value of prompts that ask without the texts. translated: whether answers are
    scored in English; metric: then, of the settings of scores, the function that says whether a gold
    answer survived. baselines: the slices that together ask every question.
    """

    name: str
    title: str
    factors: tuple[Factor, ...]
    results: tuple[Result, ...]
    slices: Callable[[Own], list[str]]
    settings: Callable[[Own, str, list[int]], SliceSettings]
    reads: Callable[[SliceSettings], dict[str, list[CorpusTable]]]
    quotes: Callable[[Own], list[CorpusTable]]
    build: Hook
    score: Hook
    prompts: PromptTable
    called: Mapping[str, Factor] = field(default_factory=dict)
    setup: Mapping[str, str] = field(default_factory=dict)
    check: Hook = ""
    run: Callable[[Config], Run] = _no_values
    decided: Callable[[Own], Own] = _no_decisions
    notices: Callable[[Own], list[str]] = _nothing
    spare: Callable[[Own], int | None] = _unbounded
    conditions: Callable[[Config], dict[str, bool]] = _no_conditions
    scoring_files: Mapping[str, str] = field(default_factory=dict)
    scores_read: str = ""
    scored_by: tuple[str, ...] = ()
    corpus_settings: Callable[[Own], Own] | None = None
    corpus_files: Callable[[Own, str, str], list[str] | None] | None = None
    beside: tuple[str, ...] = ()
    searches: Callable[[SliceSettings], list[str]] = _nothing
    search: Callable[[Own, str], Search] | None = None
    closed_book: tuple[str, Any] = ("task", "closed_book")
    translated: bool = False
    metric: Hook = ""
    baselines: Callable[[Own], list[str]] | None = None

    @property
    def columns(self) -> dict[str, str]:
        """The factors' Arrow types, by name."""
        return {factor.name: factor.type for factor in self.factors}

    @property
    def asked(self) -> list[str]:
        """What was asked of prompts: their task, and the factors that they were made to have."""
        return ["task", *(factor.name for factor in self.factors if factor.asked)]

    @cached_property
    def by_name(self) -> dict[str, Result]:
        """The results by name."""
        return {result.name: result for result in self.results}

    def filled(self, config: Config) -> list[Result]:
        """The results for which this configuration has prompts and models."""
        holds = self.conditions(config)
        return [result for result in self.results if all(holds[name] for name in result.conditions)]


def names() -> list[str]:
    """All benchmarks: the packages beside this module that have a `benchmark.py`."""
    return sorted(path.parent.name for path in Path(__file__).parent.glob("*/benchmark.py"))


def load_benchmark(name: str) -> Benchmark:
    """The benchmark of a package beside this module."""
    return import_module(f"needlework.benchmarks.{name}.benchmark").BENCHMARK
