"""All tables of numbers of a run, from its scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from needlework.results.cards.card import Card
from needlework.results.numbers.answers import answers
from needlework.results.numbers.claims import claims, comparison_rows, models_compared
from needlework.results.numbers.curves import Curve, curves
from needlework.results.numbers.means import KEYS, headline, means
from needlework.results.numbers.tables import TABLES, frame
from needlework.results.result import Context, Run
from needlework.scoring.metric import CAREFUL

if TYPE_CHECKING:
    import pandas as pd


class ScoreFiles(TypedDict):
    """The files of a benchmark's scores and of its paper's numbers, if there are any, and the run's facts."""

    scores: list[str]
    published: str | None
    run: Run


@dataclass(frozen=True)
class Scored:
    """A benchmark of a run, as `benchmark.Shown` says how it is shown."""

    name: str
    card: Card | None
    closed_book: tuple[str, Any]
    designed: Sequence[str]
    factors: Sequence[str]
    # Scores by every metric.
    scores: pd.DataFrame
    # Scores by the metrics that results are made of.
    rows: pd.DataFrame
    run: Context


def number_tables(benchmarks: Iterable[Scored], models: Sequence[str]) -> dict[str, pd.DataFrame]:
    """The TABLES of `models`, by name."""
    found: list[Curve] = []
    made: dict[str, list[Mapping[str, object]]] = {name: [] for name in TABLES}
    answered, factors = {}, {}
    for own in benchmarks:
        mine = own.scores[own.scores["model"].isin(list(models))]
        made["means"] += means(own.name, mine, own.closed_book, own.designed)
        answered[own.name] = headline(mine, own.designed, own.closed_book)
        factors[own.name] = own.factors
        if card := own.card:
            rows = own.rows[own.rows["model"].isin(list(models))]
            careful = mine[mine["metric"] == CAREFUL].drop_duplicates(KEYS).set_index(KEYS)["value"]
            of_benchmark = list(curves(own.name, card, rows, careful, own.run, models))
            made["answers"] += answers(own.name, card, rows, of_benchmark, own.run, models)
            found += of_benchmark
    made["points"] = [point for curve in found for point in curve.points()]
    made["comparisons"] = [row for curve in found for row in comparison_rows(curve)]
    made["comparisons"] += models_compared(answered, factors, models)
    result = {name: frame(name, rows) for name, rows in made.items()}
    return {**result, "comparisons": claims(result["comparisons"])}
