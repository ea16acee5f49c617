"""What numbers are made with: the run, and the paper's numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from needlework.results import published as publications

if TYPE_CHECKING:
    import pandas as pd

# What results know of a run (`Context.run`), and the labels of a cell, by column.
Run: TypeAlias = Mapping[str, Any]
Labels: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Context:
    """The input of every result besides its rows: the paper's numbers, and facts about the run.

    `run` has the run's models in order (`models`), their names in the paper (`published`), how they decode
    (`decoding`), those that are no models but controls (`controls`), the values of settings that move the
    paper's numbers (`setup`), and what else the benchmark says.
    """

    published: pd.DataFrame
    run: Run

    @cached_property
    def tables(self) -> dict[str, dict[str, publications.Line]]:
        """The paper's tables by name: their lines, and the numbers of each by column."""
        return publications.tables(self.published)

    def line(self, table: str, row: str) -> publications.Line:
        """The numbers in a line of the paper's table, by column; none where there is no such line."""
        return self.tables.get(table, {}).get(row, {})

    def find(self, table: str, row: str, column: str) -> publications.Number | None:
        """The number of a cell of the paper's table; None without any."""
        return self.line(table, row).get(column)

    def paper_name(self, model: str) -> str:
        """The paper's name of a model; "" if the paper lacks the model."""
        return self.run.get("published", {}).get(model, "")


def model_order(present: Collection[str], run: Run) -> list[str]:
    """Models in the run's order, then any others by name."""
    listed = [model for model in run.get("models", ()) if model in present]
    return listed + sorted(set(present).difference(listed))


def without_controls(numbers: pd.DataFrame, run: Run) -> pd.DataFrame:
    """A result's rows without controls, unless the run has no other model in it.

    A pair that the configuration names keeps both of its models.
    """
    if "model" not in numbers or "pair" in numbers:
        return numbers
    left = numbers[~numbers["model"].isin(list(run.get("controls", ())))]
    ours = left["source"] == "ours" if "source" in left else left["model"].notna()
    return left if ours.any() else numbers
