"""What the descriptions of M4LE's results cannot say: scores of tasks, and what they are normalised by."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from needlework.benchmarks.contract import Labels
from needlework.benchmarks.m4le.factors import PRINTED, RANGES, SHORTEST, TABLES
from needlework.benchmarks.m4le.normalised import (
    Score,
    Weighed,
    combined,
    normalised,
    slope_weights,
)
from needlework.data.corpora.m4le_data.tasks import CONSTRUCTED, PAPER_BUCKETS, TASKS
from needlework.results import cells, measures, stats
from needlework.results.context import Cell, Context
from needlework.results.parts import Part, Table

if TYPE_CHECKING:
    import pandas as pd

    from needlework.benchmarks.result import Place

REFERENCE = "GPT-3.5-Turbo-16K"
# What a rerun cannot have: how many rows the released scorer dropped.
DROPPED = "the released scorer dropped rows that failed, which the paper does not count"


# Scores of a task


def score(part: Part, context: Context, labels: Labels) -> dict[str, float | int]:
    """`columns.MEASURES` of one task's rows: the mean, or the BLEU of all answers together."""
    if {CONSTRUCTED[task].metric for task in part.values("task")} == {"bleu"}:
        return measures.of_sums(
            part,
            context,
            labels,
            column="bleu_statistics",
            function="needlework.scoring.metrics.m4le_bleu:of_sums",
        )
    return part.measure()


@dataclass(frozen=True)
class Own:
    """A task's score at a length, by errors over answers and over questions."""

    task: str
    length: int
    part: Part
    value: float
    se: float
    se_clustered: float
    lowest: float
    highest: float

    @cached_property
    def first(self) -> pd.Series:
        """The first row, which names the reference of all."""
        return self.part.table.frame.iloc[self.part.places[0]]

    @cached_property
    def covariance(self) -> float:
        """That with its reference: of the same prompts, if they are of one run; 0 of BLEU."""
        if CONSTRUCTED[self.task].metric == "bleu":
            return 0.0
        given = self.part.given
        value = given.array("value", lambda frame: frame["value"].astype(float))
        reference = given.array("reference", lambda frame: frame["reference"].astype(float))
        both = ~np.isnan(value) & ~np.isnan(reference)
        if both.sum() < 2:
            return 0.0
        return float(np.cov(value[both], reference[both], ddof=0)[0, 1] / both.sum())


# The scores of a table's cells, by model, task and length: most are in several results' cells.
_SCORES: WeakKeyDictionary[Table, dict[tuple[str, str, int], Own]] = WeakKeyDictionary()


def _scores(part: Part, context: Context) -> list[Own]:
    """The scores of one model's rows, by task and length; without those that nobody answered."""
    known = _SCORES.setdefault(part.table, {})
    (model,) = part.values("model")
    found = []
    for task, rows in part.split("task").items():
        for length, own in rows.split("length").items():
            place = int(str(length))
            key = model, str(task), place
            if key not in known:
                values = score(own, context, {})
                half = (values["ci_high_clustered"] - values["ci_low_clustered"]) / 2
                known[key] = Own(
                    *(str(task), place, own, values["value"], values["se"], half / stats.Z),
                    *(values["lowest"], values["highest"]),
                )
            found.append(known[key])
    return [own for own in found if not math.isnan(own.value)]


def normalised_mean(
    part: Part, context: Context, labels: Labels, weigh: str = "cells"
) -> dict[str, float | int]:
    """`columns.MEASURES` of a model's normalised scores r / (g + r), and how many tasks they are of.

    weigh: "cells" is the mean of all tasks at all lengths, "lengths" the mean of the lengths' means,
    "slope" the least-squares slope of these over the places of the run's lengths. A score without a
    reference, or 0 like it, is left out.
    """
    there = [(own, own.first) for own in _scores(part, context) if own.value + own.first["g"] > 0]
    weights = _weights([own.length for own, _ in there], weigh, context)
    made: dict[str, Any] = {}
    for kind in ("", "_clustered"):
        weighed = []
        for (own, row), weight in zip(there, weights, strict=False):
            mine = Score(own.value, own.se_clustered if kind else own.se)
            reference = Score(row["g"], row[f"g_se{kind}"])
            itself = row["model"] == context.run["reference"] and own.length == SHORTEST
            covariance = mine.se**2 if itself else own.covariance
            weighed.append(Weighed(own.task, mine, reference, covariance, weight))
        found = combined(weighed)
        if len(weighed) == 1 and weigh != "slope":
            found = normalised(weighed[0].score, weighed[0].reference, weighed[0].covariance)
        low, high = found.ci_low, found.ci_high
        if weigh != "slope":
            low, high = (float(np.clip(end, 0, 1)) for end in (low, high))
        made |= {f"ci_low{kind}": low, f"ci_high{kind}": high}
        if not kind:
            made |= {"value": found.value, "se": found.se}
    given = sum(len(own.part.given) for own, _ in there)
    questions = sum(len(own.part.given.values("example_id")) for own, _ in there)
    tasks = len({own.task for own, _ in there})
    return {
        **made,
        "n": given,
        "n_questions": questions,
        **part.lost(),
        **_normalised_bounds(part, there, weights, made["value"], weigh),
        "n_tasks": tasks,
    }


def _normalised_bounds(
    part: Part,
    there: Sequence[tuple[Own, pd.Series]],
    weights: Sequence[float],
    value: float,
    weigh: str,
) -> dict[str, float]:
    """The mean with every missing answer wrong, and right, the references as they are.

    NaN of a slope with missing answers, and where nothing of a task was answered: it is in no mean.
    """
    if len(part.given) == len(part):
        return {"lowest": value, "highest": value}
    if weigh == "slope" or sum(len(own.part) for own, _ in there) < len(part):
        return {"lowest": math.nan, "highest": math.nan}
    found = {}
    for end in ("lowest", "highest"):
        pairs = [(getattr(own, end), row["g"]) for own, row in there]
        shares = [r / (g + r) if g + r else 0.0 for r, g in pairs]
        found[end] = sum(w * share for w, share in zip(weights, shares, strict=True))
    return found


def _weights(lengths: list[int], weigh: str, context: Context) -> list[float]:
    """What each cell, of one of these lengths, counts; none where there is no slope."""
    if weigh == "cells":
        return [1 / len(lengths) for _ in lengths]
    counts = {length: lengths.count(length) for length in sorted(set(lengths))}
    if weigh == "lengths":
        return [1 / counts[length] / len(counts) for length in lengths]
    order = context.run["lengths"]
    slopes = slope_weights([order.index(length) for length in counts])
    if not slopes:
        return []
    of_length = dict(zip(counts, slopes, strict=True))
    return [of_length[length] / counts[length] for length in lengths]


# Rows


def by_metric(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The scores by the metric of the configuration, with the range of their lengths."""
    rows = rows[rows["metric"] == context.run["metric"]]
    ranges = {length: words for words, lengths in RANGES.values() for length in lengths}
    return rows.assign(range=rows["length"].map(ranges))


def with_references(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """`by_metric` with what each task is normalised by.

    g: the reference's score at 1K; g_se and g_se_clustered: its errors over answers and over questions;
    reference: its value on the same prompt, where it is a model of the run.
    """
    import pandas as pd

    rows = by_metric(rows, context)
    name = context.run["reference"]
    if name == "published":
        found = _printed(context)
        values = rows.iloc[:0]
    else:
        short = rows[(rows["model"] == name) & (rows["length"] == SHORTEST)]
        own = _scores(Table(short).all(), context) if len(short) else []
        found = {each.task: (each.value, each.se, each.se_clustered) for each in own}
        values = short[cells.judged(short)]
    errors = pd.DataFrame.from_dict(found, "index", columns=["g", "g_se", "g_se_clustered"])
    rows = rows.join(errors.astype(float), on="task")
    keys = ["task", "length", "example_id", "sample"]
    values = values[[*keys, "value"]].rename(columns={"value": "reference"})
    return rows.merge(values, on=keys, how="left", validate="many_to_one")


def _printed(context: Context) -> dict[str, tuple[float, float, float]]:
    """The paper's reference by task. An accuracy is a share of n rows; of others no error is known."""
    found = {}
    for task, table in TABLES.items():
        row = f"{REFERENCE}/{PRINTED.get(task, task)}"
        published = context.find(table, row, str(SHORTEST))
        if published is not None:
            se = stats.standard_error(published.value, published.n) if published.n else 0.0
            found[task] = (published.value, se, se)
    return found


def studied(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The rows that study places, with the kind of their task and the place that was meant (Figure 6).

    Documents that are no multiple of the places stand a little beside them.
    """
    rows = by_metric(rows, context)
    rows = rows[(rows["length"] == 0) & rows["position"].notna()]
    steps = max(1, context.run["places"] - 1)
    kinds = rows["task_type"].map(_kind)
    return rows.assign(group=kinds, place=(rows["position"] * steps).round() / steps)


def _kind(task_type: str) -> str:
    return next((kind for kind in ("SUM", "QA") if kind in task_type), "RET")


def with_needle(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """Rows of tasks that ask for one of several texts, with the fifth of these that it stands in."""
    rows = by_metric(rows, context)
    # News Commentary asks for one too, though the paper calls it "global".
    single = ~rows["ability"].isin(["explicit_multiple", "semantic_multiple"])
    rows = rows[(rows["length"] > 0) & rows["position"].notna() & single]
    return rows.assign(place=(rows["position"] * 5).clip(upper=4.999).astype(int) / 4)


def with_candidates(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """Rows that ask for some of several texts, with the next power of two from their number."""
    rows = by_metric(rows, context)
    rows = rows[(rows["length"] > 0) & (rows["candidates"] > 1)]
    number = rows["candidates"].astype(float)
    return rows.assign(at_most=(2 ** np.ceil(np.log2(number))).astype(int))


def without_texts(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The rows of tasks whose questions are also asked without their texts, and which of both a row is."""
    rows = by_metric(rows, context)
    alone = (rows["length"] == 0) & (rows["candidates"] == 0)
    asked = rows["task"].isin(rows.loc[alone, "task"])
    rows = rows.assign(texts=np.where(alone, "without", "with"))
    return rows[asked & (alone | (rows["length"] > 0))]


def one_tokenizer(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The prompts in one tokenizer: those of all are the same."""
    return rows[(rows["tokenizer"] == rows["tokenizer"].iloc[0]) & (rows["length"] > 0)]


# Table 2


def mean_length(
    part: Part, context: Context, labels: Labels
) -> dict[str, float | int | str | None]:
    """The mean length of a task's rows, and what Table 2 has of its data set."""
    task = CONSTRUCTED[labels["task"]]
    kind = task.task_type.replace("+", " + ")
    ability = task.ability.replace("_", " ").title()
    published = context.find("table2", f"{ability}/{task.source}/{kind}", "ave_len")
    lengths = part.column("units").astype(float)
    return {
        "value": float(lengths.mean()),
        "n": len(lengths),
        "shortest": int(lengths.min()),
        "longest": int(lengths.max()),
        "published": None if published is None else published.value,
        "comparison": "cannot tell: the paper does not say of which buckets",
    }


# Why a number of the paper's is of something else


def chat_template(cell: Cell) -> str | None:
    """The paper sends prompts as they are."""
    chat = set(cell.part.values("model")).intersection(cell.context.run["chat"])
    return "a chat template, in the paper none" if chat else None


def long_buckets(cell: Cell) -> str | None:
    """At 6K and 8K the released scorer dropped rows that failed."""
    return DROPPED if any(length > 4000 for length in _lengths(cell)) else None


def other_cells(cell: Cell) -> str | None:
    """The mean is of other tasks or lengths than the paper's; `cell` has one of these as labels."""
    lengths, labels = _lengths(cell), cell.labels
    if "range" in labels:
        wanted: Iterable[int] = next(
            own for words, own in RANGES.values() if words == labels["range"]
        )
    elif labels.get("column", "average") == "average":
        wanted = PAPER_BUCKETS
    else:
        wanted = [int(labels["column"])]
    if lengths != set(wanted):
        return "other lengths"
    tasks = {task for task in TASKS.values() if labels.get("ability", task.ability) == task.ability}
    for length in wanted:
        published = {
            task.name
            for task in tasks
            if cell.context.find(
                TABLES[task.name],
                f"{REFERENCE}/{PRINTED.get(task.name, task.name)}",
                str(length),
            )
        }
        asked = cell.part.split("length")[length].values("task")
        if set(asked) != published:
            return "other tasks"
    return None


def _lengths(cell: Cell) -> set[int]:
    return {int(length) for length in cell.part.values("length")}


def formula(cell: Cell, place: Place) -> str | None:
    """The paper's numbers are by the released scorer, which differs in most tasks.

    DuReader's are no shares of right answers, whatever their number (Table 27).
    """
    task = CONSTRUCTED[cell.labels["task"]]
    if task.name == "dureader":
        return "the paper's is ROUGE-L, and how it cuts answers is unknown"
    if cell.labels["metric"] == "released" or task.metric == "bleu":
        return None
    if task.metric == "f1" and task.name != "online-shopping":
        return None
    return "metric is paper, in the paper released"
