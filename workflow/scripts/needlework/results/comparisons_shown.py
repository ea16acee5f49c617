"""Comparisons of models (`needlework.results.comparisons`) as a LaTeX table and as a figure."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from needlework.factor import Factor
from needlework.results.comparisons import ALPHA, not_told_apart, nothing_to_show
from needlework.results.figures.style import COLOURS, PAGE, style
from needlework.results.latex import lay_out
from needlework.results.layouts import PERCENT, Grid, Number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Sets = Mapping[str, Sequence[Sequence[str]]]

_MEASURES = {
    "n_asked": "Prompts",
    "n_questions": "Questions",
    "mean_first": "First",
    "mean_second": "Second",
    "difference": "Difference",
    "p_holm": "Holm's p",
}
_NOTE = (
    "In percent points, the second less the first, on the same prompts. Holm's p: permutation test, "
    "corrected over the pairs of a metric."
)
_GRID = Grid(
    rows=(Factor("metric", label="Metric"), Factor("pair", label="Models")),
    columns=(Factor("measure", order=tuple(_MEASURES), words=_MEASURES),),
    by=("metric",),
    number=PERCENT,
    numbers={
        ("measure", "n_asked"): Number(0),
        ("measure", "n_questions"): Number(0),
        ("measure", "difference"): replace(PERCENT, signed=True),
        ("measure", "p_holm"): Number(3, least=0.001),
    },
    empty="nothing was compared",
)
# Panels beside each other; inches of a row, and of what stands around a row of panels.
_PANELS, _ROW, _AROUND = 3, 0.2, 0.55


def as_latex(table: pd.DataFrame, sets: Sets, name: str, title: str) -> str:
    """The comparisons over everything as floats. `name` and `title` are the benchmark's."""
    overall = table[table["by"] == "all"]
    overall = overall.assign(
        pair=overall["second"] + " − " + overall["first"], n_asked=overall["n"].astype("float64")
    )
    tidy = overall.melt(
        ["metric", "pair", "ci_low", "ci_high"], list(_MEASURES), var_name="measure"
    )
    other = tidy["measure"] != "difference"
    tidy[["ci_low", "ci_high"]] = tidy[["ci_low", "ci_high"]].mask(other)
    # A pair has one row, where it was compared in this order.
    tidy = tidy.sort_values(["metric", "pair"], kind="stable")
    grid = replace(_GRID, note=" ".join([_NOTE + _few(overall), *not_told_apart(sets)]))
    return lay_out(tidy, (grid,), f"{name}-comparisons", f"{title}: models compared")


def figure(table: pd.DataFrame, sets: Sets, title: str) -> Figure:
    """A panel for each metric: the differences with their intervals."""
    from needlework.results.drawing.grid import LINE, figure_of
    from needlework.results.drawing.picture import evenly

    overall = table[table["by"] == "all"]
    metrics = list(dict.fromkeys(overall["metric"]))
    pairs = list(dict.fromkeys(overall[["first", "second"]].itertuples(index=False, name=None)))
    panels = evenly(metrics, _PANELS)
    nrows, ncols = len(panels), len(panels[0])
    words = small_print(overall, sets)
    text = "\n".join(textwrap.fill(line, int(PAGE * 21)) for line in words)
    height = nrows * (len(pairs) * _ROW + _AROUND) + 0.4 + LINE * (text.count("\n") + 1)
    with style():
        made = figure_of(PAGE, height)
        axes = made.subplots(nrows, ncols, sharex=True, sharey=True, squeeze=False).ravel()
        for ax in axes[len(metrics) :]:
            ax.remove()
        for ax, metric in zip(axes, metrics, strict=False):
            _panel(ax, overall[overall["metric"] == metric], pairs)
            ax.set_title(str(metric).replace("_", " "))
            ax.set_xlabel("Difference (points)")
            ax.tick_params(labelbottom=True)
        made.suptitle(f"{title}: models compared", fontsize=8.5)
        made.supxlabel(text, x=0.01, ha="left", fontsize=6, color="#555555")
    return made


def _panel(ax: Axes, rows: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> None:
    """One metric: pairs from top to bottom."""
    for row in rows.itertuples():
        y = len(pairs) - 1 - pairs.index((row.first, row.second))
        value = 100 * row.difference
        filled = row.p_holm < ALPHA
        ax.errorbar(
            [value],
            [y],
            xerr=[[value - 100 * row.ci_low], [100 * row.ci_high - value]],
            fmt="o",
            color=COLOURS[0],
            markerfacecolor=COLOURS[0] if filled else "white",
            zorder=3,
        )
    ax.axvline(0, color="#555555", linewidth=0.8, zorder=2)
    ax.set_yticks(range(len(pairs)), [f"{second} − {first}" for first, second in pairs][::-1])
    ax.set_ylim(-0.6, len(pairs) - 0.4)
    ax.grid(axis="y", visible=False)


def _few(overall: pd.DataFrame) -> str:
    """A sentence if no answers to so few questions could show a difference."""
    n = int(overall["n_questions"].max()) if len(overall) else 0
    return f" {n} questions{said}." if (said := nothing_to_show(n)) else ""


def small_print(overall: pd.DataFrame, sets: Sets) -> list[str]:
    """What stands below: n, what marks mean, and which models are not told apart."""
    from needlework.results.drawing.notes import span_of

    n, questions = span_of(overall["n"]), span_of(overall["n_questions"])
    return [
        f"n = {n} prompts of {questions} questions a pair, answered by both models. Error bars: 95% "
        "intervals over questions. Filled: p < 0.05 after Holm's correction over the pairs of a metric."
        f"{_few(overall)}",
        *not_told_apart(sets),
    ]
