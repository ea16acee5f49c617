"""M4LE's tables: the paper's, scores by task, language and domain, and what the printed scores give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.m4le import paper
from needlework.benchmarks.m4le.data.tasks import PAPER_BUCKETS, task_in
from needlework.benchmarks.m4le.factors import (
    ABILITY,
    LANG,
    LENGTH,
    METRIC,
    RANGES,
    TABLES,
    TASK,
    TASK_TYPE,
)
from needlework.benchmarks.m4le.paper import AVERAGE, PRINTED_METRIC, REFERENCE, row_of
from needlework.benchmarks.m4le.rows import metrics, with_references, without_texts
from needlework.factor import Factor
from needlework.results.answer_languages import answered_in as by_answers_language
from needlework.results.columns import MEASURES
from needlework.results.published import equal
from needlework.results.result import (
    PERCENT,
    Context,
    Grid,
    Number,
    PromptTable,
    table,
)
from needlework.results.tabulate import MODEL, By, Cell, Measure, tabulate, where

if TYPE_CHECKING:
    import pandas as pd

RANGE = Factor("range", label="Length", order=tuple(words for words, _ in RANGES.values()))
TEXTS = Factor(
    "texts",
    label="Question",
    order=("without", "with"),
    words={"without": "Without texts", "with": "With texts"},
)
MODELS = Factor("model", label="Model")
COLUMN = LENGTH.renamed("column", last=("average",), words={"average": "Average"})
BY_COLUMN = By(COLUMN, "length", margin="average", last=True, text=True)
TWO = Number(digits=2)
ABILITIES = Grid(rows=(MODELS, METRIC), columns=(ABILITY,), number=TWO)
BY_METRIC = By(METRIC, order=metrics)
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


def at_lengths(rows: pd.DataFrame, run: Context, *further: str) -> pd.DataFrame:
    """The rows that have a length, by the given metrics, with the reference scores of each task."""
    return where(with_references(rows, run, *further), "length > 0")


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
    Grid(rows=(MODELS, METRIC), columns=(COLUMN,), number=TWO),
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
        rows=(MODELS, METRIC),
        columns=(LENGTH,),
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
    Grid(rows=(MODELS, TASK), columns=(Factor("texts"),), number=PERCENT),
    when=("closed_book",),
)
def closed_book(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Without a text, a model can only guess or recall its training. Each question of a task is asked once
    without texts, and at all lengths with texts.
    """
    return tabulate(without_texts(rows, run), (MODEL, TASK, TEXTS), run)


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
    """From the paper's numbers alone. The normalised scores of each length are computed from Tables 7 to 45
    and compared with Table 3. The average over the lengths and the slope over their places are computed from
    Table 3, and compared with the repository and with Figure 3.
    """
    import pandas as pd

    models = run.tables.get("table3", {})
    made = [cell for model in models for cell in (*_means(model, run), *_over_lengths(model, run))]
    return pd.DataFrame(made, columns=list(COLUMNS))


def _means(model: str, run: Context) -> Iterator[Mapping[str, object]]:
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


def _over_lengths(model: str, run: Context) -> Iterator[Mapping[str, object]]:
    """The average over the lengths and the slope over their places, from Table 3."""
    from needlework.benchmarks.m4le.normalised import slope_weights

    values = [number.value for n in _BUCKETS if (number := run.find("table3", model, n))]
    if len(values) == len(_BUCKETS):
        yield _cell(model, AVERAGE, sum(values) / len(values), len(values), run)
        weights = slope_weights(range(len(values)))
        slope = sum(weight * value for weight, value in zip(weights, values, strict=True))
        yield _cell(model, SLOPE, slope, len(values), run)


def _cell(model: str, column: str, value: float, n: int, run: Context) -> Mapping[str, object]:
    digits = _DIGITS.get(column, 2)
    number = run.find("figure3" if column == SLOPE else "table3", model, column)
    return {
        **{"model": model, "metric": PRINTED_METRIC, "column": column, "value": value, "n": n},
        "published": number and number.value,
        "published_cell": number and number.cell,
        "comparison": equal(value, number, digits, None),
    }
