"""M4LE's tables and figures: the paper's, and its scores by task, language, domain and place."""

from __future__ import annotations

from needlework import cells
from needlework.benchmarks.m4le.drawings import CANDIDATES, DRAWINGS, GROUP, PLACE, RANGE
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
from needlework.decoding import GREEDY
from needlework.results.result import (
    MODEL,
    By,
    Decoding,
    Measure,
    Paper,
    Place,
    Result,
    Same,
    View,
    Why,
)

HOOKS = "needlework.benchmarks.m4le.hooks:"

# The paper's settings that move its numbers. Those of a run are compared with them name by name.
SETUP = {"source": "released", "release": "2023", "max_new_tokens": "released"}
BOTH = ("paper", "repository")
THE_PAPERS = (Same(SETUP), Decoding(GREEDY), Why(f"{HOOKS}chat_template"))
# Of normalised scores: by the printed reference, of all tasks.
MEANS = (
    Same({"metric": "released", "reference": "published"}),
    *THE_PAPERS,
    Why(f"{HOOKS}other_cells"),
    Why(f"{HOOKS}long_buckets"),
)


def _normalised(weigh: str = "cells") -> Measure:
    return Measure((*cells.MEASURES, "n_tasks"), f"{HOOKS}normalised_mean?weigh={weigh}")


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
    return Place(table, "{paper}", "{ability}", when={"range": words}, printed=BOTH)


def _of_task(task: str) -> Place:
    row = f"{{paper}}/{PRINTED.get(task, task)}"
    when = {"task": task}
    labels = {"metric": "released"}
    check = f"{HOOKS}formula"
    return Place(TABLES[task], row, "{length}", when=when, check=check, printed=BOTH, labels=labels)


BY_COLUMN = By(COLUMN, "length", margin="average", last=True, text=True)
TABLE3 = _mean(
    BY_COLUMN,
    measure=_normalised("lengths"),
    paper=Paper((Place("table3", "{paper}", "{column}", printed=BOTH),), MEANS, sources=BOTH),
)
SLOPES = _mean(
    where="length > 0",
    const={"measure": "slope"},
    measure=_normalised("slope"),
    paper=Paper((Place("figure3", "{paper}", "slope", printed=BOTH),), MEANS, sources=BOTH),
)
BY_RANGE = _mean(
    By(RANGE),
    By(ABILITY),
    where="length > 0 and range == range",
    paper=Paper(tuple(map(_of_range, RANGES)), MEANS),
)
TASKS = View(
    where="length > 0 and metric in ('paper', 'released')",
    by=(By(MODEL), By(TASK), By(METRIC), By(LENGTH)),
    measure=Measure(cells.MEASURES, f"{HOOKS}score"),
    paper=Paper(tuple(map(_of_task, TABLES)), (*THE_PAPERS, Why(f"{HOOKS}long_buckets"))),
)
NORMALISED = (
    "Scores are normalised, r / (g + r), by the reference g at 1K of the same task: 0.5 equals it. A "
    "task without a score or reference is left out (``n_tasks`` says how many are in)."
)


def _range_table(name: str, number: int) -> Result:
    words, _ = RANGES[name]
    return Result(
        name,
        f"Normalised scores by ability, {words}",
        BY_RANGE.but(
            where=f"range == {words!r}",
            paper=Paper((_of_range(name),), MEANS),
        ),
        LAYOUTS["abilities"],
        (
            f"**Abilities in the lengths {words}** (the paper's Table {number}), mean over all tasks "
            f"and buckets of the range. {NORMALISED}"
        ),
        place=f"Table {number}",
    )


RESULTS = (
    Result(
        "table2",
        "Lengths of the tasks' rows",
        View(
            prepare=f"{HOOKS}one_tokenizer",
            by=(By(ABILITY), By(TASK), By(LANG), By(TASK_TYPE)),
            measure=Measure(
                ("value", "n", "shortest", "longest", "published", "comparison"),
                f"{HOOKS}mean_length",
            ),
        ),
        LAYOUTS["table2"],
        (
            "**Lengths of the tasks' rows** (the paper's Table 2), in the unit of each task: words of "
            "English, characters of Chinese, or both added. The paper prints one mean for both "
            "directions of a translation."
        ),
        place="Table 2",
        needs="instances",
    ),
    Result(
        "table3",
        "Normalised scores by length",
        TABLE3,
        LAYOUTS["table3"],
        (
            "**Normalised scores by length** (the paper's Table 3), mean over the tasks; the average "
            f"over the lengths is that of the leaderboard. {NORMALISED} At 6K and 8K the paper's own "
            "tables disagree (``docs/fidelity.md``)."
        ),
        place="Table 3",
    ),
    *(_range_table(name, number) for number, name in enumerate(RANGES, 4)),
    Result(
        "tasks",
        "Scores by task and length",
        TASKS,
        LAYOUTS["tasks"],
        (
            "**Scores by task and length** (the paper's Tables 7 to 45) in percent, by the paper's "
            "metric and by the released scorer, whose numbers the paper prints. Rows with the source "
            "``published`` are models of the paper that this run does not have."
        ),
        place="Tables 7 to 45",
    ),
    Result(
        "figure3",
        "Normalised scores by length",
        TABLE3,
        DRAWINGS["figure3"],
        f"**Normalised scores by length** (the paper's Figure 3, left). {NORMALISED}",
        place="Figure 3, left",
    ),
    Result(
        "figure3_slopes",
        "Slopes of normalised scores over the lengths",
        SLOPES,
        DRAWINGS["figure3_slopes"],
        (
            "**Slopes of normalised scores** (the paper's Figure 3, right): least squares over the "
            "places 0, 1, ... of the buckets, not over their lengths, as the printed slopes are."
        ),
        place="Figure 3, right",
    ),
    Result(
        "figure4",
        "Normalised scores by ability and length",
        BY_RANGE,
        DRAWINGS["figure4"],
        f"**Normalised scores by ability** (the paper's Figure 4, Tables 4 to 6). {NORMALISED}",
        place="Figure 4",
    ),
    Result(
        "figure5",
        "Normalised scores by language and length",
        _mean(By(LANG), By(LENGTH), where="length > 0 and lang in ('en', 'zh')"),
        DRAWINGS["figure5"],
        (
            "**Normalised scores by language** (the paper's Figure 5), without tasks of both "
            f"languages. The paper prints no numbers. {NORMALISED}"
        ),
        place="Figure 5",
    ),
    Result(
        "figure6",
        "Scores by place of the asked text",
        View(
            prepare=f"{HOOKS}studied",
            by=(By(MODEL), By(GROUP), By(PLACE)),
            strata="task",
        ),
        DRAWINGS["figure6"],
        (
            "**Scores by place of the asked text** (the paper's Figure 6), mean of the tasks' means: "
            "the same texts and question, with the asked text at each place. Scores are not "
            "normalised. The paper prints no numbers."
        ),
        place="Figure 6",
        when=("places",),
    ),
    Result(
        "profile",
        "Ability profile",
        _mean(By(ABILITY)),
        DRAWINGS["profile"],
        f"**Ability profile**: mean normalised scores of all lengths by ability. {NORMALISED}",
    ),
    Result(
        "languages",
        "Normalised scores by language",
        _mean(By(LANG), By(LENGTH)),
        LAYOUTS["languages"],
        f"**Normalised scores by the tasks' languages.** {NORMALISED}",
    ),
    Result(
        "domains",
        "Normalised scores by domain",
        _mean(By(DOMAIN), By(LENGTH)),
        LAYOUTS["domains"],
        f"**Normalised scores by the tasks' domains.** {NORMALISED}",
    ),
    Result(
        "places",
        "Scores by place of the asked text, all lengths",
        View(
            prepare=f"{HOOKS}with_needle",
            by=(By(MODEL), By(ABILITY), By(PLACE)),
            strata="task",
        ),
        DRAWINGS["places"],
        (
            "**Scores by place of the asked text**, in fifths of the texts, of all tasks that ask for "
            "one of several texts: mean of the tasks' means, not normalised."
        ),
    ),
    Result(
        "candidates",
        "Scores by number of candidates",
        View(
            prepare=f"{HOOKS}with_candidates",
            by=(By(MODEL), By(ABILITY), By(CANDIDATES)),
            strata="task",
        ),
        DRAWINGS["candidates"],
        (
            "**Scores by the number of texts to choose from**, rounded up to a power of two: mean of "
            "the tasks' means, not normalised."
        ),
    ),
)
