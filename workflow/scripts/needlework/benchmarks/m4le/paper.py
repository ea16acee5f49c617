"""M4LE's cells beside the paper's numbers, and reasons why a cell cannot be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from needlework.benchmarks.m4le.data.tasks import CONSTRUCTED, PAPER_BUCKETS, PRINTED, TASKS
from needlework.benchmarks.m4le.factors import RANGES, TABLES
from needlework.models.engine_arguments import GREEDY
from needlework.results.published import PrintedNumber
from needlework.results.result import Context
from needlework.results.tabulate import (
    Cell,
    Place,
    other_entries,
    other_settings,
    own_instructions,
    printed,
)

# The paper's settings that move its numbers. Those of a run are compared with them name by name.
SETUP = {"source": "released", "release": "2023", "max_new_tokens": "released"}
REFERENCE = "GPT-3.5-Turbo-16K"
# What made the printed numbers. DuReader's are ROUGE-L, as the paper says, and no accuracies.
PRINTED_METRIC, DUREADER = "released", "dureader"
# Of a printed accuracy that is no share of the bucket's rows.
DROPPED = "the released scorer left out rows that failed, and how many is unknown"
AVERAGE = "average"


def _other_answers(cell: Cell) -> Iterator[str]:
    yield from other_settings(cell.run, SETUP)
    yield from own_instructions(cell, "task")
    yield from other_entries(cell, GREEDY)
    # The paper sends prompts as they are.
    if set(cell.part.values("model")).intersection(cell.run.run["chat"]):
        yield "a chat template, in the paper none"


def _other_mean(cell: Cell, number: PrintedNumber) -> Iterator[str]:
    """Why a mean of normalised scores is not the paper's: by the printed reference, of all tasks."""
    labels = cell.labels
    if labels["metric"] != PRINTED_METRIC:
        yield _other_metric(cell)
    yield from other_settings(cell.run, {"reference": "published"})
    yield from _other_answers(cell)
    # The tasks and lengths of the paper's cell, by the labels that it has.
    wanted: Iterable[int]
    if "range" in labels:
        wanted = next(own for words, own in RANGES.values() if words == labels["range"])
    elif labels.get("column", AVERAGE) == AVERAGE:
        wanted = PAPER_BUCKETS
    else:
        wanted = [int(labels["column"])]
    if {int(length) for length in cell.part.values("length")} != set(wanted):
        yield "other lengths"
        return
    tasks = {task for task in TASKS.values() if labels.get("ability", task.ability) == task.ability}
    for length in wanted:
        published = {
            task.name
            for task in tasks
            if cell.run.find(TABLES[task.name], row_of(REFERENCE, task.name), str(length))
        }
        if set(cell.part.split("length")[length].values("task")) != published:
            yield "other tasks"
            return


def _other_metric(cell: Cell) -> str:
    return f"metric is {cell.labels['metric']}, in the paper {PRINTED_METRIC}"


def row_of(model: str, task: str) -> str:
    """The row of the paper's table for a task (Tables 7 to 45)."""
    return f"{model}/{PRINTED.get(task, task)}"


def _other_formula(cell: Cell) -> str | None:
    """The paper's numbers are by the released scorer, which differs in most tasks.

    DuReader's are no shares of right answers, whatever their number (Table 27).
    """
    task = CONSTRUCTED[cell.labels["task"]]
    if task.name == DUREADER:
        return "the paper's is ROUGE-L, and how it cuts answers is unknown"
    if cell.labels["metric"] == PRINTED_METRIC or task.metric == "bleu":
        return None
    if task.metric == "f1" and task.name != "online-shopping":
        return None
    return _other_metric(cell)


def _other_task(cell: Cell, number: PrintedNumber) -> Iterator[str]:
    yield from _other_answers(cell)
    # The printed accuracies of other models say how many rows the bucket has.
    if CONSTRUCTED[cell.labels["task"]].metric in ("accuracy", "match") and number.n is None:
        yield DROPPED


def beside_table2(task: str, run: Context) -> Mapping[str, object]:
    """Table 2 has the mean length of each task's data set. It does not say which buckets the mean is over."""
    own = CONSTRUCTED[task]
    kind, ability = own.task_type.replace("+", " + "), own.ability.replace("_", " ").title()
    number = run.find("table2", f"{ability}/{own.source}/{kind}", "ave_len")
    return {
        "published": None if number is None else number.value,
        "published_cell": None if number is None else number.cell,
        "comparison": "cannot tell: the paper does not say of which buckets",
    }


BY_METRIC = {"metric": PRINTED_METRIC}
TABLE3 = printed(Place("table3"), reasons=_other_mean, also=BY_METRIC)
# The right half of Figure 3.
SLOPES = printed(Place("figure3", column="slope"), reasons=_other_mean, also=BY_METRIC)
# Tables 4 to 6 have a range of lengths each.
ABILITY_TABLES = printed(
    *(
        Place(name, column="{ability}", labels={"range": words})
        for name, (words, _) in RANGES.items()
    ),
    reasons=_other_mean,
    also=BY_METRIC,
)
# Tables 7 to 45 have a task each.
TASK_TABLES = printed(
    *(
        Place(table, row_of("{model}", task), "{length}", {"task": task})
        for task, table in TABLES.items()
    ),
    reasons=_other_task,
    last=_other_formula,
    also=BY_METRIC,
)
