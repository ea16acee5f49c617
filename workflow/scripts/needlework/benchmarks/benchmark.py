"""What a benchmark is, read from its modules; docs/adding-a-benchmark.md shows how to write one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.contract import Config, CorpusTable, Own, Search, SliceSettings
from needlework.benchmarks.parts import PLAN, has_part, load_part, part_file
from needlework.factor import Factor
from needlework.results.cards.card import Card
from needlework.results.result import Result, Run

if TYPE_CHECKING:
    from needlework.results.result import PromptTable


# What is looked for in a benchmark's results; all else is in its plan.
SHOWN = ("RESULTS", "PROMPTS", "CALLED", "DESIGNED")


def _nothing(settings: Mapping[str, object]) -> list[str]:
    return []


def _never(own: Own) -> bool:
    return False


def _no_values(config: Config) -> Run:
    return {}


def _no_decisions(own: Own) -> Own:
    return {}


def _no_data(own: Own) -> tuple[str, str]:
    return "", ""


def _unbounded(own: Own) -> int | None:
    return None


def _no_conditions(config: Config) -> dict[str, bool]:
    return {}


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: the factors of its prompts, the data that they are made of, and its results.

    factors: columns of instances and scores. `length` (int32) is one: the token budget, or 0 without a
        budget.
    called: order and names of factor values and other labels in figures.
    designed: the factor that prompts were made to vary, and the tasks that ask for it (none: all tasks).
    paper: its address.

    Functions of the benchmark's configuration (`own`):
    decided: the keys whose values follow from other keys, with these values.
    data: descriptions of the data of the run's prompts and of the paper's.
    notices: sentences about what is left out.
    slices: the names of the files into which prompts are divided.
    settings: everything that a slice's prompts depend on (except files and tokenizer), as JSON values, for
        the lengths that models want.
    quotes: the tables that any prompt can refer to.
    spare: the tokens of each length that a chat template may use, beside the tokenizer's `reserve`. None if
        lengths do not limit prompts in tokens.
    baseline_slices: slices that together ask every question.
    translated: whether answers are scored in English too. If so, `metric` in `scores` gives the function
        that says whether a gold answer survives translation.
    conditions: for each name in `Result.when`, whether the configuration has prompts and models for such
        results.
    run_settings: further facts on a configuration that the results need.

    Functions of a slice's settings: reads, the tables that it is built from, by input name; searches, the
    languages in which it needs distractors.

    filled_by: by condition, keys and values (YAML; <model> and <file> are the user's) that meet it.
    scoring_files: data below resources/ that only scores read, by the name of `score`'s argument.
    scores_read: the argument of `score` that gets the tables quoted by prompts, if it needs them.
    beside: further metrics in scores. Results use them only if the key `metric` names one.
    scored_by: columns of instances that scores need, beside the factors.
    corpus_settings, corpus_files: for a corpus of this benchmark, the settings that a table depends on, and
        its files (None: as in the registry).
    setup: by name, the path of each setting on which the paper's numbers depend ("benchmarks.x.needles").
    prompts: the table that describes the prompts.
    card: what report cards show of the benchmark, if anything.
    closed_book: column and value of prompts that ask without the texts.
    judged: the judge's prompt (resources/judge/<name>.txt) by task, if it is not `answer`.
    """

    name: str
    title: str
    factors: tuple[Factor, ...]
    results: tuple[Result, ...]
    slices: Callable[[Own], list[str]]
    settings: Callable[[Own, str, list[int]], SliceSettings]
    reads: Callable[[SliceSettings], dict[str, list[CorpusTable]]]
    quotes: Callable[[Own], list[CorpusTable]]
    prompts: PromptTable
    called: Mapping[str, Factor] = field(default_factory=dict)
    card: Card | None = None
    designed: tuple[str, tuple[str, ...]] = ("", ())
    setup: Mapping[str, str] = field(default_factory=dict)
    run_settings: Callable[[Config], Run] = _no_values
    paper: str = ""
    decided: Callable[[Own], Own] = _no_decisions
    data: Callable[[Own], tuple[str, str]] = _no_data
    notices: Callable[[Own], list[str]] = _nothing
    spare: Callable[[Own], int | None] = _unbounded
    conditions: Callable[[Config], dict[str, bool]] = _no_conditions
    filled_by: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    scoring_files: Mapping[str, str] = field(default_factory=dict)
    scores_read: str = ""
    scored_by: tuple[str, ...] = ()
    corpus_settings: Callable[[Own, str], Own] | None = None
    corpus_files: Callable[[Own, str, str], list[str] | None] | None = None
    beside: tuple[str, ...] = ()
    searches: Callable[[SliceSettings], list[str]] = _nothing
    search: Callable[[Own, str], Search] | None = None
    closed_book: tuple[str, Any] = ("task", "closed_book")
    translated: Callable[[Own], bool] = _never
    baseline_slices: Callable[[Own], list[str]] | None = None
    judged: Mapping[str, str] = field(default_factory=dict)

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
        """The columns that say what a prompt asks: the task, and the factors by which prompts were made."""
        return ["task", *(factor.name for factor in self.factors if factor.asked)]

    @cached_property
    def by_name(self) -> dict[str, Result]:
        """The results by name."""
        return {result.name: result for result in self.results}

    def unmet(self, result: Result, config: Config) -> list[str]:
        """The names of a result's conditions that this configuration does not meet."""
        holds = self.conditions(config)
        return [name for name in result.when if not holds[name]]

    def filled(self, config: Config) -> list[Result]:
        """The results for which this configuration has prompts and models."""
        holds = self.conditions(config)
        return [result for result in self.results if all(holds[name] for name in result.when)]


@lru_cache(None)
def load_benchmark(name: str) -> Benchmark:
    """The benchmark of this name, from its plan, factors and results.

    Of its fields, functions have their own names in these modules, and other values the same in capitals.
    TypeError if one without a default is missing.
    """
    found: dict[str, Any] = {"name": name}
    for each in fields(Benchmark)[1:]:
        written = each.name if "Callable" in str(each.type) else each.name.upper()
        parts = ("results",) if written in SHOWN else (PLAN, "factors")
        parts = ("card",) if written == "CARD" else parts
        values = [
            vars(load_part(name, part)).get(written) for part in parts if has_part(name, part)
        ]
        value = next((value for value in values if value is not None), None)
        if value is not None:
            found[each.name] = value
        elif each.default is MISSING and each.default_factory is MISSING:
            raise TypeError(f"{part_file(name, parts[0])} lacks {written}: define it.")
    return Benchmark(**found)


def check_benchmark(name: str, config: Config) -> None:
    """Raise UserError if a benchmark cannot be built as `config` says."""
    if has_part(name, "checks") and (check := vars(load_part(name, "checks")).get("check")):
        check(config)
