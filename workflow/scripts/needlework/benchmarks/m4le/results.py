"""M4LE's tables and figures: the paper's, and its scores by task, language, domain and place."""

from __future__ import annotations

from needlework.benchmarks.columns import MEASURES
from needlework.benchmarks.m4le.drawings import CANDIDATES, DRAWINGS, GROUP, PLACE, RANGE, TEXTS
from needlework.benchmarks.m4le.factors import (
    ABILITY,
    DOMAIN,
    LANG,
    LENGTH,
    METRIC,
    PRINTED,
    RANGES,
    TABLES,
    TASK,
    TASK_TYPE,
)
from needlework.benchmarks.m4le.layouts import COLUMN, LAYOUTS
from needlework.benchmarks.result import (
    MODEL,
    By,
    Decoding,
    Measure,
    Paper,
    Place,
    Result,
    Same,
    View,
    results,
)
from needlework.models.decoding import GREEDY

HOOKS = "needlework.benchmarks.m4le.hooks:"

# The paper's settings that move its numbers. Those of a run are compared with them name by name.
SETUP = {"source": "released", "release": "2023", "max_new_tokens": "released"}
THE_PAPERS = (Same(SETUP), Decoding(GREEDY), f"{HOOKS}chat_template")
# Of normalised scores: by the printed reference, of all tasks.
MEANS = (
    Same({"metric": "released", "reference": "published"}),
    *THE_PAPERS,
    f"{HOOKS}other_cells",
    f"{HOOKS}long_buckets",
)


def _normalised(weigh: str = "cells") -> Measure:
    return Measure((*MEASURES, "n_tasks"), f"{HOOKS}normalised_mean?weigh={weigh}")


def _mean(*by: By, **changes: object) -> View:
    """The mean normalised score of a model by these levels."""
    view = View(
        prepare=f"{HOOKS}with_references",
        where="length > 0",
        by=(By(MODEL), *by),
        measure=_normalised(),
    )
    return view.but(**changes)


def _of_range(table: str) -> Place:
    words, _ = RANGES[table]
    return Place(table, "{paper}", "{ability}", when={"range": words})


def _of_task(task: str) -> Place:
    row = f"{{paper}}/{PRINTED.get(task, task)}"
    when = {"task": task}
    labels = {"metric": "released"}
    check = f"{HOOKS}formula"
    return Place(TABLES[task], row, "{length}", when=when, check=check, labels=labels)


BY_COLUMN = By(COLUMN, "length", margin="average", last=True, text=True)
TABLE3 = _mean(
    BY_COLUMN,
    measure=_normalised("lengths"),
    paper=Paper((Place("table3", "{paper}", "{column}"),), MEANS, show_published=True),
)
SLOPES = _mean(
    where="length > 0",
    const={"measure": "slope"},
    measure=_normalised("slope"),
    paper=Paper(
        (Place("figure3", "{paper}", "slope", labels={"measure": "slope"}),),
        MEANS,
        show_published=True,
    ),
)
BY_RANGE = _mean(
    By(RANGE),
    By(ABILITY),
    where="length > 0 and range == range",
    paper=Paper(tuple(map(_of_range, RANGES)), MEANS, show_published=True),
)
TASKS = View(
    where="length > 0 and metric in ('paper', 'released')",
    by=(By(MODEL), By(TASK), By(METRIC), By(LENGTH)),
    measure=Measure(MEASURES, f"{HOOKS}score"),
    paper=Paper(
        tuple(map(_of_task, TABLES)), (*THE_PAPERS, f"{HOOKS}long_buckets"), show_published=True
    ),
)
NORMALISED = (
    "Scores are normalised, r / (g + r), by the reference g at 1K of the same task: 0.5 equals it, "
    "if one metric gave both. The printed references are the released scorer's. A task without a score or "
    "reference is left out (``n_tasks`` says how many are in)."
)


def _range_table(table: str) -> Result:
    words, _ = RANGES[table]
    view = BY_RANGE.but(
        where=f"range == {words!r}", paper=Paper((_of_range(table),), MEANS, show_published=True)
    )
    caption = f"Mean over all tasks and buckets of the range. {NORMALISED}"
    return Result(f"Normalised scores by ability, {words}", view, caption, (table,))


RESULTS = results(
    {**LAYOUTS, **dict.fromkeys(RANGES, LAYOUTS["abilities"]), **DRAWINGS},
    table2=Result(
        "Lengths of the tasks' rows",
        View(
            prepare=f"{HOOKS}one_tokenizer",
            by=(ABILITY, TASK, LANG, TASK_TYPE),
            measure=Measure(
                ("value", "n", "shortest", "longest", "published", "comparison"),
                f"{HOOKS}mean_length",
            ),
        ),
        "In the unit of each task: words of English, characters of Chinese, or both added. The paper "
        "prints one mean for both directions of a translation.",
        needs="instances",
    ),
    table3=Result(
        "Normalised scores by length",
        TABLE3,
        f"Mean over the tasks; the average over the lengths is that of the leaderboard. {NORMALISED} "
        "At 6K and 8K the paper's own tables disagree (``docs/fidelity.md``).",
    ),
    **{table: _range_table(table) for table in RANGES},
    tasks=Result(
        "Scores by task and length",
        TASKS,
        "The paper's Tables 7 to 45, in percent, by the paper's metric and by the released scorer, whose "
        "numbers the paper prints, but for DuReader's. Rows of the CSV with the source ``published`` are "
        "models of the paper that this run does not have.",
    ),
    figure3=Result(
        "Normalised scores by length",
        TABLE3,
        f"The left half. {NORMALISED}",
    ),
    figure3_slopes=Result(
        "Slopes of normalised scores over the lengths",
        SLOPES,
        "The right half of the paper's Figure 3: least squares over the places 0, 1, ... of the buckets, "
        "not over their lengths, as the printed slopes are.",
    ),
    figure4=Result(
        "Normalised scores by ability and length",
        BY_RANGE,
        NORMALISED,
    ),
    figure5=Result(
        "Normalised scores by language and length",
        _mean(By(LANG), By(LENGTH), where="length > 0 and lang in ('en', 'zh')"),
        f"Without tasks of both languages. The paper prints no numbers. {NORMALISED}",
    ),
    figure6=Result(
        "Scores by place of the asked text",
        View(prepare=f"{HOOKS}studied", by=(MODEL, GROUP, PLACE), strata="task"),
        "Mean of the tasks' means: the same texts and question, with the asked text at each place. "
        "Scores are not normalised. The paper prints no numbers.",
        ("places",),
    ),
    profile=Result(
        "Ability profile",
        _mean(By(ABILITY)),
        f"Mean normalised scores of all lengths by ability. {NORMALISED}",
    ),
    languages=Result(
        "Normalised scores by language",
        _mean(By(LANG), By(LENGTH)),
        f"By the tasks' languages. {NORMALISED}",
    ),
    domains=Result(
        "Normalised scores by domain",
        _mean(By(DOMAIN), By(LENGTH)),
        f"By the tasks' domains. {NORMALISED}",
    ),
    places=Result(
        "Scores by place of the asked text, all lengths",
        View(prepare=f"{HOOKS}with_needle", by=(MODEL, ABILITY, PLACE), strata="task"),
        "In fifths of the texts, of all tasks that ask for one of several: mean of the tasks' means, "
        "not normalised.",
    ),
    candidates=Result(
        "Scores by number of candidates",
        View(prepare=f"{HOOKS}with_candidates", by=(MODEL, ABILITY, CANDIDATES), strata="task"),
        "The number of texts to choose from, rounded up to a power of two: mean of the tasks' means, "
        "not normalised.",
    ),
    closed_book=Result(
        "Questions without and with their texts",
        View(prepare=f"{HOOKS}without_texts", by=(MODEL, TASK, TEXTS)),
        "What a model answers without having read anything, it has guessed or knows from its training. Each "
        "question of a task is asked once without texts; with them at all lengths.",
        ("closed_book",),
    ),
)
