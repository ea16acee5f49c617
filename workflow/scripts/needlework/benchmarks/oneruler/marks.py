"""What ONERULER's figures have in common: colours, axes of lengths, legends, small print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.oneruler.factors import GROUPS, Settings, length_label
from needlework.figures import panels as parts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GROUP_COLOURS = dict(zip(GROUPS, ("#0072B2", "#56B4E9", "#D55E00", "#999999"), strict=True))


def drawn(data: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The rows of the metric that the figures draw; the others only stand in the CSV."""
    return data[data["metric"] == settings.get("metric", "strict")]


def length_axis(ax: Axes, here: Sequence[int]) -> None:
    """Lengths at equal distances."""
    ax.set_xticks(range(len(here)), [length_label(length) for length in here])
    ax.set_xlim(-0.35, len(here) - 0.65)


def legend(figure: Figure, panels: Sequence[Axes], columns: int) -> None:
    """A legend above all panels in so many columns, for labels of unequal lengths."""
    found: dict[str, Any] = {}
    for ax in panels:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(
        found.values(), found, loc="outside upper center", ncols=columns, columnspacing=1.2
    )


def hollow(ax: Axes, x: Any, rows: pd.DataFrame, colour: str, marker: str) -> None:
    """White markers where prompts ended before their length."""
    short = rows["n_exhausted"] > 0
    if short.any():
        ax.plot(
            x[short], rows.loc[short, "value"], marker, color=colour, markerfacecolor="white",
            markersize=3.6, markeredgewidth=0.9, zorder=4,
        )  # fmt: skip


def counted(data: pd.DataFrame) -> str:
    """How many answers are behind a point, how many are missing, and how many are none."""
    words = parts.counted(data)
    out = int(data["n_dropped"].sum()) if "n_dropped" in data else 0
    return words + (
        f" {out:,} answers that the limit cut before any text are left out." if out else ""
    )


def exhausted(data: pd.DataFrame, how: str = "Hollow") -> str:
    """A sentence on prompts that ended before their length, and how they look, or ""."""
    if not data["n_exhausted"].any():
        return ""
    return f" {how}: some prompts are shorter than the length, as the vocabulary ran out before it."


def given(value: object) -> bool:
    """Whether there is a number at all."""
    return value is not None and not math.isnan(float(value))
