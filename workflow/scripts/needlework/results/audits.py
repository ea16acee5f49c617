"""Does a setting change a model's answers? The numbers of an audit, cell by cell.

Both models answered the same prompts; to some of them each gave a second answer, in another order and in
other batches. Answers differ between these for reasons that are not the setting: that is the floor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from needlework.models.accounts import SKIPPED, UNANSWERED
from needlework.results.audit_statistics import Interval, interval, sentence, settled

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# The answers of an audit: of each model those of the run, and the second ones.
BASE, CHANGED, BASE_AGAIN, CHANGED_AGAIN = "base", "changed", "base_again", "changed_again"
SIDES = (BASE, CHANGED, BASE_AGAIN, CHANGED_AGAIN)
_KEY = ["instance_id", "sample"]

Array = npt.NDArray[Any]


class Rules(NamedTuple):
    """alpha of one cell, the difference that is to be ruled out, and the questions that are asked again."""

    alpha: float
    margin: float
    again: int


def excess(a: Array, a_again: Array, b: Array, b_again: Array) -> npt.NDArray[np.float64]:
    """D of each prompt: how much oftener answers of two settings differ than two answers of one setting.

    Only answers that were given in different orders are compared, for the two settings as for the floors:
    in the same order many engines repeat every answer. So the mean of D is 0 if the setting changes
    nothing.
    """
    between = ((a != b_again).astype(np.float64) + (a_again != b)) / 2
    floor = ((a != a_again).astype(np.float64) + (b != b_again)) / 2
    return between - floor


def answers(
    scores: pa.Table, generations: pa.Table, metric: str | None, factors: Sequence[str]
) -> pd.DataFrame:
    """A row for each answer: its question, factors as text, `text`, `value`, and whether it was `given`.

    `skipped`: the prompt did not fit into the model's context. The value is that of `metric`; an answer
    without it has that of its first metric.
    """
    import pandas as pd

    names = [*_KEY, "example_id", "metric", "value", "finish_reason"]
    frame = scores.select(names).to_pandas()
    for factor in factors:
        frame[factor] = [None if v is None else str(v) for v in scores[factor].to_pylist()]
    chosen = frame.assign(other=frame["metric"] != metric).sort_values("other", kind="stable")
    chosen = chosen.drop_duplicates(_KEY)
    chosen["given"] = ~chosen["finish_reason"].isin(UNANSWERED)
    chosen["skipped"] = chosen["finish_reason"].eq(SKIPPED)
    texts = generations.select([*_KEY, "text"]).to_pandas()
    made = chosen.merge(texts, on=_KEY, validate="one_to_one")
    return pd.DataFrame(made.drop(columns=["finish_reason", "metric", "other"]))


def joined(sides: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A row for each prompt that both were asked, with `text_<side>` and so on."""
    measures = ["text", "value", "given", "skipped"]
    made = sides[BASE].drop(columns=measures)
    for side in SIDES:
        own = sides[side][[*_KEY, *measures]]
        own = own.rename(columns={name: f"{name}_{side}" for name in measures})
        how = "inner" if side in (BASE, CHANGED) else "left"
        made = made.merge(own, on=_KEY, how=how, validate="one_to_one")
    for side in (BASE_AGAIN, CHANGED_AGAIN):
        made[f"given_{side}"] = made[f"given_{side}"].eq(True)
    return made


def rows(
    benchmark: str, answered: pd.DataFrame, cells: Sequence[Mapping[str, Any]], rules: Rules
) -> list[dict[str, Any]]:
    """A row of the table for each cell of a benchmark. `answered` is `joined`."""
    made = []
    for cell in cells:
        own = answered
        if cell["by"] != "all":
            own = answered[answered[cell["by"]] == cell["level"]]
        labels = {"benchmark": benchmark, "by": cell["by"], "level": cell["level"]}
        made.append(labels | _row(own, cell["questions"], rules))
    return made


def _row(asked: pd.DataFrame, available: int, rules: Rules) -> dict[str, Any]:
    given = asked[asked[f"given_{BASE}"] & asked[f"given_{CHANGED}"]]
    # What fits into neither context is lost with the setting and without it.
    fits = asked[~(asked[f"skipped_{BASE}"] & asked[f"skipped_{CHANGED}"])]
    before, after = (given[f"value_{side}"].to_numpy(np.float64) for side in (BASE, CHANGED))
    found = _over_questions(after - before, given, available, rules)
    text = given[f"text_{BASE}"].to_numpy() != given[f"text_{CHANGED}"].to_numpy()
    row: dict[str, Any] = {
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
        "sentence": sentence(found, rules.margin),
        "settled": settled(found, rules.margin),
        "texts_differ": _mean(text),
        "verdicts_differ": _mean(before != after),
    }
    return row | _floors(given, available, rules)


def _floors(given: pd.DataFrame, available: int, rules: Rules) -> dict[str, Any]:
    """Of texts and of verdicts: how many differ without a change of settings, and D with its interval."""
    twice = given[given[f"given_{BASE_AGAIN}"] & given[f"given_{CHANGED_AGAIN}"]]
    row: dict[str, Any] = {
        "n_again": len(twice),
        "n_again_questions": twice["example_id"].nunique(),
    }
    for name, column in (("texts", "text"), ("verdicts", "value")):
        a, b, a2, b2 = (twice[f"{column}_{side}"].to_numpy() for side in SIDES)
        found = _over_questions(excess(a, a2, b, b2), twice, min(available, rules.again), rules)
        row |= {
            f"{name}_floor_base": _mean(a != a2),
            f"{name}_floor_changed": _mean(b != b2),
            f"{name}_d": found.mean,
            f"{name}_d_low": found.low,
            f"{name}_d_high": found.high,
        }
    return row


def _over_questions(
    values: npt.NDArray[np.float64], of: pd.DataFrame, available: int, rules: Rules
) -> Interval:
    """The interval of the mean over questions, each the mean of its prompts."""
    names, codes = np.unique(of["example_id"].to_numpy(str), return_inverse=True)
    sums, sizes = np.bincount(codes, values, len(names)), np.bincount(codes, minlength=len(names))
    return interval(sums / sizes, rules.alpha, available)


def _mean(values: Array) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def beyond(table: Sequence[Mapping[str, Any]], worse_than: float) -> list[str]:
    """The cells whose whole interval is worse than a share, in words."""
    return [
        f"{name_of(row)}: {row['sentence']}" for row in table if float(row["ci_high"]) < -worse_than
    ]


def missing(table: Sequence[Mapping[str, Any]], base: str, changed: str) -> list[str]:
    """For each benchmark and model that lacks answers, how many, in words.

    Prompts that fit into neither context are not missing.
    """
    return [
        f"{model} lacks {int(row[f'missing_{side}'])} of {int(row['n']) + int(row['n_unanswered'])} answers "
        f"to {row['benchmark']}"
        for row in table
        if row["by"] == "all"
        for side, model in ((BASE, base), (CHANGED, changed))
        if int(row[f"missing_{side}"])
    ]


def name_of(row: Mapping[str, Any]) -> str:
    """A cell in words."""
    benchmark, by = str(row["benchmark"]), str(row["by"])
    return benchmark if by == "all" else f"{benchmark}, {by.replace('_', ' ')} {row['level']}"
