"""The numbers of ONERULER's tables.

Each function takes (scores, published, settings) and makes a tidy table: one cell a row, with its
uncertainty and the paper's number beside it. A mean over models or languages is one over all their
answers (micro-accuracy).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from needlework import cells, stats
from needlework import published as publications
from needlework.benchmarks.oneruler import factors
from needlework.benchmarks.oneruler.factors import MEASURES, NIAH, PRESENT, TASKS, Settings
from needlework.benchmarks.oneruler.figure_data import SHARES, error_shares, errors_of
from needlework.cells import COMPARISON
from needlework.figures.style import language_name

if TYPE_CHECKING:
    import pandas as pd

METRICS = ("strict", "released")


def accuracy(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Every cell by both metrics; `task` may be `niah`, all tasks with needles together.

    Both languages may be `all`: the prompts whose instructions are in the context's. `value` and `n`
    are as the paper counts (answers that the output limit cut before any text are left out of the
    tasks with needles, and are `n_dropped`); `value_all` and `n_all` are of all prompts. The paper's
    numbers are Figure 3's.
    """
    by = ["model", "metric", "none_option", "instruction_lang", "context_lang", "length"]
    # Without the sentence that allows "none" not all of the tasks need be there.
    needles = scores[scores["task"].isin(list(NIAH)) & scores["none_option"].astype(bool)]
    parts = [
        factors.summarise(scores, [*by, "task"]),
        factors.summarise(_over_languages(scores), [*by, "task"]),
        factors.summarise(_over_languages(needles), by).assign(task="niah"),
        _compared_with_figure3(factors.summarise(needles, by), needles, published, settings),
    ]
    columns = ["model", "source", *by[1:5], "task", "length", *MEASURES, *COMPARISON]
    rows = [row for part in parts for row in part.to_dict("records")]
    data = cells.frame(rows, columns).assign(source="ours")
    data["comparison"] = data["comparison"].fillna("cannot tell: no published number")
    langs = ["all", *factors.languages(scores["context_lang"], settings)]
    order: dict[str, Sequence[str]] = {
        "metric": METRICS,
        "none_option": [True, False],
        "task": ["niah", *TASKS],
        "instruction_lang": langs,
        "context_lang": langs,
    }
    keys = ("metric", "context_lang", "instruction_lang", "task", "none_option", "length")
    return cells.ordered(data, settings, *keys, order=order)


def languages(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Accuracy over the NIAH tasks in long contexts by language, of all models and of each; `rank` 1 is best.

    The paper gives three of the means over all its models, and their ranks.
    """
    rows: list[dict[str, object]] = []
    for metric in METRICS:
        one: Settings = {**settings, "metric": metric}
        needles = factors.chosen(scores, one, NIAH)
        long = needles[needles["length"].isin(factors.long(needles))]
        for model in ["all", *cells.models(settings, long)]:
            mine = long if model == "all" else long[long["model"] == model]
            for lang, part in mine.groupby("context_lang", sort=False):
                cell = factors.measure(part)
                number = rank = None
                if model == "all":
                    look = (published, settings, "figure4b", str(lang))
                    number = factors.mean_number(*look, "long")
                    rank = factors.mean_number(*look, "rank")
                why = factors.obstacle(part, settings, all_models=True, lengths=factors.LONG)
                rows.append(
                    {"model": model, "source": "ours", "metric": metric, "context_lang": lang}
                    | {"language": language_name(str(lang))}
                    | {"resources": factors.resources(str(lang), settings)}
                    | {"n_articles": factors.articles(str(lang), settings)}
                    | {"published_rank": None if rank is None else rank.value}
                    | cell
                    | cells.compared(cell, number, why)
                )
    labels = ["model", "source", "metric", "context_lang", "language", "resources", "n_articles"]
    columns = [*labels, "rank", "published_rank", *MEASURES, *COMPARISON]
    data = cells.frame(rows, columns)
    means = data.groupby(["model", "metric"])["value"]
    data["rank"] = means.rank(ascending=False, method="min").astype("Int64")
    data["published_rank"] = data["published_rank"].astype("Int64")
    models = {"models": ["all", *settings.get("models", ())]}
    return cells.ordered(data, models, "metric", "rank", "context_lang", order={"metric": METRICS})


def lengths_tau(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Kendall's tau between equal tokens and equal text, over the accuracies of languages.

    `model` and `other` are a pair of `comparisons.equal_text`, or both "all": over all pairs and
    languages together. `length` may be "all": over lengths and languages together. `n` cells are
    compared; those of one language are not independent, which the interval (of Fisher's z, with the
    variance of Fieller, Hartley and Pearson, 1957) does not know. The paper's number is of all its
    models, lengths and languages, by the released metric; of p it only says that it is below
    `published_p`.
    """
    rows: list[dict[str, object]] = []
    for metric in factors.metrics(settings):
        rows += _tau_rows(scores, published, {**settings, "metric": metric})
    labels = ["model", "source", "other", "metric", "length"]
    return cells.frame(rows, [*labels, *_TAU, *COMPARISON, "published_p", "comparison_p"])


def errors(scores: pd.DataFrame, published: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """What share of prompts has which error, by the strict metric, where the answer is in the text.

    `task` may be `all`, and so may `context_lang`; `length` may be `long`. Languages are apart in long
    contexts only.
    """
    strict: Settings = {**settings, "metric": "strict"}
    present = factors.chosen(scores, strict, PRESENT)
    present = present.assign(error=errors_of(present))
    long = present[present["length"].isin(factors.long(present))].assign(length="long")
    every = {"task": "all", "context_lang": "all"}
    rows: list[dict[str, object]] = []
    by = ["model", "task", "context_lang", "length"]
    for part in (long, present.assign(length=present["length"].astype(str))):
        views = [part.assign(**every), part.assign(context_lang="all")]
        views += [part, part.assign(task="all")] if part is long else []
        for view in views:
            for key, group in view.groupby(by, sort=False):
                labels = {**dict(zip(by, key, strict=True)), "source": "ours"}
                rows += [labels | share for share in error_shares(group)]
    data = cells.frame(rows, ["model", "source", *by[1:], "error", "n_errors", *SHARES])
    lengths = ["long", *(str(length) for length in factors.lengths(present))]
    order = {
        "task": ["all", *PRESENT],
        "context_lang": ["all", *factors.languages(present["context_lang"], settings)],
        "length": lengths,
    }
    return cells.ordered(data, settings, "context_lang", "task", "length", order=order)


def _over_languages(scores: pd.DataFrame) -> pd.DataFrame:
    """The prompts whose instructions are in the context's language, as if all were of one."""
    own = scores[scores["instruction_lang"] == scores["context_lang"]]
    return own.assign(instruction_lang="all", context_lang="all")


def _compared_with_figure3(
    data: pd.DataFrame, needles: pd.DataFrame, published: pd.DataFrame, settings: Settings
) -> pd.DataFrame:
    """`data`, cells of all NIAH tasks, beside the paper's numbers of one language."""
    names = settings.get("published", {})
    keys = ["model", "metric", "instruction_lang", "context_lang", "length"]
    groups = dict(list(needles.groupby(keys, sort=False)))
    compared = []
    for cell in data.to_dict("records"):
        number = why = None
        if cell["instruction_lang"] == cell["context_lang"]:
            row = f"{names.get(cell['model'], '')}/{cell['context_lang']}"
            number = factors.number(published, "figure3", row, str(cell["length"]))
        if number is not None:
            why = factors.obstacle(groups[tuple(cell[key] for key in keys)], settings)
        compared.append(cells.compared(cell, number, why))
    comparison = {name: [row[name] for row in compared] for name in COMPARISON}
    return data.assign(task="niah", **comparison)


def _tau_rows(
    scores: pd.DataFrame, published: pd.DataFrame, settings: Settings
) -> list[dict[str, object]]:
    """`lengths_tau` by one metric."""
    means = _means(scores, settings)
    pairs = [tuple(pair) for pair in settings.get("equal_text", ())]
    joined: list[dict[str, object]] = []
    for model, other in pairs:
        for (lang, length), value in means.get(model, {}).items():
            second = means.get(other, {}).get((lang, length))
            if second is not None and not math.isnan(value + second):
                joined.append(
                    {"model": model, "other": other, "length": length, "a": value, "b": second}
                )
    why = _tau_obstacle(scores, settings, [pair for pair in pairs if means.keys() >= set(pair)])
    here = sorted({int(str(row["length"])) for row in joined})
    rows: list[dict[str, object]] = []
    for model, other in [("all", "all"), *pairs]:
        for length in [None, *here]:
            chosen = [
                row
                for row in joined
                if model in ("all", row["model"])
                and other in ("all", row["other"])
                and length in (None, row["length"])
            ]
            cell = _tau([row["a"] for row in chosen], [row["b"] for row in chosen])
            number = bound = None
            if model == "all" and length is None:
                look = (published, settings, "lengths_tau", "all")
                number = factors.mean_number(*look, "tau")
                bound = factors.mean_number(*look, "p/at_most")
            rows.append(
                {"model": model, "source": "ours", "other": other, "metric": settings["metric"]}
                | {"length": "all" if length is None else str(length)}
                | cell
                | {"published": None if number is None else number.value, "published_n": None}
                | {"comparison": _compared(cell, number, why)}
                | _compared_p(cell, bound, why)
            )
    return rows


def _means(scores: pd.DataFrame, settings: Settings) -> dict[str, dict[tuple[str, int], float]]:
    """Mean NIAH accuracy by model, then by (language, length), of both settings' models."""
    means: dict[str, dict[tuple[str, int], float]] = {}
    for equal_text in (False, True):
        rows = factors.chosen(scores, settings, NIAH, equal_text=equal_text)
        data = factors.summarise(rows, ["model", "context_lang", "length"])
        for row in data.to_dict("records"):
            cell = row["context_lang"], int(row["length"])
            means.setdefault(row["model"], {})[cell] = row["value"]
    return means


def _tau_obstacle(
    scores: pd.DataFrame, settings: Settings, pairs: Sequence[tuple[str, ...]]
) -> str | None:
    """Why tau over `pairs` of models that have scores is not the paper's, or None."""
    import pandas as pd

    names = dict(settings.get("published", {}))
    # The entry with equal text is the same model, but its name in the paper is not for it to bear:
    # all other numbers are of equal tokens.
    names |= {other: names[model] for model, other in pairs if model in names}
    sides = [
        factors.chosen(scores, settings, NIAH, equal_text=equal_text)
        for equal_text in (False, True)
    ]
    rows = pd.concat(sides)
    rows = rows[rows["model"].isin({model for pair in pairs for model in pair})]
    if rows.empty:
        return None
    lost = cells.lost(rows)
    if missing := lost["n_skipped"] + lost["n_error"]:
        return f"{missing:,} answers are missing"
    both: Settings = {**settings, "published": names}
    return factors.obstacle(
        rows, both, all_models=True, lengths=factors.PAPER_LENGTHS, languages=factors.ARTICLES
    )


_TAU = ("value", "n", "p", "ci_low_clustered", "ci_high_clustered")


def _tau(first: Sequence[object], second: Sequence[object]) -> dict[str, float | int]:
    """Kendall's tau-b, its two-sided p and 95% interval; NaN where one side is constant."""
    from scipy.stats import kendalltau

    n = len(first)
    cell: dict[str, float | int] = dict.fromkeys(_TAU, math.nan)
    cell["n"] = n
    if n < 2:
        return cell
    found = kendalltau(first, second)
    cell["value"], cell["p"] = float(found.statistic), float(found.pvalue)
    if n > 4 and abs(cell["value"]) < 1:
        half = stats.Z * math.sqrt(0.437 / (n - 4))
        z = math.atanh(cell["value"])
        cell["ci_low_clustered"] = float(np.tanh(z - half))
        cell["ci_high_clustered"] = float(np.tanh(z + half))
    return cell


def _compared(
    cell: Mapping[str, float | int], number: publications.Number | None, why: str | None
) -> str:
    return publications.compare(
        float(cell["value"]),
        float(cell["ci_low_clustered"]),
        float(cell["ci_high_clustered"]),
        None if number is None else number.value,
        why,
    )


def _compared_p(
    cell: Mapping[str, float | int], bound: publications.Number | None, why: str | None
) -> dict[str, object]:
    """Whether our p, too, is below that of the paper."""
    if bound is None:
        return {"published_p": None, "comparison_p": "cannot tell: no published number"}
    if math.isnan(cell["p"]):
        why = "no p of ours"
    found = f"cannot tell: {why}" if why else "below" if cell["p"] < bound.value else "not below"
    return {"published_p": bound.value, "comparison_p": found}
