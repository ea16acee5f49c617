"""ONERULER's heat map: accuracy by model, language and length (Figures 3 and 25)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.oneruler import factors, marks
from needlework.benchmarks.oneruler.factors import Settings, length_label
from needlework.benchmarks.oneruler.marks import GROUP_COLOURS
from needlework.figures import panels as parts
from needlework.figures.style import COLUMN, PAGE, language_name, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# From 0 to 1; most accuracies are high, so most colours are for these (`_shade`).
HEAT = ("#fbfaf7", "#dfe6ee", "#a9c1d9", "#6a86b8", "#5a4a94", "#331a4f")


def draw(data: pd.DataFrame, settings: Settings, reason: str, words: str) -> Figure:
    """Languages down, best first; one panel a model with its lengths across; percent in the cells.

    Beneath a number stands the paper's, where it gives one.
    """
    data = marks.drawn(data, settings)
    if data.empty:
        return parts.nothing(reason)
    here = sorted(set(data["length"]))
    names = list(dict.fromkeys(data["model"]))
    langs = list(dict.fromkeys(data["context_lang"]))
    printed = bool(data["published"].notna().any())
    # Inches: a cell's size, the languages' names, the space around them.
    ncols = max(1, min(len(names), 28 // len(here)))
    nrows = math.ceil(len(names) / ncols)
    cell = min(0.52, max(0.27, (PAGE - 1.0) / (ncols * len(here))))
    tall = 0.27 if printed else 0.2
    width = max(COLUMN, 0.95 + ncols * (len(here) * cell + 0.1))
    height = nrows * ((len(langs) + 0.35) * tall + 0.45) + 0.85
    with style():
        figure = parts.figure_of(width, height)
        grid = figure.subplots(nrows, ncols, sharey=True, squeeze=False)
        for ax in list(grid.flat)[len(names) :]:
            ax.remove()
        # A little space parts the mean over languages from them.
        y = {lang: i + (0.35 if i else 0) for i, lang in enumerate(langs)}
        for ax, model in zip(grid.flat, names, strict=False):
            _cells(ax, data[data["model"] == model], here, y, printed)
            ax.set_title(parts.fitting(model, len(here) * cell + 0.2), pad=14, fontweight="bold")
        for ax in grid[:, 0]:
            ax.set_yticks(list(y.values()), ["All languages", *map(language_name, langs[1:])])
            for label, lang in zip(ax.get_yticklabels(), langs, strict=True):
                group = factors.resources(lang, settings)
                label.set_color(GROUP_COLOURS["low"] if group == "low" else "#222222")
                label.set_fontweight("bold" if lang == "all" else "normal")
        bar = figure.colorbar(
            _shade(),
            ax=list(grid.flat)[: len(names)],
            location="bottom",
            fraction=0.02,
            aspect=60 if width > 5 else 35,
            pad=0.01,
            shrink=0.5 if width > 5 else 0.9,
        )
        bar.set_ticks([0, 0.5, 0.75, 0.9, 1], labels=["0", "50", "75", "90", "100%"])
        bar.outline.set_linewidth(0.4)
        low = any(factors.resources(lang, settings) == "low" for lang in langs[1:])
        words += " Orange: low-resource languages." if low else ""
        words += " Small: the paper's." if printed else ""
        single = data[data["context_lang"] != "all"]
        parts.footnote(figure, f"{words} {marks.counted(single)}{marks.exhausted(data, 'Dotted')}")
    return figure


def _cells(
    ax: Axes, data: pd.DataFrame, here: Sequence[int], y: Mapping[str, float], printed: bool
) -> None:
    """The cells of one model's panel."""
    from matplotlib.patches import Rectangle

    shade = _shade()
    for row in data.to_dict("records"):
        left, middle = here.index(row["length"]), y[row["context_lang"]]
        value = row["value"]
        colour = shade.to_rgba(value) if marks.given(value) else (1, 1, 1, 1)
        ax.add_patch(
            Rectangle((left - 0.5, middle - 0.5), 1, 1, facecolor=colour, edgecolor="white", lw=0.8)
        )
        # Of the colour's luminance, as the eye weighs red, green and blue.
        dark = 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2] < 0.58
        ink = "white" if dark else "#222222"
        up = 0.16 if printed else 0.0
        number = f"{100 * value:.0f}" if marks.given(value) else "\u2013"
        ax.text(left, middle - up, number, ha="center", va="center", fontsize=6.5, color=ink)
        if marks.given(row["published"]):
            ax.text(
                left, middle + 0.27, f"{100 * row['published']:.0f}", ha="center", va="center",
                fontsize=4.6, color=ink, alpha=0.8, style="italic",
            )  # fmt: skip
        if row["n_exhausted"]:
            ax.plot(left + 0.38, middle - 0.36, ".", color=ink, markersize=2.5)
    ax.set_xlim(-0.5, len(here) - 0.5)
    ax.set_ylim(max(y.values()) + 0.5, -0.5)
    ax.set_xticks(range(len(here)), [length_label(length) for length in here])
    ax.xaxis.tick_top()
    ax.tick_params(length=0, pad=1.5)
    ax.grid(visible=False)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _shade() -> Any:
    """Colours of accuracies: half of them are for those above 0.75."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm

    return ScalarMappable(PowerNorm(2.4, 0, 1), LinearSegmentedColormap.from_list("heat", HEAT))
