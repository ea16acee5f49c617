"""What a table or figure is: a function of rows and the run, with its title, its place and its look.

Planning imports results to learn their names, titles and needs, so this needs the standard library alone.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from needlework.results.drawings import Drawing
from needlework.results.layouts import Grid, Layout

if TYPE_CHECKING:
    import pandas as pd

    from needlework.results.context import Context

# The rows that a result is made of: scores of answers, ceilings of translation, instances, token counts (of
# books, too), or the paper's numbers alone.
Needs: TypeAlias = Literal["scores", "ceilings", "instances", "token_counts", "books", "published"]
Numbers: TypeAlias = Callable[["pd.DataFrame", "Context"], "pd.DataFrame"]

# Sentences that captions share.
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
class Result:
    """A table or figure: its files, a target, an entry of the report and of the documentation.

    name: of its files ("table1" and "figure4b" are the paper's). caption: reStructuredText. numbers: makes
    its tidy table, one cell a row. shown: how that is laid out or drawn. needs: the rows that `numbers`
    gets. when: conditions of the benchmark (`Benchmark.conditions`) that must hold for it to have rows.
    over_models: whether some of its numbers are means over models.
    """

    name: str
    title: str
    caption: str
    numbers: Numbers
    shown: Layout | Drawing
    needs: Needs = "scores"
    when: tuple[str, ...] = ()
    over_models: bool = False

    def __call__(self, rows: pd.DataFrame, run: Context) -> pd.DataFrame:
        """The tidy table of these rows."""
        return self.numbers(rows, run)

    @property
    def kind(self) -> Literal["tables", "figures"]:
        """The folder of its files."""
        return "figures" if isinstance(self.shown, Drawing) else "tables"

    @property
    def endings(self) -> tuple[str, ...]:
        """The endings of the files that show its numbers, which are in `<name>.csv`."""
        return ("svg", "pdf", "png", "txt") if self.kind == "figures" else ("tex", "html")

    @property
    def place(self) -> str:
        """Its number in the paper ("Table 1"), or "" if the paper lacks it."""
        found = re.fullmatch(r"(table|figure)(\d+[a-z]?)", self.name)
        return f"{found[1].capitalize()} {found[2]}" if found else ""

    @property
    def full_caption(self) -> str:
        """The caption in the report: title, place in the paper, and `caption`."""
        place = f" (the paper's {self.place})" if self.place else ""
        return f"**{self.title}**{place}. {self.caption}"

    @property
    def label(self) -> str:
        """What the report and messages call it."""
        if not self.place:
            return self.title
        # A name of a model or a task stays as it is.
        word = re.match("[A-Z][a-z-]+,? ", self.title)
        return f"{self.place}: {self.title[0].lower() if word else self.title[0]}{self.title[1:]}"


Decorated: TypeAlias = Callable[[Numbers], Result]


def told(result: Result, run: Mapping[str, Any]) -> str:
    """What captions, notes and LaTeX say of a run: its data, the models in means, and those asked a part."""
    counted = run.get("counted", "") if result.over_models else ""
    return " ".join(filter(None, (run.get("data", ""), counted, run.get("asked", ""))))


def table(
    title: str,
    *grids: Grid,
    needs: Needs = "scores",
    when: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    over_models: bool = False,
) -> Decorated:
    """Make the decorated function a table, laid out as these grids.

    Its docstring is the caption; `notes` are further sentences of it, which several results share.
    """
    return _result(title, grids, needs, when, notes, over_models)


def figure(
    title: str,
    drawing: Drawing,
    *,
    needs: Needs = "scores",
    when: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    over_models: bool = False,
) -> Decorated:
    """Make the decorated function a figure; docstring and `notes` as for `table`."""
    return _result(title, drawing, needs, when, notes, over_models)


def _result(
    title: str,
    shown: Layout | Drawing,
    needs: Needs,
    when: tuple[str, ...],
    notes: tuple[str, ...],
    over_models: bool,
) -> Decorated:
    def decorate(numbers: Numbers) -> Result:
        caption = " ".join([*(inspect.getdoc(numbers) or "").split(), *notes])
        name = numbers.__name__
        return Result(name, title, caption, numbers, shown, needs, when, over_models)

    return decorate


def results_in(*modules: ModuleType) -> tuple[Result, ...]:
    """The results that these modules define, in the order of definition. ValueError if two share a name."""
    found: dict[str, Result] = {}
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, Result) and found.setdefault(value.name, value) is not value:
                raise ValueError(f"{module.__name__} defines {value.name} a second time.")
    return tuple(found.values())
