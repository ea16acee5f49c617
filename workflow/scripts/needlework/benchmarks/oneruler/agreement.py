"""Kendall's tau between languages' accuracies with equal tokens and with equal text (appendix D)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.oneruler import paper
from needlework.benchmarks.oneruler.rows import (
    NEEDLE_TASKS,
    ONE_LANGUAGE,
    dropped,
    measured,
    metrics,
    none_allowed,
    of_metric,
)
from needlework.results import published as publications
from needlework.results.columns import COMPARISON
from needlework.results.result import Context
from needlework.results.tabulate import Cell, where

if TYPE_CHECKING:
    import pandas as pd


def agreement(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Kendall's tau between equal tokens and equal text, over the accuracies of languages.

    `model` and `other` are a pair of `comparisons.equal_text`, or both "all" for all pairs and languages
    together. `length` may be "all" for all lengths and languages together. `n` is the number of cells.

    The interval is Fisher's z with the variance of Fieller, Hartley and Pearson (1957). It treats cells as
    independent, though cells of one language are not. The paper's number is of all its models, lengths and
    languages, by the released metric. For p, the paper prints only an upper bound, `published_p`.
    """
    import pandas as pd

    from needlework.results import cells

    made: list[Mapping[str, object]] = []
    all_pairs = ("all", "all")
    # A run may lack models that its preset pairs.
    models = set(run.run.get("models", ()))
    pairs = [tuple(pair) for pair in run.run.get("equal_text", ()) if models.issuperset(pair)]
    alone = where(where(rows, NEEDLE_TASKS), ONE_LANGUAGE)
    for metric in metrics((), run):
        asked = of_metric(alone, run, metric)
        sides = [none_allowed(measured(asked, run, common=side)) for side in (False, True)]
        one, two = map(_means, sides)
        found = {
            pair: pd.DataFrame({"a": one[pair[0]], "b": two[pair[1]]}).dropna().reset_index()
            for pair in pairs
            if pair[0] in one and pair[1] in two
        }
        nothing = pd.DataFrame(columns=["context_lang", "length", "a", "b"])
        every = pd.concat([part for part in found.values() if len(part)] or [nothing])
        why = _other_agreement(pd.concat(sides), list(found), run)
        for pair in [all_pairs, *pairs]:
            for length in [None, *sorted(set(every["length"]))]:
                part = every if pair == all_pairs else found.get(pair, nothing)
                part = part if length is None else part[part["length"] == length]
                cell = _tau(part["a"].to_numpy(float), part["b"].to_numpy(float))
                of_paper = pair == all_pairs and length is None and run.run.get("published")
                printed = run.line("lengths_tau", "all") if of_paper else {}
                tau, bound = printed.get("tau"), printed.get("p/at_most")
                value = None if tau is None else tau.value
                ends = (cell["value"], cell["ci_low_independent"], cell["ci_high_independent"])
                # Whether our p, too, is below that of the paper.
                verdict = publications.UNPUBLISHED
                if bound is not None:
                    no_p = "no p of ours" if math.isnan(cell["p"]) else why
                    verdict = "covers" if cell["p"] < bound.value else "above"
                    verdict = f"cannot tell: {no_p}" if no_p else verdict
                made.append(
                    {"model": pair[0], "source": "ours", "other": pair[1], "metric": metric}
                    | {"length": "all" if length is None else str(length), **cell}
                    | {"published": value, "published_cell": tau and tau.cell}
                    | {"comparison": publications.compare(*ends, value, why)}
                    | {"published_p": bound and bound.value}
                    | {"published_cell_p": bound and bound.cell, "comparison_p": verdict}
                )
    labels = ("model", "source", "other", "metric", "length")
    return cells.frame(made, [*labels, *TAU, *COMPARISON, *OF_P])


OF_P = ("published_p", "published_cell_p", "comparison_p")
TAU = ("value", "n", "p", "ci_low_independent", "ci_high_independent")


def _means(rows: pd.DataFrame) -> Mapping[Any, pd.Series]:
    """By model, the mean of each language and length, without what the paper leaves out."""
    from needlework.results import cells

    counted = rows[cells.judged(rows) & ~dropped(rows)]
    keys = ["context_lang", "length"]
    return {model: own.groupby(keys)["value"].mean() for model, own in counted.groupby("model")}


def _other_agreement(
    rows: pd.DataFrame,
    pairs: Sequence[tuple[str, ...]],
    run: Context,
) -> str | None:
    """Why tau over `pairs` of models that have scores is not the paper's, or None."""
    from needlework.results.cells import Table

    names = dict(run.run.get("published", {}))
    # The entry with equal text is the same model, but its name in the paper is not for it to bear:
    # all other numbers are of equal tokens.
    names |= {other: names[model] for model, other in pairs if model in names}
    rows = rows[rows["model"].isin({model for pair in pairs for model in pair})]
    if rows.empty:
        return None
    part = Table(rows).all()
    lost = part.lost()
    if missing := lost["n_skipped"] + lost["n_error"]:
        return f"{missing:,} answers are missing"
    both = Context(run.published, {**run.run, "published": names})
    of_paper = paper.other_prompts(
        Cell({}, part, {}, both),
        tasks=paper.NEEDLES,
        lengths=paper.LENGTHS,
        languages=paper.LANGUAGES,
        models=paper.MODELS,
    )
    return "; ".join(of_paper) or None


def _tau(first: Sequence[float], second: Sequence[float]) -> dict[str, float | int]:
    """Kendall's tau-b, its two-sided p and 95% interval; NaN where one side is constant."""
    import numpy as np
    from scipy.stats import kendalltau

    from needlework.results import stats

    n = len(first)
    cell: dict[str, float | int] = {**dict.fromkeys(TAU, math.nan), "n": n}
    if n < 2:
        return cell
    found = kendalltau(first, second)
    cell["value"], cell["p"] = float(found.statistic), float(found.pvalue)
    if n > 4 and abs(cell["value"]) < 1:
        half = stats.Z * math.sqrt(0.437 / (n - 4))
        z = math.atanh(cell["value"])
        cell["ci_low_independent"] = float(np.tanh(z - half))
        cell["ci_high_independent"] = float(np.tanh(z + half))
    return cell
