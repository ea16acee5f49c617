"""The comparisons of a run, along each curve and between models; and which differences tests show.

The comparisons are fixed before the answers are seen: the longest length with the shortest, the middle with
the ends, most needles with fewest, each language with English, every two models. All comparisons of a run are
one family (`significance.shown`), so with 95% no page shows a difference that is not there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from needlework.data.language_names import language_name
from needlework.results import comparisons, significance, stats
from needlework.results.columns import LEAST_ANSWERS
from needlework.results.numbers.curves import DEPTH, Codes, Curve, Floats
from needlework.results.numbers.tables import Comparison

if TYPE_CHECKING:
    import pandas as pd

ENGLISH = "en"
# The mean over all benchmarks that every model answered.
ALL = ""


def sides(axis: str, levels: Sequence[Any]) -> Iterator[tuple[list[int], int]]:
    """The comparisons along an axis: the places of the first side's levels, and that of the second side.

    Languages are compared with English; in a run without it, each with every other.
    """
    last = len(levels) - 1
    if axis == "language":
        if ENGLISH in levels:
            english = levels.index(ENGLISH)
            yield from (([english], place) for place in range(last + 1) if place != english)
        else:
            yield from (([one], other) for one, other in combinations(range(last + 1), 2))
    elif axis == "depth" and last >= 2:
        middle = min(range(1, last), key=lambda place: (abs(float(levels[place]) - 0.5), place))
        yield [0, last], middle
    else:
        yield [0], last


def comparison_rows(curve: Curve) -> Iterator[Comparison]:
    """The rows of COMPARED of a curve, without `shown`."""
    for places, second in sides(curve.axis, curve.levels):
        first = np.isin(curve.level, places)
        last = curve.level == second
        value, low, high, n = stats.difference_of_sides(curve.values, curve.questions, first, last)
        means = [float(curve.values[side].mean()) for side in (first, last)]
        # NaN if the second scorer has no value of an answer.
        careful = [float(curve.careful[side].mean()) for side in (first, last)]
        if value > 0 and curve.axis == "language" and ENGLISH not in curve.levels:
            # A loss in the language that is worse.
            places, second = [second], places[0]
            value, low, high = -value, -high, -low
            means, careful = means[::-1], careful[::-1]
        level = curve.levels[second]
        # Without English, the side with the loss is chosen by the answers: the test is two-sided.
        loss = curve.axis != "language" or ENGLISH in curve.levels
        p, least = (np.nan, np.nan) if curve.few else test(curve, [*places, second], loss)
        one, other = _sides(curve, places, second)
        yield {
            "card": curve.model,
            "benchmark": curve.labels["benchmark"],
            "part": curve.labels["part"],
            "axis": curve.axis,
            "level": level,
            "first_side": one,
            "second_side": other,
            "first": means[0],
            "second": means[1],
            "first_careful": careful[0],
            "second_careful": careful[1],
            "difference": value,
            "ci_low": low,
            "ci_high": high,
            "n": int(first.sum() + last.sum()),
            "n_questions": n,
            "p": p,
            "least_p": least,
        }


def test(curve: Curve, places: Sequence[int], loss: bool) -> tuple[float, float]:
    """p of a comparison along a curve, and the least p that it could have.

    The level of the last of `places` is compared with the levels of the others. `loss`: whether the test is
    one-sided and finds only a loss. If each question has as many values at each of these levels, its levels
    are exchanged (`exchange_test`). Otherwise the sides ask different questions, and questions in the same
    settings change sides (`label_test`).
    """
    # Questions of other levels have no part in it.
    here = np.isin(curve.level, places)
    level, values, units = curve.level[here], curve.values[here], curve.units[here]
    names, questions = np.unique(curve.questions[here], return_inverse=True)
    sums, counts = np.zeros((2, len(names), len(places)))
    for column, place in enumerate(places):
        own = questions[level == place]
        sums[:, column] = np.bincount(own, values[level == place], minlength=len(names))
        counts[:, column] = np.bincount(own, minlength=len(names))
    if (counts == counts[:, -1:]).all():
        return significance.exchange_test(moves(sums), loss=loss)
    one, other = (np.column_stack([of[:, :-1].sum(axis=1), of[:, -1]]) for of in (sums, counts))
    seed = (curve.model, *curve.labels.values(), curve.axis, curve.levels[places[-1]])
    strata = same_settings(questions, units)
    return significance.label_test(one, other, strata, loss=loss, seed=seed)


def same_settings(questions: Codes, units: Codes) -> list[int]:
    """A code per question. Questions that are asked in the same units have the same code."""
    settings: dict[int, list[int]] = {}
    for question, unit in zip(questions.tolist(), units.tolist(), strict=True):
        settings.setdefault(question, []).append(unit)
    codes: dict[tuple[int, ...], int] = {}
    return [
        codes.setdefault(tuple(sorted(settings[question])), len(codes))
        for question in sorted(settings)
    ]


def moves(sums: Floats) -> Floats:
    """For questions x levels: each level's sum less the mean of the other levels. The last level is first."""
    others = (sums.sum(axis=1, keepdims=True) - sums) / (sums.shape[1] - 1)
    found: Floats = (sums - others)[:, ::-1]
    return found


def _sides(curve: Curve, first: Sequence[int], second: int) -> tuple[str, str]:
    """Both sides in words, as they follow a mean: "at 512 words", "in the middle"."""
    levels = [curve.levels[place] for place in (*first, second)]
    called = [curve.called(level) for level in levels]
    if curve.axis == "depth":
        *ends, last = levels
        one = "at the ends" if ends == [0, 1] else " and ".join(map(_depth, ends))
        return one, _depth(last)
    if curve.axis == "language":
        return f"in {language_name(str(levels[0]))}", f"in {language_name(str(levels[1]))}"
    if curve.axis == "needles":
        one, other = (f"with {name} needle" + "s" * (name != "1") for name in called)
        return one, other
    return f"at {called[0]} {curve.factor.label}", f"at {called[1]} {curve.factor.label}"


def _depth(share: float) -> str:
    """A depth in words: the middle is within a tenth of the prompt."""
    if abs(share - 0.5) <= 0.1:
        return "in the middle"
    return {0.0: "at the start", 1.0: "at the end"}.get(
        float(share), f"at depth {DEPTH.called(share)}"
    )


def models_compared(
    answered: Mapping[str, pd.DataFrame], asked: Mapping[str, Sequence[str]], models: Sequence[str]
) -> Iterator[Comparison]:
    """The rows of COMPARED of every two models, without `shown`: per benchmark, and over all shared ones.

    `answered` has the answers of each benchmark's first mean (`means.headline`), `asked` the factors of its
    prompts. A model with fewer than LEAST_ANSWERS answers to a benchmark is not compared in it.
    """
    groups = {
        name: {str(model): own for model, own in rows.groupby("model", sort=False)}
        for name, rows in answered.items()
    }
    able = {
        name: [model for model in models if len(own.get(model, ())) >= LEAST_ANSWERS]
        for name, own in groups.items()
    }
    shared = [name for name, own in able.items() if own == list(models)]
    pairs: dict[str, dict[tuple[str, str], pd.DataFrame]] = {}
    for name, own in able.items():
        pairs[name] = {}
        for first, second in combinations(own, 2):
            both = comparisons.paired(
                groups[name][first], groups[name][second], asked[name], same_prompts=False
            )
            if len(both):
                pairs[name][first, second] = both
    if len(shared) > 1:
        for first, second in combinations(models, 2):
            parts = {
                name: pairs[name][first, second]
                for name in shared
                if (first, second) in pairs[name]
            }
            if len(parts) == len(shared):
                yield _of_models(ALL, first, second, parts)
    for name, of_benchmark in pairs.items():
        for (first, second), both in of_benchmark.items():
            yield _of_models(name, first, second, {name: both})


def _of_models(
    benchmark: str, first: str, second: str, parts: Mapping[str, pd.DataFrame]
) -> Comparison:
    """The row of the second model less the first. parts: pairs of answers, by benchmark; all weigh alike."""
    one, two, questions, strata = (
        np.concatenate(found)
        for found in zip(
            *(
                (
                    both["value_first"].to_numpy(dtype=float),
                    both["value_second"].to_numpy(dtype=float),
                    (f"{name}/" + both["example_id"].astype(str)).to_numpy(dtype=object),
                    np.full(len(both), name, dtype=object),
                )
                for name, both in parts.items()
            ),
            strict=True,
        )
    )
    found = stats.paired_difference(one, two, questions, strata if len(parts) > 1 else None)
    sizes = {name: len(both) for name, both in parts.items()}
    weights = np.array([1.0 if len(sizes) == 1 else 1 / sizes[name] for name in strata])
    p, least = significance.paired_test((two - one) * weights, questions)
    means = [
        float(np.mean([both[f"value_{side}"].mean() for both in parts.values()]))
        for side in ("first", "second")
    ]
    return {
        "card": second,
        "benchmark": benchmark,
        "part": "",
        "axis": "model",
        "level": first,
        "first_side": first,
        "second_side": second,
        "first": means[0],
        "second": means[1],
        "difference": found.value,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "n": found.n,
        "n_questions": found.n_questions,
        "p": p,
        "least_p": least,
    }


def claims(compared: pd.DataFrame) -> pd.DataFrame:
    """COMPARED with the column `shown`: all comparisons of a run are one family.

    A comparison whose own interval reaches 0 shows nothing.
    """
    p, least = (compared[name].to_numpy(dtype=float) for name in ("p", "least_p"))
    beside_zero = (compared["ci_low"] > 0) | (compared["ci_high"] < 0)
    return compared.assign(shown=significance.shown(p, least) & beside_zero.to_numpy(dtype=bool))
