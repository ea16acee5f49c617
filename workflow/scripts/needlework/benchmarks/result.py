"""What a table or figure is, as data: which scores, by which factors, beside which numbers of the paper.

Planning reads these, so nothing here imports more than the standard library. A hook says what data cannot:
the name of a function, "package.module:function", that `numbers` calls with rows and a `Context`.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from needlework.benchmarks.drawings import Drawing
from needlework.benchmarks.factor import Factor
from needlework.benchmarks.layouts import Layout

Hook: TypeAlias = str
Needs: TypeAlias = Literal["scores", "ceilings", "instances", "token_counts", "books"]

MODEL = Factor("model")

# What captions say of all comparisons of two sides.
MCNEMAR = (
    "The CSV has McNemar's exact test of each point: of the questions answered on both sides "
    "(``n_both``), how many only the first has right (``n_first_only``), how many only the second "
    "(``n_second_only``), and ``p_mcnemar``."
)
DELTA = (
    "Rows ``delta`` are the second model less the first on the prompts that both answered, with the "
    "interval of that paired difference. McNemar's exact p takes prompts for independent draws, so it is "
    "too small where few questions are asked often: trust the interval over questions."
)


@dataclass(frozen=True)
class By:
    """One level of a view: a cell for each value of a factor.

    column: the rows' column, where it is not the factor's name. margin: what the cell over all values is
    called; it comes first, or with `last` after them, and with `several` only where there are two values
    or more. With `only_margin` there is no other cell. values: a hook that gives the values, in order.
    text: values are written as text. nullable: rows without a value are a cell of their own. contrast: (name,
    a, b) adds a cell for value a less value b, with Newcombe's interval; without both there is no cell
    (the last level alone). shares: each cell has all rows, and its measure says how many have the value.
    """

    factor: Factor
    column: str = ""
    margin: str = ""
    last: bool = False
    several: bool = False
    only_margin: bool = False
    values: Hook = ""
    text: bool = False
    nullable: bool = False
    contrast: tuple[str, Any, Any] | None = None
    shares: bool = False


def levels_of(by: Iterable[By | Factor]) -> tuple[By, ...]:
    """Levels, where a factor is a level of it alone."""
    return tuple(level if isinstance(level, By) else By(level) for level in by)


@dataclass(frozen=True)
class Place:
    """Where the paper prints the number of a cell: templates over the cell's labels and `{paper}`.

    `{paper}` is the model's name in the paper. when: the labels for which this is the place. check: a hook
    `(cell, place)` that returns why its number is not comparable, True where it has none at all, or None.
    column: without one, the number is the mean of all that stand in this row of the table. requires: what
    must hold here beside what `Paper.requires`. labels: what rows of the paper's numbers say beside what
    the templates tell; complete: a hook `(labels, Context)` that adds to these labels. digits: the number
    is no share of answers but a fact; ours equals it to so many digits, rounded or cut, or differs.
    """

    table: str
    row: str
    column: str = ""
    when: Mapping[str, Any] = field(default_factory=dict)
    check: Hook = ""
    requires: tuple[Requirement, ...] = ()
    labels: Mapping[str, Any] = field(default_factory=dict)
    complete: Hook = ""
    digits: int | None = None

    def but(self, **changes: Any) -> Place:
        """The same place with these changes."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Same:
    """A comparison counts where these settings of the run are the paper's."""

    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Decoding:
    """It counts where models decode as in the paper: as `named` says of a model of the paper, or as usual."""

    usual: str
    named: Mapping[str, str] = field(default_factory=dict)
    ours_too: bool = True


@dataclass(frozen=True)
class Over:
    """It counts where each model's rows have all of these values of a column, and no others but "none"."""

    column: str
    values: tuple[Hashable, ...]
    words: str


@dataclass(frozen=True)
class AllModels:
    """It counts where the cell is of these models of the paper, and no others.

    In a run without any of the paper's models the number is not shown.
    """

    names: tuple[str, ...]


# It counts where a hook, given the cell, finds no reason against it (text, or None).
Requirement: TypeAlias = Same | Decoding | Over | AllModels | Hook


@dataclass(frozen=True)
class Paper:
    """The published number beside each cell, and what must hold for a comparison to count.

    show_published: the paper's numbers of models that were not run are rows of their own, if the run has the
    settings that their places require. tell_source: a column says whose the number is, the paper's or the
    released code's. bounds: a printed bound ("at least 0.8") is a number too, and a column says which.
    silent: cells without a place say nothing, instead of that there is no published number.
    """

    places: tuple[Place, ...]
    requires: tuple[Requirement, ...] = ()
    show_published: bool = False
    tell_source: bool = False
    bounds: bool = False
    silent: bool = False


@dataclass(frozen=True)
class Measure:
    """What a cell says: columns, and a hook `(Part, Context, labels) -> values of these columns`.

    Without a hook, the mean of the values with its intervals (`columns.MEASURES`); `strata` makes it the
    mean of the means of a column's values.
    """

    columns: tuple[str, ...] = ()
    hook: Hook = ""


@dataclass(frozen=True)
class View:
    """One cell for each combination of `by` that has rows; a factor there is a `By` of it alone.

    when: conditions of the benchmark (`Benchmark.conditions`) that must hold for its prompts to be asked.
    prepare: a hook `(rows, Context) -> rows`, called first. where: conditions in pandas' query syntax.
    select: hooks `(rows, Context) -> rows`, called after it. const: labels that all cells have. derive: by
    label, a hook `(Part, labels, Context) -> value`, or "" if `finish` gives the values. columns: labels in
    their order, before the measures, where it is not that of `by` (`source` behind the model), then `const`
    and `derive`; `also` follow after all other columns. beside: a hook `(rows, Context) -> rows` against
    which each cell is tested (`numbers.PAIRED`). sort: columns by which rows are sorted in the end
    ("-value": descending), by the order of their factors, or rather of `orders`. finish: a hook
    `(frame, View, Context, rows) -> frame` for what the cells cannot say; its rows are those of `where`.
    """

    by: tuple[By | Factor, ...]
    when: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    prepare: Hook = ""
    where: str = ""
    select: tuple[Hook, ...] = ()
    strata: str = ""
    measure: Measure = field(default_factory=Measure)
    paper: Paper | None = None
    const: Mapping[str, Any] = field(default_factory=dict)
    derive: Mapping[str, Hook] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    beside: Hook = ""
    sort: tuple[str, ...] = ()
    orders: tuple[Factor | By, ...] = ()
    finish: Hook = ""

    @property
    def levels(self) -> tuple[By, ...]:
        """`by`, each as a level."""
        return levels_of(self.by)

    @property
    def ordered(self) -> tuple[By, ...]:
        """What orders the values of columns: the levels, or rather `orders`."""
        return (*self.levels, *levels_of(self.orders))

    def but(self, **changes: Any) -> View:
        """The same view with these changes."""
        return replace(self, **changes)

    def of(self, *select: Hook, **changes: Any) -> View:
        """The same view of those of its rows that these hooks select, with these changes."""
        return self.but(select=(*self.select, *select), **changes)


@dataclass(frozen=True)
class Stack:
    """The rows of several frames, one below the other, sorted together as the first view is.

    only_with_first: there are no rows where the first frame has none of ours.
    """

    parts: tuple[Numbers, ...]
    only_with_first: bool = False


@dataclass(frozen=True)
class Computed:
    """A frame that a hook makes by itself: `(rows, Context, **arguments) -> frame`."""

    hook: Hook
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pairs:
    """Both models of each pair that `run[setting]` lists, and the second less the first.

    Each pair has, for every combination of `outer`, rows of the roles first, second and delta, each by `by`.
    A delta is over the prompts that both answered: two answers are to one prompt where `same` columns agree.
    names: a hook `(first, second, rows, table, Context) -> line of the paper's table by role`.
    """

    setting: str
    outer: tuple[By, ...]
    by: tuple[By, ...]
    same: tuple[str, ...]
    strata: str
    paper: Paper
    names: Hook
    where: str = ""


Numbers: TypeAlias = View | Stack | Pairs | Computed


def views(numbers: Numbers) -> list[View]:
    """The views that numbers are made of."""
    if isinstance(numbers, Stack):
        return [view for part in numbers.parts for view in views(part)]
    return [numbers] if isinstance(numbers, View) else []


@dataclass(frozen=True)
class Result:
    """A table or a figure: a file, a target, an entry of the report and of the documentation.

    caption: what is special about it, in reStructuredText. when: conditions of the benchmark, beside those
    of its views. needs: the rows that it is made of. `results` gives it its name ("table1", "figure4b"
    where it is the paper's) and what shows it.
    """

    title: str
    numbers: Numbers
    caption: str
    when: tuple[str, ...] = ()
    needs: Needs = "scores"
    name: str = ""
    shown: Layout | Drawing = ()

    @property
    def conditions(self) -> tuple[str, ...]:
        """All conditions, each once."""
        found = [*(name for view in views(self.numbers) for name in view.when), *self.when]
        return tuple(dict.fromkeys(found))

    @property
    def kind(self) -> Literal["tables", "figures"]:
        """The folder of its files."""
        return "figures" if isinstance(self.shown, Drawing) else "tables"

    @property
    def endings(self) -> tuple[str, ...]:
        """The endings of the files that show its numbers, which are in `<name>.csv`."""
        return ("svg", "pdf", "png") if self.kind == "figures" else ("tex",)

    @property
    def place(self) -> str:
        """Where the paper has it ("Table 1"); "" where it has not."""
        found = re.fullmatch(r"(table|figure)(\d+[a-z]?)", self.name)
        return f"{found[1].capitalize()} {found[2]}" if found else ""

    @property
    def full_caption(self) -> str:
        """The caption in the report: title, place, `caption`, and what the CSV has beside the numbers.

        What marks mean is in a figure's small print, which knows whether they are there.
        """
        place = f" (the paper's {self.place})" if self.place else ""
        parts = [f"**{self.title}**{place}.", self.caption]
        if any(view.beside for view in views(self.numbers)):
            parts.append(MCNEMAR)
        if isinstance(self.numbers, Pairs):
            parts.append(DELTA)
        return " ".join(parts)

    @property
    def label(self) -> str:
        """What the report and messages call it."""
        if not self.place:
            return self.title
        # A name of a model or a task stays as it is.
        word = re.match("[A-Z][a-z-]+,? ", self.title)
        return f"{self.place}: {self.title[0].lower() if word else self.title[0]}{self.title[1:]}"


def results(shown: Mapping[str, Layout | Drawing], **described: Result) -> tuple[Result, ...]:
    """These results under their names, each with the layout or drawing that `shown` has of its name."""
    return tuple(
        replace(result, name=name, shown=shown[name]) for name, result in described.items()
    )
