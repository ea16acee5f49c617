"""M4LE's normalised scores, their averages and slopes, recomputed from its printed scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.m4le.data.tasks import PAPER_BUCKETS
from needlework.benchmarks.m4le.factors import TABLES
from needlework.benchmarks.m4le.paper import AVERAGE, PRINTED_METRIC, REFERENCE, row_of
from needlework.benchmarks.m4le.tables import COLUMN, LONG, MODELS
from needlework.results.context import Context
from needlework.results.published import equal
from needlework.results.result import Grid, Number, table

if TYPE_CHECKING:
    import pandas as pd

SLOPE = "slope"
COLUMNS = ("model", "metric", "column", "value", "n", "published", "published_cell", "comparison")
_DIGITS = {AVERAGE: 2, SLOPE: 3}
_BUCKETS = [str(length) for length in PAPER_BUCKETS]


@table(
    "Recomputed from the printed scores",
    Grid(
        rows=(MODELS,),
        columns=(
            COLUMN.renamed("column", last=(AVERAGE, SLOPE), words={**COLUMN.words, SLOPE: "Slope"}),
        ),
        number=Number(digits=3),
        empty="no printed numbers",
    ),
    needs="published",
    notes=(LONG,),
)
def derived(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """From the paper's numbers alone. The normalised score of each length, which Table 3 prints, is of the
    scores in Tables 7 to 45. The average over the lengths, which the repository prints, and the slope over
    their places, which Figure 3 prints, are of Table 3. ``n`` is the number of tasks, or of lengths.
    """
    import pandas as pd

    models = run.tables.get("table3", {})
    made = [cell for model in models for cell in (*_means(model, run), *_over_lengths(model, run))]
    return pd.DataFrame(made, columns=list(COLUMNS))


def _means(model: str, run: Context) -> Iterator[Mapping[str, Any]]:
    """The mean normalised score of each length, from the printed scores of the tasks."""
    from needlework.benchmarks.m4le.normalised import Score, normalised

    for length in _BUCKETS:
        values = []
        for task, name in TABLES.items():
            own = run.find(name, row_of(model, task), length)
            reference = run.find(name, row_of(REFERENCE, task), _BUCKETS[0])
            if own and reference and own.value + reference.value:
                values.append(normalised(Score(own.value), Score(reference.value)).value)
        if values:
            yield _cell(model, length, sum(values) / len(values), len(values), run)


def _over_lengths(model: str, run: Context) -> Iterator[Mapping[str, Any]]:
    """The average over the lengths and the slope over their places, from Table 3."""
    from needlework.benchmarks.m4le.normalised import slope_weights

    values = [number.value for n in _BUCKETS if (number := run.find("table3", model, n))]
    if len(values) == len(_BUCKETS):
        yield _cell(model, AVERAGE, sum(values) / len(values), len(values), run)
        weights = slope_weights(range(len(values)))
        slope = sum(weight * value for weight, value in zip(weights, values, strict=True))
        yield _cell(model, SLOPE, slope, len(values), run)


def _cell(model: str, column: str, value: float, n: int, run: Context) -> Mapping[str, Any]:
    digits = _DIGITS.get(column, 2)
    number = run.find("figure3" if column == SLOPE else "table3", model, column)
    return {
        **{"model": model, "metric": PRINTED_METRIC, "column": column, "value": value, "n": n},
        "published": number and number.value,
        "published_cell": number and number.cell,
        "comparison": equal(value, number, digits, None),
    }
