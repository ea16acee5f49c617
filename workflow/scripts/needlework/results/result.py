"""What a table or figure is, as data: which scores, by which factors, beside which numbers of the paper.

Planning reads these, so nothing here imports more than the standard library. A hook says what data cannot:
the name of a function, "package.module:function", that `numbers` calls with rows and a `Context`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from needlework.benchmarks.factor import Factor
from needlework.results.drawings import Drawing
from needlework.results.layouts import Layout

Hook: TypeAlias = str
Needs: TypeAlias = Literal["scores", "ceilings", "instances", "token_counts"]

MODEL = Factor("model")


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


@dataclass(frozen=True)
class Place:
    """Where the paper prints the number of a cell: templates over the cell's labels and `{paper}`.

    `{paper}` is the model's name in the paper. when: the labels for which this is the place. check: a hook
    `(cell, place)` that returns why its number is not comparable, True where it has none at all, or None.
    mean: the number is the mean of all that stand in this row of the table. requires: what must hold here
    beside what `Paper.requires`, and for `printed` rows too where it is a setting. printed: the sources of
    which rows of models that were not run are shown. labels: what those rows say beside what the
    templates tell; complete: a hook `(labels, Context)` that adds to these labels.
    """

    table: str
    row: str
    column: str
    when: Mapping[str, Any] = field(default_factory=dict)
    check: Hook = ""
    mean: bool = False
    requires: tuple[Requirement, ...] = ()
    printed: tuple[str, ...] = ()
    labels: Mapping[str, Any] = field(default_factory=dict)
    complete: Hook = ""

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
    """It counts where a cell's rows have these values of a column, and no others.

    exempt: values that do not matter. whole: all of the values, not just none but these. per_model: of
    each model.
    """

    column: str
    values: tuple[Hashable, ...]
    words: str
    exempt: tuple[Hashable, ...] = ()
    whole: bool = True
    per_model: bool = False


@dataclass(frozen=True)
class AllModels:
    """It counts where the cell is of these models of the paper, and no others."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Why:
    """It counts where a hook, given the cell, finds no reason against it (text, or None)."""

    reason: Hook


Requirement: TypeAlias = Same | Decoding | Over | AllModels | Why


@dataclass(frozen=True)
class Paper:
    """The published number beside each cell, and what must hold for a comparison to count.

    sources: whose numbers are taken, the first that has one ("paper" as printed, "repository": the released
    code's). tell_source: a column says whose. bounds: a printed bound ("at least 0.8") is a number too, and
    a column says which. run_only: numbers are shown only where the run has models of the paper. silent:
    cells without a place say nothing, instead of that there is no published number.
    """

    places: tuple[Place, ...]
    requires: tuple[Requirement, ...] = ()
    sources: tuple[str, ...] = ("paper",)
    tell_source: bool = False
    bounds: bool = False
    run_only: bool = False
    silent: bool = False

    def requiring(self, *more: Requirement) -> Paper:
        """The same with further requirements."""
        return replace(self, requires=(*self.requires, *more))


@dataclass(frozen=True)
class Measure:
    """What a cell says: columns, and a hook `(Part, Context, labels) -> values of these columns`.

    Without a hook, the mean of the values with its intervals (`cells.MEASURES`); `strata` makes it the
    mean of the means of a column's values.
    """

    columns: tuple[str, ...] = ()
    hook: Hook = ""


@dataclass(frozen=True)
class View:
    """One cell for each combination of `by` that has rows.

    prepare: a hook `(rows, Context) -> rows`, called first. where: conditions in pandas' query syntax.
    select: hooks `(rows, Context) -> rows`, called after it.
    columns: labels in their order, before the measures, where it is not that of the levels; `also` follow
    after all other columns. const:
    labels that all cells have. beside: a hook
    `(rows, Context) -> rows` against which each cell is tested (`numbers.PAIRED`). derive: by label, a hook `(Part, labels, Context) -> value`. sort: columns by which rows are
    sorted in the end ("-value": descending), by the order of their factors. finish: a hook
    `(frame, View, Context, rows) -> frame` for what the cells cannot say; its rows are those of `where`.
    """

    by: tuple[By, ...]
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

    def but(self, **changes: Any) -> View:
        """The same view with these changes."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Stack:
    """The rows of several frames, one below the other, then sorted together.

    led: there are no rows where the first frame has none of ours.
    """

    parts: tuple[Numbers, ...]
    led: bool = False
    sort: tuple[str, ...] = ()
    orders: tuple[Factor | By, ...] = ()


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
    names: a hook `(first, second, rows, table, Context) -> line of the paper's table by role`. printed: what the
    paper's lines are that no pair of ours has, in the order of the roles, or false.
    """

    setting: str
    outer: tuple[By, ...]
    by: tuple[By, ...]
    columns: tuple[str, ...]
    same: tuple[str, ...]
    strata: str
    paper: Paper
    names: Hook
    where: str = ""


Numbers: TypeAlias = View | Stack | Pairs | Computed


@dataclass(frozen=True)
class Result:
    """A table or a figure: a file, a target, an entry of the report and of the documentation.

    place: where the paper has it ("Table 1"). shown: a layout or a drawing. caption: reStructuredText. when:
    conditions of the benchmark (`Benchmark.conditions`) that must hold for its prompts to be asked.
    """

    name: str
    title: str
    numbers: Numbers
    shown: Layout | Drawing
    caption: str
    place: str = ""
    needs: Needs = "scores"
    when: tuple[str, ...] = ()

    @property
    def kind(self) -> Literal["tables", "figures"]:
        """The folder of its files."""
        return "figures" if isinstance(self.shown, Drawing) else "tables"

    @property
    def endings(self) -> tuple[str, ...]:
        """The endings of the files that show its numbers, which are in `<name>.csv`."""
        return ("svg", "pdf", "png") if self.kind == "figures" else ("tex",)

    @property
    def label(self) -> str:
        """What the report and messages call it."""
        if not self.place:
            return self.title
        return f"{self.place}: {self.title[0].lower()}{self.title[1:]}"
