"""Bars of ONERULER's figures: side by side by resources of the language, or stacked errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.oneruler import marks
from needlework.benchmarks.oneruler.factors import GROUPS
from needlework.benchmarks.oneruler.figure_data import ERRORS
from needlework.benchmarks.oneruler.marks import GROUP_COLOURS
from needlework.figures import panels as parts
from needlework.figures.style import COLUMN, PAGE, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ERROR_COLOURS = dict(
    zip(ERRORS, ("#D55E00", "#0072B2", "#56B4E9", "#CC79A7", "#bbbbbb", "#666666"), strict=True)
)


def errors_by_language(data: pd.DataFrame, reason: str) -> Figure:
    """One panel a model below another, one stacked bar a language."""
    if data.empty:
        return parts.nothing(reason)
    names = list(dict.fromkeys(data["model"]))
    langs = list(dict.fromkeys(data["context_lang"]))
    with style():
        width = min(PAGE, max(COLUMN, 0.24 * len(langs) + 0.8))
        figure, panels = parts.grid(len(names), ncols=1, width=width, height=1.15)
        figure.set_size_inches(width, figure.get_size_inches()[1])
        for ax, model in zip(panels, names, strict=True):
            stacked(ax, data[data["model"] == model], "context_lang", langs)
            ax.set_xticks(range(len(langs)), langs)
            ax.set_xlim(-0.6, len(langs) - 0.4)
            ax.set_title(model)
            ax.grid(visible=False, axis="x")
        highest = data.groupby(["model", "context_lang"])["value"].sum().max()
        panels[0].set_ylim(0, min(1.0, max(0.1, 1.08 * highest)))
        parts.outer_labels(panels, "Language, by the size of its Wikipedia", "Share of prompts")
        marks.legend(figure, panels, columns=3 if width > 5 else 2)
        n = parts.spread(data["n"])
        parts.footnote(figure, f"S-NIAH, long contexts. n\u00a0=\u00a0{n} prompts a bar.")
    return figure


def stacked(
    ax: Axes, data: pd.DataFrame, across: str, places: Sequence[str], *, horizontal: bool = False
) -> None:
    """One stacked bar of errors at each of `places`; those that nobody made are in no legend."""
    table = data.pivot_table(index=across, columns="error", values="value", observed=True)
    table = table.reindex(places).fillna(0.0)
    below = 0 * table.iloc[:, 0]
    for error, label in ERRORS.items():
        if error not in table or not table[error].any():
            continue
        look = {"color": ERROR_COLOURS[error], "label": label}
        if horizontal:
            ax.barh(range(len(places)), table[error], left=below, height=0.7, **look)
        else:
            ax.bar(range(len(places)), table[error], bottom=below, width=0.76, **look)
        below = below + table[error]


def grouped_bars(ax: Axes, data: pd.DataFrame, across: str, places: Sequence[str]) -> None:
    """Bars side by side at each of `places`, one for each group of languages."""
    groups = [group for group in GROUPS if group in set(data["group"])]
    width = 0.8 / len(groups)
    for i, group in enumerate(groups):
        rows = data[data["group"] == group]
        x = rows[across].map(list(places).index) + (i - (len(groups) - 1) / 2) * width
        bars = ax.bar(
            x, rows["value"], width=0.92 * width, color=GROUP_COLOURS[group], label=GROUPS[group],
            yerr=reach(rows), ecolor="#333333", error_kw={"elinewidth": 0.6, "capsize": 1.2},
        )  # fmt: skip
        mark_bars(bars, rows["n_exhausted"])
        if "published" in rows:
            paper_points(ax, rows["published"], list(x))
    ax.grid(visible=False, axis="x")


def reach(rows: pd.DataFrame) -> list[Any]:
    """How far intervals over questions reach below and above the values."""
    low, high = rows["ci_low_clustered"], rows["ci_high_clustered"]
    return [(rows["value"] - low).clip(lower=0), (high - rows["value"]).clip(lower=0)]


def paper_points(
    ax: Axes, values: Any, places: Sequence[float], *, horizontal: bool = False
) -> None:
    """The paper's numbers beside bars: hollow diamonds, one entry of the legend."""
    label = "the paper's" if not ax.get_legend_handles_labels()[1].count("the paper's") else None
    found = [(place, float(v)) for place, v in zip(places, values, strict=True) if marks.given(v)]
    if found:
        x, y = zip(*found, strict=True)
        ax.plot(
            *((y, x) if horizontal else (x, y)), "D", color="#333333", markerfacecolor="white",
            markersize=4, markeredgewidth=0.9, label=label, zorder=5,
        )  # fmt: skip


def mark_bars(bars: Any, exhausted: Any) -> None:
    """Hatched bars where prompts ended before their length."""
    for bar, short in zip(bars, exhausted, strict=True):
        if short:
            bar.set(hatch="////", edgecolor="white", linewidth=0)
