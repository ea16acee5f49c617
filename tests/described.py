"""The results of a benchmark by name, and their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pytest

from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.parts import names
from needlework.given import given
from needlework.results import published as publications
from needlework.results.result import Context, Result

# What a comparison says where it can tell.
COMPARED = {"covers", "above", "below"}


def group(benchmark: str) -> pytest.MarkDecorator:
    """The mark of tests for the worker that has a benchmark's golden tables."""
    return pytest.mark.xdist_group(f"golden-{benchmark}")


def golden(*values: Any) -> Any:
    """Parameters, of which the first is a benchmark, for the worker that has its golden tables."""
    return pytest.param(*values, marks=group(values[0]))


BENCHMARKS = [golden(name) for name in names()]


def each(*kinds: str) -> list[Any]:
    """Benchmark and name of each result of these kinds, as parameters."""
    return [
        golden(name, r.name) for name in names() for r in load_benchmark(name).results
        if r.kind in kinds
    ]  # fmt: skip


def results(benchmark: str, kind: str) -> dict[str, Result]:
    """The tables or the figures of a benchmark, in their order."""
    return {r.name: r for r in load_benchmark(benchmark).results if r.kind == kind}


def numbers(
    result: Result, rows: pd.DataFrame, published: pd.DataFrame, run: Mapping[str, Any]
) -> pd.DataFrame:
    """The numbers of a result."""
    return result(rows, Context(published, run))


def of(rows: pd.DataFrame, **labels: Any) -> pd.DataFrame:
    """The rows with these labels, each of which is a value or a list of values."""
    for column, value in labels.items():
        rows = rows[rows[column].isin(value) if isinstance(value, list) else rows[column] == value]
    return rows


def cell(table: pd.DataFrame, **labels: Any) -> pd.Series:
    """The only row with these labels."""
    found = of(table, **labels)
    assert len(found) == 1, (labels, len(found))
    return found.iloc[0]


def verdicts(table: pd.DataFrame, **labels: Any) -> set[str]:
    """What is said of our cells with these labels that have a published number beside them."""
    ours = of(table, source="ours", **labels)
    return set(ours.loc[ours["published"].notna(), "comparison"])


def is_mean_of(
    table: pd.DataFrame, labels: Mapping[str, Any], scores: pd.DataFrame, answers: str
) -> None:
    """Assert that the cell with these labels is the mean of these answers, a query of the scores."""
    mine, found = scores.query(answers), cell(table, **labels)
    assert found["value"] == pytest.approx(mine["value"].mean())
    assert found["n"] == len(mine) > 0 and found["ci_low"] <= found["value"] <= found["ci_high"]


def filled(benchmark: str, kind: str, own: Mapping[str, Any]) -> list[str]:
    """The tables or the figures, by name, that this block of a benchmark fills, of any models."""
    models = {backend: {"backend": backend, "published": None} for backend in ("openai", "vllm")}
    run = {"models": [*models], "seed": 0}
    config = given({"run": run, "models": models, "benchmarks": {benchmark: own}})
    return [r.name for r in load_benchmark(benchmark).filled(config) if r.kind == kind]


def printed(
    published: pd.DataFrame,
    table: str,
    row: str,
    column: str,
    sources: Sequence[str] = publications.SOURCES,
) -> publications.PrintedNumber | None:
    """What the paper (or else its released code) has in a cell of a table; None without any."""
    return Context(published[published["source"].isin(sources)], {}).find(table, row, column)
