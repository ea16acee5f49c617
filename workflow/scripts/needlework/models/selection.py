"""Which of a benchmark's prompts a model is asked, beside its `lengths`: the values in its `only`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# The allowed values of each factor that is restricted.
Selection = Mapping[str, Sequence[Any]]

# What can be restricted beside a benchmark's factors.
COLUMNS = ("task", "example_id")


def only_of(config: Mapping[str, Any], model: str, benchmark: str) -> dict[str, list[Any]]:
    """What a model's `only` says of a benchmark: of all benchmarks, and under the benchmark's name."""
    only = config["models"][model]["only"]
    return shared(only) | dict(only.get(benchmark, {}))


def shared(only: Mapping[str, Any]) -> dict[str, list[Any]]:
    """What an `only` says of all benchmarks: the keys that are no benchmark's."""
    return {key: value for key, value in only.items() if not isinstance(value, Mapping)}


def columns(only: Selection, names: Sequence[str]) -> list[str]:
    """The columns of a table that a selection looks at."""
    return [name for name in only if name in names]


def mask(table: Any, only: Selection) -> Any:
    """Which rows of an Arrow table of prompts are selected.

    A row without a value of a factor is selected, and so is every row of a table that has no such factor:
    a task without documents is not restricted by their number.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kept = pa.array([True] * table.num_rows)
    for factor in columns(only, table.column_names):
        column = table[factor].combine_chunks()
        among = pc.is_in(column, value_set=pa.array(only[factor], column.type))
        kept = pc.and_(kept, pc.or_(among, pc.is_null(column)))
    return kept
