"""M4LE's tables: the paper's; scores by task, language and domain; and means of the printed scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.m4le import paper
from needlework.benchmarks.m4le.data.tasks import PAPER_BUCKETS, task_in
from needlework.benchmarks.m4le.factors import (
    ABILITY,
    LANG,
    LENGTH,
    METRIC,
    RANGE,
    RANGES,
    TABLES,
    TASK,
    TASK_TYPE,
    TEXTS,
)
from needlework.benchmarks.m4le.paper import AVERAGE, DUREADER, PRINTED_METRIC, REFERENCE, row_of
from needlework.results.answer_languages import answered_in as by_answers_language
from needlework.results.columns import MEASURES
from needlework.results.published import equal
from needlework.results.result import PERCENT, Context, Grid, Number, PromptTable, table
from needlework.results.tabulate import MODEL, By, Cell, Measure, tabulate, where

if TYPE_CHECKING:
    import pandas as pd

SHORT = LENGTH.renamed("length", label="Length")
COLUMN = SHORT.renamed("column", last=(AVERAGE,), words={AVERAGE: "Average"})
BY_COLUMN = By(COLUMN, "length", margin=AVERAGE, last=True, text=True)
TWO = Number(digits=2)
ABILITIES = Grid(rows=(MODEL, METRIC), columns=(ABILITY,), number=TWO)
# The configured metric, then the metric of the printed numbers if that differs.
BY_METRIC = By(
    METRIC, order=lambda _, run: list(dict.fromkeys((run.run["metric"], PRINTED_METRIC)))
)
NORMALISED = (
    "Normalised score r / (r + g): r is the model's score, g that of the reference model on the same task at "
    "1K. If one metric gave both, 0.5 means equal. The printed references are by the released scorer. A task "
    "without a score or reference is left out."
)
BOTH = (
    "By two metrics: the run's, and the released scorer's (DuReader by ROUGE-L). Our numbers by the "
    "second are compared with the paper's."
)
LONG = "At 6K and 8K the paper's own tables disagree by up to 0.084 (``docs/fidelity.md``)."


def normalised(weigh: str = "cells") -> Measure:
    """The mean normalised score and its number of tasks; `weigh` as in `normalised_mean`."""

    def of(cell: Cell) -> Mapping[str, float]:
        from needlework.benchmarks.m4le.normalised import normalised_mean

        return normalised_mean(cell.part, cell.run.run, weigh)

    return Measure((*MEASURES, "n_tasks"), of)


def by_metric(rows: pd.DataFrame, run: Context, *further: str) -> pd.DataFrame:
    """The scores by the configured metric and by `further` metrics, with the range of their lengths."""
    rows = rows[rows["metric"].isin([run.run["metric"], *further])]
    ranges = {length: words for words, lengths in RANGES.values() for length in lengths}
    return rows.assign(range=rows["length"].map(ranges))


def at_lengths(rows: pd.DataFrame, run: Context, *further: str) -> pd.DataFrame:
    """The rows of `by_metric` that have a length, with the columns of `with_reference`.

    DuReader's scores are ROUGE-L by every metric, as its printed numbers are.
    """
    import pandas as pd

    from needlework.benchmarks.m4le.normalised import with_reference

    dureader = rows["task"] == DUREADER
    by_rouge = rows[dureader & (rows["metric"] == "paper")].copy()
    if not by_rouge.empty:
        # A column of categories stays one.
        by_rouge.loc[:, "metric"] = PRINTED_METRIC
        rows = pd.concat([rows[~(dureader & (rows["metric"] == PRINTED_METRIC))], by_rouge])
    chosen = by_metric(rows, run, *further)
    parts = [part for _, part in chosen.groupby("metric", sort=False, observed=True)] or [chosen]
    return where(pd.concat([with_reference(part, run) for part in parts]), "length > 0")


@table(
    "Lengths of the tasks' rows",
    Grid(
        rows=(ABILITY, TASK, LANG),
        head="Mean length",
        number=Number(0),
        empty="no prompts",
    ),
    needs="instances",
)
def table2(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """In the unit of each task: English words, Chinese characters, or the sum of both. The paper prints one
    mean for both directions of a translation.
    """

    def lengths(cell: Cell) -> Mapping[str, Any]:
        units = cell.part.column("units").astype(float)
        ends = {"shortest": int(units.min()), "longest": int(units.max())}
        return {
            **{"value": float(units.mean()), "n": len(units), **ends},
            **paper.beside_table2(cell.labels["task"], run),
        }

    # The prompts in all tokenizers are the same.
    asked = rows[(rows["tokenizer"] == rows["tokenizer"].iloc[0]) & (rows["length"] > 0)]
    columns = ("value", "n", "shortest", "longest", "published", "published_cell", "comparison")
    measure = Measure(columns, lengths)
    return tabulate(asked, (ABILITY, TASK, LANG, TASK_TYPE), run, measure=measure)


@table(
    "Normalised scores by length",
    Grid(rows=(MODEL, METRIC), columns=(COLUMN,), number=TWO),
    notes=(
        "Mean over the tasks. The average over the lengths is computed as on the leaderboard. "
        f"{NORMALISED} {BOTH} {LONG}",
    ),
)
def table3(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return tabulate(
        at_lengths(rows, run, paper.PRINTED_METRIC),
        (MODEL, BY_METRIC, BY_COLUMN),
        run,
        measure=normalised("lengths"),
        beside=paper.TABLE3,
        models=rows,
    )


def by_ability(rows: pd.DataFrame, run: Context, *ranges: str) -> pd.DataFrame:
    """The mean normalised score by ability in the given ranges of lengths."""
    asked = at_lengths(rows, run, paper.PRINTED_METRIC)
    asked = asked[asked["range"].isin(ranges)]
    return tabulate(
        asked,
        (MODEL, BY_METRIC, RANGE, ABILITY),
        run,
        measure=normalised(),
        beside=paper.ABILITY_TABLES,
        models=rows,
    )


OF_RANGE = (f"Mean over all tasks and lengths of the range. {NORMALISED} {BOTH}",)


@table("Normalised scores by ability, 0K to 1K", ABILITIES, when=("table4",), notes=OF_RANGE)
def table4(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return by_ability(rows, run, "0K to 1K")


@table("Normalised scores by ability, 1K to 4K", ABILITIES, when=("table5",), notes=OF_RANGE)
def table5(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return by_ability(rows, run, "1K to 4K")


@table(
    "Normalised scores by ability, 4K to 8K", ABILITIES, when=("table6",), notes=(*OF_RANGE, LONG)
)
def table6(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    return by_ability(rows, run, "4K to 8K")


@table(
    "Scores by task and length",
    Grid(
        rows=(MODEL, METRIC),
        columns=(SHORT,),
        number=PERCENT,
        where="source == 'ours'",
        float_per=(TASK,),
    ),
)
def tasks(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The paper's Tables 7 to 45, in percent, by the paper's metric and by the released scorer. The paper's
    numbers are the released scorer's, except for DuReader.
    """

    def score(cell: Cell) -> Mapping[str, float]:
        from needlework.benchmarks.m4le import normalised

        return normalised.score(cell.part)

    asked = where(rows, "length > 0 and metric in ('paper', 'released')")
    return tabulate(
        asked,
        (MODEL, TASK, METRIC, LENGTH),
        run,
        measure=Measure(MEASURES, score),
        beside=paper.TASK_TABLES,
        models=rows,
    )


@table(
    "Questions without and with their texts",
    Grid(rows=(MODEL, TASK), columns=(TEXTS,), number=PERCENT),
    when=("closed_book",),
)
def closed_book(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Without a text, a model can only guess or recall its training. Each question of a task is asked once
    without texts, and at all lengths with texts.
    """
    import numpy as np

    rows = by_metric(rows, run)
    alone = (rows["length"] == 0) & (rows["candidates"] == 0)
    asked = rows["task"].isin(rows.loc[alone, "task"])
    rows = rows.assign(texts=np.where(alone, "without", "with"))
    return tabulate(rows[asked & (alone | (rows["length"] > 0))], (MODEL, TASK, TEXTS), run)


def with_answer_lang(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows by the run's metric, with the language that each task's answer is in (`asks_for`)."""
    rows = rows[rows["metric"] == run.run["metric"]]
    tasks = zip(rows["task"].astype(str), rows["lang"].astype(str), strict=True)
    return rows.assign(asks_for=[task_in(*each).answer_lang for each in tasks])


answered_in = by_answers_language(LANG, asked="asks_for", of=with_answer_lang)

# The table of the prompts themselves.
PROMPTS = PromptTable(
    by=("ability", "task_type", "task", "lang", "length"),
    counts=(
        ("prompts", "example_id", "size"),
        ("candidates", "candidates", "mean"),
        ("units_mean", "units", "mean"),
        ("tokens_mean", "n_tokens", "mean"),
        ("tokens_max", "n_tokens", "max"),
        ("max_new_tokens", "max_new_tokens", "max"),
    ),
    slice_names=("",),
    sorted=False,
)


# M4LE's normalised scores, their averages and slopes, recomputed from its printed scores.

SLOPE = "slope"


@table(
    "Recomputed from the printed scores",
    Grid(
        rows=(MODEL,),
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
    """From the paper's numbers alone. The normalised scores of each length are computed from Tables 7 to 45
    and compared with Table 3. The average over the lengths and the slope over their places are computed from
    Table 3, and compared with the repository and with Figure 3.
    """
    import pandas as pd

    from needlework.benchmarks.m4le.normalised import Score, normalised, slope_weights

    made, buckets = [], [str(length) for length in PAPER_BUCKETS]
    for model in run.tables.get("table3", {}):
        found: list[tuple[str, float, int]] = []
        for length in buckets:
            values = []
            for task, name in TABLES.items():
                own = run.find(name, row_of(model, task), length)
                reference = run.find(name, row_of(REFERENCE, task), buckets[0])
                if own and reference and own.value + reference.value:
                    values.append(normalised(Score(own.value), Score(reference.value)).value)
            if values:
                found.append((length, sum(values) / len(values), len(values)))
        values = [number.value for n in buckets if (number := run.find("table3", model, n))]
        if len(values) == len(buckets):
            weights = slope_weights(range(len(values)))
            slope = sum(weight * value for weight, value in zip(weights, values, strict=True))
            found.append((AVERAGE, sum(values) / len(values), len(values)))
            found.append((SLOPE, slope, len(values)))
        for column, value, n in found:
            number = run.find("figure3" if column == SLOPE else "table3", model, column)
            cell = (number and number.value, number and number.cell)
            told = equal(value, number, 3 if column == SLOPE else 2, None)
            made.append((model, PRINTED_METRIC, column, value, n, *cell, told))
    columns = (
        "model",
        "metric",
        "column",
        "value",
        "n",
        "published",
        "published_cell",
        "comparison",
    )
    return pd.DataFrame(made, columns=list(columns))
