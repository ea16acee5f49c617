"""What mLongRR's numbers of prompts and languages leave open: slopes, and widths of intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.mlongrr.rows import usual
from needlework.results.context import Context, model_order
from needlework.results.tabulate import counted_models

if TYPE_CHECKING:
    import pandas as pd

# How many answers a cell of ours could have, where the paper has one.
MORE = 20
LEVELS = {
    "cell": ("model", "lang", "length", "depth"),
    "all languages": ("model", "length", "depth"),
    "all lengths and depths": ("model", "lang"),
    "model": ("model",),
}


def slopes(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """How accuracy changes with a token a word more, by model over languages, and over all models.

    Least squares; over all models each has a level of its own. The interval is Student's t, which takes
    (model, language) for independent points.
    """
    from needlework.results import cells

    kinds, made = ["n_needles", "question"], []
    rows = usual(rows[rows["task"] != "absent"], run)
    given = rows[cells.judged(rows)]
    points = given.groupby([*kinds, "model", "lang"], as_index=False)[["value", "fertility"]].mean()
    for key, every in points.groupby(kinds):
        counted = every[counted_models(every, run)]
        order = model_order(set(every["model"]), run.run)
        own = {model: every[every["model"] == model] for model in order}
        for model, some in {"all": counted, **own}.items():
            made.append({**dict(zip(kinds, key, strict=True)), "model": model, **_line(some)})
    columns = ["n_needles", "question", "model", "source", "value", "n", "n_models"]
    return cells.frame(
        [{"source": "ours", **row} for row in made],
        [*columns, "ci_low_independent", "ci_high_independent"],
    )


def _line(points: pd.DataFrame) -> dict[str, Any]:
    """The slope over points with a level for each model, and its interval where points are left for one."""
    import numpy as np
    from scipy.stats import t

    means = points.groupby("model")[["fertility", "value"]].transform("mean")
    x = (points["fertility"] - means["fertility"]).to_numpy()
    y = (points["value"] - means["value"]).to_numpy()
    n, models, square = len(points), points["model"].nunique(), float(x @ x)
    found = {
        "n": n,
        "n_models": models,
        "value": math.nan,
        "ci_low_independent": math.nan,
        "ci_high_independent": math.nan,
    }
    if square == 0:
        return found
    found["value"] = beta = float(x @ y) / square
    if (free := n - models - 1) > 0:
        error = math.sqrt(float(np.sum((y - beta * x) ** 2)) / free / square)
        reach = float(t.ppf(0.975, free)) * error
        found |= {"ci_low_independent": beta - reach, "ci_high_independent": beta + reach}
    return found


def widths(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """How wide Wilson's 95% intervals are, on average, at each level at which the paper shows accuracies.

    answers: those behind a number, on average. twenty: the width if cells had MORE answers, as often right.
    """
    import numpy as np
    import pandas as pd

    from needlework.results import cells

    rows = usual(rows[rows["task"] != "absent"], run)
    rows = rows[counted_models(rows, run)]
    given, made = rows[cells.judged(rows) & (rows["question"] == "number")], []
    for n_needles, some in given.groupby("n_needles"):
        for level, by in LEVELS.items():
            found = some.groupby(list(by))["value"].agg(["mean", "size"])
            shares = list(zip(found["mean"], found["size"], strict=True))
            own = [_width(p, n) for p, n in shares]
            more = [_width(p, n * MORE / run.run["examples"]) for p, n in shares]
            made.append(
                {
                    **{"n_needles": n_needles, "level": level, "source": "ours"},
                    **{"value": float(np.mean(own)), "answers": float(found["size"].mean())},
                    **{"n_numbers": len(found), "twenty": float(np.mean(more))},
                }
            )
    columns = ["n_needles", "level", "source", "value", "answers", "n_numbers", "twenty"]
    return pd.DataFrame(made, columns=columns)


def _width(p: float, n: float) -> float:
    from needlework.results import stats

    low, high = stats.wilson(p, n)
    return high - low
