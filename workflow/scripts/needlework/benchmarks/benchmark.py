"""What a benchmark is, read from its modules; docs/adding-a-benchmark.md shows how to write one."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, get_type_hints

from needlework.benchmarks.contract import CorpusTable, Run, Search, SliceSettings
from needlework.benchmarks.parts import PLAN, has_part, load_part, part_file
from needlework.factor import Factor
from needlework.results.cards.card import Card
from needlework.results.result import PromptTable, Result

if TYPE_CHECKING:
    from needlework.settings.base import BenchmarkSettings
else:
    # `_written` reads annotations, in jobs too, which lack pydantic.
    BenchmarkSettings = object


class Written(NamedTuple):
    """The name by which a benchmark's modules define a field of `Benchmark`, and the parts that may do it."""

    name: Callable[[str], str]
    parts: tuple[str, ...]


T = TypeVar("T")
# A function with the field's name; a constant with this name in capitals.
Function = Annotated[T, Written(str.lower, (PLAN, "factors"))]
Constant = Annotated[T, Written(str.upper, (PLAN, "factors"))]
ConstantOfResults = Annotated[T, Written(str.upper, ("results",))]
ConstantOfCard = Annotated[T, Written(str.upper, ("card",))]


def _nothing(settings: object) -> list[str]:
    return []


def _no_values(settings: object) -> Any:
    return {}


def _never(settings: object) -> bool:
    return False


def _unbounded(settings: object) -> int | None:
    return None


def _no_data(settings: object) -> tuple[str, str]:
    return "", ""


@dataclass(frozen=True)
class Plan:
    """Which prompts there are, and what they are made of.

    Functions get the benchmark's block of the configuration (`needlework.given`), or slice settings, which
    `settings` returns.
    """

    # The names of the files into which prompts are divided.
    slices: Function[Callable[[BenchmarkSettings], list[str]]]
    # All that a slice's prompts depend on, as JSON values, except files and tokenizer: of the configuration,
    # the slice's name and the lengths that models want.
    settings: Function[Callable[[BenchmarkSettings, str, list[int]], SliceSettings]]
    # The tables that a slice is built from, by input name.
    reads: Function[Callable[[SliceSettings], dict[str, list[CorpusTable]]]]
    # The tables that any prompt can refer to.
    quotes: Function[Callable[[BenchmarkSettings], list[CorpusTable]]]
    # The languages of a slice's distractors.
    searches: Function[Callable[[SliceSettings], list[str]]] = _nothing
    # How distractors of a language are found; None: the benchmark has none.
    search: Function[Callable[[BenchmarkSettings, str], Search] | None] = None
    # The slices that together ask every question.
    baseline_slices: Function[Callable[[BenchmarkSettings], list[str]]] = _nothing
    # Keys whose values follow from other keys, with these values.
    decided: Function[Callable[[BenchmarkSettings], Mapping[str, object]]] = _no_values
    # Sentences about what the prompts leave out.
    notices: Function[Callable[[BenchmarkSettings], list[str]]] = _nothing
    # Tokens of each length that a chat template may take beside the tokenizer's `reserve`; None: lengths are
    # not in tokens.
    spare: Function[Callable[[BenchmarkSettings], int | None]] = _unbounded
    # What a table of the benchmark's own corpora depends on, by language.
    corpus_settings: Function[Callable[[BenchmarkSettings, str], SliceSettings] | None] = None
    # The files of a table of such a corpus; None: those of the registry.
    corpus_files: Function[Callable[[BenchmarkSettings, str, str], list[str] | None] | None] = None


@dataclass(frozen=True)
class Scoring:
    """The inputs of scores, beside prompts and answers."""

    # Files below resources/, by the argument of `score` that gets them.
    scoring_files: Constant[Mapping[str, str]] = field(default_factory=dict)
    # The argument of `score` that gets the tables that prompts quote; "": none.
    scores_read: Constant[str] = ""
    # Columns of instances that scores need beside the factors.
    scored_by: Constant[tuple[str, ...]] = ()
    # Metrics of further rows of scores; results have one only where the key `metric` names it.
    beside: Constant[tuple[str, ...]] = ()
    # Whether answers are scored in English too. Then the part `scores` has a function `metric`.
    translated: Function[Callable[[BenchmarkSettings], bool]] = _never
    # The judge's prompt (resources/judge/<name>.txt) of a task, where it is not `answer`.
    judged: Constant[Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Shown:
    """How prompts and scores are shown."""

    # The table of what prompts are like.
    prompts: ConstantOfResults[PromptTable]
    # The order and names of the values of factors and other labels in figures.
    called: ConstantOfResults[Mapping[str, Factor]] = field(default_factory=dict)
    # The factor that prompts were made to vary, and the tasks that ask for it; (): all tasks.
    designed: ConstantOfResults[tuple[str, tuple[str, ...]]] = ("", ())
    # How report cards show the benchmark; None: they do not.
    card: ConstantOfCard[Card | None] = None
    # The column and value of prompts that ask without the texts.
    closed_book: Constant[tuple[str, Any]] = ("task", "closed_book")


@dataclass(frozen=True)
class RunFacts:
    """Facts about a run that results state, and the conditions under which it has data for a result.

    Two functions get the whole configuration in blocks (`needlework.planning.configuration.Configuration`).
    """

    # What the prompts and the paper's prompts are made of, in words.
    data: Function[Callable[[BenchmarkSettings], tuple[str, str]]] = _no_data
    # Where the configuration has what the paper's numbers depend on ("benchmarks.x.needles"), by name.
    setup: Constant[Mapping[str, str]] = field(default_factory=dict)
    # What else results need to know of the configuration.
    run_settings: Function[Callable[[Any], Run]] = _no_values
    # Whether the configuration fills the results that name a condition (`Result.when`), by condition.
    conditions: Function[Callable[[Any], dict[str, bool]]] = _no_values
    # The keys and values (YAML; <model> and <file> are the user's) with which a condition holds.
    filled_by: Constant[Mapping[str, Mapping[str, str]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: its prompts, scores and results, as its modules describe them."""

    name: str
    plan: Plan
    scoring: Scoring
    shown: Shown
    run: RunFacts
    # Its name in texts.
    title: Constant[str]
    # The columns of instances and scores; `length` (int32) is one: the token budget, or 0 without a budget.
    factors: Constant[tuple[Factor, ...]]
    # The functions that make tables and figures.
    results: ConstantOfResults[tuple[Result, ...]]
    # The address of its paper.
    paper: Constant[str] = ""

    @property
    def task_names(self) -> dict[str, str]:
        """Display names by task, for tasks whose display name differs from their own name."""
        called = self.shown.called
        return dict(called["task"].words) if "task" in called else {}

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

    def unmet(self, result: Result, config: Any) -> list[str]:
        """The names of a result's conditions that this configuration does not meet."""
        holds = self.run.conditions(config)
        return [name for name in result.when if not holds[name]]

    def filled(self, config: Any) -> list[Result]:
        """The results for which this configuration has prompts and models."""
        holds = self.run.conditions(config)
        return [result for result in self.results if all(holds[name] for name in result.when)]


@lru_cache(None)
def load_benchmark(name: str) -> Benchmark:
    """The benchmark of this name, from its modules. TypeError if these lack a constant or function."""
    groups = {"plan": Plan, "scoring": Scoring, "shown": Shown, "run": RunFacts}
    parts = {attribute: group(**_written(name, group)) for attribute, group in groups.items()}
    return Benchmark(name=name, **parts, **_written(name, Benchmark))


def _written(benchmark: str, group: type) -> dict[str, Any]:
    """The values that a benchmark's modules define for the fields of a group."""
    found, types = {}, get_type_hints(group, include_extras=True)
    for each in fields(group):
        for place in getattr(types[each.name], "__metadata__", ()):
            name = place.name(each.name)
            modules = [vars(load_part(benchmark, p)) for p in place.parts if has_part(benchmark, p)]
            values = [module[name] for module in modules if module.get(name) is not None]
            if values:
                found[each.name] = values[0]
            elif each.default is MISSING and each.default_factory is MISSING:
                raise TypeError(f"{part_file(benchmark, place.parts[0])} lacks {name}: define it.")
    return found


def check_benchmark(name: str, config: Any) -> None:
    """Raise UserError if a benchmark cannot be built as `config` says."""
    if has_part(name, "checks") and (check := vars(load_part(name, "checks")).get("check")):
        check(config)
