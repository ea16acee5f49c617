"""What a benchmark is; docs/adding-a-benchmark.md shows how to write one.

| class | says | of MLNeedle |
|---|---|---|
| Benchmark | its name, factors and results, and the groups below | benchmark.py |
| Plan | which prompts there are, and what they are made of | plan.py |
| Scoring | what scores need beside prompts and answers | benchmark.py, scores.py |
| Shown | how prompts and scores are shown | tables.py, figures.py |
| RunFacts | what results state of a run, and for which of them it has data | plan.py |

Only `Plan.slices`, `settings`, `reads` and `quotes`, and `Shown.prompts`, have no default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from needlework.benchmarks.parts import load_part
from needlework.contract import CorpusTable, Run, Search, SliceSettings
from needlework.factor import Factor
from needlework.results.cards.card import Card
from needlework.results.result import PromptTable, Result
from needlework.scoring.metric import Metric

# The class of a benchmark's keys, a subclass of `settings.base.BenchmarkSettings`.
S = TypeVar("S")


@dataclass(frozen=True)
class Plan(Generic[S]):
    """The prompts of a benchmark, and the data that they are made of.

    Functions get the benchmark's block of the configuration (`needlework.given`), or slice settings as
    `settings` returns them.
    """

    # The names of the files into which prompts are divided.
    slices: Callable[[S], list[str]]
    # All that a slice's prompts depend on, as JSON values, except files and tokenizer: of the configuration,
    # the slice's name and the lengths that models want.
    settings: Callable[[S, str, list[int]], SliceSettings]
    # The tables that a slice is built from, by input name.
    reads: Callable[[SliceSettings], dict[str, list[CorpusTable]]]
    # The tables that any prompt can refer to.
    quotes: Callable[[S], list[CorpusTable]]
    # The languages of a slice's distractors.
    searches: Callable[[SliceSettings], list[str]] = lambda own: []
    # How distractors of a language are found; None: the benchmark has none.
    search: Callable[[S, str], Search] | None = None
    # The slices that together ask every question.
    baseline_slices: Callable[[S], list[str]] = lambda own: []
    # Keys whose values follow from other keys, with these values.
    decided: Callable[[S], Mapping[str, object]] = lambda own: {}
    # Sentences about what the prompts leave out.
    notices: Callable[[S], list[str]] = lambda own: []
    # Tokens of each length that a chat template may take beside the tokenizer's `reserve`; None: lengths are
    # not in tokens.
    spare: Callable[[S], int | None] = lambda own: None
    # What a table of the benchmark's own corpora depends on, by language.
    corpus_settings: Callable[[S, str], SliceSettings] | None = None
    # The files of a table of such a corpus; None: those of the registry.
    corpus_files: Callable[[S, str, str], list[str] | None] | None = None


@dataclass(frozen=True)
class Scoring(Generic[S]):
    """The inputs of scores, beside prompts and answers."""

    # The metrics by name (`scoring.metric.by_name`); the first is the default of the key `metric`.
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    # The argument of `score` that gets the tables that prompts quote; "": none.
    scores_read: str = ""
    # Columns of instances that scores need beside the factors.
    scored_by: tuple[str, ...] = ()
    # Whether metrics that read a translation get one. Then the part `scores` has a function `metric`.
    translated: Callable[[S], bool] = lambda own: False
    # The judge's prompt (resources/judge/<name>.txt) of a task, where it is not `answer`.
    judged: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Shown:
    """How prompts and scores are shown."""

    # The table of what prompts are like.
    prompts: PromptTable
    # The labels that results have beside the benchmark's factors, or a factor of its own as results show it.
    factors: tuple[Factor, ...] = ()
    # The factor that prompts were made to vary, and the tasks that ask for it; (): all tasks.
    designed: tuple[str, tuple[str, ...]] = ("", ())
    # How report cards show the benchmark; None: they do not.
    card: Card | None = None
    # The column and value of prompts that ask without the texts.
    closed_book: tuple[str, Any] = ("task", "closed_book")


@dataclass(frozen=True)
class RunFacts(Generic[S]):
    """Facts about a run that results state, and the conditions under which it has data for a result.

    Two functions get the whole configuration in blocks (`needlework.planning.configuration.Configuration`).
    """

    # What the prompts and the paper's prompts are made of, in words.
    data: Callable[[S], tuple[str, str]] = lambda own: ("", "")
    # Where the configuration has what the paper's numbers depend on ("benchmarks.x.needles"), by name.
    setup: Mapping[str, str] = field(default_factory=dict)
    # What else results need to know of the configuration.
    run_settings: Callable[[Any], Run] = lambda own: {}
    # Whether the configuration fills the results that name a condition (`Result.when`), by condition.
    conditions: Callable[[Any], dict[str, bool]] = lambda own: {}
    # The keys and values (YAML; <model> and <file> are the user's) with which a condition holds.
    filled_by: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: its prompts, scores and results."""

    name: str
    # Its name in texts.
    title: str
    # The columns of instances and scores; `length` (int32) is one: the token budget, or 0 without a budget.
    factors: tuple[Factor, ...]
    # The functions that make tables and figures.
    results: tuple[Result, ...]
    plan: Plan[Any]
    shown: Shown
    scoring: Scoring[Any] = Scoring()
    run: RunFacts[Any] = RunFacts()
    # Raises UserError if the whole configuration, in blocks, does not allow to build the benchmark.
    check: Callable[[Any], None] = lambda config: None
    # The address of its paper.
    paper: str = ""

    @cached_property
    def called(self) -> dict[str, Factor]:
        """How figures label columns and their values, by column."""
        return {factor.name: factor for factor in (*self.factors, *self.shown.factors)}

    @property
    def task_names(self) -> dict[str, str]:
        """Display names by task, for tasks whose display name differs from their own name."""
        return dict(self.called["task"].words) if "task" in self.called else {}

    @property
    def columns(self) -> dict[str, str]:
        """The factors' Arrow types, by name."""
        return {factor.name: factor.type for factor in self.factors}

    @property
    def asked(self) -> list[str]:
        """The columns that prompts were made to have: the task, and the factors with `asked`."""
        return ["task", *(factor.name for factor in self.factors if factor.asked)]

    @cached_property
    def by_name(self) -> dict[str, Result]:
        """The results by name."""
        return {result.name: result for result in self.results}

    def unmet(self, result: Result, config: Any) -> list[str]:
        """The names of a result's conditions that this configuration does not meet."""
        holds = self.run.conditions(config)
        return [name for name in result.when if not holds[name]]

    def filled(self, config: Any) -> list[Result]:
        """The results for which this configuration has prompts and models."""
        holds = self.run.conditions(config)
        return [result for result in self.results if all(holds[name] for name in result.when)]


def load_benchmark(name: str) -> Benchmark:
    """The object BENCHMARK of the benchmark of this name. AttributeError if its module lacks it."""
    found: Benchmark = load_part(name, "benchmark").BENCHMARK
    return found
