"""The cells of a benchmark's tables and figures as results of a record."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from needlework.results.result import Drawing, Result

# The interval over questions, in tables.
INTERVAL = ("ci_low", "ci_high")
# The columns of which a row has its number in one: lengths stand apart from accuracies.
QUANTITIES = ("value", "tokens")
# What a cell says that has a place of its own in a record.
_PLACED = {"model", "source", "metric", *QUANTITIES, "n", "se_independent", *INTERVAL}
Bounds = tuple[float, float] | None


class Shown(NamedTuple):
    """A table or figure: its numbers as CSV, what it is called, and between which bounds its values lie."""

    file: str
    label: str
    bounds: Bounds


def bounds(result: Result) -> Bounds:
    """Between which numbers the values of a result lie, as its layout says; None if it does not."""
    if isinstance(result.shown, Drawing):
        return result.shown.limits
    numbers = [grid.number for grid in result.shown]
    if any(number.scale != 100 for number in numbers):
        return None
    return (-1.0 if any(number.signed for number in numbers) else 0.0, 1.0)


class Cell(NamedTuple):
    """A number of a model's, in one row of a result."""

    result: str
    row: Mapping[str, str]
    labels: Mapping[str, str]
    shown: Shown

    @property
    def quantity(self) -> str:
        """The column that has the number."""
        return next(name for name in QUANTITIES if self.row.get(name))

    @property
    def value(self) -> float:
        """The number, to the last digit as the CSV has it."""
        return float(self.row[self.quantity])


def cells(results: Mapping[str, Shown], model: str) -> Iterator[Cell]:
    """Every cell of a model's: a row with a number, of ours, and of no other model or pair of models."""
    for name, shown in results.items():
        with Path(shown.file).open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or []
            if not {"model", "value"} <= set(columns):
                continue
            # Labels stand before the measures.
            named = [c for c in columns[: columns.index("value")] if c not in ("model", "source")]
            for row in reader:
                ours = row["model"] == model and row.get("source", "ours") == "ours"
                if ours and any(row.get(name) for name in QUANTITIES):
                    labels = {column: row[column] for column in named if row[column]}
                    yield Cell(name, row, labels, shown)


def evaluation_results(
    benchmark: str,
    found: Iterator[Cell],
    source: Mapping[str, Any],
    generation: Mapping[str, Any],
    metric: str,
) -> list[dict[str, Any]]:
    """The cells as `evaluation_results`; `metric` is that of rows that name none."""
    made, seen = [], Counter[str]()
    for cell in found:
        place = "/".join([benchmark, cell.result, *(f"{k}={v}" for k, v in cell.labels.items())])
        own = cell.row.get("metric") or metric
        seen[place] += 1
        if seen[place] > 1:
            place += f"#{seen[place]}"
        made.append(
            {
                "evaluation_result_id": place,
                "evaluation_name": f"{benchmark}/{cell.result}",
                "source_data": source,
                "metric_config": _metric(
                    benchmark, cell, own if cell.quantity == "value" else cell.quantity
                ),
                "score_details": _score(cell),
                "generation_config": generation,
            }
        )
    return made


def _metric(benchmark: str, cell: Cell, metric: str) -> dict[str, Any]:
    low, high = cell.shown.bounds or (None, None)
    if low is not None and high is not None and not low <= cell.value <= high:
        low = high = None
    return {
        "evaluation_description": cell.shown.label,
        "metric_id": f"{benchmark}.{metric}",
        "metric_name": metric,
        # Shares of kinds of errors.
        "lower_is_better": "error" in cell.labels,
        "score_type": "continuous",
        "min_score": low,
        "max_score": high,
    }


def _score(cell: Cell) -> dict[str, Any]:
    """The value with its certainty; all else of the row as text, as the CSV has it."""
    row = cell.row
    uncertainty: dict[str, Any] = {}
    if all(row.get(end) for end in INTERVAL):
        low, high = (float(row[end]) for end in INTERVAL)
        uncertainty["confidence_interval"] = {
            **{"lower": low, "upper": high, "confidence_level": 0.95},
            "method": "over questions (docs/fidelity.md)",
        }
    if row.get("se_independent"):
        uncertainty["standard_error"] = {
            "value": float(row["se_independent"]),
            "method": "over answers",
        }
    if row.get("n"):
        uncertainty["num_samples"] = int(float(row["n"]))
    details = {name: text for name, text in row.items() if text and name not in _PLACED}
    return {
        "score": cell.value,
        **({"uncertainty": uncertainty} if uncertainty else {}),
        "details": details,
    }
