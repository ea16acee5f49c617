"""Does a setting change a model's answers? The cells of a comparison, their intervals, and a gate.

Both models answered the same prompts. Each model answered some prompts twice, the second time in another
order and in other batches. The floor is how often these two answers differ, since the setting was the same.

The intervals are of differences of whole questions, each the mean over its prompts, in the order of a
seeded draw. They are asymptotic confidence sequences (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, 2024,
"Time-uniform central limit theory and asymptotic confidence sequences", Annals of Statistics 52): all of
them together hold the mean with probability 1 - alpha, so a checkup may be continued until it is settled.
That is proved for many questions; perf/doctor_statistics.py simulates how often it holds for few.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from needlework.answer_states import SKIPPED, UNANSWERED
from needlework.folders import sibling_folders
from needlework.journal import Journal

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from needlework.records import CheckupCell

# The number of questions for which intervals are made narrowest, if there are so many.
PLANNED = 500

Numbers = npt.NDArray[np.float64]


class Interval(NamedTuple):
    """A mean of `n` questions and its interval."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def half(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2


NOTHING = Interval(math.nan, -1.0, 1.0, 0)

# The chance that any cell of a comparison is said to differ though it does not, however often it was
# looked at: each cell gets an equal part. Differences within plus and minus the margin are ruled out.
ALPHA, MARGIN = 0.05, 0.04
# More questions than this are no advice.
_MOST_QUESTIONS = 1e6


def half_width(
    n: npt.ArrayLike, variance: npt.ArrayLike, alpha: float, planned: npt.ArrayLike
) -> Numbers:
    """Half widths of the confidence intervals of means of `n` values in [-1, 1] with this variance.

    `planned` is the n at which the intervals are narrowest, chosen before the first look. log(1 / alpha) / 2n
    is added to the variance, for changes that are too rare to be seen in n values. So if no answer of n
    questions changed, the interval is about that of a Poisson count of 0.
    """
    n = np.asarray(n, dtype=np.float64)
    least = -2 * math.log(alpha)
    mixed = n * (least + math.log(least + 1)) / np.asarray(planned, dtype=np.float64)
    deviation = np.sqrt(np.asarray(variance) + math.log(1 / alpha) / 2 / n)
    return deviation * np.sqrt(2 * (mixed + 1) / (n * mixed) * np.log(np.sqrt(mixed + 1) / alpha))


def interval(values: npt.ArrayLike, alpha: float, available: int) -> Interval:
    """The interval of the mean of questions' values in [-1, 1].

    `available` is the number of questions in the benchmark, which is known before the first look.
    """
    x = np.asarray(values, dtype=np.float64)
    if not len(x):
        return NOTHING
    mean, variance = float(x.mean()), float(x.var())
    half = float(half_width(len(x), variance, alpha, min(PLANNED, max(available, 1))))
    return Interval(mean, max(-1.0, mean - half), min(1.0, mean + half), len(x))


def settled(found: Interval, margin: float) -> bool:
    """Whether the interval excludes 0 or lies within the margin."""
    return found.low > 0 or found.high < 0 or -margin <= found.low <= found.high <= margin


def verdict_in_words(found: Interval, margin: float) -> str:
    """The verdict of an interval of a score difference as text, in percent points."""
    if not found.n:
        return "cannot tell: no question was answered by both"
    if found.high < 0:
        return f"worse by {_points(-found.high)} to {_points(-found.low)} points"
    if found.low > 0:
        return f"better by {_points(found.low)} to {_points(found.high)} points"
    if settled(found, margin):
        return f"no difference above {_points(margin)} points"
    return f"cannot tell: plus or minus {_points(found.half)} points"


def _points(share: float) -> str:
    """A share as percent points; a tenth of one is enough."""
    return f"{100 * share:.1f}".removesuffix(".0")


# The answers of a comparison: each model's first ones, and its second ones.
BASE, CHANGED, BASE_AGAIN, CHANGED_AGAIN = "base", "changed", "base_again", "changed_again"
SIDES = (BASE, CHANGED, BASE_AGAIN, CHANGED_AGAIN)
# What tells the answers to a benchmark apart.
ANSWER = ["instance_id", "sample"]

Array = npt.NDArray[Any]


class CellRules(NamedTuple):
    """How cells are judged."""

    # Per cell.
    alpha: float
    # The difference to rule out.
    margin: float
    # How many questions to ask twice.
    again: int


class CellRow(TypedDict):
    """A cell of a comparison: means and differences of values in [0, 1], and how often answers differ."""

    benchmark: str
    by: str
    level: str
    # Prompts that both models answered, and their questions.
    n: int
    n_questions: int
    # All questions of the cell.
    n_available: int
    # Prompts that at least one model did not answer.
    n_unanswered: int
    # Prompts without an answer of this model. Prompts that fit into neither model's context do not count.
    missing_base: int
    missing_changed: int
    # Over the prompts that both models answered.
    mean_base: float
    mean_changed: float
    # Prompts whose value fell (`lost`) or rose (`won`).
    lost: int
    won: int
    # The changed model's mean less the base's, over questions.
    difference: float
    ci_low: float
    ci_high: float
    # The difference in words, and whether more questions are not needed.
    sentence: str
    settled: bool
    # Shares of prompts to which the two models gave different texts, or texts of different value.
    texts_differ: float
    verdicts_differ: float
    # Prompts that both models answered twice, and their questions.
    n_again: int
    n_again_questions: int
    # The share of these prompts to which one model gave two different texts.
    texts_floor_base: float
    texts_floor_changed: float
    # How much more often texts differ between the models than within one (`excess`).
    texts_d: float
    texts_d_low: float
    texts_d_high: float
    # The same for the values of the answers.
    verdicts_floor_base: float
    verdicts_floor_changed: float
    verdicts_d: float
    verdicts_d_low: float
    verdicts_d_high: float


def excess(a: Array, a_again: Array, b: Array, b_again: Array) -> npt.NDArray[np.float64]:
    """D per prompt: how often answers differ between the settings, less how often within one setting.

    In the same order of prompts, many engines repeat every answer. So only answers from different orders are
    compared, both between the settings and within one. The mean of D is 0 if the setting changes nothing.
    """
    between = ((a != b_again).astype(np.float64) + (a_again != b)) / 2
    floor = ((a != a_again).astype(np.float64) + (b != b_again)) / 2
    return between - floor


def compared_answers(
    scores: pa.Table, generations: pa.Table, metric: str | None, factors: Sequence[str]
) -> pd.DataFrame:
    """A row for each answer: its question, factors as text, `text`, `value`, and whether it was `given`.

    `skipped` means that the prompt did not fit into the model's context. The value is by `metric`; if an
    answer has no value by it, by the answer's first metric.
    """
    import pandas as pd

    names = [*ANSWER, "example_id", "metric", "value", "finish_reason"]
    frame = scores.select(names).to_pandas()
    for factor in factors:
        frame[factor] = [None if v is None else str(v) for v in scores[factor].to_pylist()]
    chosen = by_metric(frame, metric)
    chosen["given"] = ~chosen["finish_reason"].isin(UNANSWERED)
    chosen["skipped"] = chosen["finish_reason"].eq(SKIPPED)
    texts = generations.select([*ANSWER, "text"]).to_pandas()
    made = chosen.merge(texts, on=ANSWER, validate="one_to_one")
    return pd.DataFrame(made.drop(columns=["finish_reason"]))


def by_metric(scores: pd.DataFrame, metric: str | None) -> pd.DataFrame:
    """One row of scores for each answer: that of `metric`, or else of the answer's first metric."""
    chosen = scores.assign(other=scores["metric"] != metric).sort_values("other", kind="stable")
    return chosen.drop_duplicates(ANSWER).drop(columns=["metric", "other"])


def joined(sides: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per prompt that both models were asked, with columns such as `text_<side>`."""
    measures = ["text", "value", "given", "skipped"]
    made = sides[BASE].drop(columns=measures)
    for side in SIDES:
        own = sides[side][[*ANSWER, *measures]]
        own = own.rename(columns={name: f"{name}_{side}" for name in measures})
        how = "inner" if side in (BASE, CHANGED) else "left"
        made = made.merge(own, on=ANSWER, how=how, validate="one_to_one")
    for side in (BASE_AGAIN, CHANGED_AGAIN):
        made[f"given_{side}"] = made[f"given_{side}"].eq(True)
    return made


def cell_rows(
    benchmark: str, answered: pd.DataFrame, cells: Sequence[CheckupCell], rules: CellRules
) -> list[CellRow]:
    """The table's rows: one per cell of a benchmark. `answered` is the result of `joined`."""
    made = []
    for cell in cells:
        own = answered
        if cell["by"] != "all":
            own = answered[answered[cell["by"]] == cell["level"]]
        made.append(_row(benchmark, cell, own, rules))
    return made


def _row(benchmark: str, cell: CheckupCell, asked: pd.DataFrame, rules: CellRules) -> CellRow:
    available = cell["questions"]
    given = asked[asked[f"given_{BASE}"] & asked[f"given_{CHANGED}"]]
    # What fits into neither context is lost with the setting and without it.
    fits = asked[~(asked[f"skipped_{BASE}"] & asked[f"skipped_{CHANGED}"])]
    before, after = (given[f"value_{side}"].to_numpy(np.float64) for side in (BASE, CHANGED))
    found = _over_questions(after - before, given, available, rules)
    text = given[f"text_{BASE}"].to_numpy() != given[f"text_{CHANGED}"].to_numpy()
    twice = given[given[f"given_{BASE_AGAIN}"] & given[f"given_{CHANGED_AGAIN}"]]
    texts, verdicts = (_floors(twice, column, available, rules) for column in ("text", "value"))
    return {
        "benchmark": benchmark,
        "by": cell["by"],
        "level": cell["level"],
        "n": len(given),
        "n_questions": found.n,
        "n_available": available,
        "n_unanswered": len(asked) - len(given),
        "missing_base": int((~fits[f"given_{BASE}"]).sum()),
        "missing_changed": int((~fits[f"given_{CHANGED}"]).sum()),
        "mean_base": _mean(before),
        "mean_changed": _mean(after),
        "lost": int((after < before).sum()),
        "won": int((after > before).sum()),
        "difference": found.mean,
        "ci_low": found.low,
        "ci_high": found.high,
        "sentence": verdict_in_words(found, rules.margin),
        "settled": settled(found, rules.margin),
        "texts_differ": _mean(text),
        "verdicts_differ": _mean(before != after),
        "n_again": len(twice),
        "n_again_questions": twice["example_id"].nunique(),
        "texts_floor_base": texts.base,
        "texts_floor_changed": texts.changed,
        "texts_d": texts.d.mean,
        "texts_d_low": texts.d.low,
        "texts_d_high": texts.d.high,
        "verdicts_floor_base": verdicts.base,
        "verdicts_floor_changed": verdicts.changed,
        "verdicts_d": verdicts.d.mean,
        "verdicts_d_low": verdicts.d.low,
        "verdicts_d_high": verdicts.d.high,
    }


class _Floors(NamedTuple):
    """The shares that differ without a change of settings, and D."""

    base: float
    changed: float
    d: Interval


def _floors(twice: pd.DataFrame, column: str, available: int, rules: CellRules) -> _Floors:
    """Of texts or of values, where both models answered twice."""
    a, b, a2, b2 = (twice[f"{column}_{side}"].to_numpy() for side in SIDES)
    d = _over_questions(excess(a, a2, b, b2), twice, min(available, rules.again), rules)
    return _Floors(_mean(a != a2), _mean(b != b2), d)


def _over_questions(
    values: npt.NDArray[np.float64], of: pd.DataFrame, available: int, rules: CellRules
) -> Interval:
    """The interval of the mean over questions, each the mean of its prompts."""
    names, codes = np.unique(of["example_id"].to_numpy(str), return_inverse=True)
    sums, sizes = np.bincount(codes, values, len(names)), np.bincount(codes, minlength=len(names))
    return interval(sums / sizes, rules.alpha, available)


def _mean(values: Array) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def beyond(table: Sequence[CellRow], worse_than: float) -> list[str]:
    """Descriptions of the cells whose whole interval is a loss of more than `worse_than`."""
    return [
        f"{name_of(row)}: {row['sentence']}" for row in table if float(row["ci_high"]) < -worse_than
    ]


def unproven(table: Sequence[CellRow], worse_than: float, base: str) -> str:
    """Why no cell could have shown a loss of more than `worse_than`, and what could; "" if a cell could.

    A cell could show such a loss if two things hold. Its interval is at most as wide as plus and minus this
    share. If the changed model had lost all that the base scores, the interval would lie beyond the share.
    `base` is the name of the base model.
    """
    limit = _points(worse_than)
    asked = [row for row in table if int(row["n"])]
    if not asked:
        return "no question was answered by both models: give prompts that fit into their contexts"
    goals = [min(worse_than, float(row["mean_base"]) - worse_than) for row in asked]
    if any(_half(row) <= goal for row, goal in zip(asked, goals, strict=True)):
        return ""
    if max(goals) <= 0 < worse_than:
        best = max(float(row["mean_base"]) for row in asked)
        return (
            f"{base} itself scores at most {100 * best:.1f}% in any cell, so no loss of more than {limit} "
            f"points could show, with any number of prompts: ask what {base} can answer"
        )
    alpha = ALPHA / len(table)
    needed = [_needed(row, goal, alpha) for row, goal in zip(asked, goals, strict=True)]
    n, row = min(zip(needed, asked, strict=True), key=lambda pair: pair[0])
    found = (
        f"no cell could have shown a loss of more than {limit} points: {name_of(row)} has plus or minus "
        f"{_points(_half(row))} points from {int(row['n_questions']):,} questions ({int(row['n']):,} "
        "prompts)"
    )
    if n == math.inf:
        return f"{found}, and no number of questions is enough: set a larger fail_if_worse_by"
    available = int(row["n_available"])
    remedy = (
        "set a larger doctor.questions"
        if n <= available
        else f"there are {available:,}, so ask more (--prompts), or allow a larger loss"
    )
    return f"{found}, and about {n:,.0f} questions of such prompts would be needed: {remedy}"


def _half(row: CellRow) -> float:
    """Half of the width of a row's interval, of which one end may have been cut at -1 or 1."""
    value, low, high = map(float, (row["difference"], row["ci_low"], row["ci_high"]))
    return max(value - low, high - value)


def _needed(row: CellRow, half: float, alpha: float) -> float:
    """The questions, to two digits, with which a row's interval would have this half width."""
    n, available = int(row["n_questions"]), int(row["n_available"])
    least = float(half_width(n, 0, alpha, min(PLANNED, available)))
    variance = math.log(1 / alpha) / 2 / n * max(0.0, (_half(row) / least) ** 2 - 1)
    more = np.geomspace(n, _MOST_QUESTIONS, 2000)
    planned = np.minimum(PLANNED, np.maximum(more, available))
    enough = more[half_width(more, variance, alpha, planned) <= half]
    if not len(enough):
        return math.inf
    step = 10 ** max(0, int(math.log10(enough[0])) - 1)
    return math.ceil(enough[0] / step) * step


def missing(table: Sequence[CellRow], base: str, changed: str) -> list[str]:
    """One sentence per benchmark and model with missing answers: how many are missing.

    Prompts that fit into neither context are not missing.
    """
    return [
        f"{model} lacks {int(n)} of {int(row['n']) + int(row['n_unanswered'])} answers to {row['benchmark']}"
        for row in table
        if row["by"] == "all"
        for model, n in ((base, row["missing_base"]), (changed, row["missing_changed"]))
        if int(n)
    ]


def name_of(row: CellRow) -> str:
    """A description of a cell."""
    benchmark, by, level = str(row["benchmark"]).replace("_", " "), str(row["by"]), row["level"]
    if by == "all":
        return benchmark
    if by.endswith("_index") and str(level).isdigit():
        # Data count positions from 0, readers from 1.
        return f"{benchmark}, {by.removesuffix('_index')} at position {int(level) + 1}"
    return f"{benchmark}, {by.replace('_', ' ')} {level}"


class Setting(NamedTuple):
    """Two models, how their entries differ, and the settings that their engines used."""

    base: str
    changed: str
    changes: Mapping[str, Sequence[Any]]
    base_engine: Mapping[str, Any]
    changed_engine: Mapping[str, Any]


def engine_used(
    journal: str | Path, benchmark: str, identity: Mapping[str, Any]
) -> dict[str, object]:
    """The effective engine settings of a model's last recorded job on a benchmark.

    `journal` is the folder of its jobs. Jobs of an entry with another name lie beside it.
    """
    jobs = [
        job
        for job in Journal(journal, sibling_folders(Path(journal))).load().values()
        if job["benchmark"] == benchmark and job["identity"] == identity
    ]
    return dict(jobs[-1]["engine"]) if jobs else {}


def settings_lines(of: Setting) -> list[str]:
    def listed(pairs: Mapping[str, Sequence[Any]]) -> str:
        shown = {
            k: ["not set" if v is None else escaped(v) for v in pair] for k, pair in pairs.items()
        }
        return ", ".join(f"`{escaped(k)}`: {a} → {b}" for k, (a, b) in shown.items())

    one, two = _flat(of.base_engine), _flat(of.changed_engine)
    told = {n: (one.get(n), two.get(n)) for n in {**one, **two} if one.get(n) != two.get(n)}
    # A variant alone tells answers apart.
    changes = of.changes if set(of.changes) != {"variant"} else {}
    lines = [f"Configured: {listed(changes)}.", ""] if changes else []
    if of.base_engine and of.changed_engine:
        lines += [f"The engine says that it used: {listed(told) or 'the same'}.", ""]
    for model, engine in ((of.base, of.base_engine), (of.changed, of.changed_engine)):
        lines += [
            f"**Ignored** (`{model}`): {escaped(said)}." for said in engine.get("ignored", [])
        ]
    return lines + [""] * (lines[-1:] not in ([], [""]))


def _flat(engine: Mapping[str, Any]) -> dict[str, object]:
    """Settings by name, and those that an engine lists in one text (`name: value`) each by its own."""
    found: dict[str, object] = {}
    for name, value in engine.items():
        if isinstance(value, str) and "{" in value:
            found |= {f"{name}.{key}": own for key, own in re.findall(r"(\w+): (\w+)", value)}
        elif name != "ignored":
            found[name] = value
    return found


def escaped(value: object) -> str:
    """A value, escaped for a cell of a Markdown table, since it may come from data."""
    text = re.sub(r"\s+", " ", str(value))
    return re.sub(r"([\\|`*<>\[\]])", r"\\\1", text)
