"""Selections of rows for M4LE's tables and figures."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from needlework.benchmarks.m4le.data.tasks import PRINTED
from needlework.benchmarks.m4le.factors import RANGES, SHORTEST, TABLES
from needlework.benchmarks.m4le.paper import DUREADER, PRINTED_METRIC, REFERENCE
from needlework.results.result import Context

if TYPE_CHECKING:
    import pandas as pd


def metrics(present: Collection[str], run: Context) -> list[str]:
    """The configured metric, then the metric of the printed numbers if that differs."""
    return list(dict.fromkeys((run.run["metric"], PRINTED_METRIC)))


def by_metric(rows: pd.DataFrame, run: Context, *further: str) -> pd.DataFrame:
    """The scores by the configured metric and by `further` metrics, with the range of their lengths."""
    rows = rows[rows["metric"].isin([run.run["metric"], *further])]
    ranges = {length: words for words, lengths in RANGES.values() for length in lengths}
    return rows.assign(range=rows["length"].map(ranges))


def with_references(rows: pd.DataFrame, run: Context, *further: str) -> pd.DataFrame:
    """The rows of `by_metric` with the reference scores by which each task is normalised.

    DuReader's scores are ROUGE-L by every metric, as its printed numbers are.

    g: the reference's score at 1K; g_se and g_se_independent: its errors over questions and over answers;
    reference: the reference model's value on the same prompt, if it is a model of the run.
    """
    import pandas as pd

    chosen = by_metric(_rouge_of_dureader(rows), run, *further)
    own = [
        _with_reference(part, run)
        for _, part in chosen.groupby("metric", sort=False, observed=True)
    ]
    return pd.concat(own) if own else _with_reference(chosen, run)


def _rouge_of_dureader(rows: pd.DataFrame) -> pd.DataFrame:
    """With the paper's metric of DuReader in place of the released scorer's accuracy."""
    import pandas as pd

    dureader = rows["task"] == DUREADER
    by_rouge = rows[dureader & (rows["metric"] == "paper")].copy()
    if by_rouge.empty:
        return rows
    # A column of categories stays one.
    by_rouge.loc[:, "metric"] = PRINTED_METRIC
    return pd.concat([rows[~(dureader & (rows["metric"] == PRINTED_METRIC))], by_rouge])


def _with_reference(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Rows of one metric with the reference's."""
    import pandas as pd

    from needlework.benchmarks.m4le.normalised import task_scores
    from needlework.results import cells
    from needlework.results.cells import Table

    name = run.run["reference"]
    if name == "published":
        found = _printed(run)
        values = rows.iloc[:0]
    else:
        short = rows[(rows["model"] == name) & (rows["length"] == SHORTEST)]
        own = task_scores(Table(short).all()) if len(short) else []
        found = {each.task: (each.value, each.se, each.se_independent) for each in own}
        values = short[cells.judged(short)]
    errors = pd.DataFrame.from_dict(found, "index", columns=["g", "g_se", "g_se_independent"])
    rows = rows.join(errors.astype(float), on="task")
    keys = ["task", "length", "example_id", "sample"]
    values = values[[*keys, "value"]].rename(columns={"value": "reference"})
    return rows.merge(values, on=keys, how="left", validate="many_to_one")


def _printed(run: Context) -> dict[str, tuple[float, float, float]]:
    """The paper's reference by task. An accuracy is a share of n rows; of others no error is known."""
    from needlework.results import stats

    found = {}
    for task, table in TABLES.items():
        row = f"{REFERENCE}/{PRINTED.get(task, task)}"
        published = run.find(table, row, str(SHORTEST))
        if published is not None:
            se = stats.standard_error(published.value, published.n) if published.n else 0.0
            found[task] = (published.value, se, se)
    return found


def studied(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of the study of places (Figure 6), with the kind of their task and the intended place.

    If the number of documents is no multiple of the number of places, actual places differ a little.
    """
    rows = by_metric(rows, run)
    rows = rows[(rows["length"] == 0) & rows["position"].notna()]
    steps = max(1, run.run["places"] - 1)
    kinds = rows["task_type"].map(_kind)
    return rows.assign(group=kinds, place=(rows["position"] * steps).round() / steps)


def _kind(task_type: str) -> str:
    return next((kind for kind in ("SUM", "QA") if kind in task_type), "RET")


def with_needle(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of tasks that ask for one of several texts, with the fifth of the texts that holds it."""
    rows = by_metric(rows, run)
    # News Commentary asks for one too, though the paper calls it "global".
    single = ~rows["ability"].isin(["explicit_multiple", "semantic_multiple"])
    rows = rows[(rows["length"] > 0) & rows["position"].notna() & single]
    return rows.assign(place=(rows["position"] * 5).clip(upper=4.999).astype(int) / 4)


def without_texts(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of tasks that are asked with and without their texts, with a column that tells which."""
    import numpy as np

    rows = by_metric(rows, run)
    alone = (rows["length"] == 0) & (rows["candidates"] == 0)
    asked = rows["task"].isin(rows.loc[alone, "task"])
    rows = rows.assign(texts=np.where(alone, "without", "with"))
    return rows[asked & (alone | (rows["length"] > 0))]
